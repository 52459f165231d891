"""Whether a legend lies over what is drawn."""

from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.path import Path

CELL = 3.0  # pixels, about the width of a stroke of the legend's letters


def covered(picture: Any) -> list[float]:
    """For every legend of a figure the share of its box through which lines, points or areas run. A thin line right across a
    legend of four entries takes some 5 per cent. One marker under a legend is too many, however small: all of it."""
    FigureCanvasAgg(picture)
    picture.draw_without_rendering()
    every = picture.get_axes()
    legends = [ax.get_legend() for ax in every] + picture.legends
    return [_share(one.get_window_extent(), every) for one in legends if one is not None]


def _share(box: Any, every: list[Any]) -> float:
    """Of the cells of `box` that something drawn inside the axes touches."""
    shape = (max(1, int(box.width / CELL)), max(1, int(box.height / CELL)))
    touched = np.zeros(shape, dtype=bool)
    for ax in every:
        for points in _drawn(ax):
            at = _along(points[np.isfinite(points).all(axis=1)] if len(points) == 1 else points)
            frame = ax.get_window_extent()
            seen = (at >= frame.min).all(axis=1) & (at <= frame.max).all(axis=1)
            place = np.floor((at[seen] - box.min) / (box.max - box.min) * shape).astype(int)
            place = place[((place >= 0) & (place < shape)).all(axis=1)]
            if len(points) == 1 and len(place):
                return 1.0
            touched[place[:, 0], place[:, 1]] = True
        for area in _areas(ax):
            touched |= area.contains_points(_centres(box, shape)).reshape(shape)
    return float(touched.mean())


def _along(points: np.ndarray) -> np.ndarray:
    """Points closer than a cell on the line through these; it breaks where one is not finite."""
    if len(points) < 2:
        return points
    begin, end = points[:-1], points[1:]
    whole = np.isfinite(begin).all(axis=1) & np.isfinite(end).all(axis=1)
    begin, end = begin[whole], end[whole]
    counts = np.minimum(np.ceil(np.abs(end - begin).max(axis=1, initial=0) / CELL * 2), 4000).astype(int) + 1
    which = np.repeat(np.arange(len(counts)), counts)
    share = (np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)) / counts[which]
    return begin[which] + share[:, None] * (end - begin)[which]


def _drawn(ax: Any) -> list[np.ndarray]:
    """Lines as arrays of points, markers as single points, in display coordinates."""
    found = []
    for line in ax.lines:
        points = line.get_transform().transform(line.get_xydata()) if line.get_visible() else np.empty((0, 2))
        joined = line.get_linestyle() not in ("None", "none", " ", "")
        found += [points] if joined else [points[i : i + 1] for i in range(len(points))]
    for group in ax.collections:
        if type(group).__name__ == "PathCollection":
            points = group.get_offset_transform().transform(np.ma.filled(group.get_offsets().astype(float), np.nan))
            found += [points[i : i + 1] for i in range(len(points))]
        elif type(group).__name__ == "LineCollection":
            found += [group.get_transform().transform(part) for part in group.get_segments()]
    return found


def _areas(ax: Any) -> list[Path]:
    """Bands and bars, in display coordinates; not shades over a whole range of one axis."""
    bands = [
        group for group in ax.collections if type(group).__name__ in ("PolyCollection", "FillBetweenPolyCollection")
    ]
    found = [band.get_transform().transform_path(path) for band in bands for path in band.get_paths()]
    bars = [patch for patch in ax.patches if all(patch.get_transform().contains_branch_seperately(ax.transData))]
    return found + [patch.get_transform().transform_path(patch.get_path()) for patch in bars]


def _centres(box: Any, shape: tuple[int, int]) -> np.ndarray:
    steps = [low + (np.arange(n) + 0.5) * size / n for low, n, size in zip(box.min, shape, box.size, strict=True)]
    return np.stack(np.meshgrid(*steps, indexing="ij"), axis=-1).reshape(-1, 2)

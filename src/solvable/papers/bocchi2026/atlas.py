"""Section 4.2 as a picture: all critical points of the population risk with their spectra. What 7.2.2 prints about four of them is
judged by dense Hessians at a small dim."""

from typing import TYPE_CHECKING

import numpy as np

from solvable import landscape, plot
from solvable.landscape.critical import weights_at
from solvable.overlaps import Weights
from solvable.papers.bocchi2026.manifold import rank
from solvable.papers.bocchi2026.settings import KEY, problem
from solvable.papers.claims import Claim, beyond, corrected, holds
from solvable.papers.figure import PaperFigure
from solvable.papers.parameters import UNSAID, Parameter, table
from solvable.plot.style import letter

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

GENERAL = "the paper has formulas: widths of its figures 1 and 3"
PARAMETERS = table(
    Parameter("p", UNSAID, 6, why=GENERAL, label="$p$"),
    Parameter("p_star", UNSAID, 3, why=GENERAL, label="$p^*$"),
    Parameter("dim", UNSAID, 1000, why="any", label="$N$"),
    Parameter("dense_dim", UNSAID, 16, why="Hessians of p N rows", label="$N$ of dense Hessians"),
    Parameter("room", UNSAID, 20, why="small, so that p reaches N", label="$N$ of the ratio after (29)"),
    Parameter("seed", UNSAID, 0, why="any"),
)
POINTS = ("tabula rasa", "plateau", "solutions", "all aligned to one teacher")


def places(p: int, q: int) -> list[tuple[int, int]]:
    """Directions outside and inside the teachers' span at the four points of 7.2.2."""
    return [(0, 0), (p, 0), (0, q), (0, 1)]


def printed(p: int, q: int, N: int) -> list[list[tuple[float, int]]]:
    """Eigenvalues and multiplicities as 7.2.2 prints them, at the four points."""
    return [
        [(-4 / p * (1 + 2 / q), p * q), (-4 / p, p * (N - q))],
        [
            (-8 / (p * q), p * q), (0.0, p * (N - q - p) + p * (p - 1) // 2),
            (16 / (p * (p + 2)), p * (p - 1) // 2 + p - 1), (8 / p, 1),
        ],
        [
            (0.0, (N - q) * (p - q) + q * (p - q) + q * (q - 1) // 2), (8 / (p * q), q * (N - q)),
            (16 / (p * q), q * (q + 1) // 2 - 1), (8 * (2 + q) / (p * q), 1),
        ],
        [
            (-8 * (q + 2) / (3 * p * q), (q - 1) * (p - 1)), (-8 * (q - 1) / (3 * p * q), (N - q) * (p - 1)),
            (0.0, p + q - 2), (8 / (p * q), N - q), (8 * (2 + q) / (p * q), 1),
        ],
    ]  # fmt: skip


def slopes(p: int, q: int, N: int, seed: int) -> tuple[list[float], list[float]]:
    """Largest slope of the risk at the points (28), for every rank r, and (30), for every s, built as printed."""
    random = np.random.default_rng([seed, 5])
    axes, turn = (np.linalg.qr(random.standard_normal((n, n)))[0] for n in (N, p))
    setting = problem(p, q).replace(inputs__dim=N)

    def slope(scale: float, directions: np.ndarray) -> float:
        students = np.sqrt(scale) * turn[:, : len(directions)] @ directions
        return float(np.abs(landscape.gradient(setting, Weights(np.sqrt(N) * students, np.sqrt(N) * axes[:q]))).max())

    outside = [slope(p / (2 + r), axes[q : q + r]) for r in range(p + 1)]
    inside = [slope(p * (2 + q) / (q * (2 + s)), axes[:s]) for s in range(1, q + 1)]
    return outside, inside


def compute(quick: bool) -> "xarray.Dataset":
    """The list of points at a large dim, and dense Hessians at a small one."""
    values = PARAMETERS.values(quick)
    p, q, N, seed = values["p"], values["p_star"], values["dense_dim"], values["seed"]
    data, small = (
        landscape.atlas(problem(p, q).replace(inputs__dim=values["dim"])),
        problem(p, q).replace(inputs__dim=N),
    )
    points = {(one.outside, one.inside): one for one in landscape.critical_points(small)}
    at = {place: weights_at(small, point, seed) for place, point in points.items()}
    dense = [np.linalg.eigvalsh(landscape.hessian(small, at[place])) for place in places(p, q)]
    mixed = [np.abs(landscape.gradient(small, at[r, s])).max() for r, s in at if r > 0 and s > 0]
    outside, inside = slopes(p, q, N, seed)
    data = data.assign(
        dense=(("stated", "row"), dense),
        mixed_slope=("mixed", mixed),
        slope_outside=("rank", outside),
        slope_inside=("part", inside),
    )
    return data.assign_attrs(
        {
            "dense_dim": N,
            "room": values["room"],
            "largest_ratio": largest_ratio(q, values["room"]),
            "rank": float(rank(p, q, seed)),
        }
    )


def largest_ratio(q: int, dim: int) -> float:
    """Of negative to flat directions on the plateau, over all widths that have one."""
    ratios = []
    for p in range(1, dim + 1):
        points = landscape.critical_points(problem(p, q).replace(inputs__dim=dim))
        ratios += [point.index / point.flat for point in points if (point.outside, point.inside) == (p, 0)]
    return max(ratios)


def draw(data: "xarray.Dataset") -> "Figure":
    picture = plot.atlas(data)
    for ax, name in zip(picture.axes, "ab", strict=True):
        letter(ax, name)
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    N, room, dense = int(data.attrs["dense_dim"]), int(data.attrs["room"]), data["dense"].values
    p, q = int(data.attrs["students"]), int(data["inside"].values.max())
    evidence = f"dense Hessian, p = {p}, p* = {q}, N = {N}"
    negative, flat = (dense < -1e-9).sum(axis=1), (np.abs(dense) < 1e-9).sum(axis=1)
    facts: list[tuple[str, str, float, float]] = [
        ("(28)", "the slope of the risk vanishes at every rank r (largest)", 0.0, data["slope_outside"].values.max()),
        ("(30)", "the slope of the risk vanishes at every rank s (largest)", 0.0, data["slope_inside"].values.max()),
        ("(29)", "plateau: negative over flat directions", q / (N - q - p / 2 - 1 / 2), negative[1] / flat[1]),
        ("section 4.2", "tabula rasa: p N negative directions, a maximum", p * N, negative[0]),
        ("section 4.2", "solutions: p* (N - p*) + p* (p* + 1)/2 positive directions", q * (N - q) + q * (q + 1) / 2,
         (dense[2] > 1e-9).sum()),
        ("section 4.2", "solutions: (N - p*)(p - p*) flat directions that no rotation gives", (N - q) * (p - q),
         flat[2] - data.attrs["rank"]),
        ("abstract", "solutions are marginal minima (smallest eigenvalue)", 0.0, dense[2].min()),
        ("abstract", "the plateau has negative directions, p p*", p * q, negative[1]),
    ]  # fmt: skip
    found = [
        holds(FIGURE.key, text, source=source, printed=value, found=float(seen), tolerance=1e-10, evidence=evidence)
        for source, text, value, seen in facts
    ]  # fmt: skip
    for name, row, stated in zip(POINTS, dense, printed(p, q, N), strict=True):
        begin = 0
        for value, count in sorted(stated):
            part = row[begin : begin + count]
            farthest = float(part[np.argmax(np.abs(part - value))])
            found.append(
                holds(
                    FIGURE.key, f"{name}: eigenvalue {value:.4g}, {count} times (the one of them farthest from it)",
                    source="section 7.2.2", printed=value, found=farthest, tolerance=1e-10, evidence=evidence,
                )
            )  # fmt: skip
            begin += count
    return [
        *found,
        beyond(
            FIGURE.key, f"the slope vanishes at {data.sizes['mixed']} kinds of mixed points too, r >= 1 and 0 < s < p* (largest)",
            expected=0.0, found=float(data["mixed_slope"].values.max()), tolerance=1e-12,
            evidence="slopes at weights built from their closed form; docs/ERRATA.md B8",
        ),
        corrected(
            FIGURE.key, f"negative over flat on the plateau is at most 2 p*/(N - p* - 1), at p = N - p* (p* = {q}, N = {room})",
            source="section 7.2.2", row="B9", printed=q / (room / 2 - q - 1 / 2), expected=2 * q / (room - q - 1),
            found=data.attrs["largest_ratio"], tolerance=1e-10,
            evidence="tests/landscape/test_landscape.py::test_the_plateau_needs_room",
        ),
    ]  # fmt: skip


FIGURE = PaperFigure(f"{KEY}/atlas", "All critical points of the population risk", compute, draw, claims, PARAMETERS)

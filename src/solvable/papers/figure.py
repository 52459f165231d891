"""A paper's figure: how its data are computed, drawn and judged, and how it is written to disk."""

import json
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from solvable.papers.claims import Claim
from solvable.papers.parameters import NONE, Parameters
from solvable.plot import style
from solvable.results import Ending, Trajectory
from solvable.results.files import make_directory, write_whole
from solvable.sweeps import sweep

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure


_store: ContextVar[str | None] = ContextVar("store", default=None)


def swept(quick: bool, *arguments: Any, **options: Any) -> "xarray.Dataset":
    """All results of a sweep: a small one in this process, others on all cores, kept in the store if there is one. A point that
    failed makes no figure and no verdict."""
    found = sweep(*arguments, **options, store=_store.get(), workers=0 if quick else None, progress=False)
    if found.status.done < found.status.points:
        reasons = [text for text in found.data["failure"].values.flat if text]
        raise RuntimeError(f"{found}: {reasons[0] if reasons else 'some are missing'}")
    return found.data


@dataclass(frozen=True)
class PaperFigure:
    """`compute(quick)` gives the data, `draw` the picture, `claims` the verdicts; the quick form takes seconds. `parameters` are
    what the paper used beside what `compute` uses."""

    key: str
    title: str
    compute: Callable[[bool], "xarray.Dataset"]
    draw: Callable[["xarray.Dataset"], "Figure"]
    claims: Callable[["xarray.Dataset"], list[Claim]]
    parameters: Parameters = NONE


def whole(trajectory: Trajectory) -> Trajectory:
    """The same, unless Ctrl-C cut it short: half a run makes no figure and no verdict."""
    if Ending.INTERRUPTED in trajectory.ending:
        raise KeyboardInterrupt
    return trajectory


@dataclass(frozen=True)
class Rendered:
    claims: list[Claim]
    files: list[Path]


def render(figure: PaperFigure, directory: Path, *, quick: bool, store: str | None = None) -> Rendered:
    """Compute, draw, judge, and write PNG, PDF, the data as NetCDF and the verdicts as JSON into `directory`. Figures that are
    sweeps keep their points in `store`."""
    before = _store.set(store)
    try:
        data = figure.compute(quick)
    finally:
        _store.reset(before)
    data.attrs |= {"figure": figure.key, "title": figure.title, "quick": int(quick)}
    verdicts = figure.claims(data)
    with style():
        picture = figure.draw(data)
        name = figure.key.replace("/", "-")
        make_directory(directory)
        writers: dict[str, Callable[[str], Any]] = {
            "png": lambda path: picture.savefig(path, format="png"),
            "pdf": lambda path: picture.savefig(path, format="pdf", metadata={"CreationDate": None}),
            "nc": lambda path: data.to_netcdf(path, engine="h5netcdf"),
            "json": lambda path: Path(path).write_text(
                json.dumps([claim.as_dict() for claim in verdicts], indent=2) + "\n", encoding="utf-8"
            ),
        }
        files = [write_whole(directory / f"{name}.{ending}", writer) for ending, writer in writers.items()]
    return Rendered(verdicts, files)

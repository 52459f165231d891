"""A paper's figure: how its data are computed, drawn and judged, and how it is written to disk."""

import json
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from solvable.papers.claims import Claim
from solvable.papers.parameters import NONE, Parameters, shown
from solvable.papers.provenance import provenance, texts
from solvable.plot import style
from solvable.plot.style import footnote
from solvable.results import Ending, Trajectory
from solvable.results.files import make_directory, write_whole
from solvable.sweeps import sweep

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

    from solvable.control import Optimum

Result = TypeVar("Result", Trajectory, "Optimum")

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
    """A figure of a paper: `compute(quick)` gives the data, `draw` the picture, `claims` the verdicts.

    The quick form takes seconds. `parameters` are the paper's values beside those that `compute` uses.
    """

    key: str
    title: str
    compute: Callable[[bool], "xarray.Dataset"]
    draw: Callable[["xarray.Dataset"], "Figure"]
    claims: Callable[["xarray.Dataset"], list[Claim]]
    parameters: Parameters = NONE


def whole(result: Result) -> Result:
    """Return a run or a search as it is; raise KeyboardInterrupt if that cut it short: half of one makes no figure and no
    verdict."""
    from solvable.control import Optimum

    cut = (
        result.message.startswith("interrupted") if isinstance(result, Optimum) else Ending.INTERRUPTED in result.ending
    )
    if cut:
        raise KeyboardInterrupt
    return result


@dataclass(frozen=True)
class Rendered:
    """A figure that was drawn: its files and verdicts; `record` is what its JSON file holds."""

    claims: list[Claim]
    files: list[Path]
    record: dict[str, Any]
    data: "xarray.Dataset"
    picture: "Figure"


def computed(figure: PaperFigure, *, quick: bool, store: str | None = None) -> tuple["xarray.Dataset", dict[str, Any]]:
    """The data of a figure, whose attributes say how they were made, and the same facts as a dictionary. Figures that are sweeps
    keep their points in `store`."""
    before, began = _store.set(store), time.perf_counter()
    try:
        data = figure.compute(quick)
    finally:
        _store.reset(before)
    facts = provenance(figure, quick=quick, seconds=time.perf_counter() - began)
    return data.assign_attrs(texts(facts) | {"quick": int(quick)}), facts


def render(figure: PaperFigure, directory: Path, *, quick: bool, store: str | None = None) -> Rendered:
    """Compute, draw, judge, and write PNG, PDF, the data as NetCDF and the verdicts as JSON into `directory`. Every file holds the
    parameters and how it was made."""
    data, facts = computed(figure, quick=quick, store=store)
    verdicts = figure.claims(data)
    record = facts | {"claims": [claim.as_dict() for claim in verdicts]}
    with style():
        picture = figure.draw(data)
        footnote(picture, remark(figure.parameters, quick))
        make_directory(directory)
        files = _written(directory / figure.key.replace("/", "-"), picture, data, record)
    return Rendered(verdicts, files, record, data, picture)


def _written(path: Path, picture: "Figure", data: "xarray.Dataset", record: dict[str, Any]) -> list[Path]:
    """PDF knows few names, so all facts are its keywords; without its date the bytes differ by the seconds alone."""
    about = texts({name: value for name, value in record.items() if name != "claims"})
    heads = {"Title": record["title"], "Subject": record["figure"], "Creator": f"solvable {record['version']}"}
    document = {**heads, "Keywords": json.dumps(about, ensure_ascii=False), "CreationDate": None}
    writers: dict[str, Callable[[str], Any]] = {
        "png": lambda to: picture.savefig(to, format="png", metadata={"Software": heads["Creator"], **about}),
        "pdf": lambda to: picture.savefig(to, format="pdf", metadata=document),
        "nc": lambda to: data.to_netcdf(to, engine="h5netcdf"),
        "json": lambda to: Path(to).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8"),
    }
    return [write_whole(path.with_name(f"{path.name}.{ending}"), writer) for ending, writer in writers.items()]


def remark(parameters: Parameters, quick: bool, most: int = 4) -> str:
    """What stands under a picture: that it is the quick form, whether the paper's values are known, and where it differs."""
    rows = parameters.differences(quick)
    words = [f"{row.title} {shown(row.value(quick), 5)} for {shown(row.paper, 5)}" for row in rows[:most]]
    if len(rows) > most:
        words.append(f"and {len(rows) - most} more")
    said = ["quick form"] if quick else []
    said += ["the paper's own parameters were not read"] if any(row.unread for row in parameters) else []
    return "; ".join([*said, f"differs from the paper: {', '.join(words)}"] if words else said)

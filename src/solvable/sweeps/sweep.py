"""A sweep in one call: plan a grid of points, compute what is missing of it, read all results as one labelled dataset."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from solvable.levels import Level
from solvable.levels.running import check_level
from solvable.overlaps import Overlaps
from solvable.problems import Problem
from solvable.results import Threshold
from solvable.runfiles import RunTable, StartTable
from solvable.sweeps.executing import execute
from solvable.sweeps.grid import Rule
from solvable.sweeps.measures import Drawn, Measure, Run
from solvable.sweeps.planning import plan
from solvable.sweeps.protocol import RecordStore
from solvable.sweeps.swept import Swept

STORE = "solvable.store"


def sweep(
    problem: Problem, vary: Mapping[str, Any] | None = None, level: Level | None = None, until: float | None = None, *,
    seeds: Iterable[int] | None = None, starts: int = 1,
    start: Mapping[str, Any] | Overlaps | Callable[[Problem, int], Overlaps] | None = None,
    times: Any = None, clock: str | None = None, stop: Threshold | None = None, keep: Sequence[str] = ("risk",),
    measure: Measure | None = None,
    together: Sequence[Sequence[str]] = (), derive: Mapping[str, Rule] | None = None, where: Rule | None = None,
    store: str | Path | RecordStore | None = STORE, workers: int | None = None, cluster: str | None = None,
    shard: tuple[int, int] = (1, 1), retry: bool = False, stale: str = "keep",
    progress: bool | None = None, title: str | None = None,
) -> Swept:  # fmt: skip
    """Run a problem at every point of a grid and keep every result; the same call continues where the last one ended.

    Parameters
    ----------
    problem : Problem
        What varies.
    vary : dict
        Lists of values by names of fields, {"student.width": [3, 6]}, or of variables; all combinations are points.
    level, until, times, clock, stop
        As in `run`; left out, the level is `Macro()`.
    seeds : list of int, optional
        Seeds of the start, as an axis of their own; left out, one start of seed 0.
    starts : int
        This many starts, of seeds in a row, make one point and run as a batch.
    start : dict, Overlaps or callable, optional
        Arguments of `start`, or a function of problem and seed, which is called in this process.
    keep : list of str
        Which arrays of the trajectory are kept at the outputs.
    measure : Measure, optional
        Something else to compute, in place of a level: `FewestSamples(...)`.
    together : list of lists of str
        Groups of names that move together instead of being combined.
    derive : dict, optional
        Further names, by expressions such as "0.05 * student.width" or by functions of the point.
    where : str or callable, optional
        Expression or function: only points at which it is true are computed.
    store : str, Path, Store or None
        Directory that keeps the results; None keeps them in memory only.
    workers : int, optional
        Number of processes (0: this one; left out: one for each core).
    cluster : str, optional
        Address of a Dask cluster to compute on instead.
    shard : (int, int)
        (i, n) computes the i-th of n shares.
    retry : bool
        Whether points that failed are tried again.
    stale : str
        What to do with stored results of other code: "keep" (with a warning) or "recompute".
    progress : bool, optional
        Whether to show a bar; left out: on terminals.
    title : str, optional
        Name in listings.

    Returns
    -------
    Swept
        Its `data` is one labelled dataset.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=1000)
    >>> swept = sv.sweep(problem, {"student.width": [2, 3]}, until=5, seeds=range(4), store="results", workers=0)
    >>> dict(swept.data["end_risk"].sizes)
    {'width': 2, 'seed': 4, 'run': 1}
    """
    if not isinstance(problem, Problem):
        raise TypeError(f"sweep: the first argument must be a Problem, not {type(problem).__name__}")
    if measure is None:
        measure = run_measure(level, start, starts, until, times, clock, stop, keep)
        vary = _with_seeds(vary or {}, seeds, measure)
    elif any(given is not None for given in (level, until, seeds, start, times, clock, stop)):
        raise ValueError("measure: given together with level, until, seeds, start, times, clock or stop; must be alone")
    if not vary:
        raise ValueError("vary: is empty; a sweep needs at least one axis")
    planned = plan(problem, measure, vary, together=together, derive=derive, where=where, title=title)
    return execute(
        planned, store, workers=workers, cluster=cluster, shard=shard, retry=retry, stale=stale, progress=progress
    )


def _with_seeds(vary: Mapping[str, Any], seeds: Iterable[int] | None, measure: Run) -> Mapping[str, Any]:
    """Seeds are an axis; starts that a function draws need them."""
    if seeds is None:
        if isinstance(measure.start, Drawn) and "start.seed" not in vary:
            raise ValueError("seeds: are missing; a start by a function needs them")
        return vary
    if not hasattr(seeds, "__iter__"):
        raise ValueError(f"seeds: {seeds!r} given, must be a list of whole numbers, as range(10)")
    return {**vary, "start.seed": [int(seed) for seed in seeds]}


def run_measure(
    level: Level | None, start: Any, starts: int, until: float | None, times: Any, clock: str | None,
    stop: Threshold | None, keep: Sequence[str],
) -> Run:  # fmt: skip
    if level is None:
        from solvable.macro import Macro

        level = Macro()
    check_level(level, stop)
    if stop is not None:
        bound = {"below" if stop.falls else "above": stop.level}
        stop_table: Any = {"quantity": stop.quantity, "relative": stop.relative, **bound}
        stop_table |= {} if stop.entry is None else {"entry": stop.entry}
    else:
        stop_table = None
    table = RunTable.from_mapping({"until": until, "clock": clock, "times": times, "stop": stop_table})
    if start is None or isinstance(start, Mapping):
        begin: Any = StartTable.from_mapping(
            {"seed": 0, **(start or {})} if not _prescribed(start) else dict(start or {})
        )
    elif callable(start):
        begin = Drawn(start)
    else:
        begin = start
    return Run(level, begin, table, (keep,) if isinstance(keep, str) else tuple(keep), starts)


def _prescribed(start: Mapping[str, Any] | None) -> bool:
    return start is not None and "student_overlap" in start

"""Planned sweeps: a grid and its points, and what is still to do of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from solvable.problems import Problem
from solvable.sweeps.costs import Cost, cost_of
from solvable.sweeps.engines import PointTask
from solvable.sweeps.functions import Functions
from solvable.sweeps.grid import Grid, Rule
from solvable.sweeps.makers import StoredResults
from solvable.sweeps.measures import Measure
from solvable.sweeps.memory import Memory
from solvable.sweeps.points import Points
from solvable.sweeps.protocol import RecordStore
from solvable.sweeps.records import Record
from solvable.sweeps.status import Status, status_of
from solvable.sweeps.store import Store

AHEAD = 10_000  # points that are made, and so checked, before anything runs


@dataclass(frozen=True)
class Sweep:
    """A planned sweep: a grid and its points, which are made when they are looked at; `plan` makes it.

    Parameters
    ----------
    grid : Grid
        Axes, derived names and conditions.
    points : Points
        All points of the grid, each a problem and what is computed for it.
    title : str
        Name in listings.

    Examples
    --------
    The examples of the methods below continue this one.

    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=1000)
    >>> from solvable.runfiles import RunTable
    >>> measure = sv.sweeps.Run(sv.Macro(), sv.start(problem, seed=0), RunTable(until=5.0))
    >>> planned = sv.sweeps.plan(problem, measure, {"training.learning_rate": [0.1, 0.2, 0.3]})
    >>> len(planned.points)
    3
    """

    grid: Grid
    points: Points
    title: str

    @cached_property
    def manifest(self) -> Record:
        """The record that lists the axes and the keys of all points; it makes all points."""
        self.points.make()
        return self.grid.manifest(self.points.keys, self.points.first, self.title)

    def status(self, store: RecordStore) -> Status:
        """How much of the sweep a store has.

        Parameters
        ----------
        store : Store
            Where results are kept.

        Returns
        -------
        Status
            Numbers of points, of those done and of those that failed.

        Examples
        --------
        >>> planned.status(sv.sweeps.Store("empty.store"))
        Status(points=3, done=0, failed=0)
        """
        return status_of(store, self.points.all_keys())

    def tasks(
        self, results: StoredResults, shard: tuple[int, int] = (1, 1), *, retry: bool = False
    ) -> Iterator[PointTask | None]:
        """What is still to do, point by point.

        Parameters
        ----------
        results : StoredResults
            What a store has of the sweep (`sweeps.makers`).
        shard : (int, int)
            (i, n) for the i-th of n shares of the points.
        retry : bool
            Whether points that failed for good are tried again.

        Returns
        -------
        iterator of PointTask or None
            For each point of this share; None for a point that is done, or would fail again.

        Examples
        --------
        >>> from solvable.sweeps.makers import StoredResults
        >>> results = StoredResults(sv.sweeps.Store("empty.store"), planned.points, print)
        >>> results.look()
        >>> len(list(planned.tasks(results, shard=(1, 3))))
        1
        """
        functions = Functions(lasting=isinstance(results.store, Store))
        one, of = shard
        for number in islice(self.points.numbers(), one - 1, None, of):
            if results.is_there(number) or not (retry or not results.is_hopeless(number)):
                self.points.pass_over(number)
                yield None
                continue
            point = self.points.at(number)
            functions.check(point.problem)
            yield PointTask(point.key, point.problem, point.measure)

    def estimate(
        self, store: RecordStore | None = None, workers: int | None = None, shard: tuple[int, int] = (1, 1)
    ) -> Cost:
        """Time a few points, spread over the grid; nothing is stored.

        Parameters
        ----------
        store : Store, optional
            Its results are not computed again.
        workers : int, optional
            How many processes to assume; left out, one for each core.
        shard : (int, int)
            (i, n) for the i-th of n shares of the points.

        Returns
        -------
        Cost
            Time, disk and memory.

        Examples
        --------
        >>> planned.estimate(workers=1).missing
        3
        """
        return cost_of(self.points, Memory() if store is None else store, workers, shard)


def plan(
    problem: Problem,
    measure: Measure,
    vary: Mapping[str, Any],
    *,
    together: Sequence[Sequence[str]] = (),
    derive: Mapping[str, Rule] | None = None,
    where: Rule | None = None,
    title: str | None = None,
) -> Sweep:
    """Plan a sweep: check the grid and its first ten thousand points before anything runs.

    Parameters
    ----------
    problem : Problem
        What varies.
    measure : Measure
        What is computed at every point: `Run(...)` or `FewestSamples(...)`.
    vary, together, derive, where
        The grid, as in `sweep`.
    title : str, optional
        Name in listings; left out, the names of the axes.

    Returns
    -------
    Sweep
        To be estimated, or given to `execute`.

    Examples
    --------
    >>> problem = sv.problems.convention("saraomannelli2020").problem(m=3, m_star=1, d=3, n=None)
    >>> planned = sv.sweeps.plan(problem, sv.sweeps.FewestSamples(instances=3), {"inputs.dim": [3, 4]})
    >>> planned.title
    'dim'
    """
    grid = Grid(problem, measure, vary, together, derive, where)
    _check_starts(grid)
    points = Points(grid)
    while not points.make(AHEAD) and not points.found:
        pass
    if not points.found:
        raise ValueError("where: no point satisfies it")
    return Sweep(grid, points, title or " x ".join(grid.dims))


def _check_starts(grid: Grid) -> None:
    """Seeds of one point must not come again at another."""
    many = getattr(grid.measure, "starts", 1)
    for axis in grid.axes:
        for name, values in zip(axis.names, axis.values, strict=True):
            gaps: Any = np.diff(sorted(values)) if name == "start.seed" and many > 1 else []
            if any(gap < many for gap in gaps):
                raise ValueError(
                    f"start.seed: with starts = {many} every point takes {many} seeds in a row, so that seeds closer than that "
                    f"repeat each other; must be as {values[0]}, {values[0] + many}, {values[0] + 2 * many}, ..."
                )

"""Methods of `Trajectory`: which of its runs are meant, by number or by label."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from solvable.problems.nearest import not_one_of
from solvable.results.quantities import OBSERVABLES

if TYPE_CHECKING:
    from solvable.results.trajectory import Trajectory


def run_number(trajectory: Trajectory, who: str, run: int | None, hint: str = "") -> int:
    """The number `run`, where None is the only run there is: `who` raises ValueError if there are several."""
    if run is None and len(trajectory.risk) > 1:
        raise ValueError(f"{who}: there are {len(trajectory.risk)} runs; say which, from run=0 on{hint}")
    if run is None:
        return 0
    whole = isinstance(run, int | np.integer) and not isinstance(run, bool)
    if not whole or not -len(trajectory.risk) <= run < len(trajectory.risk):
        raise ValueError(f"{who}: run {run!r} given, must be from 0 to {len(trajectory.risk) - 1}")
    return int(run)


def select(self: Trajectory, **labels: Any) -> Trajectory:
    """The runs of a batch that have the given labels.

    Parameters
    ----------
    **labels
        Values by the name of a label, `learning_rate=0.1`; `run=[0, 3]` selects by number. Several values: any of
        them.

    Returns
    -------
    Trajectory
        The same curves with fewer runs.

    Examples
    --------
    >>> batch = sv.levels.run_batch(problem, start, sv.Macro(), 10, learning_rates=[0.1, 0.2])
    >>> batch.select(learning_rate=0.2).risk.shape
    (1, 201)
    """
    chosen = np.ones(len(self.risk), dtype=bool)
    for name, value in labels.items():
        if name != "run" and name not in self.labels:
            raise ValueError(f"select: {not_one_of(name, ['run', *self.labels])}")
        values = np.arange(len(self.risk)) if name == "run" else self.labels[name]
        chosen &= np.isin(values, value)
    if not chosen.any():
        raise ValueError(f"select: no run has {labels}")
    problem, rates = self.problem, self.labels.get("learning_rate")
    if rates is not None and len(np.unique(rates[chosen])) == 1:
        problem = problem.replace(training__learning_rate=float(rates[chosen][0]))
    arrays = {
        name: value[chosen]
        for name, row in OBSERVABLES.items()
        if row.function is None and row.axes.startswith("run") and (value := getattr(self, name)) is not None
    }
    return replace(
        self, problem=problem, end_blocks=self.end_blocks.pick(chosen), endings=self.endings[chosen],
        blocks=None if self.blocks is None else self.blocks.pick(chosen),
        labels={name: values[chosen] for name, values in self.labels.items()}, **arrays,
    )  # fmt: skip


def check_alike(trajectory: Trajectory, who: str) -> None:
    for label, values in trajectory.labels.items():
        if label != "start" and len(np.unique(values)) > 1:
            raise ValueError(f"{who}: the runs differ in {label}; choose by select({label}=...) first")

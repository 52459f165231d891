"""The observer of a level: risk and watched quantity of a state, and whether the threshold is passed."""

from copy import copy

import numpy as np

from solvable.dynamics.kernel_choice import observers
from solvable.dynamics.kernel_data import RISK, SEEN, WATCHED
from solvable.levels.plan import Lane, Plan

BOUND = 1e4  # squared norms beyond this multiple of the first ones have diverged
NODES = 2**12  # for risks without closed form: their error is far below that of sampling runs


class Observer:
    """Computes the risk and the watched quantity of a lane's states, and whether the threshold is passed; one for each
    thread.

    `nodes` are those of risks without closed form; `exact` says that there is one. `watches` says whether there is a threshold,
    `falls` in which direction, `level` where.
    """

    def __init__(self, lane: Lane, plan: Plan, nodes: int = NODES) -> None:
        watched = None if plan.stop is None else plan.stop.watched
        self.systems = [one.watching(watched) for one in observers(lane.problem, lane.start, nodes)]
        self.exact = len(self.systems) == 1
        self.packed, self.scratch = self.systems[0].packed, self.systems[0].workspace()
        self._data = [one.data(self.scratch) for one in self.systems]
        self.compiled = self.systems[0].compiled and len(self.systems) == 1
        self.bound = BOUND * max(
            1.0, *(float(np.trace(one)) for one in (lane.start.student_overlap, lane.start.teacher_overlap))
        )
        self.watches, self.falls, self.level = plan.stop is not None, True, 0.0
        self.watches_risk = plan.stop is not None and plan.stop.quantity == "risk"
        if plan.stop is not None:
            self.falls, self.level = plan.stop.falls, plan.stop.level_for(self.see(self.packed.state, 0.0)[0][WATCHED])

    @np.errstate(all="ignore")  # a run that diverges overflows before it is stopped
    def see(self, y: np.ndarray, alpha: float) -> tuple[np.ndarray, float]:
        """Risk and what is watched at a time, and the error of the risk."""
        segment = int(np.searchsorted(self.packed.problems["begin"], alpha, side="right")) - 1
        found = np.empty((len(self.systems), SEEN))
        for one, data, row in zip(self.systems, self._data, found, strict=True):
            one.observe(segment, alpha, y, row, *data)
        return found[0], abs(float(found[0, RISK]) - float(found[-1, RISK])) if len(found) > 1 else 0.0

    def copy(self) -> "Observer":
        """For another thread."""
        other = copy(self)
        other.scratch = self.systems[0].workspace()
        other._data = [one.data(other.scratch) for one in self.systems]
        return other

    def passed(self, seen: np.ndarray) -> bool:
        return self.watches and bool(seen[WATCHED] <= self.level if self.falls else seen[WATCHED] >= self.level)

"""The deterministic limit as a level: pack the problem, integrate, label."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from solvable.dynamics.equations import CROSS, OBSERVED, RISK, observe, rhs, workspace
from solvable.dynamics.packing import pack, unpack
from solvable.numerics import tsit5
from solvable.results import Blocks, Lane, Plan, Threshold, Trajectory

WATCHED = {"risk": RISK, "cross_overlap": CROSS}
BOUND = 1e8  # overlaps beyond this have diverged


@dataclass(frozen=True)
class Macro:
    """The ordinary differential equations of the overlaps (infinite dim), by an adaptive method of order 5.

    `rtol` and `atol` bound the error of each step in every overlap; over a run the error measured is of the size of
    rtol. `small_rate` drops the order rate^2, which leaves gradient flow. A batch uses `threads` (None: all cores).
    """

    rtol: float = 1e-8
    atol: float = 1e-14
    small_rate: bool = False
    max_steps: int = 1_000_000
    threads: int | None = None

    name = "macro"

    def __post_init__(self) -> None:
        if not 1e-14 <= self.rtol <= 1e-2:
            raise ValueError(f"rtol: {self.rtol} given, must be between 1e-14 and 1e-2")
        if not 0 <= self.atol <= 1e-2:
            raise ValueError(f"atol: {self.atol} given, must be between 0 and 1e-2")
        if self.max_steps < 1:
            raise ValueError(f"max_steps: {self.max_steps} given, must be at least 1")
        if self.threads is not None and self.threads < 1:
            raise ValueError(f"threads: {self.threads} given, must be at least 1")

    def settings(self) -> dict[str, Any]:
        """What the result depends on."""
        return {name: value for name, value in asdict(self).items() if name != "threads"}

    def solve(self, lanes: list[Lane], plan: Plan) -> Trajectory:
        threads = min(len(lanes), self.threads or os.cpu_count() or 1)
        if threads == 1:
            solved = [self._solve_lane(lane, plan) for lane in lanes]
        else:
            with ThreadPoolExecutor(threads) as pool:  # the kernel frees the interpreter lock
                solved = list(pool.map(lambda lane: self._solve_lane(lane, plan), lanes))
        states, risk, last, report = (np.stack(part) for part in zip(*solved, strict=True))
        problem = lanes[0].problem
        student, cross, readout = unpack(problem, states)
        end_student, end_cross, end_readout = unpack(problem, last)
        return Trajectory(
            problem=problem,
            level=self.name,
            settings=self.settings(),
            alpha=plan.times,
            risk=risk,
            student_overlap=student.sum(axis=2),
            cross_overlap=cross.sum(axis=2),
            readout=readout,
            block_teacher_overlap=np.stack([lane.start.block_teacher_overlap for lane in lanes]),
            end_blocks=Blocks(end_student, end_cross),
            end_readout=end_readout,
            endings=report[:, 0].astype(np.int64),
            end_alpha=report[:, 1],
            nfev=report[:, 2].astype(np.int64),
            blocks=Blocks(student, cross) if plan.keep_blocks else None,
        )

    def _solve_lane(self, lane: Lane, plan: Plan) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        packed = pack(lane.problem, lane.start, noise=not self.small_rate)
        work = workspace(lane.problem.student.width, lane.problem.teacher.width)
        states, observed = np.empty((plan.times.size, packed.state.size)), np.empty((plan.times.size, OBSERVED))
        last, report = np.empty_like(packed.state), np.empty(tsit5.REPORT)
        first = np.empty(OBSERVED)
        observe(packed.state, packed.ints, packed.floats, work, first)
        watched, direction, level = _threshold(plan.stop, first)
        tsit5.solve(
            rhs, observe, packed.state, 0.0, plan.times, packed.breaks,
            self.rtol, self.atol, self.max_steps, BOUND, _floor(lane, first), watched, direction, level,
            packed.ints, packed.floats, work,
            states, observed, last, report,
        )  # fmt: skip
        return states, observed[:, RISK], last, report


def _threshold(stop: Threshold | None, first: np.ndarray) -> tuple[int, int, float]:
    """Which observed value to watch (-1: none), in which direction, for which level."""
    if stop is None:
        return -1, tsit5.RISES, 0.0
    watched = WATCHED[stop.quantity]
    return watched, tsit5.FALLS if stop.falls else tsit5.RISES, stop.level_for(first[watched])


def _floor(lane: Lane, first: np.ndarray) -> float:
    """Risk at which nothing moves any more: zero, up to rounding, where neither noise nor decay acts on a perfect student."""
    training = lane.problem.training
    return -np.inf if training.label_noise or training.weight_decay else 1e-15 * float(first[RISK])

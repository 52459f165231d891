"""The deterministic limit as a level."""

from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np

from solvable.dynamics.exactness import is_closed
from solvable.dynamics.gaussian_moments import NODES
from solvable.dynamics.kernel_choice import check_functions, system
from solvable.dynamics.kernel_data import pack
from solvable.levels import Lane, Level, Plan
from solvable.levels.limits import check_outputs, check_rule, check_settings, check_whole
from solvable.macro.choice import METHODS, check_method, chosen
from solvable.macro.integration import REPETITIONS, SLICE, is_small, solve_lane
from solvable.macro.integrators import integrator
from solvable.macro.outputs import labelled
from solvable.numerics.control import REPORT
from solvable.numerics.interpreting import prepare
from solvable.numerics.threads import bell, cores, gather, pool
from solvable.problems import CASES
from solvable.problems.nearest import not_one_of
from solvable.results import Trajectory
from solvable.results.traits import TRAITS


@dataclass(frozen=True)
class Macro(Level):
    """The deterministic limit as a level: ordinary differential equations of the overlaps at infinite dim.

    Parameters
    ----------
    rtol, atol : float
        Bounds on the error of each step. Over a run the error is about rtol, times what a plateau makes of it: there
        errors grow as the differences between students do. Students, or teachers, that start alike to the bit stay so
        for ever, as the equations say; those that start alike up to rounding are parted by it, at a time that depends on
        its size, and `risk_error` does not tell. A state that stopped moving ends the run ("converged") unless
        the equations, linear around it, would leave it in the time that is left; differences of the size of rounding
        count as none, and states of more than 240 numbers are not looked at so closely. A run of more than 1024 steps
        also ends so within rtol of a stable fixed point, about which explicit steps of stiff equations jump for ever.
    small_rate : bool
        Whether to drop the terms of order rate^2, which leaves gradient flow.
    max_steps : int
        Steps after which a run gives up.
    method : str
        "explicit": order 5, or 8 at small rtol (1e-7 and below; 1e-9 with several eigenvalues). "implicit": order 5,
        for spectra whose largest eigenvalues make the equations stiff (free norms and closed moments only). "weights":
        order 3, for the same spectra with weights in place of overlaps, at small_rate; far fewer numbers where hardly
        any eigenvalue repeats. "closed": closed form of gradient flow, for quadratic units at small_rate. "auto":
        whichever of explicit, implicit and weights is estimated to need the least work.
    nodes, node_seed : int
        Number and seed of the points over which moments are averaged, where they have no closed form and need more than
        two fields. The run is then repeated twice with other points; `risk_error` and `overlap_error` are one and a
        half times the largest difference of the three, and rtol is at least 1e-5, or one over the nodes where amplitudes
        jump with the fields: then the message says so.
    threads : int, optional
        How many a batch uses; left out, all cores.
    seconds : float, optional
        Time after which a run ends as interrupted; left out, never.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=1000)
    >>> start = sv.start(problem, seed=0, students="orthogonal", cross=0.1)
    >>> sv.run(problem, start, sv.Macro(rtol=1e-6), until=100).risk.shape
    (1, 201)
    """

    rtol: float = 1e-8
    atol: float = 1e-14
    small_rate: bool = False
    max_steps: int = 1_000_000
    method: Literal["auto", "explicit", "implicit", "weights", "closed"] = "auto"
    nodes: int = NODES
    node_seed: int = 0
    threads: int | None = None
    seconds: float | None = None

    name = "macro"
    clock = "alpha"
    domain = CASES
    traits = TRAITS[name]

    def __post_init__(self) -> None:
        for field, low, high in [("rtol", 1e-14, 1e-2), ("atol", 0.0, 1e-2)]:
            value = getattr(self, field)
            if not isinstance(value, int | float) or not low <= value <= high:
                raise ValueError(f"{field}: {value!r} given, must be between {low:g} and {high:g}")
        check_settings(self, "small_rate", seconds="a positive number of seconds")
        check_whole(self, max_steps=1, nodes=16, node_seed=0, threads=1)
        if self.nodes & (self.nodes - 1):
            raise ValueError(f"nodes: {self.nodes} given, must be a power of two")
        if self.method not in METHODS:
            raise ValueError(f"method: {not_one_of(self.method, METHODS)}")

    def settings(self) -> dict[str, Any]:
        """What the result depends on, as plain values."""
        return {
            field.name: getattr(self, field.name) for field in fields(self) if field.name not in ("threads", "seconds")
        }

    def solve(self, lanes: list[Lane], plan: Plan) -> Trajectory:
        """Integrate every lane; called by `run`."""
        check_outputs(lanes, plan, copies=2)
        if plan.stop is not None and plan.stop.function is not None and self.method in ("weights", "closed"):
            raise ValueError(
                f"stop: a function given, but method {self.method!r} has no overlaps for it; use 'explicit'"
            )
        reports = np.zeros((len(lanes), 1 + REPETITIONS), REPORT)  # of a run and its repetitions with other nodes
        if self.seconds is not None and self.method != "closed":
            self._prepare(lanes, plan)
        with bell(lambda: _interrupt(reports), self.seconds):
            if is_small(self, lanes, plan):
                reports["pause"] = SLICE
                solved = [solve_lane(self, lanes[0], plan, reports[0])]
            else:
                workers = pool(min(len(lanes), self.threads or cores()))
                solved = gather(
                    (
                        workers.submit(solve_lane, self, *each)
                        for each in zip(lanes, [plan] * len(lanes), reports, strict=True)
                    ),
                    lambda: plan.report(float(reports["time"][:, 0].sum()), len(lanes) * float(plan.times[-1])),
                )
        return labelled(self, lanes, plan, solved, reports[:, 0])

    def _prepare(self, lanes: list[Lane], plan: Plan) -> None:
        """Compile before the time is counted."""
        for lane in lanes if is_closed(lanes[0].problem) else lanes[:1]:
            method = chosen(self, lane, plan) if is_closed(lane.problem) else "explicit"
            one = system(lane.problem, pack(lane.problem, lane.start), self.nodes, moments=False)
            entry, functions, _ = integrator(
                method, self.rtol, lane.problem.inputs.blocks, lane.problem.student.activation
            )
            if one.compiled:
                kernels = (one.observe, one.rhs) if method == "explicit" else functions
                prepare(entry, *(kernel for kernel in kernels if not isinstance(kernel, int)))

    def check(self, lanes: list[Lane]) -> None:
        """Raise an error for what this level cannot do, before anything runs."""
        check_method(self, lanes)
        check_rule(lanes[0].problem)
        check_functions(lanes[0].problem)
        if self.small_rate and lanes[0].problem.training.rate_rule is not None:
            raise ValueError("small_rate: true given, but training.rate_rule needs the squared gradients that it drops")


def _interrupt(reports: np.ndarray) -> None:
    reports["interrupt"] = 1

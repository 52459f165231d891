"""The deterministic limit as a level: pack the problem, integrate, label."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple

import numpy as np

from solvable.dynamics.exactness import is_closed, is_exact, rule_for
from solvable.dynamics.functions import is_additive
from solvable.dynamics.kernel_choice import system
from solvable.dynamics.kernel_data import RISK, SEEN, WATCHED, Packed, pack, unpack
from solvable.dynamics.moments import NODES, field_covariance, moments
from solvable.dynamics.quadratic_flow import flow_overlaps
from solvable.dynamics.weight_equations import columns, pack_rows
from solvable.levels import Lane, Plan
from solvable.levels.limits import check_outputs, check_whole
from solvable.macro.integrators import FINER, integrator
from solvable.numerics.control import FALLS, REPORT, RISES, control, outputs_for
from solvable.numerics.ending import Ending
from solvable.numerics.interpreting import interpreted, prepare
from solvable.numerics.threads import bell, cores, gather, one_blas_thread, pool
from solvable.overlaps import integrated
from solvable.problems import ONE_PASS, Problem
from solvable.results import Blocks, Threshold, Trajectory
from solvable.results.building import Curves, Ends, build

METHODS = ("auto", "explicit", "implicit", "weights", "closed")
SHARPER = 30.0  # tolerance of implicit steps: on a plateau their errors grow by more than those of explicit ones
REPETITIONS = 2  # with other nodes, where averages need nodes
SPREAD = 1.5  # errors that are reported, over how far a run and its repetitions are apart: 19 of 20 true ones are below
NOISY = 10.0  # times the drift: noise beyond this makes no stiff equations but diverging ones
BOUND = 1e8  # overlaps beyond this multiple of the first have diverged


class Solved(NamedTuple):
    """Results of one lane: overlaps summed over blocks (time, ...) and, if kept, of each block; the last state, packed."""

    student: np.ndarray
    cross: np.ndarray
    readout: np.ndarray
    blocks: Blocks | None
    risk: np.ndarray
    risk_error: np.ndarray
    overlap_error: np.ndarray
    start_risk: float
    last: np.ndarray
    interpreted: bool = False


@dataclass(frozen=True)
class Macro:
    """The deterministic limit as a level: ordinary differential equations of the overlaps at infinite dim.

    Parameters
    ----------
    rtol, atol : float
        Bounds on the error of each step. Over a run the error is about rtol, times what a plateau makes of it: there
        errors grow as the differences between students do.
    small_rate : bool
        Whether to drop the terms of order rate^2, which leaves gradient flow.
    max_steps : int
        Steps after which a run gives up.
    method : str
        "explicit": order 5, or 8 at small rtol (1e-8 and below; 1e-9 with several eigenvalues). "implicit": order 5,
        for spectra whose largest eigenvalues make the equations stiff (free norms and closed moments only). "weights":
        order 3, for the same spectra with weights in place of overlaps, at small_rate; far fewer numbers where hardly
        any eigenvalue repeats. "closed": closed form of gradient flow, for quadratic units at small_rate. "auto":
        whichever of explicit, implicit and weights is estimated to need the least work.
    nodes, node_seed : int
        Number and seed of the points over which moments are averaged, where they have no closed form and need more than
        two fields. The run is then repeated twice with other points; `risk_error` and `overlap_error` are one and a
        half times the largest difference of the three, and rtol is at least 1e-5.
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
    clock = counts = "alpha"  # what progress is told in
    domain = ONE_PASS

    def __post_init__(self) -> None:
        for field, low, high in [("rtol", 1e-14, 1e-2), ("atol", 0.0, 1e-2)]:
            value = getattr(self, field)
            if not isinstance(value, int | float) or not low <= value <= high:
                raise ValueError(f"{field}: {value!r} given, must be between {low:g} and {high:g}")
        check_whole(self, max_steps=1, nodes=16, node_seed=0, threads=1)
        if self.nodes & (self.nodes - 1):
            raise ValueError(f"nodes: {self.nodes} given, must be a power of two")
        if self.method not in METHODS:
            raise ValueError(f"method: {self.method!r} given, must be one of {', '.join(METHODS)}")

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
        workers = pool(min(len(lanes), self.threads or cores()))
        if self.seconds is not None and self.method != "closed":
            self._prepare(lanes, plan)
        with bell(lambda: _interrupt(reports), self.seconds):
            solved = gather(
                (
                    workers.submit(self._solve_lane, *each)
                    for each in zip(lanes, [plan] * len(lanes), reports, strict=True)
                ),
                lambda: plan.report(float(reports["time"][:, 0].sum()), len(lanes) * float(plan.times[-1])),
            )
        return self._label(lanes, plan, solved, reports[:, 0])

    def _prepare(self, lanes: list[Lane], plan: Plan) -> None:
        """Compile before the time is counted."""
        for lane in lanes if is_closed(lanes[0].problem) else lanes[:1]:
            method = self._method(lane, plan) if is_closed(lane.problem) else "explicit"
            one = system(lane.problem, pack(lane.problem, lane.start), self.nodes)
            entry, functions, _ = integrator(method, self.rtol, lane.problem.inputs.blocks)
            if one.compiled:
                kernels = functions if is_closed(lane.problem) else (one.observe, one.rhs)
                prepare(entry, *(kernel for kernel in kernels if not isinstance(kernel, int)))

    def _label(self, lanes: list[Lane], plan: Plan, solved: list[Solved], reports: np.ndarray) -> Trajectory:
        problem = lanes[0].problem
        kept = [one.blocks for one in solved if one.blocks is not None]
        blocks = Blocks(_stacked(one.student for one in kept), _stacked(one.cross for one in kept)) if kept else None
        end_student, end_cross, end_readout = unpack(problem, _stacked(one.last for one in solved))
        curves = Curves(
            alpha=plan.times,
            risk=_stacked(one.risk for one in solved),
            student_overlap=_stacked(one.student for one in solved),
            cross_overlap=_stacked(one.cross for one in solved),
            readout=_stacked(one.readout for one in solved),
            risk_error=_stacked(one.risk_error for one in solved),
            overlap_error=_stacked(one.overlap_error for one in solved),
            blocks=blocks,
        )
        endings, times, evaluations = (reports[name].copy() for name in ("ending", "time", "evaluations"))
        ends = Ends(Blocks(end_student, end_cross), end_readout, endings, times, evaluations)
        settings = self.settings() | ({"interpreted": True} if any(one.interpreted for one in solved) else {})
        starts, risks = [lane.start for lane in lanes], np.array([one.start_risk for one in solved])
        return build(problem, self.name, settings, starts, risks, curves, ends, stop=plan.stop)

    @np.errstate(all="ignore")  # a run that diverges overflows before it is stopped
    def _solve_lane(self, lane: Lane, plan: Plan, reports: np.ndarray) -> Solved:
        report, *again = reports
        if self.method == "closed":
            return _follow_closed_form(lane, plan, report)
        exact = is_exact(lane.problem, self.nodes, noise=not self.small_rate)
        scattered = not exact and not (self.small_rate and is_additive(lane.problem))
        rtol = max(self.rtol, 1e-5) if scattered else self.rtol  # scattered nodes are no finer
        solved = self._integrate(lane, plan, report, self.node_seed, rtol)
        if exact or report.ending == Ending.INTERRUPTED:
            return solved
        finer, seeds = rtol if scattered else 0.1 * rtol, range(self.node_seed + 1, self.node_seed + 1 + REPETITIONS)
        others = [self._integrate(lane, plan, *each, finer) for each in zip(again, seeds, strict=True)]
        report.evaluations += sum(one.evaluations for one in again)
        floor = rtol if scattered else 0.0
        risks, moving = (np.stack([part(one) for one in (solved, *others)]) for part in (_risk, _moving))
        of_risk = SPREAD * np.ptp(risks, axis=0) + floor * solved.start_risk
        of_overlaps = SPREAD * np.ptp(moving, axis=0).max(axis=1) + floor * np.abs(moving[0]).max(axis=1)
        ended = np.isfinite(solved.risk) & ~np.isfinite(risks).all(axis=0)
        for error in (of_risk, of_overlaps):
            error[ended] = np.inf  # a repetition ended before: unknown
            np.fmax.accumulate(error, out=error)  # runs may cross: never less than before
        return solved._replace(risk_error=of_risk, overlap_error=of_overlaps)

    def _integrate(self, lane: Lane, plan: Plan, report: Any, node_seed: int, rtol: float) -> Solved:
        closed, block = is_closed(lane.problem), None
        method = self._method(lane, plan) if closed else "explicit"
        if method == "weights":
            packed, block = pack_rows(lane.problem, lane.start, lane.weights)
        else:
            packed = pack(lane.problem, lane.start, noise=not self.small_rate)
        function = None if plan.stop is None else plan.stop.function
        one = system(lane.problem, packed, self.nodes, node_seed)
        if plan.stop is not None and function is None:
            one = one.watching(plan.stop.watched)
        packed, data, compiled = one.packed, one.data(), one.compiled and function is None
        entry, functions, rows = integrator(method, rtol, lane.problem.inputs.blocks)
        if not closed:
            functions = one.observe, one.rhs
        if function is not None:
            functions = _asking(function, lane, functions[0]), *functions[1:]
        first = np.full(SEEN, np.nan)
        with suppress(np.linalg.LinAlgError):  # too large for averages: the run finds it diverged
            functions[0](0, 0.0, packed.state, first, *data)
        told = control(
            rtol=rtol / SHARPER if method == "implicit" else rtol, atol=self.atol, max_steps=self.max_steps,
            bound=BOUND * _size(lane), floor=_floor(lane, first), watch=_threshold(plan.stop, first),
        )  # fmt: skip
        outputs = outputs_for(plan.times, packed.state, SEEN)
        with (
            _breakdown(plan.times, outputs, report),
            one_blas_thread() if method == "weights" else nullcontext(),
        ):
            course, memory = (plan.times, packed.breaks, outputs), np.empty((rows, packed.state.size))
            (entry if compiled else interpreted(entry))(*functions, told, report, course, memory, data)
        states, last, exact = outputs[:-1, SEEN:], outputs[-1, SEEN:], np.zeros(plan.times.size)
        risks = outputs[:-1, RISK], exact, exact, float(first[RISK])
        if block is None:
            in_python = compiled and method == "explicit" and not entry.overloads
            return Solved(*_overlaps(lane.problem, states, plan), *risks, last, in_python)
        return Solved(
            *_overlaps_of_rows(lane, packed, block, states, plan), *risks, _last_rows(lane, packed, block, last)
        )

    def _method(self, lane: Lane, plan: Plan) -> str:
        """The explicit method must resolve the fastest block, the implicit one solves with a Jacobian and lands on outputs: compare
        their work, in right-hand sides. Calibrated on two to eight linear and erf students with 8 to 1024 eigenvalues, where the
        one that is chosen takes at most one and a half times as long as the other."""
        if self.method != "auto":
            return self.method
        problem = lane.problem
        if problem.inputs.blocks == 1 or problem.inputs.is_scheduled or problem.student.norm == "sphere":
            return "explicit"
        now = problem.at(0.0)
        found = moments(field_covariance(now, lane.start), now, lane.start.readout)
        drift, rate = found.drift, float(problem.training.schedule.segments[:, 1].max())
        noise = rate * float(problem.inputs.fractions @ problem.inputs.eigenvalues) * np.abs(found.noise).max()
        if not np.isfinite(drift).all() or (not self.small_rate and not noise < NOISY * np.abs(drift).max()):
            return "explicit"  # which finds sooner that it diverges
        p, q, blocks = problem.student.width, problem.teacher.width, problem.inputs.blocks
        speed = lane.problem.inputs.eigenvalues.max() * np.abs(np.linalg.eigvalsh(drift[:, :p])).max()
        stretches = 2 * speed * lane.problem.training.schedule.integral(plan.times[-1])
        step = 8 + 5 * p + 1.3 * p * (p * (p + 1) + 2 * p * q) / blocks
        work = {
            "explicit": (3.0 if self.rtol <= FINER else 1.8) * stretches,  # order 8 or 5
            "implicit": step * (60 + 2.5 * plan.times.size + 10 * (self.rtol / SHARPER) ** -0.2),
        }
        if not _misfits_of_rows(self, problem) and (plan.stop is None or plan.stop.function is None):
            numbers = columns(lane.start, lane.weights) * (3 * p + q) / (blocks * (p + q) ** 2)
            work["weights"] = 30 / np.sqrt(self.rtol) * numbers
        return min(work, key=work.__getitem__)

    def check(self, lanes: list[Lane]) -> None:
        """Raise an error for what this level cannot do, before anything runs."""
        problem = lanes[0].problem
        if self.method == "closed" and not self.small_rate:
            raise ValueError(
                "method: 'closed' given, but small_rate is false; the closed form is that of gradient flow"
            )
        if not is_closed(problem):
            rule_for(problem, self.nodes, 0)
        if self.method == "weights":
            for misfit in _misfits_of_rows(self, problem):
                raise ValueError(f"method: 'weights' given, but {misfit}")
        for one in [lane.problem for lane in lanes] if self.method == "implicit" else []:
            if one.student.norm == "sphere":
                raise ValueError("method: 'implicit' given, but student.norm is 'sphere'; must be 'explicit' or 'auto'")
            if one.inputs.is_scheduled:
                raise ValueError("method: 'implicit' given, but an eigenvalue is a schedule; must be 'auto'")
            if not is_closed(one):
                raise ValueError("method: 'implicit' given, but the moments have no closed form; must be 'auto'")


@contextmanager
def _breakdown(times: np.ndarray, outputs: np.ndarray, report: Any) -> Iterator[None]:
    """Eigenvalues of what has overflowed raise, in Python and in compiled code: the run diverged after the last output that it
    came to."""
    try:
        yield
    except np.linalg.LinAlgError:
        reached = np.flatnonzero(np.isfinite(outputs[:-1, SEEN:]).all(axis=1))
        report.ending, report.time = Ending.DIVERGED, times[reached[-1]] if reached.size else 0.0
        if reached.size:
            outputs[-1] = outputs[reached[-1]]


def _follow_closed_form(lane: Lane, plan: Plan, report: Any) -> Solved:
    if plan.stop is not None:
        raise ValueError("stop: given, but method 'closed' does not watch thresholds; use 'explicit'")
    skip = int(plan.times[0] > 0)  # the start is not among the outputs
    flow = flow_overlaps(lane.problem, lane.start, np.concatenate([np.zeros(skip), plan.times]))
    rows = np.concatenate([flow.student_overlap, flow.cross_overlap], axis=2).reshape(len(flow.risk), -1)
    readouts = np.broadcast_to(lane.start.readout, (len(rows), lane.start.readout.size))
    states = np.concatenate([rows, readouts], axis=1)[skip:]
    report.ending, report.time = Ending.FINISHED, plan.times[-1]
    exact = np.zeros(plan.times.size)
    risks = flow.risk[skip:], exact, exact, float(flow.risk[0])
    return Solved(*_overlaps(lane.problem, states, plan), *risks, states[-1])


def _stacked(arrays: Iterable[np.ndarray]) -> np.ndarray:
    """(run, ...); of a single run without a copy, which is most of the time that labels take."""
    runs = list(arrays)
    return runs[0][None] if len(runs) == 1 else np.stack(runs)


Outputs = tuple[np.ndarray, np.ndarray, np.ndarray, Blocks | None]


def _risk(solved: Solved) -> np.ndarray:
    return solved.risk


def _moving(solved: Solved) -> np.ndarray:
    """(time, everything that moves) overlaps and readouts."""
    parts = solved.student, solved.cross, solved.readout
    return np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)


def _overlaps(problem: Problem, states: np.ndarray, plan: Plan) -> Outputs:
    """Of packed states: in all blocks together, and in each if asked for."""
    student, cross, readout = unpack(problem, states)
    blocks = Blocks(student, cross) if plan.keep_blocks else None
    if problem.inputs.blocks == 1:
        return student[:, 0], cross[:, 0], readout, blocks
    return student.sum(axis=1), cross.sum(axis=1), readout, blocks


def _overlaps_of_rows(lane: Lane, packed: Packed, block: np.ndarray, states: np.ndarray, plan: Plan) -> Outputs:
    """The same of states that are weights."""
    p, q, m = lane.problem.student.width, lane.problem.teacher.width, block.size
    J, B = states[:, : p * m].reshape(-1, p, m), packed.numbers[-q * m :].reshape(q, m)
    totals = J @ J.transpose(0, 2, 1), J @ B.T, states[:, p * m :]
    if not plan.keep_blocks:
        return *totals, None
    parts = [_blocks_of_rows(lane.problem, one, B, block) for one in J]
    return *totals, Blocks(np.stack([one.student for one in parts]), np.stack([one.cross for one in parts]))


def _last_rows(lane: Lane, packed: Packed, block: np.ndarray, last: np.ndarray) -> np.ndarray:
    """The last state, packed as overlaps."""
    p, q, m = lane.problem.student.width, lane.problem.teacher.width, block.size
    found = _blocks_of_rows(lane.problem, last[: p * m].reshape(p, m), packed.numbers[-q * m :].reshape(q, m), block)
    return np.concatenate([np.concatenate([found.student, found.cross], axis=2).ravel(), last[p * m :]])


def _blocks_of_rows(problem: Problem, J: np.ndarray, B: np.ndarray, block: np.ndarray) -> Blocks:
    """Overlaps per block of weights whose columns are sorted by block."""
    edges = np.searchsorted(block, np.arange(1, problem.inputs.blocks))
    pairs = zip(np.split(J, edges, axis=1), np.split(B, edges, axis=1), strict=True)
    student, cross = zip(*((j @ j.T, j @ b.T) for j, b in pairs), strict=True)
    return Blocks(np.array(student), np.array(cross))


def _misfits_of_rows(level: Macro, problem: Problem) -> list[str]:
    """Why weights cannot stand for overlaps."""
    reasons = {
        "small_rate is false; noise moves weights at random": not level.small_rate,
        "student.norm is 'sphere'": problem.student.norm == "sphere",
        "an eigenvalue is a schedule": problem.inputs.is_scheduled,
        "training.train_readout is true": problem.training.train_readout,
        "the moments have no closed form": not is_closed(problem),
    }
    return [reason for reason, holds in reasons.items() if holds]


def _threshold(stop: Threshold | None, first: np.ndarray) -> tuple[int, int, float]:
    """Which of the scalars is watched (-1: none), in which direction it must pass, and which level."""
    if stop is None:
        return -1, RISES, 0.0
    return WATCHED, FALLS if stop.falls else RISES, stop.level_for(first[WATCHED])


def _asking(function: Any, lane: Lane, look: Any) -> Any:
    """An observer that watches a function of the user's own."""

    def observe(segment: int, t: float, y: np.ndarray, seen: np.ndarray, *data: Any) -> None:
        look(segment, t, y, seen, *data)
        student, cross, readout = unpack(lane.problem, y)
        value = function(integrated(student, cross, lane.start.block_teacher_overlap, readout))
        if np.ndim(value) > 0 or value is None or np.isnan(value):
            raise ValueError(f"stop: the function returned {value!r}, must return a number")
        seen[WATCHED] = value

    return observe


def _floor(lane: Lane, first: np.ndarray) -> float:
    """Risk below which nothing can grow any more: zero, up to rounding, where neither noise nor decay moves a perfect student."""
    training = lane.problem.training
    still = not (training.label_noise or training.weight_decay)
    return 1e-14 * min(float(first[RISK]), training.loss_factor) if still else -np.inf


def _size(lane: Lane) -> float:
    """The largest overlap at the start, at least one."""
    parts = lane.start.block_student_overlap, lane.start.block_cross_overlap, lane.start.block_teacher_overlap
    return max(1.0, *(float(np.abs(part).sum(axis=0).max()) for part in parts))


def _interrupt(reports: np.ndarray) -> None:
    reports["interrupt"] = 1

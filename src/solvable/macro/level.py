"""The deterministic limit as a level: pack the problem, integrate, label."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple

import numpy as np

from solvable.dynamics.closed_flow import flow_overlaps
from solvable.dynamics.functions import has_numbers, uses_pairs
from solvable.dynamics.general import is_closed, is_exact, rule_for
from solvable.dynamics.kernel_data import RISK, SEEN, WATCHED, pack, summed, unpack, unpack_rest
from solvable.dynamics.moments import NODES, field_covariance, moments
from solvable.dynamics.rows import columns, pack_rows
from solvable.dynamics.system import system, task_risks
from solvable.macro.integrators import integrator
from solvable.macro.outputs import last_rows, overlaps_of, overlaps_of_rows
from solvable.numerics.driving import FALLS, REPORT, RISES, control, outputs_for
from solvable.numerics.ending import Ending
from solvable.numerics.interpreting import interpreted, prepare
from solvable.numerics.threads import bell, cores, gather, one_blas_thread, pool
from solvable.overlaps import integrated
from solvable.problems import FEATURES, Problem, features
from solvable.results import Blocks, Lane, Plan, Threshold, Trajectory
from solvable.results.rest import with_rest
from solvable.results.sampling import check_whole
from solvable.results.sizes import check_outputs

METHODS = ("auto", "explicit", "implicit", "exponential", "weights", "closed")
SHARPER = 30.0  # tolerance of implicit steps: on a plateau their errors grow by more than those of explicit ones
REPETITIONS = 2  # with other nodes, where averages need nodes
SPREAD = 1.5  # errors that are reported, over how far a run and its repetitions are apart: 19 of 20 true ones are below
NOISY = 10.0  # times the drift: noise beyond this makes no stiff equations but diverging ones
BOUND = 1e8  # overlaps beyond this multiple of the first have diverged


class Solved(NamedTuple):
    """Of one lane: overlaps in all blocks together (time, ...) and, if asked for, in each; the last state, packed."""

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
    states: np.ndarray | None = None  # packed, where there is more in them than the above
    task_risk: np.ndarray | None = None


@dataclass(frozen=True)
class Macro:
    """The ordinary differential equations of the overlaps (infinite dim).

    `rtol` and `atol` bound the error of each step; over a run the error measured is of the size of rtol (times what a plateau
    makes of it: there errors grow as the differences between students do). `small_rate`
    drops the order rate^2, which leaves gradient flow. `method` is "explicit" (order 5, or 8 where rtol is
    small: up to 1e-8, or 1e-9 with several eigenvalues), "implicit" (order 5, for
    spectra with many eigenvalues, whose largest make the equations stiff; free norms and closed moments only), "exponential"
    (order 3, for the same; it keeps all overlaps possible at any tolerance), "weights" (the
    same with weights in place of overlaps, at small_rate: far fewer numbers where hardly any eigenvalue repeats), "closed"
    (the closed form of gradient flow, for quadratic units at small_rate) or "auto": whichever of explicit, implicit and weights is
    estimated to need the least work. Where moments have no closed form and need more than two fields, they are averages over
    `nodes` points drawn by `node_seed`; the run is then repeated twice with other points, and `risk_error` and `overlap_error`
    are one and a half times how far the three are apart (rtol is then at least 1e-5). A batch uses `threads` (None: all cores).
    After `seconds` a run ends as interrupted (None: never), for those who cannot wait.
    """

    rtol: float = 1e-8
    atol: float = 1e-14
    small_rate: bool = False
    max_steps: int = 1_000_000
    method: Literal["auto", "explicit", "implicit", "exponential", "weights", "closed"] = "auto"
    nodes: int = NODES
    node_seed: int = 0
    threads: int | None = None
    seconds: float | None = None

    name = "macro"
    clock = counts = "alpha"  # what progress is told in
    one_pass = True
    features = FEATURES

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
        """What the result depends on."""
        return {
            field.name: getattr(self, field.name) for field in fields(self) if field.name not in ("threads", "seconds")
        }

    def solve(self, lanes: list[Lane], plan: Plan) -> Trajectory:
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
                kernels = (one.observe, one.rhs) if method == "explicit" else functions
                prepare(entry, *(kernel for kernel in kernels if not isinstance(kernel, int)))

    def _label(self, lanes: list[Lane], plan: Plan, solved: list[Solved], reports: np.ndarray) -> Trajectory:
        problem = lanes[0].problem
        kept = [one.blocks for one in solved if one.blocks is not None]
        blocks = Blocks(_stacked(one.student for one in kept), _stacked(one.cross for one in kept)) if kept else None
        end_student, end_cross, end_readout = unpack(problem, _stacked(one.last for one in solved))
        tasks = [one.task_risk for one in solved if one.task_risk is not None]
        made = Trajectory(
            problem=problem,
            level=self.name,
            settings=self.settings() | ({"interpreted": True} if any(one.interpreted for one in solved) else {}),
            alpha=plan.times,
            risk=_stacked(one.risk for one in solved),
            risk_error=_stacked(one.risk_error for one in solved),
            overlap_error=_stacked(one.overlap_error for one in solved),
            start_risk=np.array([one.start_risk for one in solved]),
            student_overlap=_stacked(one.student for one in solved),
            cross_overlap=_stacked(one.cross for one in solved),
            readout=_stacked(one.readout for one in solved),
            block_teacher_overlap=_stacked(lane.start.block_teacher_overlap for lane in lanes),
            end_blocks=Blocks(end_student, end_cross),
            end_readout=end_readout,
            start_hash=np.array([lane.start.hash for lane in lanes], dtype=object),
            endings=reports["ending"].copy(),
            end_alpha=reports["time"].copy(),
            nfev=reports["evaluations"].copy(),
            blocks=blocks,
            stop=plan.stop,
            task_risk=_stacked(tasks) if tasks else None,
        )
        states = [one.states for one in solved if one.states is not None]
        if not states:
            return made
        ends, outputs = _stacked(one.last for one in solved), _stacked(states)
        return with_rest(made, [lane.start for lane in lanes], summed(problem, outputs), ends, outputs)

    @np.errstate(all="ignore")  # a run that diverges overflows before it is stopped
    def _solve_lane(self, lane: Lane, plan: Plan, reports: np.ndarray) -> Solved:
        report, *again = reports
        if self.method == "closed":
            return _follow_closed_form(lane, plan, report)
        exact = is_exact(lane.problem, self.nodes, noise=not self.small_rate)
        scattered = not exact and not (self.small_rate and uses_pairs(lane.problem))
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
        block, method = None, self._method(lane, plan) if is_closed(lane.problem) else "explicit"
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
        if method == "explicit":
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
            solved = Solved(*overlaps_of(lane.problem, states, plan), *risks, last, in_python)
            return _with_cases(solved, lane, plan, states, self.nodes) if features(lane.problem) else solved
        return Solved(
            *overlaps_of_rows(lane, packed, block, states, plan), *risks, last_rows(lane, packed, block, last)
        )

    def _method(self, lane: Lane, plan: Plan) -> str:
        """The explicit method must resolve the fastest block, the implicit one solves with a Jacobian: compare their work, in
        right-hand sides, calibrated on two to eight erf students with 16 to 1024 eigenvalues."""
        if self.method != "auto":
            return self.method
        problem = lane.problem
        if problem.inputs.blocks == 1 or problem.inputs.is_scheduled or problem.student.norm == "sphere":
            return "explicit"
        if features(problem):
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
        work = {"explicit": 6 * stretches / 3.3, "implicit": step * (45 + 10 * (self.rtol / SHARPER) ** -0.2)}
        if not _misfits_of_rows(self, problem) and (plan.stop is None or plan.stop.function is None):
            numbers = columns(lane.start, lane.weights) * (3 * p + q) / (blocks * (p + q) ** 2)
            work["weights"] = 30 / np.sqrt(self.rtol) * numbers
        return min(work, key=work.__getitem__)

    def check(self, lanes: list[Lane]) -> None:
        """Refuse what this level cannot do, before anything runs."""
        problem = lanes[0].problem
        if self.method == "closed" and not self.small_rate:
            raise ValueError(
                "method: 'closed' given, but small_rate is false; the closed form is that of gradient flow"
            )
        if not is_closed(problem):
            rule_for(problem, self.nodes, 0)
        for name in features(problem):
            if self.method not in ("auto", "explicit"):
                raise ValueError(f"method: {self.method!r} given, but {name} is too; must be 'explicit' or 'auto'")
            if not has_numbers(problem):
                raise ValueError(
                    f"{name}: given together with a function that only Python can call; Macro has no averages"
                )
        if self.method == "weights":
            for misfit in _misfits_of_rows(self, problem):
                raise ValueError(f"method: 'weights' given, but {misfit}")
        if self.method in ("implicit", "exponential"):
            for lane in lanes:
                if lane.problem.student.norm == "sphere":
                    raise ValueError(
                        f"method: {self.method!r} given, but student.norm is 'sphere'; must be 'explicit' or 'auto'"
                    )
                if lane.problem.inputs.is_scheduled:
                    raise ValueError(f"method: {self.method!r} given, but an eigenvalue is a schedule; must be 'auto'")
                if not is_closed(lane.problem):
                    raise ValueError(
                        f"method: {self.method!r} given, but the moments have no closed form; must be 'auto'"
                    )


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
    return Solved(*overlaps_of(lane.problem, states, plan), *risks, states[-1])


def _stacked(arrays: Iterable[np.ndarray]) -> np.ndarray:
    """(run, ...); of a single run without a copy, which is most of the time that labels take."""
    runs = list(arrays)
    return runs[0][None] if len(runs) == 1 else np.stack(runs)


def _with_cases(solved: Solved, lane: Lane, plan: Plan, states: np.ndarray, nodes: int) -> Solved:
    """With what only problems of several cases have: rows beyond students and teachers, and risks of single tasks."""
    problem = lane.problem
    more = states if problem.extras or problem.teacher.is_moving else None
    risks = task_risks(problem, lane.start, states, plan.times, nodes) if problem.tasks else None
    return solved._replace(states=more, task_risk=risks)


def _risk(solved: Solved) -> np.ndarray:
    return solved.risk


def _moving(solved: Solved) -> np.ndarray:
    """(time, everything that moves) overlaps and readouts."""
    parts = solved.student, solved.cross, solved.readout
    return np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)


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
        teacher, extra = unpack_rest(lane.problem, lane.start, y)
        teacher = lane.start.block_teacher_overlap if teacher is None else teacher
        value = function(integrated(student, cross, teacher, readout, lane.problem.extras, extra))
        if np.ndim(value) > 0 or value is None or np.isnan(value):
            raise ValueError(f"stop: the function returned {value!r}, must return a number")
        seen[WATCHED] = value

    return observe


def _floor(lane: Lane, first: np.ndarray) -> float:
    """Risk below which nothing can grow any more: zero, up to rounding, where neither noise nor decay moves a perfect student."""
    training = lane.problem.training
    still = not (training.label_noise or training.weight_decay or features(lane.problem))
    return 1e-14 * min(float(first[RISK]), training.loss_factor) if still else -np.inf


def _size(lane: Lane) -> float:
    """The largest overlap at the start, at least one."""
    return max(1.0, float(np.abs(lane.start.stacked).sum(axis=0).max()))


def _interrupt(reports: np.ndarray) -> None:
    reports["interrupt"] = 1

"""One lane: pack the problem, integrate, and repeat with other nodes where averages need nodes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from solvable.dynamics.equal_units import orbits_of
from solvable.dynamics.exactness import SCATTER, is_closed, is_exact, tolerance_floor
from solvable.dynamics.functions import uses_pairs
from solvable.dynamics.kernel_choice import closed_kernels, system, task_risks
from solvable.dynamics.kernel_data import RISK, SEEN, WATCHED, Packed, pack, unpack, unpack_rest, unpack_scalars
from solvable.dynamics.orbit_averages import Equalised, advance_orbits, equalised, parts_of, rhs_of_orbits
from solvable.dynamics.quadratic_flow import flow_overlaps
from solvable.dynamics.weight_equations import pack_rows
from solvable.levels import Lane, Plan
from solvable.macro.choice import SHARPER, chosen
from solvable.macro.integrators import integrator
from solvable.macro.outputs import Solved, last_rows, overlaps, overlaps_of_rows
from solvable.macro.rest import alike, leaves, rest_of
from solvable.numerics.compiled import expect
from solvable.numerics.control import FALLS, RISES, Y, control, outputs_for
from solvable.numerics.driving import PAUSED
from solvable.numerics.ending import Ending
from solvable.numerics.interpreting import by_machine_code, interpreted
from solvable.numerics.threads import one_blas_thread
from solvable.overlaps import integrated
from solvable.results import Threshold

if TYPE_CHECKING:
    from solvable.macro.level import Macro

REPETITIONS = 2  # with other nodes, where averages need nodes
SPREAD = 1.5  # errors that are reported, over how far a run and its repetitions are apart: 19 of 20 true ones are below
SLICE = 256  # steps at once of what is small:
FEW, MANY = 16, 10**5  # so few students and teachers, and not more outputs
LOOK = 512  # steps after which a run is looked at for the first time
MOVED = 100.0  # times rtol: how far a state at rest moves at most between two looks
BOUND = 1e8  # overlaps beyond this multiple of the first, or of one, have diverged


def is_small(level: "Macro", lanes: list[Lane], plan: Plan) -> bool:
    """Whether this thread may compute, a slice after the other: there is one lane, the machine code is at hand, and a slice takes
    less than a tenth of a second, so that Ctrl-C is heard. Another thread would take longer to wake than many a run takes."""
    problem = lanes[0].problem
    if (
        len(lanes) > 1
        or level.method not in ("auto", "explicit")
        or problem.inputs.blocks > 1
        or not is_closed(problem)
        or problem.features  # which have other kernels
    ):
        return False
    entry = integrator("explicit", level.rtol, 1).entry
    rhs, observe = closed_kernels(problem, moments=False)
    return (
        problem.student.width + problem.teacher.width <= FEW
        and plan.times.size <= MANY
        and (plan.stop is None or plan.stop.function is None)
        and all(kernel.overloads for kernel in (entry, rhs, observe))
    )


@np.errstate(all="ignore")  # a run that diverges overflows before it is stopped
def solve_lane(level: "Macro", lane: Lane, plan: Plan, reports: np.ndarray) -> Solved:
    report, *again = reports
    if level.method == "closed":
        return _follow_closed_form(lane, plan, report)
    exact = is_exact(lane.problem, level.nodes, noise=not level.small_rate)
    scattered = not exact and not (level.small_rate and uses_pairs(lane.problem))
    rtol = max(level.rtol, tolerance_floor(lane.problem, level.nodes)) if scattered else level.rtol
    solved = _integrate(level, lane, plan, report, level.node_seed, rtol)
    if exact or report.ending == Ending.INTERRUPTED:
        return solved
    finer, seeds = rtol if scattered else 0.1 * rtol, range(level.node_seed + 1, level.node_seed + 1 + REPETITIONS)
    others = [_integrate(level, lane, plan, *each, finer) for each in zip(again, seeds, strict=True)]
    report.evaluations += sum(one.evaluations for one in again)
    floor = rtol if scattered else 0.0
    risks = np.stack([one.risk for one in (solved, *others)])
    moving = np.stack([one.moving for one in (solved, *others)])
    of_risk = SPREAD * np.ptp(risks, axis=0) + floor * solved.start_risk
    of_overlaps = SPREAD * np.ptp(moving, axis=0).max(axis=1) + floor * np.abs(moving[0]).max(axis=1)
    ended = np.isfinite(solved.risk) & ~np.isfinite(risks).all(axis=0)
    for error in (of_risk, of_overlaps):
        error[ended] = np.inf  # a repetition ended before: unknown
        np.fmax.accumulate(error, out=error)  # runs may cross: never less than before
    raised = rtol if rtol > max(level.rtol, SCATTER) else 0.0
    return solved._replace(risk_error=of_risk, overlap_error=of_overlaps, raised=raised)


def _integrate(level: "Macro", lane: Lane, plan: Plan, report: Any, node_seed: int, rtol: float) -> Solved:
    block, method = None, chosen(level, lane, plan) if is_closed(lane.problem) else "explicit"
    if method == "weights":
        packed, block = pack_rows(lane.problem, lane.start, lane.weights)
    else:
        packed = pack(lane.problem, lane.start, noise=not level.small_rate)
    function = None if plan.stop is None else plan.stop.function
    one = system(lane.problem, packed, level.nodes, node_seed, moments=False)
    if plan.stop is not None and function is None:
        one = one.watching(plan.stop.watched)
    orbits = None if method == "weights" else orbits_of(lane.problem, lane.start)
    work, slope = one.workspace(), one.rhs
    if orbits is not None:
        one = one._replace(packed=equalised(one.packed, orbits))
        slope = Equalised(one.rhs, rhs_of_orbits, one.packed.numbers)
    packed, data, compiled = one.packed, one.data(work), one.compiled and function is None
    entry, functions, rows = integrator(method, rtol, lane.problem.inputs.blocks, lane.problem.student.activation)
    if method == "explicit":
        functions = one.observe, slope
    elif orbits is not None:
        functions = functions[0], Equalised(functions[1], advance_orbits, packed.numbers), *functions[2:]
    if function is not None:
        functions = _asking(function, lane, functions[0]), *functions[1:]
    expect(entry, *(kernel for one in functions for kernel in parts_of(one)))
    first = np.full(SEEN, np.nan)
    with suppress(np.linalg.LinAlgError):  # too large for averages: the run finds it diverged
        functions[0](0, 0.0, packed.state, first, *data)
    told = control(
        rtol=rtol / SHARPER if method == "implicit" else rtol, atol=level.atol, max_steps=level.max_steps,
        bound=BOUND * max(1.0, lane.start.longest), floor=_floor(lane, first), watch=_threshold(plan.stop, first),
    )  # fmt: skip
    outputs = outputs_for(plan.times, packed.state, SEEN)
    with (
        _breakdown(plan.times, outputs, report),
        one_blas_thread() if method == "weights" else nullcontext(),
    ):
        course, memory = (plan.times, packed.breaks, outputs), np.empty((rows, packed.state.size))
        follow = partial(entry if compiled else interpreted(entry), *functions, told, report, course, memory, data)
        look = None if block is not None else _Look(partial(_slope, slope, report, data), report, told, memory, packed)
        rest = _to_the_end(follow, plan, report, look if method == "explicit" else None)
        if rest is not None:
            outputs[-1, SEEN:] = rest
            one.observe(report.segment, report.time, rest, outputs[-1, :SEEN], *data)
            outputs[report.saved : -1] = outputs[-1]
        if (
            report.ending == Ending.CONVERGED
            and look is not None
            and look.leaves(outputs[-1, :SEEN], outputs[-1, SEEN:])
        ):
            told.rests, outputs[:-1], outputs[-1, SEEN:], spent = 0, np.nan, packed.state, report.evaluations
            _to_the_end(follow, plan, report)
            report.evaluations += spent
    states, last, exact = outputs[:-1, SEEN:], outputs[-1, SEEN:], np.zeros(plan.times.size)
    risks = outputs[:-1, RISK], exact, exact, float(first[RISK])
    if block is None:
        uncompiled = compiled and method == "explicit" and not entry.overloads
        solved = Solved(*overlaps(lane.problem, states, plan), *risks, last, uncompiled)
        return _with_cases(solved, lane, plan, states, level.nodes) if lane.problem.features else solved
    return Solved(*overlaps_of_rows(lane, packed, block, states, plan), *risks, last_rows(lane, packed, block, last))


def _to_the_end(follow: Any, plan: Plan, report: Any, look: "_Look | None" = None) -> np.ndarray | None:
    """Follow a run, in slices if `report.pause` says so, between which Ctrl-C is heard. After so many steps, and then whenever they
    have doubled, `look` whether the state is at rest, which explicit steps at the limit of their stability do not see; return the
    state of rest if it is."""
    sliced, next_look = report.pause > 0, LOOK if look is not None else 0
    report.pause = min(SLICE, next_look) if sliced and next_look else SLICE if sliced else next_look
    follow()
    while report.ending == PAUSED:
        if sliced:
            plan.report(report.time, plan.times[-1])
        steps = report.accepted + report.rejected
        if look is not None and steps >= next_look:
            next_look, rest = 2 * next_look, look()
            if rest is not None:
                report.ending = Ending.CONVERGED
                return rest
        report.pause = steps + SLICE if sliced else next_look
        with by_machine_code():  # what is interpreted could not start again
            follow()
    return None


class _Look:
    """A look whether the state of a run is at rest, by the equations linear around it; `slope` is dy/dalpha at the present time."""

    def __init__(
        self, slope: Callable[[np.ndarray], np.ndarray], report: Any, told: Any, memory: np.ndarray, packed: Packed
    ) -> None:
        self.slope, self.report, self.told, self.memory, self.packed = slope, report, told, memory, packed
        self.before: np.ndarray | None = None

    def __call__(self) -> np.ndarray | None:
        """The state in which the run rests; None if it does not, or has moved since the last look."""
        y, before, rtol = self.memory[Y].copy(), self.before, self.told.rtol
        self.before = y
        if self.report.segment < len(self.packed.breaks) or not self.told.rests:
            return None
        if before is None or not np.abs(y - before).max() <= MOVED * rtol * np.abs(y).max():
            return None
        return rest_of(self.slope, y, self.report.end - self.report.time, rtol)

    def leaves(self, seen: np.ndarray, y: np.ndarray) -> bool:
        """Whether a state that came to rest would leave it within the time that is left, unless the risk has vanished for good."""
        problem = self.packed.problems[0]
        rows = y[: problem.blocks * problem.moving * problem.rows].reshape(problem.blocks, problem.moving, -1)
        symmetric = alike(rows.sum(axis=0)[: problem.students, problem.students :]) or bool(problem.several)
        if seen[RISK] <= self.told.floor or not symmetric:
            return False
        return leaves(self.slope, y.copy(), self.report.end - self.report.time, self.told.rtol)


def _slope(rhs: Any, report: Any, data: tuple[np.ndarray, ...], y: np.ndarray) -> np.ndarray:
    """dy/dalpha of a state at the time that a run has come to."""
    dy = np.empty(y.size)
    rhs(report.segment, report.time, y, dy, *data)
    return dy


def _with_cases(solved: Solved, lane: Lane, plan: Plan, states: np.ndarray, nodes: int) -> Solved:
    """With what only problems of several cases have: rows beyond students and teachers, and risks of single tasks."""
    problem = lane.problem
    more = states if problem.extras or problem.scalars or problem.teacher.is_moving else None
    risks = task_risks(problem, lane.start, states, plan.times, nodes) if problem.tasks else None
    return solved._replace(states=more, task_risk=risks)


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
    return Solved(*overlaps(lane.problem, states, plan), *risks, states[-1])


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
        scalars = unpack_scalars(lane.problem, y)
        value = function(integrated(student, cross, teacher, readout, lane.problem.extras, extra, scalars))
        if not isinstance(value, float | int | np.floating | np.integer | np.bool_) or np.isnan(value):
            raise ValueError(f"stop: the function returned {value!r}, must return a number")
        seen[WATCHED] = value

    return observe


def _floor(lane: Lane, first: np.ndarray) -> float:
    """Risk below which nothing can grow any more: zero, up to rounding, where neither noise nor decay moves a perfect student."""
    training = lane.problem.training
    moving = set(lane.problem.features) - {"training.rate_rule"}
    still = not (training.label_noise or training.weight_decay or moving)
    return 1e-14 * min(float(first[RISK]), training.loss_factor) if still else -np.inf

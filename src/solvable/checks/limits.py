"""Checks of the limit of a finite data set, at its corners and against finite data sets."""

import numpy as np

from solvable.checks.report import Report
from solvable.empirical import Empirical
from solvable.empirical_macro import EmpiricalMacro
from solvable.empirical_macro.replicas import widened
from solvable.levels import run
from solvable.macro import Macro
from solvable.overlaps import Overlaps
from solvable.problems import NotApplicable, Problem, Schedule
from solvable.problems.nearest import not_one_of
from solvable.problems.reuse import Ratio
from solvable.results import Trajectory
from solvable.theory import linear_data_losses

MANY = 1e6  # samples per dimension that are as good as infinitely many
LEVELS = 3  # of halved steps
WAYS = ("finite data", "many samples", "one pass", "linear")
Pair = tuple[np.ndarray, np.ndarray, np.ndarray]  # found, reference, scale


def limits_agree(
    problem: Problem, start: Overlaps, steps: int = 20, *, level: EmpiricalMacro | None = None, dim: int = 20_000, runs: int = 6,
    ways: str | tuple[str, ...] = WAYS, allowed: float = 5.0,
) -> Report:  # fmt: skip
    """Check the limit of a finite data set against whatever else tells it.

    Parameters
    ----------
    problem : Problem
        With a constant `training.step` and `samples`, a `Ratio`.
    start : Overlaps
        Where the runs begin.
    steps : int
        How many.
    level : EmpiricalMacro, optional
        With which settings; left out, the usual ones.
    dim, runs : int
        Dimension and number of the data sets of `Empirical`.
    ways : str or tuple of str
        Which of "finite data" (`Empirical` at `dim`), "many samples" (ratio to infinity, against `Macro(small_rate=True)`), "one
        pass" (fresh batches and steps that get smaller together, against `Macro` at a finite rate; both are left out with
        momentum, whose first steps no smaller ones resemble) and "linear" (linear units against Marchenko and Pastur's density;
        left out for others).
    allowed : float
        How many scales a number may deviate.

    Returns
    -------
    Report
        Risks and training losses; scales are the errors of both sides, with those of extrapolation to steps of zero.

    Examples
    --------
    >>> problem = sv.Problem(
    ...     teacher=sv.Teacher(width=1, activation="linear"), student=sv.Student(width=1, activation="linear"),
    ...     training=sv.Training(step=0.1, samples=sv.Ratio(2), label_noise=0.2),
    ... )
    >>> start = sv.start(problem, student_overlap=[[0.5]], cross_overlap=[[0.1]])
    >>> sv.checks.limits_agree(problem, start, 5, ways=("many samples", "linear")).passed
    True
    """
    training = problem.training
    if isinstance(training.step, Schedule) or training.step is None or not isinstance(training.samples, Ratio):
        raise ValueError("limits_agree: needs a constant training.step and training.samples, a Ratio")
    ways = (ways,) if isinstance(ways, str) else ways
    for way in ways:
        if way not in WAYS:
            raise ValueError(f"ways: {not_one_of(way, WAYS)}")
    level, found = level or EmpiricalMacro(), dict[str, Pair]()
    times = np.unique(np.linspace(0, steps, min(steps, 5) + 1).astype(int))[1:]
    if "finite data" in ways:
        found |= _finite_data(problem, start, times, level, Empirical(runs=runs, seed=level.seed), dim)
    if "many samples" in ways and training.momentum is None:
        found["many samples: risk"] = _many_samples(problem, start, times, level)
    if "one pass" in ways and training.momentum is None:
        found["one pass: risk"] = _one_pass(problem, start, times, level)
    if "linear" in ways:
        found |= _linear(problem, start, times, level)
    if not found:
        raise ValueError(
            f"limits_agree: {' and '.join(ways)} given, which is not for this problem; 'finite data' always is"
        )
    values, references, scales = ({name: pair[i] for name, pair in found.items()} for i in range(3))
    return Report("limits agree", values, references, scales, allowed)


def _run(problem: Problem, start: Overlaps, times: np.ndarray, level: EmpiricalMacro) -> Trajectory:
    found = run(problem, start, level, times=times, progress=False)
    if not found.success:
        raise ValueError(f"limits_agree: {found.message}")
    return found


def _finite_data(
    problem: Problem, start: Overlaps, times: np.ndarray, level: EmpiricalMacro, other: Empirical, dim: int
) -> dict[str, Pair]:
    limit = _run(problem, start, times, level)
    data = run(problem.replace(inputs__dim=dim), start, other, times=times, progress=False)
    found = {}
    for name in ("risk", "training_loss"):
        drawn = getattr(data, name)
        scale = np.hypot(getattr(limit, f"{name}_error")[0], widened(drawn))  # Student's factor, on both sides
        if name == "risk":
            scale = np.hypot(scale, data.risk_error.max(axis=0))  # of its nodes, which all data sets share
        found[f"finite data: {name}"] = (getattr(limit, name)[0], drawn.mean(axis=0), scale)
    return found


def _many_samples(problem: Problem, start: Overlaps, times: np.ndarray, level: EmpiricalMacro) -> Pair:
    """Gradient flow on the population risk, at steps of zero."""
    many = problem.replace(
        training__samples=Ratio(MANY), training__batch=None, training__selection=None, training__repeats=1
    )
    changes = [
        {"training__step": _step(problem) / 2**i, "training__readout_rate": _readout(problem, 2.0**-i)}
        for i in range(LEVELS)
    ]
    curves = [_run(many.replace(**change), start, times * 2**i, level) for i, change in enumerate(changes)]
    flow = run(_fresh(problem, 1.0), start, Macro(small_rate=True), times=_step(problem) * times, progress=False)
    return _extrapolated(curves, flow)


def _one_pass(problem: Problem, start: Overlaps, times: np.ndarray, level: EmpiricalMacro) -> Pair:
    """Fresh batches of dim samples and smaller with steps in proportion: SGD with single samples at the rate `step`."""
    curves = []
    for i in range(LEVELS):
        part = 2.0**-i
        fresh = problem.replace(
            training__samples=None, training__batch=Ratio(part), training__selection=None, training__repeats=1,
            training__step=_step(problem) * part, training__readout_rate=_readout(problem, part),
        )  # fmt: skip
        curves.append(_run(fresh, start, times * 2**i, level))
    return _extrapolated(curves, run(_fresh(problem, _step(problem)), start, Macro(), times=times, progress=False))


def _linear(problem: Problem, start: Overlaps, times: np.ndarray, level: EmpiricalMacro) -> dict[str, Pair]:
    try:
        exact = linear_data_losses(problem, start, times).value
    except NotApplicable:
        return {}
    limit = _run(problem, start, times, level)
    found = {}
    for name in ("risk", "training_loss"):
        values, error = getattr(limit, name)[0], getattr(limit, f"{name}_error")[0]
        found[f"linear: {name}"] = (values, getattr(exact, name), error)
    return found


def _extrapolated(curves: list[Trajectory], reference: Trajectory) -> Pair:
    """At steps of zero from steps 1, 1/2 and 1/4; the scale has the errors of all and what the last extrapolation changed."""
    one, half, quarter = (curve.risk[0] for curve in curves)
    first, second = 2 * half - one, 2 * quarter - half
    found = (4 * second - first) / 3
    weights = (1 / 3, -2.0, 8 / 3)  # of the three in `found`
    squares = sum((weight * curve.risk_error[0]) ** 2 for weight, curve in zip(weights, curves, strict=True))
    scale = np.sqrt(squares + (found - second) ** 2 + reference.risk_error[0] ** 2)
    return found, reference.risk[0], scale


def _step(problem: Problem) -> float:
    step = problem.training.step
    assert isinstance(step, float)
    return step


def _readout(problem: Problem, factor: float) -> float | None:
    rate = problem.training.readout_rate
    return factor * rate if isinstance(rate, float) else None


def _fresh(problem: Problem, rate: float) -> Problem:
    """Single fresh samples at a learning rate, at infinite dim."""
    return problem.replace(
        inputs__dim=None, training__samples=None, training__batch=1, training__selection=None, training__repeats=1,
        training__learning_rate=rate, training__readout_rate=_readout(problem, rate / _step(problem)),
    )  # fmt: skip

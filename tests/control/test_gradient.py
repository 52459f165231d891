"""Gradients of what a run ends with, against differences of runs with the same steps."""

import numpy as np
import pytest

import solvable as sv
from solvable.control.course import Asked, Course
from solvable.control.ensemble import Ensemble
from solvable.control.knobs import knobs
from solvable.control.objectives import objective as checked

EVERYTHING = {
    "training.learning_rate": sv.Control(segments=3),
    "training.weight_decay": sv.Control(segments=2, upper=0.5),
    "training.batch": sv.Control(segments=2, upper=8.0),
    "training.label_noise": sv.Control(segments=3, shape="linear", upper=0.5),
}


def setting(unit: str, p: int, q: int, *, norm: str = "free", blocks: int = 1, readout: bool = False) -> sv.Problem:
    spectrum = None if blocks == 1 else sv.Spectrum(eigenvalues=(0.4, 1.6))
    return sv.Problem(
        teacher=sv.Teacher(width=q, activation=unit),
        student=sv.Student(width=p, activation=unit, norm=norm),
        inputs=sv.Inputs(dim=1000, spectrum=spectrum),
        training=sv.Training(
            learning_rate=0.3, label_noise=0.05, weight_decay=0.02, train_readout=readout, loss_factor=0.6
        ),
    )


def along(course: Course, values: list[np.ndarray], directions: list[np.ndarray], anew: bool) -> float:
    """Difference of fourth order of the value along a direction, on the same steps or on new ones."""
    found, size = [], 1e-4
    for factor in (1.0, -1.0, 2.0, -2.0):
        course.place([one + factor * size * move for one, move in zip(values, directions, strict=True)])
        if anew:
            course.record()
        found.append(course.evaluate(gradient=False).value)
    return (8 * (found[0] - found[1]) - (found[2] - found[3])) / (12 * size)


def compared(problem: sv.Problem, objective, control, random, until: float = 12.0) -> tuple[float, float]:
    """Derivative along a random direction of all controls and of the start: by differences, and by the reverse."""
    chosen = knobs(problem, until, control)
    course = Course(Asked(problem, until, checked(objective)), sv.start(problem, seed=1), chosen)
    values = [knob.lower + knob.width * random.uniform(0.05, 0.2, knob.size) for knob in chosen]
    course.place(values)
    assert course.record()
    found = course.evaluate()
    moves = [knob.width * random.uniform(-1.0, 1.0, knob.size) for knob in chosen]
    expected = along(course, values, moves, anew=not isinstance(objective, str))
    return expected, float(sum(slope @ move for slope, move in zip(found.gradient, moves, strict=True)))


CASES = [
    ("linear", 2, 1, "free", 1, False),
    ("quadratic", 3, 2, "free", 2, True),
    ("quadratic", 2, 1, "sphere", 1, False),
    ("erf", 2, 2, "free", 1, True),
    ("erf", 3, 1, "sphere", 2, False),
]


@pytest.mark.parametrize(("unit", "p", "q", "norm", "blocks", "readout"), CASES)
def test_every_control_at_once(unit, p, q, norm, blocks, readout) -> None:
    problem = setting(unit, p, q, norm=norm, blocks=blocks, readout=readout)
    control = dict(EVERYTHING)
    if blocks == 2:
        control["inputs.spectrum.eigenvalues.1"] = sv.Control(segments=2, shape="linear")
    random = np.random.default_rng(7)
    for objective in ("risk", "mean risk"):
        expected, found = compared(problem, objective, control, random)
        assert found == pytest.approx(expected, rel=1e-7, abs=1e-9)


def test_smooth_units_without_closed_form() -> None:
    """The noise is an average over nodes, which are those of Macro."""
    problem = setting("tanh", 2, 1, readout=True)
    control = {name: EVERYTHING[name] for name in ("training.learning_rate", "training.label_noise")}
    expected, found = compared(problem, "risk", control, np.random.default_rng(3), until=3.0)
    assert found == pytest.approx(expected, rel=1e-7, abs=1e-9)
    start = sv.start(problem, seed=0)
    run = sv.run(problem, start, sv.Macro(rtol=1e-10), until=3.0)
    assert sv.gradient(problem, start, until=3.0).value == pytest.approx(np.log(run.risk[0, -1]), abs=1e-7)


def test_the_time_to_a_threshold() -> None:
    problem = setting("erf", 2, 1)
    stop = sv.when("risk", below=0.5, relative=True)
    expected, found = compared(problem, stop, {"training.learning_rate": 4}, np.random.default_rng(0), until=60.0)
    assert found == pytest.approx(expected, rel=1e-6)


def test_start() -> None:
    problem = setting("erf", 2, 2, readout=True)
    start = sv.start(problem, seed=3)
    found = sv.gradient(problem, start, until=10.0)
    random = np.random.default_rng(1)
    Q, R, a = (random.standard_normal(shape) for shape in ((2, 2), (2, 2), 2))
    Q = Q + Q.T

    def value(size: float) -> float:
        moved = sv.Overlaps(
            start.block_student_overlap + size * Q, start.block_cross_overlap + size * R, start.block_teacher_overlap,
            start.readout + size * a,
        )  # fmt: skip
        return sv.gradient(problem, moved, until=10.0).value

    expected = (value(1e-5) - value(-1e-5)) / 2e-5
    by_hand = (found.student_overlap * Q).sum() + (found.cross_overlap * R).sum() + found.readout @ a
    assert by_hand == pytest.approx(expected, rel=1e-5)


def test_a_threshold_relative_to_the_first_risk_moves_with_the_start() -> None:
    """Also by an eigenvalue, which the first risk knows."""
    stop = sv.when("risk", below=0.3, relative=True)
    problem = setting("erf", 2, 2, blocks=2)
    start = sv.start(problem, student_overlap=0.25 * np.eye(2), cross_overlap=[[0.2, 0.02], [0.02, 0.1]])
    name = "inputs.spectrum.eigenvalues.0"
    found = sv.gradient(problem, start, until=60.0, of=name, objective=stop)

    def value(size: float, by_start: bool) -> float:
        cross = start.block_cross_overlap.copy()
        cross[0, 0, 0] += size if by_start else 0.0
        moved = sv.Overlaps(start.block_student_overlap, cross, start.block_teacher_overlap, start.readout)
        first, second = problem.inputs.spectrum.eigenvalues
        other = problem.replace(inputs__spectrum__eigenvalues=(first + (0.0 if by_start else size), second))
        return sv.run(other, moved, sv.Macro(rtol=1e-11), until=60.0, stop=stop).end_time[0]

    differences = [(value(1e-4, one) - value(-1e-4, one)) / 2e-4 for one in (True, False)]
    assert [found.cross_overlap[0, 0, 0], found.by[name][0]] == pytest.approx(differences, rel=1e-5)


def test_value_is_that_of_macro() -> None:
    problem = setting("quadratic", 3, 2)
    start = sv.start(problem, seed=0)
    run = sv.run(problem, start, sv.Macro(rtol=1e-10), until=15.0)
    assert sv.gradient(problem, start, until=15.0).value == pytest.approx(np.log(run.risk[0, -1]), abs=1e-7)


def test_fast_momentum_is_plain_at_the_effective_rate() -> None:
    problem = setting("erf", 2, 1, readout=True)
    start, name = sv.start(problem, seed=0), "training.learning_rate"
    plain = sv.gradient(problem, start, until=10.0, of=name)
    heavy = problem.replace(training__momentum=0.75, training__learning_rate=0.25 * problem.training.learning_rate)
    found = sv.gradient(heavy, sv.start(heavy, seed=0), until=10.0, of=name)
    assert found.value == pytest.approx(plain.value)
    assert found.by[name] == pytest.approx(4 * plain.by[name])
    assert found.cross_overlap == pytest.approx(plain.cross_overlap)
    beta = sv.Schedule(times=(0, 4), rates=(0.5, 0.75))
    rising = problem.replace(training__momentum={"beta": beta}, training__learning_rate=0.1)
    by = sv.gradient(rising, sv.start(rising, seed=0), until=10.0, of=name).by[name]
    rates = sv.Schedule(times=(0, 4), rates=(0.2, 0.4))
    parts = sv.gradient(problem.replace(training__learning_rate=rates), start, until=10.0, of=name).by[name]
    assert by == pytest.approx(parts @ [2.0, 4.0])


def test_several_starts_and_what_is_wrong() -> None:
    problem, name = setting("erf", 2, 1), "training.learning_rate"
    starts = [sv.start(problem, seed=number) for number in range(2)]
    alone = [sv.gradient(problem, one, until=5.0, of=name) for one in starts]
    both = sv.gradient(problem, starts, until=5.0, of=name)
    assert both.value == pytest.approx(np.mean([one.value for one in alone]))
    assert both.by[name] == pytest.approx(np.mean([one.by[name] for one in alone], axis=0))
    assert both.cross_overlap == pytest.approx(np.array([one.cross_overlap for one in alone]) / 2)
    for changes, message in (
        ({"of": 3}, "of: 3 given, must be a name"),
        ({"objective": sv.when("risk", below=1e-9)}, "does not reach the threshold by until = 5"),
        ({"objective": sv.when("risk", below=1e9)}, "the threshold is met at the start"),
    ):
        with pytest.raises(ValueError, match=message):
            sv.gradient(problem, starts[0], until=5.0, **changes)
    fast = setting("quadratic", 3, 2).replace(training__learning_rate=30.0)
    with pytest.raises(ValueError, match="the run diverges after a time of"):
        sv.gradient(fast, sv.start(fast, seed=1), until=20.0)


def test_steep_units_are_refused() -> None:
    """Their averages are integrals over both fields, which have no reverse."""
    steep = sv.Activation("steep", lambda z: np.tanh(8 * z), lambda z: 8 / np.cosh(8 * z) ** 2)
    problem = setting("erf", 1, 1).replace(student__activation=steep, teacher__activation=steep)
    with pytest.raises(sv.problems.NotApplicable, match="too steep for the gradient"):
        sv.gradient(problem, sv.start(problem, student_overlap=[[0.3]], cross_overlap=[[0.1]]), until=0.1)


def test_constants_and_schedules_of_the_problem() -> None:
    problem = setting("erf", 2, 1)
    start = sv.start(problem, seed=0)
    plain = sv.gradient(problem, start, until=10.0, of="training.learning_rate").by["training.learning_rate"]
    rate = sv.Schedule(times=(0, 4, 7), rates=(0.3, 0.3, 0.3))
    scheduled = problem.replace(training__learning_rate=rate)
    parts = sv.gradient(scheduled, start, until=10.0, of="training.learning_rate").by["training.learning_rate"]
    assert parts.shape == (3,)
    assert plain == pytest.approx(parts.sum(), rel=1e-6)


def test_several_starts_are_averaged() -> None:
    problem = setting("erf", 2, 1)
    starts = [sv.start(problem, seed=number) for number in range(3)]
    chosen = knobs(problem, 5.0, {"training.learning_rate": 3})
    asked = Asked(problem, 5.0, checked("risk"))
    together = Ensemble(asked, starts, chosen)
    x = 0.3 * together.upper
    together.record(x)
    value, slope = together(x)
    alone = []
    for start in starts:
        one = Ensemble(asked, [start], chosen)
        one.record(x)
        alone.append(one(x))
    assert value == pytest.approx(np.mean([one[0] for one in alone]))
    assert slope == pytest.approx(np.mean([one[1] for one in alone], axis=0))


@pytest.mark.parametrize("number", range(50))
def test_random_problems(number) -> None:
    random = np.random.default_rng(number)
    blocks = int(random.integers(1, 3))
    problem = setting(
        str(random.choice(["linear", "quadratic", "erf"])), int(random.integers(1, 5)), int(random.integers(1, 4)),
        norm=str(random.choice(["free", "sphere"])), blocks=blocks, readout=bool(random.integers(2)),
    )  # fmt: skip
    control = {name: one for name, one in EVERYTHING.items() if random.integers(2)} or EVERYTHING
    if blocks == 2 and random.integers(2):
        control = control | {"inputs.spectrum.eigenvalues.0": sv.Control(segments=2)}
    expected, found = compared(problem, str(random.choice(["risk", "mean risk"])), control, random)
    assert found == pytest.approx(expected, rel=1e-7, abs=1e-9)

"""The reverse of the equations with cases, against differences: by the state, scheduled numbers, eigenvalues and probabilities."""

import numpy as np
import pytest

import solvable as sv
from solvable.dynamics import case_equations, case_reverse
from solvable.dynamics.kernel_data import Packed, pack, workspace
from solvable.dynamics.reverse import EIGENVALUES, SCHEDULED
from solvable.gaussian.closed_forms import KINDS

SIZE = 1e-5


def difference(function):
    """Return the derivative at zero by differences of fourth order, as cubic units need."""
    near, far = (function(x) - function(-x) for x in (SIZE, 2 * SIZE))
    return (8 * near - far) / (12 * SIZE)


BLOCKS = sv.Spectrum(eigenvalues=(0.5, 1.5))
CLASSES = sv.Mixture(
    probabilities=(0.3, 0.7), means=((1.0, 0.5), (-0.4, 1.0)), spikes=((0.5, 0.0), (0.0, 0.2)), labels=(0.5, -1.0),
    variances=(1.0, 0.6),
)  # fmt: skip


def made(unit: str, kind: str) -> sv.Problem:
    """A problem with the cases of this kind."""
    teacher, student = {"width": 2, "activation": unit}, {"width": 2, "activation": unit}
    training, more = {"learning_rate": 0.3, "label_noise": 0.2}, {"inputs": sv.Inputs(dim=200)}
    if kind == "masks":
        training |= {"batch": 3, "weight_decay": 0.1, "train_readout": True, "dropout": {"keep": 0.7}}
        more["inputs"] = sv.Inputs(dim=200, spectrum=BLOCKS)
    if kind == "classes":
        teacher |= {"bias": 0.3}
        more["mixture"] = CLASSES
    if kind == "labels":
        teacher, more["mixture"] = {"width": 0}, sv.Mixture.xor(2.0)
        training |= {"train_readout": True}
    if kind == "tasks":
        tasks = (sv.Task(readout=(1, 0), probability=0.3), sv.Task(readout=(0.5, 1), probability=0.7))
        more["tasks"], training = tasks, training | {"train_readout": True}
    if kind == "biases":
        tasks = (sv.Task(readout=(1, 0), probability=0.3), sv.Task(readout=(0.5, 1), probability=0.7))
        more |= {"tasks": tasks, "mixture": CLASSES}
        student |= {"bias": 0.4}
        training |= {"train_readout": True, "train_bias": True}
    if kind == "moving":
        teacher |= {"drift": 0.2, "rotation": 0.1}
        student |= {"norm": "sphere"}
        training |= {"label_flips": 0.1, "input_noise": 0.3, "anchor": 0.2, "weight_decay": 0.1}
        more["inputs"] = sv.Inputs(dim=200, spectrum=BLOCKS)
    return sv.Problem(
        teacher=sv.Teacher(**teacher), student=sv.Student(**student), training=sv.Training(**training), **more
    )


class System:
    """The equations of one problem, and their reverse."""

    def __init__(self, problem: sv.Problem) -> None:
        self.packed = pack(problem, sv.start(problem, seed=3))
        self.state, first = self.packed.state, self.packed.problems[0]
        self.state += 0.03 * self.direction(np.random.default_rng(2))  # away from the start, which anchors are
        self.rows = int(first["rows"])
        sizes = (int(first[name]) for name in ("students", "teachers", "rows", "blocks"))
        self.scratch = case_reverse.case_reverse_scratch(*sizes, self.state.size)
        self.columns = EIGENVALUES + self.packed.blocks.shape[1] + self.packed.cases.shape[1] + 1

    def data(self, packed: Packed) -> tuple[np.ndarray, ...]:
        work = workspace(self.rows, self.scratch)
        work[:] = np.nan  # nothing is read before it is written
        return packed.data(work)

    def slope(self, state: np.ndarray, packed: Packed | None = None) -> np.ndarray:
        found = np.empty_like(state)
        case_equations.rhs_of_cases(0, 0.0, state, found, *self.data(packed or self.packed))
        return found

    def risk(self, state: np.ndarray, packed: Packed | None = None) -> np.ndarray:
        found = np.empty(2)
        case_equations.observe_cases(0, 0.0, state, found, *self.data(packed or self.packed))
        return found[:1]

    def reverse(self, back, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives by the state and by all numbers."""
        bar = np.zeros(self.state.size + self.columns)
        back(0, 0.0, self.state, weights.copy(), bar, *self.data(self.packed))
        return bar[: self.state.size], bar[self.state.size :]

    def moved(self, column: int, size: float) -> Packed:
        """With one number changed."""
        problems, blocks, cases, numbers = (
            one.copy() for one in (self.packed.problems, self.packed.blocks, self.packed.cases, self.packed.numbers)
        )
        after = column - EIGENVALUES - blocks.shape[1]
        if column < EIGENVALUES:
            problems[SCHEDULED[column]] += size
        elif after < 0:
            blocks["eigenvalue"][:, column - EIGENVALUES] += size
        elif after < cases.shape[1]:
            cases["probability"][:, after] += size
        else:
            at, tests = int(cases["mask"][0, int(problems["cases"][0])]), int(problems["tests"][0])
            numbers[at : at + tests * int(problems["students"][0])] *= 1.0 + size
        return self.packed._replace(problems=problems, blocks=blocks, cases=cases, numbers=numbers)

    def direction(self, random: np.random.Generator) -> np.ndarray:
        """A change of the state that is symmetric in the rows that move."""
        first = self.packed.problems[0]
        shape = tuple(int(first[name]) for name in ("blocks", "moving", "rows"))
        change = random.standard_normal(self.state.size)
        rows = change[: np.prod(shape)].reshape(shape)
        inner = rows[:, :, : shape[1]]
        rows[:, :, : shape[1]] = inner + np.swapaxes(inner, 1, 2)
        if not first["train_readout"]:  # then it has no complete derivatives
            change[np.prod(shape) :] = 0.0
        return change


@pytest.mark.parametrize("unit", KINDS)
@pytest.mark.parametrize("kind", ["masks", "classes", "labels", "tasks", "moving", "biases"])
def test_reverse_against_differences(unit, kind) -> None:
    random, system = np.random.default_rng(0), System(made(unit, kind))
    change, state = system.direction(random), system.state
    for function, back, weights in (
        (system.slope, case_reverse.back_cases, random.standard_normal(state.size)),
        (system.risk, case_reverse.back_risk_of_cases, np.ones(1)),
    ):
        by_state, by_number = system.reverse(back, weights)
        moved = difference(lambda x, function=function: function(state + x * change))
        assert by_state @ change == pytest.approx(weights @ moved, rel=1e-7, abs=1e-8)
        for column, found in enumerate(by_number):
            moved = difference(lambda x, function=function, column=column: function(state, system.moved(column, x)))
            assert found == pytest.approx(weights @ moved, rel=1e-7, abs=1e-8), column


def test_probabilities_that_are_zero_have_derivatives() -> None:
    """From the right: cases that cannot happen are left out of the equations."""
    problem = made("erf", "tasks")
    problem = problem.replace(tasks__0__probability=0.0, tasks__1__probability=1.0)
    system = System(problem)
    weights = np.random.default_rng(1).standard_normal(system.state.size)
    column = EIGENVALUES + 1
    found = system.reverse(case_reverse.back_cases, weights)[1][column]
    expected = weights @ (system.slope(system.state, system.moved(column, SIZE)) - system.slope(system.state)) / SIZE
    assert found == pytest.approx(expected, rel=1e-6)

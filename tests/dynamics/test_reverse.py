"""The reverse of the equations of motion and of the risk, against central differences of both."""

import numpy as np
import pytest

import solvable as sv
from solvable.control.numbers import place, place_teachers
from solvable.dynamics.kernel_data import RISK, SEEN
from solvable.dynamics.reverse import EIGENVALUES, SCHEDULED
from solvable.dynamics.reverse_choice import reversible

STEP = 1e-5


def setting(unit, p, q, blocks, norm, readout, random):
    """A problem in which every number counts, and a start without symmetry."""
    spectrum = sv.Spectrum(eigenvalues=(1.7, 0.6)[:blocks], weights=(0.3, 0.7)[:blocks] if blocks > 1 else None)
    problem = sv.Problem(
        teacher=sv.Teacher(width=q, activation=unit, readout=tuple(random.standard_normal(q))),
        student=sv.Student(width=p, activation=unit, norm=norm),
        inputs=sv.Inputs(spectrum=spectrum),
        training=sv.Training(
            learning_rate=0.4, batch=3, weight_decay=0.2, label_noise=0.3, train_readout=readout, loss_factor=0.6,
            readout_rate=0.7 if readout else None,
        ),
    )  # fmt: skip
    rows = random.standard_normal((blocks, p + q, p + q + 3))
    stacked = rows @ rows.transpose(0, 2, 1) / (p + q + 3)
    parts = stacked[:, :p, :p], stacked[:, :p, p:], stacked[:, p:, p:]
    return problem, sv.Overlaps(*parts, np.append(random.standard_normal(p - 1), 0.0 if readout else 0.5))


def moved(state, size, p, q, blocks, random):
    """A direction in which overlaps stay symmetric."""
    move = random.standard_normal(state.size)
    rows = move[:-p].reshape(blocks, p, p + q)
    rows[:, :, :p] += np.swapaxes(rows[:, :, :p], 1, 2).copy()
    return move, [state + sign * size * move for sign in (1, -1)]


CASES = [
    ("linear", 2, 1, 1, "free", False), ("linear", 3, 2, 2, "sphere", True), ("quadratic", 2, 1, 1, "free", False),
    ("quadratic", 3, 2, 2, "sphere", True), ("erf", 2, 1, 1, "free", True), ("erf", 3, 2, 2, "sphere", False),
    ("hermite3", 1, 1, 1, "free", False), ("hermite3", 2, 1, 1, "free", True), ("hermite3", 3, 2, 2, "sphere", False),
    ("tanh", 2, 1, 1, "free", True), ("tanh", 3, 2, 2, "sphere", False),
]  # fmt: skip


@pytest.mark.parametrize(("unit", "p", "q", "blocks", "norm", "readout"), CASES)
def test_state_and_all_numbers(unit, p, q, blocks, norm, readout) -> None:
    random = np.random.default_rng(5)
    problem, start = setting(unit, p, q, blocks, norm, readout, random)
    system = reversible(problem, start)
    data, state = system.data(), system.packed.state
    weights = random.standard_normal(state.size)

    def slope(y):
        dy = np.zeros_like(y)
        system.rhs(0, 0.0, y, dy, *data)
        return weights @ dy

    def risk(y):
        seen = np.zeros(SEEN)
        system.observe(0, 0.0, y, seen, *data)
        return seen[RISK]

    for function, back, weigh in [(slope, system.back, weights), (risk, system.back_risk, np.ones(1))]:
        bar = np.zeros(state.size + system.columns)
        back(0, 0.0, state, weigh.copy(), bar, *data)
        move, (above, below) = moved(state, STEP, p, q, blocks, random)
        difference = (function(above) - function(below)) / (2 * STEP)
        assert bar[: state.size] @ move == pytest.approx(difference, rel=1e-6, abs=1e-8)
        for column in range(system.columns):
            if column < EIGENVALUES:
                own = system.packed.problems[SCHEDULED[column]].copy()
            else:
                own = system.packed.blocks["eigenvalue"][:, column - EIGENVALUES].copy()
            found = []
            for value in (own + STEP, own - STEP, own):
                place(system.packed, column, value, 0.0 * own)
                place_teachers(system.packed, start)
                found.append(function(state))
            difference = (found[0] - found[1]) / (2 * STEP)
            assert bar[state.size + column] == pytest.approx(difference, rel=1e-6, abs=1e-8), column

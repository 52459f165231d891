"""How often the output of the students has another sign than the label.

Given its class and task a test is Gaussian, so that the chance of a wrong sign is one of those in `gaussian/chances.py`. Labels are
the class's own, or the teacher's, or both together; outputs and labels have no noise.
"""

from dataclasses import replace

import numpy as np

from solvable.dynamics.cases import Cases, case_table
from solvable.gaussian.chances import (
    INVERSES,
    chance_of_error,
    chance_of_negative_output,
    chance_of_unequal_signs,
)
from solvable.gaussian.units import Activation
from solvable.overlaps import Overlaps
from solvable.problems import EVERYTHING, FEATURES, Problem
from solvable.problems.networks import signs_of
from solvable.problems.spec import KernelSpec

ANYTHING = replace(EVERYTHING, knows=(*EVERYTHING.knows, *FEATURES))
EVEN, ODD = ("quadratic",), ("linear", "erf", "tanh")  # units
Readout = tuple[np.ndarray, float]  # what multiplies students in a case, and what is added to them
Known = dict[tuple[bytes, ...], float]  # chances by readout, mean and covariance of the fields


def classification_error(problem: Problem, state: Overlaps, alpha: float = 0.0) -> float:
    """How often the output has another sign than the label in a state, over the mix of tasks and classes at a time.

    Parameters
    ----------
    problem : Problem
        What is learned; labels of classes must have signs.
    state : Overlaps
        The state.
    alpha : float
        The time (steps/dim), where probabilities of tasks or classes are schedules.

    Returns
    -------
    float
        P(label x output < 0), without noise on labels; an output of zero counts half.

    Examples
    --------
    >>> problem = sv.Problem(
    ...     student=sv.Student(width=1, activation="linear"), training=sv.Training(learning_rate=0.1),
    ...     mixture=sv.Mixture.opposite(1.0),
    ... )
    >>> aligned = sv.start(problem, student_overlap=[[1.0]], direction_overlap=[[1.0]])
    >>> round(sv.dynamics.classification_error(problem, aligned), 4)
    0.1587
    """
    ANYTHING.require(problem, "`classification_error`")
    now = KernelSpec.of(problem).at(alpha)
    tests = case_table(now, tests=True)
    eigenvalues, heads, biases = now.inputs.eigenvalues, np.atleast_2d(state.readout), bias_of(now, state)
    errors: list[float] = []
    known: Known = {}
    for case in range(tests.size):
        mean, covariance = field_moments(tests, case, state, eigenvalues)
        readout = tests.mask[case] * heads[tests.head[case]], float(biases[tests.head[case]])
        errors.append(_error(now, tests, case, readout, mean, covariance, known))
    return float(tests.probability[0] @ np.array(errors))


def bias_of(problem: KernelSpec, state: Overlaps) -> np.ndarray:
    """(head,) what is added to the outputs in a state."""
    return state.scalars[: problem.heads] if "bias" in problem.scalars else np.zeros(problem.heads)


def field_moments(tests: Cases, case: int, state: Overlaps, eigenvalues: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of the fields of students and teachers."""
    stacked = state.stacked
    n, directions = sum(state.block_cross_overlap.shape[1:]), tests.means.shape[1]
    along = stacked.sum(axis=0)[:n, n : n + directions]
    covariance = np.tensordot(tests.factors[case] * eigenvalues, stacked[:, :n, :n], axes=1)
    return along @ tests.means[case], covariance + (along * tests.spikes[case]) @ along.T


def _error(
    problem: KernelSpec, tests: Cases, case: int, readout: Readout, h: np.ndarray, C: np.ndarray, known: Known
) -> float:
    (a, bias), p, unit, teacher = readout, problem.student.width, problem.student.unit, problem.teacher
    label, taught = float(tests.label[case]), tests.teacher_readout[case]
    if teacher.target in ("additive", "sign"):
        asked = np.flatnonzero(taught)
        kept = [*range(p), *(p + asked)]
        h, C, taught = h[kept], C[np.ix_(kept, kept)], taught[asked]
        if not asked.size:
            if label == 0:
                raise ValueError(
                    "classification_error: the label of a class is 0, which has no sign; give labels of both signs, as 1 and -1"
                )
            below = _chance_of_negative_output(unit, readout, h, C, known)
            return below if label > 0 else 1.0 - below
        if problem.student.activation == teacher.activation == "linear":
            both = np.zeros((2, len(h)))
            both[0, :p], both[1, p:] = a, taught
            offset = np.array([bias, label])
            joint = both @ C @ both.T
            if (np.diag(joint) > 0).all():
                return chance_of_unequal_signs(both @ h + offset, joint)
        used = a != 0
        if not used.any() and bias == 0:
            return 0.5
        used |= not used.any()
        kept = [*np.flatnonzero(used), *range(p, len(h))]
        a, h, C = a[used], h[kept], C[np.ix_(kept, kept)]

        def labels(z: np.ndarray) -> np.ndarray:
            output: np.ndarray = label + teacher.unit.function(z) @ taught
            return signs_of(output) if teacher.target == "sign" else output

        return chance_of_error(unit, a, bias, h, C, labels, _cut(teacher.unit.known, label, taught))
    return chance_of_error(unit, a, bias, h, C, lambda z: label + tests.sign[case] * teacher.taught(z), None)


def _chance_of_negative_output(unit: Activation, readout: Readout, h: np.ndarray, C: np.ndarray, known: Known) -> float:
    """The chance, looked up where another class has the same fields or the opposite ones, as classes +m and -m have."""
    a, bias = readout
    both = ((mean, sign * bias) for mean, sign in ((h, 1.0), (-h, -1.0 if unit.known in ODD else 1.0)))
    same, opposite = (tuple((part + 0.0).tobytes() for part in (a, mean, C, np.array(shift))) for mean, shift in both)
    if same not in known:
        known[same] = chance_of_negative_output(unit, a, bias, h, C)
        if unit.known in EVEN:
            known[opposite] = known[same]
        elif unit.known in ODD:
            known[opposite] = 1.0 - known[same]
    return known[same]


def _cut(unit: str, label: float, readout: np.ndarray) -> float | None:
    """Where the label of a single teacher changes its sign, if it does so at one place."""
    if len(readout) != 1 or unit not in INVERSES or unit == "relu":
        return None
    with np.errstate(divide="ignore"):
        place = float(INVERSES[unit](np.array(-label / readout[0])))
    return place if np.isfinite(place) else None

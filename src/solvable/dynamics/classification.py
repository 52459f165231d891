"""How often the output of the students has another sign than the label, and the least that this can be.

Given its class and task a test is Gaussian, so that the chance of a wrong sign is one of those in `gaussian/chances.py`. Labels are
the class's own, or the teacher's, or both together; outputs and labels have no noise.
"""

import numpy as np

from solvable.dynamics.cases import Cases, case_table
from solvable.gaussian.chances import (
    INVERSES,
    chance_of_error,
    chance_of_negative_output,
    chance_of_unequal_signs,
    error_of_crossed_classes,
    error_of_opposite_classes,
)
from solvable.overlaps import Overlaps
from solvable.problems import Problem


def classification_error(problem: Problem, state: Overlaps, alpha: float = 0.0) -> float:
    """P(label x output < 0) in a state, over the mix of tasks and classes at a time (steps/dim)."""
    now = problem.at(alpha)
    tests = case_table(now, tests=True)
    eigenvalues, heads = now.inputs.eigenvalues, np.atleast_2d(state.readout)
    errors = []
    for case in range(tests.size):
        mean, covariance = field_moments(tests, case, state, eigenvalues)
        errors.append(_error(now, tests, case, tests.mask[case] * heads[tests.head[case]], mean, covariance))
    return float(tests.probability[0] @ np.array(errors))


def field_moments(tests: Cases, case: int, state: Overlaps, eigenvalues: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of the fields of students and teachers."""
    stacked = state.stacked
    n, directions = sum(state.block_cross_overlap.shape[1:]), tests.means.shape[1]
    along = stacked.sum(axis=0)[:n, n : n + directions]
    covariance = np.tensordot(tests.factors[case] * eigenvalues, stacked[:, :n, :n], axes=1)
    return along @ tests.means[case], covariance + (along * tests.spikes[case]) @ along.T


def _error(problem: Problem, tests: Cases, case: int, a: np.ndarray, h: np.ndarray, C: np.ndarray) -> float:
    p, unit, teacher = problem.student.width, problem.student.unit, problem.teacher
    label, readout = float(tests.label[case]), tests.teacher_readout[case]
    if teacher.target in ("additive", "sign"):
        asked = np.flatnonzero(readout)
        kept = [*range(p), *(p + asked)]
        h, C, readout = h[kept], C[np.ix_(kept, kept)], readout[asked]
        if not asked.size:
            below = chance_of_negative_output(unit, a, 0.0, h, C)
            return below if label > 0 else 1.0 - below if label < 0 else 0.5
        if problem.student.activation == teacher.activation == "linear":
            both = np.zeros((2, len(h)))
            both[0, :p], both[1, p:] = a, readout
            offset = np.array([0.0, label])
            joint = both @ C @ both.T
            if (np.diag(joint) > 0).all():
                return chance_of_unequal_signs(both @ h + offset, joint)
        used = a != 0
        kept = [*np.flatnonzero(used), *range(p, len(h))]
        a, h, C = a[used], h[kept], C[np.ix_(kept, kept)]
        if not a.size:
            return 0.5
        labels = lambda z: label + teacher.unit.function(z) @ readout  # noqa: E731
        return chance_of_error(unit, a, 0.0, h, C, labels, _cut(teacher.unit.name, label, readout))
    return chance_of_error(unit, a, 0.0, h, C, lambda z: label + tests.sign[case] * teacher.labels(z), None)


def _cut(unit: str, label: float, readout: np.ndarray) -> float | None:
    """Where the label of a single teacher changes its sign, if it does so at one place."""
    if len(readout) != 1 or unit not in INVERSES or unit == "relu":
        return None
    with np.errstate(divide="ignore"):
        place = float(INVERSES[unit](np.array(-label / readout[0])))
    return place if np.isfinite(place) else None


def oracle_error(problem: Problem) -> float:
    """The classification error of who knows the classes, for two opposite ones and for +-m_1 against +-m_2 (XOR), of equal
    probabilities and isotropic variance."""
    mixture = problem.mixture
    if mixture is None or mixture.labels is None or problem.teacher.width or mixture.spikes is not None:
        raise ValueError("oracle_error: needs classes that give the labels")
    if any(not isinstance(share, float) for share in mixture.probabilities):
        raise ValueError(
            "oracle_error: a probability of a class is a schedule; problem.at(alpha) has those of one time"
        )
    factors = mixture.variance_factors(problem.inputs.blocks) * problem.inputs.eigenvalues
    shares, means, signs = np.array(mixture.probabilities), np.array(mixture.means), np.sign(mixture.labels)
    gram = mixture.block_gram(problem.inputs.fractions).sum(axis=0)
    centres = means @ gram @ means.T  # overlaps of the means of the classes
    even = np.ptp(factors) <= 1e-12 * factors.max() and np.ptp(shares) <= 1e-12
    size = centres[0, 0]
    if (
        even
        and len(shares) == 2
        and signs[0] == -signs[1]
        and np.allclose(centres, size * np.array([[1, -1], [-1, 1]]))
    ):
        return error_of_opposite_classes(float(np.sqrt(size)), float(factors[0, 0]))
    crossed = _crossed(signs)
    if even and crossed is not None and np.allclose(centres, size * crossed):
        return error_of_crossed_classes(float(np.sqrt(size)), float(factors[0, 0]))
    raise ValueError(
        "oracle_error: known for two opposite classes and for +-m_1 against +-m_2, isotropic and equally likely"
    )


def _crossed(signs: np.ndarray) -> np.ndarray | None:
    """Overlaps of four means, each the opposite of the one of its label, over their square."""
    if len(signs) != 4 or signs.sum() != 0 or (signs == 0).any():
        return None
    same = np.equal.outer(signs, signs)
    return 2 * np.eye(4) - same

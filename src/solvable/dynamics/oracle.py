"""The least classification error: that of who knows the classes.

Classes of one covariance are told apart by their means alone. In units of that covariance the means have overlaps
M (K^-1 + diag(tau))^-1 M^T, where K = sum_b (Gram matrix of the directions in block b)/lambda_b and tau are the spikes. What all
classes share, a common shift, does not matter.
"""

import numpy as np

from solvable.dynamics.classification import ANYTHING
from solvable.gaussian.chances import error_of_crossed_classes, error_of_two_classes
from solvable.problems import Mixture, Problem

KNOWN = "oracle_error: known for two classes, and for +-m_1 against +-m_2, orthogonal, as long and equally likely"


def oracle_error(problem: Problem) -> float:
    """The least classification error, that of who knows the classes.

    Parameters
    ----------
    problem : Problem
        With two classes, or with +-m_1 against +-m_2 (XOR) of equal probabilities. All classes have the same variances and
        spikes; a shift that all means share does not matter.

    Returns
    -------
    float
        The error.

    Examples
    --------
    >>> problem = sv.Problem(
    ...     student=sv.Student(width=1, activation="linear"), training=sv.Training(learning_rate=0.1),
    ...     mixture=sv.Mixture.opposite(1.0),
    ... )
    >>> round(sv.dynamics.oracle_error(problem), 4)
    0.1587
    """
    ANYTHING.require(problem, "`oracle_error`")
    mixture = problem.mixture
    if mixture is None or mixture.labels is None or problem.teacher.width:
        raise ValueError("oracle_error: needs classes that give the labels, without a teacher")
    if any(not isinstance(share, float) for share in mixture.probabilities):
        raise ValueError(
            "oracle_error: a probability of a class is a schedule; problem.at(alpha) has those of one time"
        )
    signs, shares = np.sign(mixture.labels), np.array(mixture.probabilities)
    if (signs == 0).any():
        raise ValueError("oracle_error: the label of a class is 0, which has no sign; give labels of both signs")
    if (signs == signs[0]).all():
        return 0.0
    centres = _centres(problem, mixture)
    if len(signs) == 2:
        apart = centres[0, 0] - 2 * centres[0, 1] + centres[1, 1]
        return error_of_two_classes(float(np.sqrt(max(apart, 0.0))), float(shares[0]))
    crossed, size = _crossed(signs), centres[0, 0]
    if crossed is None or np.ptp(shares) > 1e-12 or not np.allclose(centres, size * crossed, atol=1e-9 * size):
        raise ValueError(KNOWN)
    return error_of_crossed_classes(float(np.sqrt(size)))


def _centres(problem: Problem, mixture: Mixture) -> np.ndarray:
    """(class, class) overlaps of the means, from where their average is, in units of the covariance that the classes share."""
    eigenvalues, fractions = problem.inputs.eigenvalues, problem.inputs.fractions
    factors, spikes = mixture.variance_factors(problem.inputs.blocks), mixture.spike_variances
    if np.ptp(factors, axis=0).max() > 1e-12 * factors.max():
        raise ValueError(
            "oracle_error: the classes have different variances; in many dimensions the length of an input tells them apart"
        )
    if np.ptp(spikes, axis=0).max() > 1e-12:
        raise ValueError("oracle_error: the classes have different spikes; known for classes of one covariance")
    gram, variances = mixture.block_gram(fractions), factors[0] * eigenvalues
    felt = np.abs(gram).max(axis=(1, 2)) > 0
    if (variances[felt] == 0).any():
        raise ValueError("oracle_error: means lie where inputs have no variance")
    scaled = np.tensordot(1 / variances[felt], gram[felt], axes=1)
    inside = scaled @ np.linalg.inv(np.eye(len(scaled)) + spikes[0][:, None] * scaled)
    means = np.array(mixture.means)
    means = means - means.mean(axis=0)
    found: np.ndarray = means @ inside @ means.T
    return found


def _crossed(signs: np.ndarray) -> np.ndarray | None:
    """Overlaps of four means, each the opposite of the one of its label, over their square."""
    if len(signs) != 4 or signs.sum() != 0:
        return None
    same = np.equal.outer(signs, signs)
    return 2 * np.eye(4) - same

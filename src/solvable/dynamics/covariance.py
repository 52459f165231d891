"""How one step of SGD scatters the overlaps: the exact covariance of their increments, for quadratic units of any widths.

With e = sum_i s_i z_i^2 + sqrt(Delta) zeta and f_k = 4 c a_k, one step moves dim R_kl by rate f_k e z_k u_l and dim Q_kj by
rate (f_k + f_j) e z_k z_j + rate^2 f_k f_j e^2 z_k z_j. Their second moments are averages <e^m z_a z_b z_c z_d>, coefficients of

    <exp(t z^T M z) z_a z_b z_c z_d> = det(1 - 2 t C M)^(-1/2) ( G_ab G_cd + G_ac G_bd + G_ad G_bc ),    G(t) = (1 - 2 t C M)^-1 C

in powers of t, M = diag(s).
"""

import math

import numpy as np

from solvable.dynamics.gaussian_moments import field_covariance
from solvable.overlaps import Overlaps, check_start
from solvable.problems import Domain, Problem

# decay moves the mean of a step, not its covariance
SCATTER = Domain(
    units="quadratic", isotropic=True, teachers="any", student_readout="any", teacher_readout="any", norm="any",
    label_noise=True, decay=True,
)  # fmt: skip
MOST = 40  # units in all: the tensors have their fourth power


def step_covariance(problem: Problem, state: Overlaps) -> np.ndarray:
    """Covariance of the overlaps' increments in one SGD step, times dim^2.

    It is dim times what a unit of alpha adds to the covariance of the overlaps. For quadratic units under squared loss
    on isotropic inputs with a fixed readout, where dim is large.

    Parameters
    ----------
    problem : Problem
        What is learned.
    state : Overlaps
        Where.

    Returns
    -------
    ndarray
        (m, m): cross overlaps R row by row, then student overlaps Q_kj with k <= j, row by row.

    Notes
    -----
    On the sphere the increments are projected, dR_kl - R_kl dQ_kk/2 and dQ_kj - Q_kj (dQ_kk + dQ_jj)/2.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=1000)
    >>> sv.dynamics.step_covariance(problem, sv.start(problem, seed=0)).shape
    (5, 5)
    """
    _check(problem)
    check_start(problem, state)
    p, q, training = problem.student.width, problem.teacher.width, problem.training
    rate = training.schedule.rates[0]
    C, s = field_covariance(problem, state), np.concatenate([-state.readout, problem.teacher.readout_values])
    first, second, third, fourth = _averages(C, s, float(training.label_noise))
    f = 4 * training.loss_factor * state.readout
    rows = [(k, p + m) for k in range(p) for m in range(q)] + [(k, j) for k in range(p) for j in range(k, p)]
    a, b = np.array(rows).T
    inside = b < p
    linear = rate * (f[a] + np.where(inside, f[np.minimum(b, p - 1)], 0.0))
    square = np.where(inside, rate**2 * f[a] * f[np.minimum(b, p - 1)], 0.0)
    mean = linear * first[0][a, b] + square * first[1][a, b]
    i, j = np.ix_(range(len(rows)), range(len(rows)))
    both = (a[i], b[i], a[j], b[j])
    moments = (
        np.outer(linear, linear) * second[both]
        + (np.outer(linear, square) + np.outer(square, linear)) * third[both]
        + np.outer(square, square) * fourth[both]
    )
    covariance: np.ndarray = moments - np.outer(mean, mean)
    if problem.student.norm == "sphere":
        project, norms = np.eye(len(rows)), {k: rows.index((k, k)) for k in range(p)}
        values = np.block([[state.student_overlap, state.cross_overlap]])
        for row, (k, other) in enumerate(rows):
            project[row, norms[k]] -= 0.5 * values[k, other]
            if other < p:
                project[row, norms[other]] -= 0.5 * values[k, other]
        covariance = project @ covariance @ project.T
    return covariance


def _check(problem: Problem) -> None:
    SCATTER.require(problem)
    if problem.student.width + problem.teacher.width > MOST:
        raise ValueError(f"step_covariance: more than {MOST} units; sample steps instead, as Meso does")


def _averages(
    C: np.ndarray, s: np.ndarray, noise: float
) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray, np.ndarray, np.ndarray]:
    """<e^m z z> for m = 1, 2, then <e^m z z z z> for m = 2, 3, 4, with label noise."""
    step = 2 * C * s  # C M, twice
    powers = [C]
    traces = []
    product = np.eye(len(C))
    for _ in range(4):
        product = product @ step
        powers.append(product @ C)
        traces.append(np.trace(product))
    weights = [1.0]  # of det(1 - 2 t C M)^(-1/2), by its logarithm sum_j t^j tr (2 C M)^j / (2 j)
    for m in range(1, 5):
        weights.append(sum(0.5 * traces[j - 1] * weights[m - j] for j in range(1, m + 1)) / m)

    def two(m: int) -> np.ndarray:
        found: np.ndarray = math.factorial(m) * sum(weights[m - j] * powers[j] for j in range(m + 1))  # type: ignore[assignment]
        return found

    def four(m: int) -> np.ndarray:
        total = np.zeros((len(C),) * 4)
        for i in range(m + 1):
            for j in range(m + 1 - i):
                pairs = np.multiply.outer(powers[i], powers[j])
                total += weights[m - i - j] * (pairs + pairs.transpose(0, 2, 1, 3) + pairs.transpose(0, 2, 3, 1))
        return math.factorial(m) * total

    plain = {m: four(m) for m in range(5)}
    return (
        (two(1), two(2) + noise * two(0)),
        plain[2] + noise * plain[0],
        plain[3] + 3 * noise * plain[1],
        plain[4] + 6 * noise * plain[2] + 3 * noise**2 * plain[0],
    )

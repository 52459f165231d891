"""erf students of erf teachers whose overlaps are all alike: worschech2024's closed forms of the plateau and of the escape from it.

T_k and D_k are averages over the teachers' overlaps of order k (sum over blocks of eigenvalue^k times the block's): of the
diagonal, and of the sum of a row's other entries. For a teacher as it is these forms are approximations; `theory/committee.py` is
exact.
"""

import math
from typing import NamedTuple

import numpy as np

from solvable.dynamics.gaussian_moments import moments
from solvable.overlaps import Overlaps
from solvable.problems import Problem
from solvable.theory.committee import check_printed_length, check_uniform, committee_of
from solvable.theory.prediction import TIME, NotApplicable, Prediction, prediction

ALIKE = ("rate small", "teacher overlaps alike")


class Heights(NamedTuple):
    """Overlaps and risk on the plateau of erf students.

    Parameters
    ----------
    cross_overlap : ndarray
        (M,) overlap of every student with each teacher, weighted by a power of the eigenvalues.
    student_overlap : float
        Overlap between students, weighted alike.
    risk : float
        Height of the plateau.

    Examples
    --------
    >>> sv.theory.Heights(np.array([0.5, 0.5]), 0.4, 0.05).risk
    0.05
    """

    cross_overlap: np.ndarray
    student_overlap: float
    risk: float


def _averages(T: np.ndarray) -> tuple[float, float]:
    own = float(np.diag(T).mean())
    return own, float(T.sum() / len(T)) - own


def _of_order(problem: Problem, blocks: np.ndarray, order: int) -> np.ndarray:
    return np.tensordot(problem.inputs.eigenvalues**order, blocks, axes=1)


@prediction(check_uniform)
def uniform_plateau(problem: Problem, start: Overlaps, order: int = 1, *, printed: bool = False) -> Prediction:
    """Heights of the plateau of erf students of teachers with equal overlaps.

    Parameters
    ----------
    start : Overlaps
        Its teachers' overlaps are taken.
    order : int
        Power of the eigenvalues by which overlaps are weighted.

    Returns
    -------
    Prediction
        Its value: `Heights`.

    Notes
    -----
    Heights of the plateau of a teacher whose overlaps are all alike, with averages over those of `start`
    (worschech2024, 13, 97 to 99): with A = M (1 + T_1) and p = T_1 + D_1

        Q* = p/(A - p),   R* = p/sqrt(M (A - p)),   of order k both times (T_k + D_k)/p
        risk = (2/pi) c M a*^2 [asin(T_1/(1 + T_1)) + (M - 1) asin(D_1/((M - 1)(1 + T_1))) - M asin(p/A)]

    with a* the teachers' readout. `printed` takes (98) and (99) as they stand: T_k/T_1 above order one, and D_1 in the
    place of D_1/(M - 1) (docs/ERRATA.md W30, W31).

    Examples
    --------
    >>> problem = sv.problems.convention("worschech2024").problem(K=2, M=2, eta=0.1, N=1000)
    >>> start = sv.start(problem, seed=0, students="orthogonal", cross=0.01)
    >>> round(sv.theory.uniform_plateau(problem, start).value.risk, 4)
    0.0059
    """
    M, T = problem.teacher.width, start.block_teacher_overlap
    (T_1, D_1), (T_k, D_k) = (_averages(_of_order(problem, T, k)) for k in (1, order))
    A, p = M * (1 + T_1), T_1 + D_1
    above = T_k / T_1 if printed and order > 1 else (T_k + D_k) / p
    other = D_1 if printed else D_1 / (M - 1)
    inner = math.asin(T_1 / (1 + T_1)) + (M - 1) * math.asin(other / (1 + T_1)) - M * math.asin(p / A)
    size = 2 * M / math.pi * problem.training.loss_factor * float(problem.teacher.readout_values[0]) ** 2
    R, Q = p / math.sqrt(M * (A - p)) * above, p / (A - p) * above
    source = "worschech2024, (97) to (99)" + (", as printed" if printed else ", corrected")
    return Prediction(Heights(np.full(M, R), Q, size * inner), ALIKE, source)


@prediction(check_uniform)
def rowwise_plateau(problem: Problem, start: Overlaps, order: int = 1) -> Prediction:
    """Heights of the plateau of erf students by worschech2024's row-wise approximation.

    Parameters
    ----------
    order : int
        Power of the eigenvalues by which overlaps are weighted.

    Returns
    -------
    Prediction
        Its value: `Heights`.

    Notes
    -----
    Heights of the plateau by worschech2024's approximation (95), and (96) above order one: R*_n as if all teachers had
    T_1 and D_1 of the n-th, Q* their mean; the risk is that of these overlaps with the teacher as it is. (96) has T_k
    in the place of (T_k + D_k)/(T_1 + D_1), as (98) (docs/ERRATA.md W30).

    Examples
    --------
    >>> problem = sv.problems.convention("worschech2024").problem(K=2, M=2, eta=0.1, N=1000)
    >>> start = sv.start(problem, seed=0, students="orthogonal", cross=0.01)
    >>> round(sv.theory.rowwise_plateau(problem, start).value.risk, 4)
    0.0059
    """
    M, T = problem.teacher.width, start.block_teacher_overlap
    T1 = _of_order(problem, T, 1)
    t, p = np.diag(T1), T1.sum(axis=1)
    A = M * (1 + t)
    first_R, first_Q = p / np.sqrt(M * (A - p)), float((p / (A - p)).mean())
    C = np.zeros((2 * M, 2 * M))
    C[:M, :M], C[:M, M:], C[M:, :M], C[M:, M:] = first_Q, first_R, first_R[:, None], T1
    risk = moments(C, problem, start.readout).risk
    above = np.diag(_of_order(problem, T, order)) if order > 1 else np.ones(M)
    Q = float((above * p / (A - p)).mean())
    return Prediction(
        Heights(above * first_R, Q, risk), ("rate small", "teacher overlaps nearly alike"), "worschech2024, (95), (96)"
    )


@prediction(check_uniform, clock=TIME)
def uniform_escape_time(problem: Problem, start: Overlaps, *, clock: str = "alpha") -> Prediction:
    """Time in which differences between erf students grow by e on the plateau, for teachers with equal overlaps.

    Parameters
    ----------
    start : Overlaps
        Its teachers' overlaps are taken.

    Returns
    -------
    Prediction
        Its value: float, the time.

    Notes
    -----
    Time tau in which differences between students grow by e on the plateau of a teacher whose overlaps are all alike
    (worschech2024, 15), with averages over those of `start`: (pi/2) sqrt(A - p) (A + p)^(3/2) / [(T2 - D2/(M - 1)) p] /
    (k K), A = M (1 + T1), p = T1 + D1, D the sums of a row's other entries. The risk falls at twice that rate. Holds
    for M x blocks << dim; else take the rates of `erf_plateau`.

    Examples
    --------
    >>> problem = sv.problems.convention("worschech2024").problem(K=2, M=2, eta=0.1, N=1000)
    >>> start = sv.start(problem, seed=0, students="orthogonal", cross=0.01)
    >>> round(float(sv.theory.uniform_escape_time(problem, start).value), 4)
    300.3888
    """
    one = committee_of(problem, start)
    M, ((T_1, D_1), (T_2, D_2)) = one.M, (_averages(T) for T in (one.T1, one.T2))
    A, p = M * (1 + T_1), T_1 + D_1
    if (T_2 - D_2 / (M - 1)) * p <= 1e-12 * T_1 * T_2:
        raise NotApplicable("teacher_overlap: the teachers do not differ, so nothing grows")
    value = math.pi / 2 * math.sqrt(A - p) * (A + p) ** 1.5 / ((T_2 - D_2 / (M - 1)) * p) / (one.speed * M)
    return Prediction(float(value), ALIKE, "worschech2024, (15)")


@prediction(check_uniform, clock=TIME)
def overlap_escape_time(problem: Problem, state: Overlaps, *, clock: str = "alpha") -> Prediction:
    """Time from a state on the plateau to the escape of erf students, by the growth of the cross overlaps.

    Parameters
    ----------
    state : Overlaps
        A state on the plateau.

    Returns
    -------
    Prediction
        Its value: float, the time.

    Notes
    -----
    How long after a `state` on the plateau R would have become e times its plateau value, if its spread over the
    students, that of `state`, grew with tau up to there: tau log((e - 1) R / spread). This is worschech2024's (117)
    with the tau of (15), and without log(dim)/2, which the spread contains (docs/ERRATA.md W36).

    Examples
    --------
    >>> problem = sv.problems.convention("worschech2024").problem(K=2, M=2, eta=0.1, N=1000)
    >>> start = sv.start(problem, seed=0, students="orthogonal", cross=0.01)
    >>> rest = sv.theory.erf_plateau(problem, start).value.state
    >>> near = sv.start(
    ...     problem,
    ...     student_overlap=rest.student_overlap + 1e-5 * np.eye(2),
    ...     cross_overlap=rest.cross_overlap + 1e-6 * np.array([[1, -1], [-1, 1]]),
    ...     teacher_overlap=rest.teacher_overlap,
    ... )
    >>> round(float(sv.theory.overlap_escape_time(problem, near).value), 4)
    4054.4801
    """
    tau, rise, spread = _growth(problem, state)
    return Prediction(tau * math.log(rise / spread), ALIKE, "worschech2024, (117), corrected")


@prediction(check_printed_length, clock=TIME)
def printed_plateau_length(problem: Problem, state: Overlaps, *, clock: str = "alpha") -> Prediction:
    """Length of the plateau of erf students by worschech2024's recipe (C.4), as printed.

    Parameters
    ----------
    state : Overlaps
        A state on the plateau.

    Returns
    -------
    Prediction
        Its value: float, the time.

    Notes
    -----
    worschech2024's recipe (C.4) for the same time: with half of tau, which is how fast the risk falls, and both the
    measured spread, which falls with the dimension, and log(dim)/2. The two slips all but cancel: the result is near to
    where the risk has fallen by a few percent, for which `plateau_drop` needs no luck.

    Examples
    --------
    >>> problem = sv.problems.convention("worschech2024").problem(K=2, M=2, eta=0.1, N=1000)
    >>> start = sv.start(problem, seed=0, students="orthogonal", cross=0.01)
    >>> rest = sv.theory.erf_plateau(problem, start).value.state
    >>> near = sv.start(
    ...     problem,
    ...     student_overlap=rest.student_overlap + 1e-5 * np.eye(2),
    ...     cross_overlap=rest.cross_overlap + 1e-6 * np.array([[1, -1], [-1, 1]]),
    ...     teacher_overlap=rest.teacher_overlap,
    ... )
    >>> round(float(sv.theory.printed_plateau_length(problem, near).value), 4)
    2545.9931
    """
    dim = problem.inputs.dim or 0
    tau, rise, spread = _growth(problem, state)
    return Prediction(
        0.5 * tau * (math.log(rise / spread) + 0.5 * math.log(dim)),
        ("rate small",),
        "worschech2024, (117)",
        ("half of tau, and the dimension counted twice",),
    )


def _growth(problem: Problem, state: Overlaps) -> tuple[float, float, float]:
    """tau of (15), by how much R rises to become e times as large, and its spread over the students."""
    R = _of_order(problem, state.block_cross_overlap, 1)
    spread, rise = float(np.std(R - R.mean(axis=0))), (math.e - 1) * float(R.mean())
    if not (spread > 0 and rise > 0):
        raise NotApplicable("state: is not on the plateau: students do not differ, or do not know the teachers")
    return uniform_escape_time(problem, state).value, rise, spread

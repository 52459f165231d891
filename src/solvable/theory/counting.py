"""Dimensions of quadratic networks: how many degrees of freedom a student has, and how many the set of solutions has."""

from dataclasses import replace

from solvable.problems import EVERYTHING, Problem
from solvable.theory.prediction import Prediction, prediction

# what a student can be does not depend on how it is trained
EXPRESSIBLE = replace(
    EVERYTHING, units="quadratic", target="additive", student_readout="positive", norm="free", trained_readout=False
)
# where learning ends does, but not on its noise and rates
LEARNED = replace(EXPRESSIBLE, teacher_readout="positive", decay=False, samples=False)


@prediction(replace(EXPRESSIBLE, finite_dim=True))
def degrees_of_freedom(problem: Problem) -> Prediction:
    """Dimension of the set of functions that a quadratic student can express.

    Returns
    -------
    Prediction
        Its value: int, the dimension.

    Notes
    -----
    Dimension of the set of functions a student of width p can be: N k - k (k - 1)/2, k = min(p, N), which saturates at
    N (N + 1)/2, all quadratic forms (bocchi2026, 7.5.1).

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=4, p_star=2, eta=0.05, N=1000)
    >>> sv.theory.degrees_of_freedom(problem).value
    3994
    """
    N, k = problem.inputs.dim or 0, min(problem.student.width, problem.inputs.dim or 0)
    return Prediction(N * k - k * (k - 1) // 2, ("quadratic units, free norms, fixed readout",), "bocchi2026, 7.5.1")


def check_solution_dimension(problem: Problem) -> None:
    LEARNED.require(problem)
    if problem.student.width < problem.teacher.width:  # minimisers of positive risk depend on what is minimised
        few = "with fewer students than teachers this closed form"
        replace(LEARNED, teachers="orthonormal", teacher_readout="equal", isotropic=True, loss="squared").require(
            problem, few
        )


@prediction(check_solution_dimension)
def solution_dimension(problem: Problem) -> Prediction:
    """Dimension of the set of best quadratic students.

    Returns
    -------
    Prediction
        Its value: int, the dimension.

    Notes
    -----
    Dimension of the set of best students, per connected piece: with at least as many students as teachers the
    zero-error solutions form a Stiefel manifold of dimension p m - m (m + 1)/2, m = min(p*, N) (bocchi2026, 7.5.2);
    with fewer, the minimisers at positive risk have dimension p (p - 1)/2 + p (p* - p) (orthonormal teacher).

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=4, p_star=2, eta=0.05, N=1000)
    >>> sv.theory.solution_dimension(problem).value
    5
    """
    p, q = problem.student.width, problem.teacher.width
    m = q if problem.inputs.dim is None else min(q, problem.inputs.dim)
    if p >= m:
        return Prediction(
            p * m - m * (m + 1) // 2, ("quadratic units, free norms", "teachers independent"), "bocchi2026, 7.5.2"
        )
    return Prediction(
        p * (p - 1) // 2 + p * (q - p),
        ("teacher orthonormal", "fewer students than teachers"),
        "rotations of the minimisers",
    )

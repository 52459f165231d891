"""What the figures of this paper share."""

from solvable.overlaps import Overlaps, start
from solvable.papers.parameters import Parameter
from solvable.problems import Problem, convention

KEY = "bocchi2026"
EPSILON = 0.01
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))  # beside the colours
STUDENTS, TEACHERS = Parameter("p", 6, 6, label="$p$"), Parameter("p_star", 3, 3, label="$p^*$")
RATE, SIZE = Parameter("eta", 0.01, 0.01, label="$\\eta$"), Parameter("epsilon", EPSILON, EPSILON, label="$\\epsilon$")


def problem(p: int = 6, p_star: int = 3, eta: float = 0.01) -> Problem:
    return convention(KEY).problem(p=p, p_star=p_star, eta=eta)


def random_start(problem: Problem, seed: int, epsilon: float = EPSILON) -> Overlaps:
    """Orthonormal students with independent Gaussian student-teacher overlaps of this size (8)."""
    return start(problem, seed=seed, students="orthogonal", cross=epsilon)

"""What the figures of this paper share."""

from solvable.overlaps import Overlaps, start
from solvable.problems import Problem, convention

KEY = "bocchi2026"
EPSILON = 0.01


def problem(p: int = 6, p_star: int = 3, eta: float = 0.01) -> Problem:
    return convention(KEY).problem(p=p, p_star=p_star, eta=eta)


def random_start(problem: Problem, seed: int) -> Overlaps:
    """Orthonormal students with independent Gaussian student-teacher overlaps of size EPSILON."""
    return start(problem, seed=seed, students="orthogonal", cross=EPSILON)

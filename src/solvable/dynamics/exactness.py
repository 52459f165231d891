"""Which moments of a problem have a closed form, and on which nodes the others are averaged."""

import numpy as np

from solvable.dynamics.functions import has_numbers, is_additive
from solvable.gaussian.rules import Rule, sobol, tensor
from solvable.gaussian.units import UNITS
from solvable.numerics.memory import FLOAT, check_memory, counted
from solvable.problems import Problem

EXACT_NODES = 2**16


def is_closed(problem: Problem) -> bool:
    """Whether all moments have a closed form."""
    return (
        is_additive(problem)
        and problem.student.activation == problem.teacher.activation
        and isinstance(problem.student.activation, str)
        and UNITS[problem.student.activation].closed
    )


def _degree(problem: Problem) -> int | None:
    """Degree of the integrand of the noise where everything is a polynomial."""
    student, teacher = problem.student.hermite_coefficients, problem.teacher.hermite_coefficients
    label = {"additive": None if teacher is None else len(teacher) - 1, "product": problem.teacher.width}.get(
        problem.teacher.target if isinstance(problem.teacher.target, str) else ""
    )
    if student is None or label is None or problem.training.loss != "squared":
        return None
    return 2 * (max(len(student) - 2, 0) + max(len(student) - 1, label))


def rule_for(problem: Problem, nodes: int, seed: int) -> Rule:
    """Nodes for all fields, and for the label noise where it does not enter by its variance alone; for the fields of two students
    where that is enough (polynomial units)."""
    n = problem.student.width + problem.teacher.width
    degree = _degree(problem)
    if degree is not None and is_additive(problem):
        return tensor(2, degree // 2 + 1)
    if degree is not None and (degree // 2 + 1) ** n <= EXACT_NODES:
        return tensor(n, degree // 2 + 1)
    noisy = problem.training.loss != "squared" and problem.training.segments["label_noise"][:, 1].max() > 0
    if nodes < 16 * (n + 1):
        raise ValueError(
            f"nodes: {nodes} given, must be at least {2 ** int(np.ceil(np.log2(16 * (n + 1))))} for {n} fields"
        )
    check_memory("nodes", f"{counted(nodes)} nodes for {n} fields", 8 * FLOAT * nodes * n)
    return sobol(n + noisy, nodes, seed)


def is_exact(problem: Problem, nodes: int, *, noise: bool) -> bool:
    """Whether no average has a quadrature error: all closed, all polynomial, or the noise (which needs nodes) not asked for."""
    if is_closed(problem) or rule_for(problem, nodes, 0).exact:
        return True
    return not noise and is_additive(problem) and has_numbers(problem)

"""Counting dimensions of quadratic networks: what a student can express, and how many ways there are to be right."""

import numpy as np

from solvable.problems import Problem
from solvable.theory.prediction import NotApplicable, Prediction


def _require_quadratic(problem: Problem) -> None:
    if problem.student.activation != "quadratic" or problem.teacher.activation != "quadratic":
        raise NotApplicable("student.activation: is not 'quadratic' for student and teacher")
    if problem.teacher.target != "additive":
        raise NotApplicable("teacher.target: is not 'additive'")
    if problem.student.norm != "free":
        raise NotApplicable("student.norm: is not 'free'")
    if problem.training.train_readout:
        raise NotApplicable("training.train_readout: is true, which adds dimensions")
    if min(problem.student.readout_values) <= 0:
        raise NotApplicable("student.readout: is not positive for every student")


def check_degrees_of_freedom(problem: Problem) -> None:
    _require_quadratic(problem)
    if problem.inputs.dim is None:
        raise NotApplicable("inputs.dim: is infinite")


def degrees_of_freedom(problem: Problem) -> Prediction:
    """Dimension of the set of functions a student of width p can be: N k - k (k - 1)/2, k = min(p, N), which saturates at
    N (N + 1)/2, all quadratic forms (bocchi2026, 7.5.1)."""
    check_degrees_of_freedom(problem)
    N, k = problem.inputs.dim or 0, min(problem.student.width, problem.inputs.dim or 0)
    return Prediction(N * k - k * (k - 1) // 2, ("quadratic units, free norms, fixed readout",), "bocchi2026, 7.5.1")


def check_solution_dimension(problem: Problem) -> None:
    _require_quadratic(problem)
    if min(problem.teacher.readout_values) <= 0:
        raise NotApplicable("teacher.readout: is not positive for every teacher")
    if problem.training.weight_decay > 0:
        raise NotApplicable("training.weight_decay: is not 0, so zero error is not where learning ends")
    if problem.student.width < problem.teacher.width:
        if not problem.teacher.is_orthonormal:
            raise NotApplicable("teacher.overlap: is not 'orthonormal', and there are fewer students than teachers")
        if np.ptp(problem.teacher.readout_values) > 0:
            raise NotApplicable(
                "teacher.readout: is not the same for all teachers, and there are fewer students than teachers"
            )


def solution_dimension(problem: Problem) -> Prediction:
    """Dimension of the set of best students, per connected piece: with at least as many students as teachers the zero-error
    solutions form a Stiefel manifold of dimension p m - m (m + 1)/2, m = min(p*, N) (bocchi2026, 7.5.2); with fewer, the
    minimisers at positive risk have dimension p (p - 1)/2 + p (p* - p) (orthonormal teacher)."""
    check_solution_dimension(problem)
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

"""The functions of a problem in the form that compiled code shares: units, target and loss as numbers, and the nodes of averages.

What is here is written into records by name and into one flat array of numbers; places in the array are fields of the record.
"""

from typing import Any, NamedTuple

import numpy as np

from solvable.dynamics.node_averages import node_scratch
from solvable.gaussian.curves import describe
from solvable.gaussian.losses import LOSSES, SQUARED
from solvable.gaussian.pair_planes import pair_scratch
from solvable.gaussian.polynomial_squares import square_scratch
from solvable.gaussian.rules import Rule
from solvable.gaussian.tables import tabulate
from solvable.gaussian.units import POLYNOMIAL, RELU
from solvable.problems import Problem, Target

# `pairs`: averages over two fields are all that the drift needs; `additive`: and all that the risk needs; `smooth`: slopes of
# slopes exist; `exact_square`: the noise of polynomials, by nodes over two directions
FIELDS: dict[str, type] = {
    "unit": int, "unit_at": int, "unit_terms": int, "teacher_unit": int, "teacher_at": int, "teacher_terms": int,
    "product": bool, "additive": bool, "pairs": bool, "smooth": bool, "exact_square": bool,
    "loss": int, "loss_at": int, "margin": bool,
    "nodes": int, "node_count": int, "node_fields": int,
}  # fmt: skip


class Functions(NamedTuple):
    """Values of the record's fields, and the numbers that they point into."""

    fields: dict[str, Any]
    numbers: np.ndarray


def pack_functions(problem: Problem, rule: Rule, at: int = 0) -> Functions | None:
    """With places that count from `at`; None where Python alone can call a function: targets of one's own, what no table holds."""
    student = describe(problem.student.unit, problem.student.hermite_coefficients)
    teacher = describe(problem.teacher.unit, problem.teacher.hermite_coefficients)
    loss = LOSSES[problem.training.loss]
    push = np.zeros(0) if loss.kind == SQUARED else tabulate(loss)
    if student is None or teacher is None or push is None or isinstance(problem.teacher.target, Target):
        return None
    additive = problem.teacher.target == "additive"
    pairs = additive and loss.kind == SQUARED
    exact = pairs and student[0] == teacher[0] == POLYNOMIAL
    nodes = _one_direction(rule) if exact else np.concatenate([rule.points.T, rule.weights[None]])
    sections = {"unit_at": student[1], "teacher_at": teacher[1], "loss_at": push, "nodes": nodes}
    fields: dict[str, Any] = {
        "unit": student[0], "unit_terms": student[1].size // 2,
        "teacher_unit": teacher[0], "teacher_terms": teacher[1].size // 2,
        "product": not additive, "additive": additive, "pairs": pairs, "exact_square": exact,
        "smooth": student[0] != RELU and not problem.student.unit.kinks and loss.smooth,
        "loss": loss.kind, "margin": loss.of == "margin",
        "node_count": nodes.shape[1], "node_fields": nodes.shape[0] - 1,
    }  # fmt: skip
    for name, values in sections.items():
        fields[name] = at
        at += values.size
    return Functions(fields, np.concatenate([values.ravel() for values in sections.values()]))


def _one_direction(rule: Rule) -> np.ndarray:
    """(2, nodes) of the rule whose product with itself a tensor rule of two directions is."""
    points, first = np.unique(rule.points[:, 0], return_index=True)
    weights = np.array([rule.weights[rule.points[:, 0] == rule.points[i, 0]].sum() for i in first])
    return np.stack([points, weights])


def scratch_size(fields: int) -> int:
    """Numbers of scratch that `averages` needs: four matrices, then whatever is averaged."""
    return 4 * fields**2 + max(pair_scratch(fields), node_scratch(fields), square_scratch(fields))

"""Rows of data that training does not see: the risk is measured on them."""

import math

import numpy as np

from solvable.problems import Problem


class HeldOut:
    """Rows (n, columns) whose products with coordinates of weights are fields, and the labels that belong to them.

    Without labels they are the teachers', whose coordinates are `teacher` (p*, columns), without noise.
    """

    def __init__(self, problem: Problem, rows: np.ndarray, labels: np.ndarray | None, teacher: np.ndarray) -> None:
        self.problem, self.rows = problem, rows
        self.labels = problem.teacher.labels(rows @ teacher.T) if labels is None else labels

    def risk(self, students: np.ndarray, readout: np.ndarray, bias: float) -> tuple[float, float]:
        """Risk of students (p, columns), with its standard error."""
        outputs = self.problem.student.unit.function(self.rows @ students.T) @ readout + bias
        losses = self.problem.training.loss_factor * (self.labels - outputs) ** 2
        return float(losses.mean()), float(losses.std() / math.sqrt(len(losses)))

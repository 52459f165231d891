"""What the figure of this paper needs. Of the paper only the abstract was read: values are ours."""

import math
from typing import Any

from solvable.overlaps import Overlaps, start
from solvable.problems import Hermite, Inputs, Problem, Student, Teacher, Training

KEY = "arnaboldi2024"
OURS = "a setting of our own: the text was not read"
ANY = "any will do"


def single_index(order: int, rate: float, dim: int | None = None, **training: Any) -> Problem:
    """One student on the sphere and one teacher with the same unit, the Hermite polynomial of this order with variance one: its
    order is the information exponent of the target."""
    unit = Hermite(coefficients=(*(0.0,) * order, 1 / math.sqrt(math.factorial(order))))
    return Problem(
        teacher=Teacher(width=1, activation=unit, readout="unit"),
        student=Student(width=1, activation=unit, readout="unit", norm="sphere"),
        inputs=Inputs(dim=dim),
        training=Training(learning_rate=rate, loss_factor=0.5, **training),
    )


def mediocre(problem: Problem, dim: float) -> Overlaps:
    """A student with the overlap of a random one at this dimension."""
    return start(problem, student_overlap=[[1.0]], cross_overlap=[[1 / math.sqrt(dim)]])

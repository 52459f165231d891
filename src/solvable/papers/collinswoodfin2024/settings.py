"""What the figures of this paper share: least squares with a rule for the rate. We have read the abstract alone."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from solvable.overlaps import Overlaps, start
from solvable.problems import Inputs, Problem, Spectrum, Student, Teacher, Training

KEY = "collinswoodfin2024"
MINE = "our choice"


def problem(eigenvalues: Sequence[float], rate: float, rule: Any = None, *, dim: int | None = None) -> Problem:
    """One linear student and one linear teacher, no noise, eigenvalues of equal shares."""
    linear: dict[str, Any] = {"width": 1, "activation": "linear", "readout": "unit"}
    return Problem(
        teacher=Teacher(**linear),
        student=Student(**linear),
        inputs=Inputs(dim=dim, spectrum=Spectrum(eigenvalues=tuple(eigenvalues))),
        training=Training(learning_rate=rate, loss_factor=0.5, rate_rule=rule),
    )


def begun(here: Problem, distance: float) -> Overlaps:
    """A student orthogonal to its teacher, at this squared distance."""
    return start(here, student_overlap=[[distance - 1.0]], cross_overlap=np.zeros((1, 1)))

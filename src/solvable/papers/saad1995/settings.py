"""What the figures of this paper share. Of the paper only the abstract was read, so the figures have names in place of numbers."""

from typing import Any

import numpy as np

from solvable.overlaps import Overlaps, start
from solvable.problems import Inputs, Problem, Student, Teacher, Training

KEY = "saad1995"
OURS = "settings of our own: the text was not read"
ANY = "any will do"


def committee(K: int, M: int, rate: float, lengths: tuple[float, ...] = (), dim: int | None = None) -> Problem:
    """Soft committee machines: erf units with readouts one, half the squared error, orthogonal teachers with these squared lengths
    (left out: one)."""
    overlap: Any = tuple(map(tuple, np.diag(lengths).tolist())) if lengths else "orthonormal"
    return Problem(
        teacher=Teacher(width=M, activation="erf", readout="unit", overlap=overlap),
        student=Student(width=K, activation="erf", readout="unit"),
        inputs=Inputs(dim=dim),
        training=Training(learning_rate=rate, loss_factor=0.5),
    )


def small_start(problem: Problem, norm: float, lean: float, seed: int) -> Overlaps:
    """Orthogonal students with different squared lengths up to `norm`, and cross overlaps up to `lean`."""
    random, K, M = np.random.default_rng(seed), problem.student.width, problem.teacher.width
    return start(
        problem, student_overlap=np.diag(norm * random.random(K)), cross_overlap=lean * random.uniform(-1, 1, (K, M))
    )

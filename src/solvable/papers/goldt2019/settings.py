"""What the figure of this paper needs. Of the paper only the abstract was read: values are ours."""

import numpy as np

from solvable.overlaps import Overlaps, start
from solvable.problems import Inputs, Problem, Student, Teacher, Training

KEY = "goldt2019"
OURS = "a setting of our own: the text was not read"
ANY = "any will do"


def problem(K: int, M: int, rate: float, noise: float, both: bool, dim: int | None = None) -> Problem:
    """erf networks with readouts one at the teacher, half the squared error, noise on the labels; one or both layers learn."""
    return Problem(
        teacher=Teacher(width=M, activation="erf", readout="unit"),
        student=Student(width=K, activation="erf", readout="unit"),
        inputs=Inputs(dim=dim),
        training=Training(learning_rate=rate, loss_factor=0.5, label_noise=noise, train_readout=both),
    )


def first(setting: Problem, norm: float, lean: float, seed: int) -> Overlaps:
    """Orthogonal students of this squared length with random cross overlaps up to `lean`, and random positive readouts if they
    learn."""
    K, M, random = setting.student.width, setting.teacher.width, np.random.default_rng(seed)
    cross = lean * random.uniform(-1, 1, (K, M))
    readout = random.uniform(0.2, 1.0, K) if setting.training.train_readout else None
    return start(setting, student_overlap=norm * np.eye(K), cross_overlap=cross, readout=readout)

"""What the figures of this paper share. Of the paper only the abstract was read, so the figures have names in place of numbers;
values are those of the example commands of the authors' public code (mariaref/rfvs2lnn_GMM_online) where there are any."""

import numpy as np

from solvable.overlaps import Overlaps, start
from solvable.problems import Inputs, Mixture, Problem, Student, Training

KEY = "refinetti2021"
CODE = "as in the example commands of the authors' code"
ANY = "any will do"
DECAY = "the examples have 0.01 and 10⁻⁵, on both layers; our equations have none for readouts"
MEANS = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])  # of the four classes
SIGNS = np.array([1.0, 1.0, -1.0, -1.0])  # their labels


def problem(unit: str, width: int, variance: float, rate: float, dim: int, decay: float = 0.0) -> Problem:
    """Four Gaussian classes with means of length one (times the root of the dimension), both layers trained on half the squared
    error."""
    return Problem(
        student=Student(width=width, activation=unit, readout="unit"),
        inputs=Inputs(dim=dim),
        training=Training(learning_rate=rate, loss_factor=0.5, train_readout=True, weight_decay=decay),
        mixture=Mixture.xor(1.0, variance=variance),
    )


def leaning_start(setting: Problem, size: float, lean: float) -> Overlaps:
    """Four orthogonal units of length `size`, each of which leans to the mean of its own class by this cosine, with a readout of
    the class's sign."""
    return start(
        setting, student_overlap=size**2 * np.eye(4), direction_overlap=lean * size * MEANS, readout=size * SIGNS
    )


def aligned(setting: Problem) -> Overlaps:
    """Four units that are the means of the classes."""
    return start(setting, student_overlap=MEANS @ MEANS.T, direction_overlap=MEANS, readout=SIGNS)


def random_start(setting: Problem, size: float, seed: int) -> Overlaps:
    """Weights and readouts of both layers drawn from a normal law of this standard deviation."""
    weights, readouts = np.random.SeedSequence(seed).spawn(2)
    drawn = np.random.default_rng(readouts).standard_normal(setting.student.width)
    return start(setting, seed=weights, scale=size, readout=size * drawn)

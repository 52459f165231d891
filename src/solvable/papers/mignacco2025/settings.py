"""The setting of the authors' notebook about dropout, from which all numbers are taken: the text of the paper was not read.

Two erf students of one teacher, all readouts one, from students at zero. The notebook does not scale kept units in training; tests
multiply the output by a factor, which is free too. Its objective has arcsines over pi where the average of two erf units has two
over pi, so that it is a quarter of the mean squared error: half of our risk at loss factor 1/2. Its label noise is a standard
deviation."""

import numpy as np

from solvable.control import Control, Optimum, optimal
from solvable.overlaps import Overlaps
from solvable.papers.figure import whole
from solvable.problems import Dropout, Inputs, Problem, Student, Teacher, Training

KEY = "mignacco2025"
NOTEBOOK = "the authors' notebook dropout/dropout.ipynb"
PRINTED = 1.1898841e-2  # its objective after the last step of its optimiser, which takes 454 s
HALF = 0.5  # of our risk is its objective
KEEP, FACTOR = "training.dropout.keep", "training.dropout.test_factor"


def setting(rate: float, deviation: float, dim: int, keep: float) -> tuple[Problem, Overlaps]:
    """With this rate, deviation of the noise on labels, input dimension, and keep probability, which is that of tests too."""
    dropout = Dropout(keep=keep, scale="test", test_factor=keep)
    problem = Problem(
        teacher=Teacher(width=1, activation="erf", readout="unit"),
        student=Student(width=2, activation="erf", readout="unit"),
        inputs=Inputs(dim=dim),
        training=Training(learning_rate=rate, loss_factor=0.5, label_noise=deviation**2, dropout=dropout),
    )
    return problem, Overlaps(np.zeros((1, 2, 2)), np.zeros((1, 2, 1)), np.ones((1, 1, 1)), np.ones(2))


def best(problem: Problem, start: Overlaps, until: float, segments: int) -> Optimum:
    """The best keep probability in so many segments, and the best factor of tests."""
    free = {KEEP: Control(segments=segments), FACTOR: Control(segments=1, upper=1.0)}
    found = optimal(problem, start, until=until, control=free, guesses=1, refine=False, progress=False)
    return whole(found)

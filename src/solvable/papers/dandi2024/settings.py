"""What the figures of this paper share. Of the paper only the abstract was read, so the figures have names in place of numbers; the
setting of `reuse` is that of the authors' public code (IdePHICS/benefit-reusing-batch), with 32 stored runs of which means and
standard errors are quoted here."""

import numpy as np

from solvable.problems import Hermite, Inputs, Problem, Ratio, Student, Target, Teacher, Training

KEY = "dandi2024"
CODE = "as in the authors' code"
ANY = "any will do"
ROOT = 2**-0.5
STORED_RUNS = "stored runs"
# after six steps, of the authors' 32 stored runs at N = 5000: mean and standard error
STORED = {"first": (0.21468, 0.00095), "second": (-0.17219, 0.00138)}
STORED_RISK = {1: (0.42017, 0.00055), 3: (0.36828, 0.00055), 6: (0.35042, 0.00054)}


def _label(fields: np.ndarray) -> np.ndarray:
    first, second = fields[:, 0], fields[:, 1]
    return np.tanh(first + second**3 - 3 * second)


def reused(dim: int, ratio: float, step: float, *, fresh: bool) -> Problem:
    """Two ReLU students of readouts ±1/√2, and a label in which the second teacher appears by its third Hermite polynomial. Every
    step takes all of ratio x dim samples: the same ones, or `fresh` ones."""
    samples = {"batch": Ratio(ratio), "selection": "repeated"} if fresh else {"samples": Ratio(ratio)}
    return Problem(
        teacher=Teacher(width=2, target=Target("tanh of a line and a cubic", 2, _label)),
        student=Student(width=2, activation="relu", readout=(ROOT, -ROOT)),
        inputs=Inputs(dim=dim),
        training=Training(step=step, loss_factor=0.5, **samples),
    )


def cubic(unit: str, dim: int, ratio: float, step: float, repeats: int) -> Problem:
    """One student and a label He_3/√6 of one teacher, of information exponent 3; fresh batches, each used `repeats` times."""
    return Problem(
        teacher=Teacher(width=1, activation=Hermite(coefficients=(0.0, 0.0, 0.0, 6**-0.5))),
        student=Student(width=1, activation=unit, readout="unit"),
        inputs=Inputs(dim=dim),
        training=Training(step=step, loss_factor=0.5, batch=Ratio(ratio), repeats=repeats, selection="repeated"),
    )


def noisy(unit: str, dim: int, ratio: float, step: float, noise: float) -> Problem:
    """Two students and one teacher of the same units, on labels with noise."""
    return Problem(
        teacher=Teacher(width=1, activation=unit),
        student=Student(width=2, activation=unit),
        inputs=Inputs(dim=dim),
        training=Training(step=step, loss_factor=0.5, samples=Ratio(ratio), label_noise=noise),
    )

"""What the figures of this paper share. Of the paper only the abstract was read, so the figures have names in place of numbers. The
paper optimises the learning rule as a whole; we stay with SGD and free its learning rate, and its weight decay."""

import numpy as np

from solvable.control import Control, Optimum, greedy, optimal
from solvable.overlaps import Overlaps
from solvable.papers.figure import whole
from solvable.problems import Inputs, Problem, Student, Teacher, Training

KEY = "rattray1997"
RATE, DECAY = "training.learning_rate", "training.weight_decay"
OURS = "our choice: the text was not read"


def setting(unit: str, noise: float, dim: int, rate: float) -> tuple[Problem, Overlaps]:
    """Two erf students of two teachers, hardly specialised, half the squared error; or six quadratic ones of three teachers, where
    each of the first three has some overlap with a teacher of its own."""
    erf = unit == "erf"
    p, q = (2, 2) if erf else (6, 3)
    problem = Problem(
        teacher=Teacher(width=q, activation=unit, readout="unit" if erf else "mean"),
        student=Student(width=p, activation=unit, readout="unit" if erf else "mean"),
        inputs=Inputs(dim=dim),
        training=Training(learning_rate=rate, label_noise=noise, loss_factor=0.5 if erf else 1.0),
    )
    R = np.array([[0.08, 0.02], [0.02, 0.08]]) if erf else 0.1 * np.eye(p, q)
    return problem, Overlaps(
        (0.25 if erf else 1.0) * np.eye(p)[None], R[None], np.eye(q)[None], problem.student.readout_values
    )


def best(problem: Problem, start: Overlaps, until: float, free: dict[str, Control]) -> Optimum:
    """The best schedule with these segments."""
    found = optimal(problem, start, until=until, control=free, guesses=2, refine=False, progress=False)
    return whole(found)


def greedily(problem: Problem, start: Overlaps, until: float, upper: float, pieces: int) -> Problem:
    """The problem with the locally optimal rate."""
    rate = greedy(problem, start, until=until, segments=pieces, upper=upper)
    return problem.replace(training__learning_rate=rate)

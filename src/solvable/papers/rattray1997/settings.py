"""What the figures of this paper share. Of the paper only the abstract was read, so the figures have names in place of numbers. The
paper optimises the learning rule as a whole; we stay with SGD and free its learning rate, and its weight decay."""

from typing import Any

import numpy as np

from solvable.control import Control, Optimum, greedy, optimal
from solvable.levels import run
from solvable.macro import Macro
from solvable.micro import Micro
from solvable.numerics.statistics import standard_error
from solvable.overlaps import Overlaps
from solvable.papers.claims import Claim, beyond
from solvable.papers.figure import whole
from solvable.problems import Inputs, Problem, Student, Teacher, Training

KEY = "rattray1997"
RATE, DECAY = "training.learning_rate", "training.weight_decay"
OURS = "our choice: the text was not read"
POINTS, LOOKS = 201, 9  # times of the equations and of SGD


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
    return optimal(problem, start, until=until, control=free, guesses=2, refine=False, progress=False)


def greedily(problem: Problem, start: Overlaps, until: float, upper: float, pieces: int) -> Problem:
    """The problem with the locally optimal rate."""
    rate = greedy(problem, start, until=until, segments=pieces, upper=upper)
    return problem.replace(training__learning_rate=rate)


def followed(problem: Problem, start: Overlaps, until: float, values: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Risks of the equations at `POINTS` times, and of runs of SGD at `LOOKS` of them."""
    times = np.linspace(0.0, until, POINTS)
    sgd = Micro(runs=values["runs"], seed=values["seed"])
    macro = run(problem, start, Macro(), times=times).risk[0]
    micro = whole(run(problem, start, sgd, times=times[:: (POINTS - 1) // (LOOKS - 1)], progress=False)).risk
    return macro, micro


def gain_claim(key: str, claim: str, macro: tuple[Any, Any], micro: tuple[Any, Any], evidence: str) -> Claim:
    """Logarithm of the ratio of last risks (first over second): the equations against the means of SGD, within four standard errors
    and what finite dimension may add, a twentieth."""
    expected = float(np.log(macro[0][-1] / macro[1][-1]))
    means, errors = zip(*((one[:, -1].mean(), standard_error(one[:, -1])) for one in micro), strict=True)
    error = float(np.hypot(errors[0] / means[0], errors[1] / means[1]))
    return beyond(
        key, claim, expected=expected, found=float(np.log(means[0] / means[1])), error=error,
        tolerance=4 * error + 0.05 * expected, evidence=evidence,
    )  # fmt: skip

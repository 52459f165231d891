"""What the figures of this paper share. It leaves gamma, Delta and T of its figures open; these are ours."""

import numpy as np

from solvable.overlaps import Overlaps, start
from solvable.problems import Problem, convention

KEY = "arnaboldi2023"
DROP = 0.1  # T: escaped when a tenth of the first excess risk has gone
PER_WIDTH = 0.05  # gamma/p where widths are compared


def problem(
    p: int, d: int | None, gamma: float | None = None, Delta: float = 0.0, *, second_layer: bool = False
) -> Problem:
    gamma = PER_WIDTH * p if gamma is None else gamma
    return convention(KEY).problem(p=p, d=d, gamma=gamma, Delta=Delta, second_layer=second_layer)


def typical_start(setting: Problem, seed: int = 0) -> Overlaps:
    """Of 31 random starts the one whose total overlap with the teacher is the median."""
    drawn = [start(setting, seed=1000 * seed + i) for i in range(31)]
    sizes = [float(np.sum(one.cross_overlap**2)) for one in drawn]
    return drawn[int(np.argsort(sizes)[15])]

"""What the figures of this paper share. It leaves rates, label noise, thresholds and numbers of runs of its figures open; where the
authors' public repository (IdePHICS/EscapingMediocrity) has runs of a figure, their values are ours too."""

import numpy as np

from solvable.overlaps import Overlaps, start
from solvable.problems import Problem, convention

KEY = "arnaboldi2023"
PUBLISHED = "as in the runs that the authors published with their code"
RATIO = "the value of the authors' published runs of two students, kept at all widths"
ANY = "any will do"
TENTH = "escaped when a tenth of the first excess risk has gone: small, yet above the noise of single runs"


def problem(p: int, d: int | None, gamma: float, Delta: float = 0.0, *, second_layer: bool = False) -> Problem:
    return convention(KEY).problem(p=p, d=d, gamma=gamma, Delta=Delta, second_layer=second_layer)


def typical_start(setting: Problem, seed: int = 0) -> Overlaps:
    """Of 31 random starts the most typical one: its overlaps with the teacher, in order of size, are nearest to the root mean
    squares of all. At width one that is near 1/sqrt(dim) ((87)), as the start of the authors' published runs."""
    drawn = [start(setting, seed=1000 * seed + i) for i in range(31)]
    sizes = np.sort([np.abs(one.cross_overlap[:, 0]) for one in drawn], axis=1)
    distances = np.sum((sizes - np.sqrt(np.mean(sizes**2, axis=0))) ** 2, axis=1)
    return drawn[int(np.argmin(distances))]

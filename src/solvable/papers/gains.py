"""What figures of best schedules share: risks of the equations and of SGD, and the claim that SGD gains as much."""

from typing import Any

import numpy as np

from solvable.levels import run
from solvable.macro import Macro
from solvable.micro import Micro
from solvable.numerics.statistics import standard_error
from solvable.overlaps import Overlaps
from solvable.papers.claims import Claim, beyond
from solvable.papers.figure import whole
from solvable.problems import Problem

POINTS, LOOKS = 201, 9  # times of the equations and of SGD


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

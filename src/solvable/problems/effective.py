"""Fast velocities in the limit of many dimensions: momentum beta is plain SGD at the effective rate learning_rate/(1 - beta)."""

from typing import Any

from solvable.problems.problem import Problem
from solvable.problems.schedules import scaled
from solvable.problems.training import Training


def is_fast(problem: Problem) -> bool:
    """Whether a problem has velocities that vanish with many dimensions.

    Parameters
    ----------
    problem : Problem
        Any problem.

    Returns
    -------
    bool
        True for momentum of the kind beta.

    Examples
    --------
    >>> plain = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1)
    >>> sv.problems.is_fast(plain.replace(training__momentum=0.9)), sv.problems.is_fast(plain)
    (True, False)
    """
    return problem.training.momentum is not None and not problem.training.is_slow


def effective(problem: Problem) -> Problem:
    """The same problem without fast velocities, at its effective rates: what it is in the limit of many dimensions.

    Parameters
    ----------
    problem : Problem
        Any problem.

    Returns
    -------
    Problem
        Itself, where there are no fast velocities.

    Examples
    --------
    >>> plain = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.25)
    >>> sv.problems.effective(plain.replace(training__momentum=0.75)).training.learning_rate
    1.0

    Notes
    -----
    u = w + beta/(1 - beta) v obeys u <- u + eta F x/sqrt(dim) exactly, with eta = learning_rate/(1 - beta) and F taken at w; the
    overlaps of v are of order 1/dim, so those of u and w agree for many dimensions.
    """
    return problem._with(_without_velocities) if is_fast(problem) else problem


def _without_velocities(part: Any) -> Any:
    if not isinstance(part, Training):
        return part
    own = None if part.readout_rate is None else scaled(part.readout_rate, part.gain)
    return part._with({"momentum": None, "learning_rate": part.effective_rate, "readout_rate": own})

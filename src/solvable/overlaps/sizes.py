"""Sizes of a problem's overlaps: what does not fit into memory is refused, what takes long reacts to Ctrl-C."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from solvable.numerics.memory import FLOAT, check_memory
from solvable.numerics.threads import interruptible
from solvable.problems import Problem

LONG = 10**7  # operations of linear algebra, a few milliseconds
P = ParamSpec("P")
R = TypeVar("R")


def check_overlaps(problem: Problem) -> None:
    """Raise an error if a problem's overlaps, with factors of twice their size, do not fit into memory.

    Parameters
    ----------
    problem : Problem
        Widths and number of blocks matter.

    Examples
    --------
    >>> sv.overlaps.check_overlaps(sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=10))
    """
    p, q, extras, blocks = problem.student.width, problem.teacher.width, len(problem.extras), problem.inputs.blocks
    field = "student.width" if p >= q else "teacher.width"
    field = field if p + q > blocks else "inputs.spectrum"
    more = f" and {extras} more rows" if extras else ""
    what = f"overlaps of {p} students and {q} teachers{more} in {blocks} block(s)"
    check_memory(field, what, 4 * blocks * (p + q + extras) ** 2 * FLOAT)


def hearing(problem: Problem, function: Callable[P, R]) -> Callable[P, R]:
    """The same function, made to react to Ctrl-C where it may take long on problems of this size.

    Parameters
    ----------
    problem : Problem
        Whose size decides.
    function : callable
        Any function.

    Returns
    -------
    callable
        The function itself for small problems, else `numerics.threads.interruptible(function)`.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=10)
    >>> sv.overlaps.hearing(problem, abs)(-1)
    1
    """
    n = problem.student.width + problem.teacher.width + len(problem.extras)
    work = n**2 * (problem.inputs.blocks * n + (problem.inputs.dim or 0))
    return interruptible(function) if work > LONG else function

"""How large the overlaps of a problem are: what is refused before it is made, and what takes so long that Ctrl-C is to be heard."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from solvable.numerics.memory import FLOAT, check_memory
from solvable.numerics.threads import interruptible
from solvable.problems import Problem

LONG = 10**7  # operations of linear algebra, a few milliseconds
P = ParamSpec("P")
R = TypeVar("R")


def check_overlaps(problem: Problem) -> None:
    """Refuse a problem whose overlaps do not fit into memory; with them come factors of as many numbers, twice."""
    p, q, extras, blocks = problem.student.width, problem.teacher.width, len(problem.extras), problem.inputs.blocks
    field = "student.width" if p >= q else "teacher.width"
    field = field if p + q > blocks else "inputs.spectrum"
    more = f" and {extras} more rows" if extras else ""
    what = f"overlaps of {p} students and {q} teachers{more} in {blocks} block(s)"
    check_memory(field, what, 4 * blocks * (p + q + extras) ** 2 * FLOAT)


def hearing(problem: Problem, function: Callable[P, R]) -> Callable[P, R]:
    """The same function; `interruptible` where it may take long on problems of this size."""
    n = problem.student.width + problem.teacher.width + len(problem.extras)
    work = n**2 * (problem.inputs.blocks * n + (problem.inputs.dim or 0))
    return interruptible(function) if work > LONG else function

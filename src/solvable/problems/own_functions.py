"""Checks that the functions of a user's own in a problem are still what they were when they were made."""

from typing import TYPE_CHECKING

from solvable.gaussian.units import OwnFunction
from solvable.problems.model import InvalidProblem

if TYPE_CHECKING:
    from solvable.problems.problem import Problem


def check_unchanged(problem: "Problem") -> None:
    """Raise InvalidProblem, naming the place, where a function has changed through something that it uses."""
    for place, function in problem.own_functions().items():
        check_function(place, function)


def check_function(place: str, function: OwnFunction) -> None:
    """Raise InvalidProblem where this function has changed since it was made."""
    try:
        function.check_unchanged()
    except ValueError as error:
        raise InvalidProblem([f"{place}: {error}"]) from None

"""Checks functions of one's own in the problems of a sweep: unchanged since they were made, and recognisable for a store."""

from solvable.gaussian.units import OwnFunction
from solvable.problems import InvalidProblem, Problem
from solvable.problems.own_functions import check_function

MOST = 1000  # functions that are remembered as checked


class Functions:
    """Checks functions of one's own; `lasting` says that results are kept beyond this process."""

    def __init__(self, *, lasting: bool) -> None:
        self.lasting = lasting
        self._checked: dict[int, OwnFunction] = {}

    def check(self, problem: Problem) -> None:
        for place, function in problem.own_functions().items():
            self.check_one(place, function)

    def check_one(self, place: str, function: OwnFunction) -> None:
        if id(function) in self._checked:
            return
        check_function(place, function)
        if self.lasting and function.obstacle is not None:
            raise InvalidProblem(
                [
                    f"{place}: the function {function.name!r} cannot be told from others by its code ({function.obstacle}), so a "
                    f"store could return another function's results; give it a version, as version='1', and raise it with "
                    f"every change, or keep nothing (store=None)"
                ]
            )
        if len(self._checked) >= MOST:
            self._checked.clear()
        self._checked[id(function)] = function

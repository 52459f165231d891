"""Calls that Python refuses in words that do not help: a start that is left out, fields of the problem given as arguments."""

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

from solvable.problems import Problem
from solvable.problems.model import paths_inside
from solvable.problems.nearest import hint

P = ParamSpec("P")
T = TypeVar("T")


def telling(function: Callable[P, T]) -> Callable[P, T]:
    """The function, which tells such slips itself; all others are Python's to tell."""
    verb, known = function.__name__, list(signature(function).parameters)

    @wraps(function)
    def checked(*given: P.args, **named: P.kwargs) -> T:
        _check_start(verb, given, named)
        for name in named:
            if name not in known and (told := hint(name, known) or _of_the_problem(name, *given, *named.values())):
                raise TypeError(f"{verb}: {name}: is not an argument{told}")
        return function(*given, **named)

    return checked


def _check_start(verb: str, given: tuple[Any, ...], named: Mapping[str, Any]) -> None:
    if len(given) == 2 and "level" not in named:
        if hasattr(given[1], "solve"):
            raise TypeError(
                f"{verb}: the second argument must be a start, as sv.start(problem, seed=0); a level is the third"
            )
        raise TypeError(f"{verb}: the third argument is missing; it is a level, for example sv.Macro()")


def _of_the_problem(name: str, *given: Any) -> str:
    """What to write where the name is that of a field of the problem."""
    for one in given:
        if isinstance(one, Problem):
            paths = paths_inside(dict(one), name)
            several = "; for several: sv.levels.run_batch" if paths == ["training__learning_rate"] else ""
            return f" but a field of the problem: problem.replace({paths[0]}=...){several}" if paths else ""
    return ""

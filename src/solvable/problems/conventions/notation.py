"""What a paper's convention is, and the words that several papers share."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from solvable.problems.domain import Domain, NotApplicable
from solvable.problems.problem import Problem
from solvable.problems.schedules import Schedule

QUADRATIC = Domain(units="quadratic", teachers="any", schedules=True)  # what three of the papers are about


@dataclass(frozen=True)
class Convention:
    """How one paper writes a problem: its symbols, its time and its risk; `convention(key)` returns it.

    Parameters
    ----------
    key : str
        The paper's key.
    time_symbol : str
        Its symbol for time, for axes.

    Examples
    --------
    >>> paper = sv.problems.convention("bocchi2026")
    >>> problem = paper.problem(p=2, p_star=1, eta=0.1, N=1000)
    >>> paper.symbols(problem)["p_star"]
    1
    """

    key: str
    time_symbol: str
    _build: Callable[..., Problem]
    _read: Callable[[Problem], dict[str, Any]]
    _misfits: Callable[[Problem], list[str]]
    _time_factor: Callable[[Problem], float] | None
    _risk: Callable[[Problem, Any], Any]

    def problem(self, **symbols: Any) -> Problem:
        """The problem that the paper's symbols describe (keyword names as in NOTATION.md)."""
        try:
            inspect.signature(self._build).bind(**symbols)
        except TypeError as error:
            known = ", ".join(inspect.signature(self._build).parameters)
            raise ValueError(f"{self.key}: {error}; its symbols are {known}") from None
        return self._build(**symbols)

    def symbols(self, problem: Problem) -> dict[str, Any]:
        """The paper's symbols for a problem; raises NotApplicable, with the reasons, where the paper has none."""
        self.require(problem)
        return self._read(problem)

    def require(self, problem: Problem) -> None:
        """Raise InvalidProblem, with the reasons, unless the paper can write the problem."""
        if not isinstance(problem, Problem):
            raise TypeError(f"{self.key}: must be given a Problem, not {type(problem).__name__}")
        misfits = self._misfits(problem)
        if misfits:
            raise NotApplicable(misfits)

    def risk(self, problem: Problem, risk: Any) -> Any:
        """Our risk of `problem` in the paper's normalisation."""
        self.require(problem)
        return self._risk(problem, risk)

    def time_factor(self, problem: Problem) -> float | None:
        """The paper's time is this factor times the integral of our rate over alpha (None: it is alpha itself)."""
        self.require(problem)
        return None if self._time_factor is None else self._time_factor(problem)


def rate_of(problem: Problem, factor: float) -> float | Schedule:
    return times(problem.training.learning_rate, factor)


def times(rate: float | Schedule, factor: float) -> float | Schedule:
    if isinstance(rate, Schedule):
        return rate.replace(rates=tuple(factor * value for value in rate.rates))
    return factor * rate


def mean_squared_error(problem: Problem, risk: Any) -> Any:
    return risk / problem.training.loss_factor


def half_the_error(problem: Problem, risk: Any) -> Any:
    return mean_squared_error(problem, risk) / 2


def time_per_width(factor: float) -> Callable[[Problem], float]:
    return lambda problem: factor * problem.training.loss_factor / problem.student.width

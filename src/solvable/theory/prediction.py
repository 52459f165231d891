"""Predictions: what a closed form returns, and the decorator that makes a function one."""

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, NamedTuple, ParamSpec

import numpy as np

from solvable.numerics.cards import card, short
from solvable.overlaps import check_start
from solvable.problems import Domain, NotApplicable, Problem
from solvable.results import Clock

__all__ = [
    "MOMENT",
    "PREDICTIONS",
    "RATE",
    "SQUARE",
    "TIME",
    "NotApplicable",
    "Prediction",
    "checked_times",
    "prediction",
]

Given = ParamSpec("Given")
# how a value changes with the unit of time: as this power of it; as a point in time, through schedules too
RATE, TIME, SQUARE, MOMENT = -1, 1, 2, "moment"
ENTRIES = {  # of parameters that many predictions share
    "problem": ("Problem", "What is learned. `NotApplicable` says why where this form does not hold."),
    "start": ("Overlaps", "The state at time zero."),
    "alpha": ("float or array", "Times, in the unit of `clock`."),
    "time": ("float or array", "Times, in the unit of `clock`."),
    "clock": ("str", "Unit of times and of rates per time, as in `run`."),
    "drop": ("float", "Fraction of the risk that has been lost."),
    "printed": ("bool", "Whether to evaluate the formula as the paper prints it."),
    "features": ("int", "How many coordinates are trained."),
    "basis": ("array", "(dim, dim) with the covariance basis x diag(eigenvalues) x basis^T of the inputs."),
    "distance": ("float", "Variance of the first difference between a student's weight and the teacher's, in every coordinate."),
}  # fmt: skip


@dataclass(frozen=True)
class Prediction:
    """What a closed form returns: a value with its assumptions and source.

    Parameters
    ----------
    value : object
        The prediction; each function says what it is.
    assumptions : tuple of str
        Under which it holds.
    source : str
        Paper and equation, or "derived here".
    caveats : tuple of str
        Assumptions that this problem or start does not meet, so that the value is approximate.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=4, p_star=2, eta=0.05, N=1000)
    >>> sv.theory.rate_limit(problem).caveats
    ()
    """

    value: Any
    assumptions: tuple[str, ...]
    source: str
    caveats: tuple[
        str, ...
    ] = ()  # assumptions that this problem or start does not meet, so that the value is approximate

    def _repr_html_(self) -> str:
        rows = {"value": short(self.value), "assumptions": "; ".join(self.assumptions), "source": self.source}
        return card(rows | ({"but here": "; ".join(self.caveats)} if self.caveats else {}))


def checked_times(name: str, times: Any) -> np.ndarray:
    """As an array of numbers that are not negative (infinity is one)."""
    try:
        array = np.asarray(times, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: {times!r} given, must be numbers") from None
    if not (array >= 0).all():
        raise ValueError(f"{name}: must not be negative")
    return array


class Registered(NamedTuple):
    """A prediction with how to call it; `check` raises NotApplicable where it does not apply to a problem."""

    function: Callable[..., Prediction]
    call: str
    check: Callable[[Problem], object]


PREDICTIONS: dict[str, Registered] = {}


def prediction(
    domain: Domain | Callable[[Problem], object] | None = None, *, clock: int | str | tuple[str, ...] = 0
) -> Callable[[Callable[Given, Prediction]], Callable[Given, Prediction]]:
    """Make a function of a problem a prediction, which `available` lists.

    It raises outside its `domain`, a Domain or a function that checks a problem (left out, the body checks that itself), and for a
    `start` that does not belong to the problem. The body counts in its own clock, the default of `clock`: times that are given
    (`alpha`, `time`) come in that, and the value goes out in the clock that was asked for. `clock` here says how it changes: TIME,
    RATE, SQUARE, MOMENT, or names of the rates that the value has. The docstring gets the entries of parameters that many
    predictions share.
    """

    def decorate(function: Callable[Given, Prediction]) -> Callable[Given, Prediction]:
        signature = inspect.signature(function)
        needed = [one for one in signature.parameters.values() if one.default is one.empty]
        times = [1.0] * (len(needed) - 1)  # a function that checks all itself needs no more than times
        plain: Callable[..., Prediction] = function
        check = domain.require if isinstance(domain, Domain) else domain or (lambda problem: plain(problem, *times))
        own = str(signature.parameters["clock"].default) if "clock" in signature.parameters else ""

        @wraps(function)
        def predict(*positional: Given.args, **named: Given.kwargs) -> Prediction:
            try:
                bound = signature.bind(*positional, **named)
            except TypeError:
                return function(*positional, **named)  # which says it in the usual words
            given = bound.arguments
            problem, unit = given["problem"], str(given.get("clock", own))
            if domain is not None or unit != own:
                check(problem)
            if given.get("start") is not None:
                check_start(problem, given["start"])
            if unit == own:
                return function(*bound.args, **bound.kwargs)
            given |= {name: _between(problem, given[name], unit, own) for name in {"alpha", "time"} & given.keys()}
            given["clock"] = own
            found = function(*bound.args, **bound.kwargs)
            return replace(found, value=_told(found.value, problem, (own, unit), clock)) if clock else found

        predict.__doc__ = _described(function.__doc__ or "", signature)
        words = [one.name if one.kind is not one.KEYWORD_ONLY else f"{one.name}=..." for one in needed]
        PREDICTIONS[function.__name__] = Registered(predict, f"{function.__name__}({', '.join(words)})", check)
        return predict

    return decorate


def _described(text: str, signature: inspect.Signature) -> str:
    """A docstring with an entry for each parameter: its own, or the shared one."""
    before, *rest = re.split(r"(?m)^(?=Returns\n-+$)", inspect.cleandoc(text), maxsplit=1)
    summary, _, entries = before.partition("Parameters\n----------\n")
    own = {entry.partition(" : ")[0]: entry.strip() for entry in re.split(r"\n(?=\S)", entries.strip())}
    shared = {name: f"{name} : {kind}\n    {meaning}" for name, (kind, meaning) in ENTRIES.items()}
    listed = "\n".join(own[name] if name in own else shared[name] for name in signature.parameters)
    return f"{summary.strip()}\n\nParameters\n----------\n{listed}\n\n{''.join(rest)}"


def _between(problem: Problem, time: Any, clock: str, other: str) -> Any:
    """Times of one clock in another; through schedules too."""
    alpha = Clock(problem, clock).to_alpha(time)
    return alpha if other == "alpha" else Clock(problem, other).from_alpha(alpha)


def _told(value: Any, problem: Problem, clocks: tuple[str, str], scale: int | str | tuple[str, ...]) -> Any:
    """A value of one clock in the other; all but moments at a constant rate."""
    if scale == MOMENT:
        return float(_between(problem, value, *clocks))
    if len(problem.training.schedule.rates) > 1:
        raise NotApplicable(f"training.learning_rate: is a schedule, so that {clocks[1]!r} time does not pass evenly")
    units = [Clock(problem, clock).from_alpha(1.0) for clock in clocks]
    pace = float(units[1] / units[0])  # how many units pass in one of its own
    if isinstance(scale, int):
        return _scaled(value, pace**scale)
    assert not isinstance(scale, str)
    return value._replace(**{name: getattr(value, name) / pace for name in scale})


def _scaled(value: Any, factor: float) -> Any:
    if not isinstance(value, tuple):
        return value * factor if isinstance(value, float | np.ndarray) else np.multiply(value, factor)
    parts = [_scaled(part, factor) for part in value]
    return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)

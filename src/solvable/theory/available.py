"""Which predictions apply to a problem, and why the others do not."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from solvable.numerics.cards import grid, short
from solvable.problems import Problem
from solvable.theory.prediction import PREDICTIONS


@dataclass(frozen=True)
class Available:
    """A prediction by name, and whether it applies to a problem.

    Parameters
    ----------
    name : str
        Name of the function in `solvable.theory`.
    call : str
        How to call it.
    applies : bool
        Whether it holds for the problem.
    reason : str
        Why it does not; empty where it applies.
    problem : Problem, optional
        The problem, for `value`.
    reasons : tuple of str
        The same as `reason`, one by one.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=4, p_star=2, eta=0.05, N=1000)
    >>> print(sv.theory.available(problem)[0])
    degrees_of_freedom(problem) = 3994: Dimension of the set of functions that a quadratic student can express.
    """

    name: str
    call: str
    applies: bool
    reason: str
    problem: Problem | None = field(default=None, repr=False, compare=False)
    reasons: tuple[str, ...] = field(default=(), repr=False)

    @property
    def what(self) -> str:
        """What it predicts: the first sentence of the function's own text."""
        paragraph = " ".join((self._function.__doc__ or "").split("\n\n")[0].split())
        return paragraph.split(". ")[0].rstrip(".") + "."

    @cached_property
    def value(self) -> Any:
        """What it predicts for the problem, computed when asked for; None where it needs more than the problem, or fails."""
        if not self.applies or self.problem is None or not self.call.endswith("(problem)"):
            return None
        try:
            return self._function(self.problem).value
        except (ArithmeticError, ValueError, MemoryError):
            return None

    @property
    def _function(self) -> Callable[..., Any]:
        return PREDICTIONS[self.name].function

    def as_dict(self) -> dict[str, Any]:
        """All of it in plain types, for files."""
        plain = {name: getattr(self, name) for name in ("name", "call", "applies", "reason", "what")}
        return plain | {"value": _plain(self.value)}

    def __str__(self) -> str:
        if not self.applies:
            return f"{self.name}: does not apply, {self.reason}"
        value = "" if self.value is None else f" = {short(self.value)}"
        return f"{self.call}{value}: {self.what}"


def _plain(value: Any) -> Any:
    if hasattr(value, "_asdict"):
        return {name: _plain(part) for name, part in value._asdict().items()}
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


class Listing(list[Available]):
    """A list of predictions, which notebooks show as a table."""

    def _repr_html_(self) -> str:
        rows = (
            [
                one.call,
                "" if one.value is None else short(one.value),
                one.what if one.applies else f"does not apply: {one.reason}",
            ]
            for one in self
        )
        return grid(("call", "value", "what it is"), rows)


ORDER = (  # of the theory, by modules
    "counting", "solutions", "plateau", "escape", "noise", "sphere", "sphere_escape", "sphere_noise", "floors", "drifting", "flow",
    "recovery", "linear", "linear_data", "adaptive", "features", "power_law", "committee", "uniform", "approach",
)  # fmt: skip


def available(problem: Problem, *, why: bool = False) -> list[Available]:
    """List the predictions that apply to a problem.

    Parameters
    ----------
    problem : Problem
        What is learned.
    why : bool
        Whether to list also those that do not apply, each with its reason.

    Returns
    -------
    list of Available
        In the order of the theory; a notebook shows it as a table.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=4, p_star=2, eta=0.05, N=1000)
    >>> "escape_time" in [one.name for one in sv.theory.available(problem)]
    True
    """
    found = Listing()
    place = {f"solvable.theory.{name}": i for i, name in enumerate(ORDER)}
    for one in sorted(PREDICTIONS.values(), key=lambda one: place.get(one.function.__module__, len(place))):
        name, call = one.function.__name__, one.call
        try:
            one.check(problem)
            found.append(Available(name, call, True, "", problem))
        except ValueError as reason:  # NotApplicable, or a schedule where a number is needed
            if why:
                lines = str(reason).splitlines()
                found.append(Available(name, call, False, "; ".join(lines), problem, tuple(lines)))
    return found

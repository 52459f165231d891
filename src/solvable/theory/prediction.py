"""Prediction: what a closed form returns, with its assumptions and source."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from solvable.numerics.cards import card, short
from solvable.problems import NotApplicable

__all__ = ["NotApplicable", "Prediction", "checked_times"]


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

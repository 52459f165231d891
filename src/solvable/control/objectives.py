"""What is made small: the last risk, its mean over time, or the time to a threshold."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from solvable.results.threshold import Threshold

KINDS = ("risk", "mean risk")


@dataclass(frozen=True)
class Objective:
    """A scalar of a run. Inside, risks count by their logarithms, because a gain is a factor; a time counts as it is."""

    kind: str
    threshold: Threshold | None = None

    @property
    def is_time(self) -> bool:
        return self.threshold is not None

    @property
    def is_mean(self) -> bool:
        return self.kind == "mean risk"

    @property
    def unit(self) -> str:
        """In which gaps are counted."""
        return "of time" if self.is_time else f"of the logarithm of the {self.kind}"

    def told(self, value: float) -> float:
        """A value as users see it."""
        return value if self.is_time else float(np.exp(value))

    def gain(self, before: float, after: float) -> float:
        """Logarithm of how many times smaller it has become."""
        return float(np.log(before / after)) if self.is_time else before - after


def objective(given: Any) -> Objective:
    """What a user asks for, checked."""
    if isinstance(given, Threshold):
        if given.quantity != "risk":
            raise ValueError(f"objective: a threshold of {given.quantity!r} given, must be one of the risk")
        return Objective("time", given)
    if given not in KINDS:
        raise ValueError(f"objective: {given!r} given, must be 'risk', 'mean risk' or a threshold from when(...)")
    return Objective(given)

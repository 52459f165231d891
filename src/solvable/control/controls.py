"""A number that is chosen freely in time, as a user describes it."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

USUAL = 50  # segments


@dataclass(frozen=True)
class Control:
    """A number that is chosen freely in time, between bounds.

    Parameters
    ----------
    segments : int
        How many values it has, for equal lengths of time.
    edges : tuple of float, optional
        Times at which segments begin (the first is 0), where they are not to be equal.
    shape : str
        "steps" (constant in each segment) or "linear" (values at the begins, joined by lines).
    lower : float, optional
        Least value; left out, 0, and 1 for a batch.
    upper : float, optional
        Largest value; left out, 1 for probabilities and five times the problem's own for all others.

    Examples
    --------
    >>> sv.control.Control(segments=4).begins(until=8.0)
    array([0., 2., 4., 6.])
    """

    segments: int = USUAL
    edges: tuple[float, ...] | None = None
    shape: Literal["steps", "linear"] = "steps"
    lower: float | None = None
    upper: float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.segments, bool) or not isinstance(self.segments, int | np.integer) or self.segments < 1:
            raise ValueError(f"segments: {self.segments!r} given, must be a whole number of at least 1")
        if self.shape not in ("steps", "linear"):
            raise ValueError(f"shape: {self.shape!r} given, must be 'steps' or 'linear'")
        if self.edges is not None:
            edges = np.asarray(self.edges, dtype=float)
            if self.segments not in (USUAL, edges.size):
                raise ValueError(f"segments: {self.segments} given together with {edges.size} edges; give one of them")
            if edges.ndim != 1 or edges.size == 0 or edges[0] != 0 or (np.diff(edges) <= 0).any():
                raise ValueError(f"edges: must start at 0 and increase, got {self.edges}")
        if self.lower is not None and self.upper is not None and not self.lower < self.upper:
            raise ValueError(f"lower: {self.lower:g} given, must be below upper, which is {self.upper:g}")

    def begins(self, until: float) -> np.ndarray:
        """(segments,) times at which they begin, or at which lines meet."""
        if self.edges is not None:
            edges = np.asarray(self.edges, dtype=float)
            if edges[-1] >= until:
                raise ValueError(f"edges: the last, {edges[-1]:g}, is not before until={until:g}")
            return edges
        if self.shape == "steps":
            return np.linspace(0.0, until, self.segments, endpoint=False)
        return np.linspace(0.0, until, max(self.segments, 2))

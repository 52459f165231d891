"""What a check returns: numbers beside their reference, with the deviation in units of what is allowed."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Report:
    """What a check returns: numbers beside their references, and whether they agree.

    Parameters
    ----------
    name : str
        What was checked.
    values, references : dict of ndarray
        By name, the numbers found and those expected.
    scales : dict of ndarray
        What deviations are measured in: standard errors, for comparisons with sampling; absolute tolerances, for
        identities.
    allowed : float
        How many scales a number may deviate.

    Examples
    --------
    >>> one = {"x": np.array([1.1])}
    >>> report = sv.checks.Report("x is one", one, {"x": np.ones(1)}, {"x": np.full(1, 0.05)}, allowed=3.0)
    >>> round(report.worst, 6), report.passed
    (2.0, True)
    """

    name: str
    values: dict[str, np.ndarray]
    references: dict[str, np.ndarray]
    scales: dict[str, np.ndarray]
    allowed: float

    @property
    def deviation(self) -> dict[str, np.ndarray]:
        """By name, |value - reference| / scale of every entry."""
        return {
            key: np.abs(self.values[key] - self.references[key]) / np.maximum(self.scales[key], 1e-300)
            for key in self.values
        }

    @property
    def worst(self) -> float:
        """The largest deviation of all, in scales; infinite where one is not finite."""
        return max(float(np.max(part)) if np.isfinite(part).all() else np.inf for part in self.deviation.values())

    @property
    def passed(self) -> bool:
        """Whether no deviation is larger than `allowed`."""
        return self.worst <= self.allowed

    def __str__(self) -> str:
        lines = [f"{self.name}: {'passed' if self.passed else 'FAILED'} (allowed {self.allowed:g})"]
        return "\n".join([*lines, *(f"  {key}: {self._told(key, part)}" for key, part in self.deviation.items())])

    def _told(self, key: str, deviation: np.ndarray) -> str:
        largest = f"largest deviation {np.max(deviation):.3g} over {deviation.size}"
        if deviation.size > 1:
            return largest
        found, wanted, scale = (one[key].item() for one in (self.values, self.references, self.scales))
        return f"{found:.6g} where {wanted:.6g} is expected, in units of {scale:.2g}: {largest}"

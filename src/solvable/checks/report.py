"""What a check returns: numbers beside their reference, with the deviation in units of what is allowed."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Report:
    """`deviation` is |value - reference| / scale, entry by entry; the check passes where all are at most `allowed`.

    For comparisons with sampling the scale is the standard error and `allowed` counts standard errors; for identities
    the scale is an absolute tolerance and `allowed` is one.
    """

    name: str
    values: dict[str, np.ndarray]
    references: dict[str, np.ndarray]
    scales: dict[str, np.ndarray]
    allowed: float

    @property
    def deviation(self) -> dict[str, np.ndarray]:
        return {
            key: np.abs(self.values[key] - self.references[key]) / np.maximum(self.scales[key], 1e-300)
            for key in self.values
        }

    @property
    def worst(self) -> float:
        return max(float(np.max(part)) if np.isfinite(part).all() else np.inf for part in self.deviation.values())

    @property
    def passed(self) -> bool:
        return self.worst <= self.allowed

    def __str__(self) -> str:
        lines = [f"{self.name}: {'passed' if self.passed else 'FAILED'} (allowed {self.allowed:g})"]
        lines += [
            f"  {key}: largest deviation {np.max(part):.3g} over {part.size}" for key, part in self.deviation.items()
        ]
        return "\n".join(lines)

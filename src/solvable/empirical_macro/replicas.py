"""Replicas: independent passes over the same equations, which give an average, its error, or a refusal where they disagree."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import t as student_t

from solvable.empirical_macro.marching import Marched
from solvable.numerics.statistics import standard_error

WIDTHS = (1.0, 0.5, 0.25)  # of rounded kinks, in units of the first
TO_ZERO = np.array([1 / 3, -2.0, 8 / 3])  # the value at zero of a + b w + c w^2 through these
DOUBT = 1 / 3  # of what extrapolation adds, which is counted as its error
SPREAD = 0.3  # replicas further apart than this share of their median disagree ...
SMALL = 0.01  # ... unless that is less than this share of the first value
ALONE = 10.0  # one replica this many times as far from the others as those are from each other disagrees with them ...
FAR = 0.05  # ... if that is also this share of their median

Numbers = ("students", "cross", "readout", "training_loss")


def extrapolated(passes: Sequence[Marched]) -> Marched:
    """One replica whose kinks were rounded off with all `WIDTHS`, at width zero."""
    if len(passes) == 1:
        return passes[0]

    def at_zero(name: str) -> np.ndarray:
        found: np.ndarray = np.tensordot(TO_ZERO, np.array([getattr(one, name) for one in passes]), axes=1)
        return found

    found: dict[str, Any] = {name: at_zero(name) for name in (*Numbers, "correlation", "response")}
    return replace(
        passes[-1], **found, reached=min(one.reached for one in passes), diverged=any(one.diverged for one in passes),
    )  # fmt: skip


def widened(values: np.ndarray) -> np.ndarray:
    """Standard error of the mean over replicas (replica, ...), times the factor by which twice it covers 95 % with so few."""
    factor = student_t.ppf(0.975, len(values) - 1) / student_t.ppf(0.975, np.inf)
    found: np.ndarray = factor * standard_error(values, axis=0)
    return found


def disagreement(values: np.ndarray) -> int | None:
    """The first time at which replicas (replica, time) are too far apart for their average to mean anything; None: never."""
    with np.errstate(invalid="ignore"):
        ordered = np.sort(values, axis=0)
        middle, scale = np.abs(np.median(values, axis=0)), SMALL * np.abs(values[:, 0]).max()
        spread = ordered[-1] - ordered[0]
        apart = ~(spread <= np.maximum(SPREAD * middle, scale))
        below, above = ordered[1] - ordered[0], ordered[-1] - ordered[-2]
        others = np.where(above > below, ordered[-2] - ordered[0], ordered[-1] - ordered[1])
        alone = np.maximum(above, below) > np.maximum(np.maximum(ALONE * others, FAR * middle), scale)
    found = np.flatnonzero(apart | (alone if len(values) > 2 else False))
    return int(found[0]) if found.size else None


@dataclass(frozen=True)
class Average:
    """Means over replicas of a lane at all times, and the widened standard errors of losses and overlaps."""

    students: np.ndarray  # (time, blocks, p, p)
    cross: np.ndarray
    readout: np.ndarray
    training_loss: np.ndarray
    training_loss_error: np.ndarray
    overlap_error: np.ndarray
    residual: np.ndarray
    reached: int  # times at which all replicas are there


def average(replicas: Sequence[Marched], finest: Sequence[Marched]) -> Average:
    """Of replicas; `finest` are the same with the smallest width of kinks, or themselves."""
    stacks = {name: np.array([getattr(one, name) for one in replicas]) for name in Numbers}
    means = {name: stack.mean(axis=0) for name, stack in stacks.items()}

    def error(name: str) -> np.ndarray:
        return np.hypot(widened(stacks[name]), _doubt(means[name], [getattr(one, name) for one in finest]))

    totals = [error("readout")]
    for name in ("students", "cross"):
        mean, last = means[name].sum(axis=1), [getattr(one, name).sum(axis=1) for one in finest]
        totals.append(np.hypot(widened(stacks[name].sum(axis=2)), _doubt(mean, last)))
    worst = np.max([one.reshape(len(one), -1).max(axis=1) for one in totals], axis=0)
    residual = np.mean([one.residual for one in replicas], axis=0)
    reached = min(one.reached for one in replicas)
    return Average(
        **means, training_loss_error=error("training_loss"), overlap_error=worst, residual=residual, reached=reached
    )


def _doubt(mean: np.ndarray, finest: list[np.ndarray]) -> np.ndarray:
    """The error of extrapolation."""
    found: np.ndarray = DOUBT * np.abs(mean - np.mean(finest, axis=0))
    return found

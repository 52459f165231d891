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
DOUBT = 1 / 3  # of what extrapolation adds, which is counted as error beside its difference from a linear one
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

    kernels = () if passes[0].correlation is None else ("correlation", "response")
    found: dict[str, Any] = {name: at_zero(name) for name in (*Numbers, *kernels)}
    return replace(
        passes[-1], **found, reached=min(one.reached for one in passes), diverged=any(one.diverged for one in passes),
    )  # fmt: skip


def present(replicas: Sequence[Marched], last: int) -> list[int]:
    """Which replicas to average after an interruption: those that came as far as the second of them, or the one that has begun.
    All, where all came to the last time or diverged."""
    if all(one.reached > last or one.diverged for one in replicas):
        return list(range(len(replicas)))
    first, second = sorted((one.reached for one in replicas), reverse=True)[:2]
    return [i for i, one in enumerate(replicas) if one.reached >= (second or first)]


def widened(values: np.ndarray) -> np.ndarray:
    """Standard error of the mean over replicas (replica, ...), times the factor by which twice it covers 95 % with so few;
    infinite for one alone."""
    if len(values) == 1:
        return np.full(values.shape[1:], np.inf)
    factor = student_t.ppf(0.975, len(values) - 1) / student_t.ppf(0.975, np.inf)
    found: np.ndarray = factor * standard_error(values, axis=0)
    return found


def disagreement(values: np.ndarray) -> int | None:
    """The first time at which replicas (replica, time) are too far apart for their average to mean anything; None: never."""
    if len(values) == 1:
        return None
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
class ReplicaMeans:
    """Means over replicas of a lane at all times, and the widened standard errors of losses and overlaps."""

    students: np.ndarray  # (time, blocks, p, p)
    cross: np.ndarray
    readout: np.ndarray
    training_loss: np.ndarray
    training_loss_error: np.ndarray
    overlap_error: np.ndarray
    residual: np.ndarray
    reached: int  # times at which all replicas are there


def average(replicas: Sequence[Marched], groups: Sequence[Sequence[Marched]]) -> ReplicaMeans:
    """Of replicas; `groups` has the passes of each, one for each width of kinks."""
    means = {name: np.mean([getattr(one, name) for one in replicas], axis=0) for name in Numbers}

    def error(name: str) -> np.ndarray:
        """(time,), the largest of all entries, summed over blocks where there are such."""
        many = [_total(name, one) for one in replicas]
        widths = [np.mean([_total(name, one) for one in passes], axis=0) for passes in zip(*groups, strict=True)]
        found = np.hypot(widened(np.array(many)), doubt(widths))
        return np.asarray(found.reshape(len(found), -1).max(axis=1))

    worst = np.max([error("students"), error("cross"), error("readout")], axis=0)
    residual = np.mean([one.residual for one in replicas], axis=0)
    return ReplicaMeans(
        **means, training_loss_error=error("training_loss"), overlap_error=worst, residual=residual,
        reached=min(one.reached for one in replicas),
    )  # fmt: skip


def _total(name: str, found: Marched) -> np.ndarray:
    values: np.ndarray = getattr(found, name)
    return values.sum(axis=1) if name in ("students", "cross") else values


def doubt(widths: Sequence[np.ndarray]) -> np.ndarray:
    """The error of what numbers with all widths of kinks say about those without; zero where there is one."""
    if len(widths) == 1:
        return np.zeros_like(widths[0])
    at_zero = np.tensordot(TO_ZERO, np.array(widths), axes=1)
    linear = 2 * widths[-1] - widths[-2]
    found: np.ndarray = np.hypot(DOUBT * (at_zero - widths[-1]), at_zero - linear)
    return found

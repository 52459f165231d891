"""Intervals by profile likelihood: how far a number can be moved, with all others following, until chi squared rises too much."""

import numpy as np

from solvable.fits.fitting import LEVEL, Model, Noise

ROUNDS = 24  # of the search for the end of an interval
CLOSE = 0.05  # of chi squared


def interval(model: Model, noise: Noise, best: np.ndarray, least: float, number: int, width: float) -> tuple[float, float]:
    """Where chi squared is LEVEL above its least value on both sides; infinite where a bound comes first. `width` is the standard
    deviation that the slopes promise."""
    ends = []
    for side in (-1.0, 1.0):
        edge = model.lower[number] if side < 0 else model.upper[number]
        ends.append(_end(model, noise, best, least, number, side, edge, max(width, 1e-6)))
    return ends[0], ends[1]


def _end(
    model: Model, noise: Noise, best: np.ndarray, least: float, number: int, side: float, edge: float, width: float
) -> float:
    others = best.copy()
    inner, outer, above = best[number], best[number] + 2.0 * side * width, 0.0
    low, low_rise, high, high_rise = inner, 0.0, None, np.inf
    for _ in range(ROUNDS):
        outer = min(outer, edge) if side > 0 else max(outer, edge)
        others, found = held(model, noise, others, number, outer)
        above = found - least
        if abs(above - LEVEL) < CLOSE:
            return float(outer)
        if above < LEVEL:
            if outer == edge:
                return side * np.inf
            low, low_rise = outer, max(above, 0.0)
            if high is None:
                outer = best[number] + (outer - best[number]) * min(2.5, np.sqrt(LEVEL / max(above, 0.3)))
                continue
        else:
            high, high_rise = outer, above
        step = (np.sqrt(LEVEL) - np.sqrt(low_rise)) / (np.sqrt(high_rise) - np.sqrt(low_rise))  # parabolas have straight roots
        outer = low + (high - low) * min(max(step, 0.05), 0.95)
    return float(outer)


def held(model: Model, noise: Noise, first: np.ndarray, number: int, value: float) -> tuple[np.ndarray, float]:
    """The best of all other parameters where one is held at a value."""
    chosen = model.chosen
    rest = Model(
        model.made, (*chosen[:number], *chosen[number + 1 :]), model.curve,
        model.fixed | {chosen[number].name: chosen[number].outer(value)},
    )  # fmt: skip
    x, found = rest.search(noise, np.delete(first, number))
    model.runs += rest.runs
    return np.insert(x, number, value), found

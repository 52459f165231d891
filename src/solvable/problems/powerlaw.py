"""Fits a power law to measured eigenvalues."""

from typing import Any, NamedTuple

import numpy as np

from solvable.problems.inputs import PowerLaw


class PowerLawFit(NamedTuple):
    """lambda_l ~ l^-(1 + beta) over the ranks `first` to `last`. `error` is the standard error of beta, by leaving out
    parts of the window, `drift` by how much beta of the second half (in log rank) exceeds that of the first: where it is
    larger than the error, there is no one power. `distinct` is the L of the `PowerLaw` of this beta that has the same mean square
    eigenvalue (over the squared mean), the number on which plateaus depend; `participation` is dim x mean^2 / mean square."""

    beta: float
    error: float
    drift: float
    first: int
    last: int
    distinct: int
    participation: float


def fit_power_law(
    eigenvalues: Any, first: int | None = None, last: int | None = None, *, weighted: bool = True
) -> PowerLawFit:
    """The power law of `eigenvalues` (any order) between the ranks `first` and `last`: a straight line by least squares
    in the logarithms of rank and eigenvalue.

    `weighted` counts each rank l by its share in log rank, 1/l, so that every decade of ranks counts alike. Without it every
    eigenvalue counts alike, the plain fit of most of the literature: nine tenths of its points are in the last decade of the
    window, so it tells the slope there. The two agree where there is one power (`drift` within the error).

    Left out, `first` is 2 (the largest eigenvalue is often of another kind) and `last` half of those that are not rounding."""
    values = np.sort(np.asarray(eigenvalues, dtype=float).ravel())[::-1]
    if values.size == 0 or not np.isfinite(values).all() or values[0] <= 0 or values[-1] < -1e-9 * values[0]:
        raise ValueError("eigenvalues: must be finite, not negative and not all zero")
    values = np.maximum(values, 0.0)
    good = int((values > 1e-12 * values[0]).sum())
    begin, end = 2 if first is None else first, max(good // 2, 6) if last is None else last
    for name, value in [("first", begin), ("last", end)]:
        if not isinstance(value, int | np.integer) or isinstance(value, bool):
            raise ValueError(f"{name}: {value!r} given, must be a whole number")
    if good < 8:
        raise ValueError(f"eigenvalues: {good} that are not zero, must be at least 8 to fit a power law")
    if not 1 <= begin <= end - 4 or end > good:
        raise ValueError(
            f"first, last: {begin}, {end} given, must be ranks between 1 and {good}, at least five of them"
        )
    ranks = np.arange(begin, end + 1)
    x, y, weights = np.log(ranks), np.log(values[begin - 1 : end]), 1 / ranks if weighted else np.ones(ranks.size)
    slope, error = _line(x, y, weights), _error(x, y, weights)
    middle = 0.5 * (x[0] + x[-1])
    halves = [_line(x[part], y[part], weights[part]) for part in (x <= middle, x >= middle) if part.sum() >= 2]
    beta, square = -slope - 1, float((values**2).mean() / values.mean() ** 2)
    drift = halves[0] - halves[1] if len(halves) == 2 else 0.0
    return PowerLawFit(beta, error, drift, begin, end, _distinct(beta, square, values.size), values.size / square)


def _line(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> float:
    """Slope of a weighted straight line."""
    share = weights / weights.sum()
    dx = x - share @ x
    return float(share @ (dx * y) / (share @ dx**2))


def _error(x: np.ndarray, y: np.ndarray, weights: np.ndarray, parts: int = 8) -> float:
    """Standard error of the slope by leaving out parts of the window, of equal weight, in turn: sorted eigenvalues are not
    independent."""
    part = (parts * (np.cumsum(weights) - 0.5 * weights) / weights.sum()).astype(int)
    slopes = np.array(
        [_line(x[kept], y[kept], weights[kept]) for i in np.unique(part) if (kept := part != i).sum() >= 2]
    )
    return float(np.sqrt((slopes.size - 1) / slopes.size * ((slopes - slopes.mean()) ** 2).sum()))


def _distinct(beta: float, square: float, most: int) -> int:
    """L of the power law with this mean square eigenvalue, which grows with L; between 1 and `most`."""
    low, high = 1, most
    while low < high:
        middle = (low + high) // 2
        law = PowerLaw(beta=max(beta, 0.0), distinct=middle)
        low, high = (middle + 1, high) if float((np.array(law.eigenvalues) ** 2).mean()) < square else (low, middle)
    return low

"""The function `fit` and its result."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from solvable.fits.curve import Curve, read_curve
from solvable.fits.fitting import FLAT, Model, Noise, rough, simulated
from solvable.fits.parameters import WHOLE, Made, Parameter, parameters
from solvable.fits.profile import interval
from solvable.overlaps import Overlaps
from solvable.problems import Problem

ROUNDS = 3  # of estimate and simulated noise
GUESSES = 3


@dataclass(frozen=True)
class Fit:
    """Parameters inferred from a learning curve.

    Parameters
    ----------
    estimates : dict
        The best value of each.
    intervals : dict
        95 % intervals, (lower, upper), by profile likelihood; an end that the curve does not tell is the bound that was given.
    open : dict
        For each, whether its lower and its upper end are bounds rather than what the curve tells.
    problem : Problem
        The problem with the estimates.
    start : Overlaps
        Its start.
    curve : Curve
        What was fitted: the data at the times that were used.
    prediction, band : ndarray
        (times,) the fitted curve, and the standard deviation of the logarithm of data about it.
    chi_squared : float
        Sum of squared residuals in units of the noise.
    degrees : int
        Times less parameters.
    correlation : ndarray
        (parameters, parameters) of the estimates, as the slopes at the optimum promise.
    flat : tuple of str
        Combinations of parameters that the curve does not tell.
    message : str
        All of this in words.
    """

    estimates: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    open: dict[str, tuple[bool, bool]]
    problem: Problem
    start: Overlaps
    curve: Curve
    prediction: np.ndarray
    band: np.ndarray
    chi_squared: float
    degrees: int
    correlation: np.ndarray
    flat: tuple[str, ...]
    message: str

    @property
    def p_value(self) -> float:
        """Chance of a larger chi squared if the problem is right; small values say that it is not."""
        from scipy.stats import chi2

        return float(chi2.sf(self.chi_squared, max(self.degrees, 1)))

    def __str__(self) -> str:
        lines = [self.message]
        for name, value in self.estimates.items():
            low, high = self.intervals[name]
            lines.append(f"  {name:28} {value:.4g}  [{low:.4g}, {high:.4g}]")
        return "\n".join(lines)


def fit(
    curve: Any,
    problem: Problem,
    *,
    free: Mapping[str, Any],
    start: Overlaps | Mapping[str, Any],
    clock: str = "alpha",
    seed: int = 0,
) -> Fit:
    """Infer numbers of a problem from a learning curve."""
    made = Made(problem, start)
    data = read_curve(curve, problem, clock).thinned()
    chosen = parameters(made, free)
    whole = [one for one in chosen if one.name in WHOLE]
    rest = tuple(one for one in chosen if one.name not in WHOLE)
    if not whole:
        return _fit(made, data, rest, {}, seed)
    (axis,) = whole
    found = {}
    for width in range(int(np.ceil(axis.lower)), int(np.floor(axis.upper)) + 1):
        found[width] = _fit(made, data, rest, {axis.name: float(width)}, seed)
    return _best_width(found, axis)


def _fit(made: Made, data: Curve, chosen: tuple[Parameter, ...], fixed: dict[str, float], seed: int) -> Fit:
    model = Model(made, chosen, data, fixed)
    if data.alpha.size <= len(chosen):
        raise ValueError(f"free: {len(chosen)} numbers given for {data.alpha.size} times, must be fewer")
    first = np.array([one.inner(one.guess) for one in chosen])
    noise = rough(data)
    x, _ = min((model.search(noise, guess) for guess in _guesses(model, first)), key=lambda one: one[1])
    least = np.inf
    for number in range(ROUNDS):
        noise = simulated(model, x, seed + number)
        before = x
        x, least = model.search(noise, x)
        if np.abs(x - before).max(initial=0.0) < 1e-3:
            break
    return _told(model, noise, x, least)


def _guesses(model: Model, first: np.ndarray) -> list[np.ndarray]:
    random = np.random.default_rng(0)
    span = np.minimum(model.upper - model.lower, 2.0)
    tries = [np.clip(first + 0.5 * span * random.uniform(-1, 1, first.size), model.lower, model.upper) for _ in range(GUESSES - 1)]
    return [first, *tries]


def _told(model: Model, noise: Noise, x: np.ndarray, least: float) -> Fit:
    from scipy.linalg import solve_triangular

    slopes = solve_triangular(noise.root, model.slopes(x), lower=True) if x.size else np.zeros((model.curve.alpha.size, 0))
    _, sizes, directions = np.linalg.svd(slopes, full_matrices=False) if x.size else (0, np.zeros(0), np.zeros((0, 0)))
    spread = 1.0 / np.maximum(sizes, 1e-12)
    covariance = (directions.T * spread**2) @ directions
    widths = np.sqrt(np.diag(covariance))
    estimates, intervals, unknown = {}, {}, {}
    for i, one in enumerate(model.chosen):
        low, high = interval(model, noise, x, least, i, min(widths[i], 1.0))
        estimates[one.name] = one.outer(x[i])
        unknown[one.name] = not np.isfinite(low), not np.isfinite(high)
        intervals[one.name] = (
            one.outer(low) if np.isfinite(low) else one.lower, one.outer(high) if np.isfinite(high) else one.upper
        )  # fmt: skip
    flat = tuple(
        _combination(model.chosen, direction) for direction, size in zip(directions, spread, strict=True) if size > FLAT
    )
    problem, start = model.made.with_values(model.values(x))
    degrees = model.curve.alpha.size - x.size
    found = Fit(
        estimates | model.fixed, intervals, unknown, problem, start, model.curve, np.exp(model.predict(x) + noise.shift),
        np.sqrt(np.diag(noise.covariance)), least, degrees, covariance / np.outer(widths, widths), flat, "",
    )  # fmt: skip
    object.__setattr__(found, "message", _words(found, noise))
    return found


def _combination(chosen: tuple[Parameter, ...], direction: np.ndarray) -> str:
    parts = [
        f"{one.name}^{weight:.2f}" if one.logarithmic else f"{weight:.2f} {one.name}"
        for one, weight in zip(chosen, direction, strict=True)
        if abs(weight) > 0.2
    ]
    return " x ".join(parts)


def _words(found: Fit, noise: Noise) -> str:
    verdict = "fits" if found.p_value > 0.01 else "does not fit: the problem cannot make this curve"
    text = f"chi squared {found.chi_squared:.1f} for {found.degrees} degrees of freedom (noise: {noise.told}): {verdict}"
    if found.flat:
        text += f"; cannot be told: {', '.join(found.flat)}"
    return text


def _best_width(found: dict[int, Fit], axis: Parameter) -> Fit:
    """The best whole number, with those that are not excluded as its interval."""
    from dataclasses import replace

    from solvable.fits.fitting import LEVEL

    best = min(found, key=lambda width: found[width].chi_squared)
    allowed = [width for width, one in found.items() if one.chi_squared <= found[best].chi_squared + LEVEL]
    one = found[best]
    widths = min(found), max(found)
    return replace(
        one, intervals=one.intervals | {axis.name: (float(min(allowed)), float(max(allowed)))},
        open=one.open | {axis.name: (min(allowed) == widths[0], max(allowed) == widths[1])},
    )  # fmt: skip

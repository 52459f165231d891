"""Intervals by profile likelihood: how far a number can be moved, with all others following, until the fit is too bad."""

import numpy as np

from solvable.fits.model import Model
from solvable.fits.noise import Noise

ROUNDS = 24  # of the search for the end of an interval
CLOSE = 0.01  # of the rise that ends an interval
CONFIDENCE = 0.95


def ending_rise(noise: Noise, least: float, degrees: int) -> float:
    """By how much the sum of squared residuals exceeds its least value at the end of a 95 % interval.

    With a covariance from nu + 1 replicas, rise (nu - degrees) / (nu + least) has the law F(1, nu - degrees): given the other
    residuals, that of the number in question is normal with a variance 1 + least/nu times that of a single one. With a known
    covariance the rise is chi squared with one degree of freedom, with independent errors of unknown size F(1, degrees)."""
    from scipy.stats import chi2, f

    nu = noise.freedom
    if nu is not None:
        return float(f.ppf(CONFIDENCE, 1, nu - degrees) * (nu + least) / (nu - degrees))
    if noise.source == "scatter":
        return float(f.ppf(CONFIDENCE, 1, max(degrees, 1)))
    return float(chi2.ppf(CONFIDENCE, 1))


class Profile:
    """Intervals about the best parameters. Where it meets better ones on its way, `better` has them."""

    def __init__(self, model: Model, noise: Noise, best: np.ndarray, least: float, covariance: np.ndarray) -> None:
        self.model, self.noise, self.best, self.least, self.covariance = model, noise, best, least, covariance
        self.rise = ending_rise(noise, least, model.curve.rows.shape[1] - best.size)
        self.better: np.ndarray | None = None

    def interval(self, number: int) -> tuple[float, float]:
        """Both ends, infinite where a bound comes first."""
        step = 2.0 * min(max(float(np.sqrt(self.covariance[number, number])), 1e-6), 1.0)
        return self._end(number, -step), self._end(number, step)

    def _end(self, number: int, step: float) -> float:
        edge = self.model.lower[number] if step < 0 else self.model.upper[number]
        begin, others = float(self.best[number]), self.best
        low, low_rise, high, high_rise = begin, 0.0, None, np.inf
        at = begin + step
        for _ in range(ROUNDS):
            at = max(at, edge) if step < 0 else min(at, edge)
            others, above = self._above(number, at, others)
            if abs(above - self.rise) < CLOSE * self.rise:
                return float(at)
            if above > self.rise:
                high, high_rise = at, above
            elif at == edge:
                return float(np.copysign(np.inf, step))
            else:
                low, low_rise = at, max(above, 0.0)
            if high is None:
                at = begin + (at - begin) * min(2.5, max(np.sqrt(self.rise / max(above, 0.1)), 1.1))
            else:  # parabolas have straight roots
                roots = np.sqrt([low_rise, self.rise, high_rise])
                at = low + (high - low) * float(np.clip((roots[1] - roots[0]) / (roots[2] - roots[0]), 0.05, 0.95))
        return float(at)

    def _above(self, number: int, value: float, others: np.ndarray) -> tuple[np.ndarray, float]:
        """The best of all others where one is held at a value, and how much worse that is than the best of all."""
        model = self.model.held(number, value)
        guesses = [np.delete(one, number) for one in (others, self._followed(number, value))]
        first = min(guesses, key=lambda one: model.misfit(self.noise, one))
        x, found = model.search(self.noise, first)
        others = np.insert(x, number, value)
        if found < self.least - CLOSE * self.rise:
            self.better = others
        return others, found - self.least

    def _followed(self, number: int, value: float) -> np.ndarray:
        """Where all others go if one does, as the slopes at the best promise."""
        along = self.covariance[number] / self.covariance[number, number]
        return np.clip(self.best + along * (value - self.best[number]), self.model.lower, self.model.upper)

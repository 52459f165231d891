"""Intervals by profile likelihood: how far a number can be moved, with all others following, until the fit is too bad."""

from collections.abc import Callable

import numpy as np

from solvable.fits.flatness import spread
from solvable.fits.model import CurveModel
from solvable.fits.noise import Noise
from solvable.fits.tails import Tails

ROUNDS = 24  # of the search for the end of an interval
CLOSE = 0.01  # of the rise that ends an interval
ENOUGH = 1e-4  # of the sum of squared residuals: accuracy of searches on the way
CONFIDENCE = 0.95
ENDS = 3  # rounds of an end and of the noise there
STILL = 0.15  # of half an interval: an end that moves less has arrived


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

    def __init__(self, model: CurveModel, noise: Noise, best: np.ndarray, least: float) -> None:
        self.model, self.noise, self.best, self.least = model, noise, best, least
        self.spread = spread(model, noise, best)
        self.tails = Tails(model, noise, best, self.spread.slopes)
        self.rise = ending_rise(noise, least, model.curve.rows.shape[1] - best.size)
        self.better: np.ndarray | None = None

    def end(self, number: int, side: int) -> tuple[float, np.ndarray]:
        """One end of an interval, the lower for side -1, infinite where a bound comes first; and all parameters there."""
        covariance, rise = self.spread.covariance, self.rise * self.tails.stretch(number, side)
        step = side * 2.0 * min(max(float(np.sqrt(covariance[number, number])), 1e-6), 1.0)
        edge = self.model.lower[number] if side < 0 else self.model.upper[number]
        begin, others = float(self.best[number]), self.best
        low, low_rise, high, high_rise = begin, 0.0, None, np.inf
        at = begin + step
        for _ in range(ROUNDS):
            at = max(at, edge) if side < 0 else min(at, edge)
            others, above = self._above(number, at, others)
            if abs(above - rise) < CLOSE * rise:
                break
            if above > rise:
                high, high_rise = at, above
            elif at == edge:
                return float(np.copysign(np.inf, side)), others
            else:
                low, low_rise = at, max(above, 0.0)
            if high is None:
                at = begin + (at - begin) * min(2.5, max(np.sqrt(rise / max(above, 0.1)), 1.1))
            else:  # parabolas have straight roots
                roots = np.sqrt([low_rise, rise, high_rise])
                at = low + (high - low) * float(np.clip((roots[1] - roots[0]) / (roots[2] - roots[0]), 0.05, 0.95))
        return float(at), others

    def _above(self, number: int, value: float, others: np.ndarray) -> tuple[np.ndarray, float]:
        """The best of all others where one is held at a value, and how much worse that is than the best of all."""
        model = self.model.held(number, value)
        guesses = [np.delete(one, number) for one in (others, self._followed(number, value))]
        first = min(guesses, key=lambda one: model.misfit(self.noise, one)) if others.size > 1 else guesses[0]
        x, found = model.search(self.noise, first, ENOUGH)
        others = np.insert(x, number, value)
        if found < self.least - CLOSE * self.rise:
            self.better = others
        return others, found - self.least

    def _followed(self, number: int, value: float) -> np.ndarray:
        """Where all others go if one does, as the slopes at the best promise."""
        along = self.spread.covariance[number] / self.spread.covariance[number, number]
        return np.clip(self.best + along * (value - self.best[number]), self.model.lower, self.model.upper)


def settled_end(profile: Profile, number: int, side: int, noise_at: Callable[[np.ndarray], Noise | None]) -> float:
    """An end of an interval with the noise that belongs to it: what is just excluded there is that its own noise made the data.

    `noise_at` has None where nothing tells the noise, and the end then stays."""
    model, best = profile.model, profile.best
    end, there = profile.end(number, side)
    before = end
    for _ in range(ENDS):
        law = None if np.isinf(end) else noise_at(there)
        if law is None:
            break
        x, least = model.search(law, best)
        moved, there = Profile(model, law, x, least).end(number, side)
        if np.isinf(moved):
            return moved
        before, end = end, moved
        if abs(end - before) < STILL * abs(end - best[number]):
            return end
    return max(end, before) if side > 0 else min(end, before)

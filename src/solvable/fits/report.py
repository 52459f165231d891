"""From what a search has found to a `Fit`: goodness, and all that a reader should know."""

from typing import NamedTuple

import numpy as np

from solvable.fits.curve import Curve, observed
from solvable.fits.model import CurveModel
from solvable.fits.noise import Noise
from solvable.fits.profile import Profile
from solvable.fits.result import SMALL, Fit
from solvable.levels import run
from solvable.macro import Macro
from solvable.overlaps import Overlaps
from solvable.problems import Problem

AMISS = 0.05  # of the logarithm: a first value that is farther from the start's is told
LARGE = 0.25  # of half an interval: the part that few replicas have in it, from which on it is told
DIVERGED = 0.01  # share of replicas from which on it is told
READ_AS = {
    "loss": "the loss with noisy labels",
    "mse": "the risk over loss_factor",
    "risk": "the risk without label noise",
}


class Found(NamedTuple):
    """The best parameters of a model, and the sum of squared residuals in units of the noise."""

    model: CurveModel
    x: np.ndarray
    least: float


class Interval(NamedTuple):
    """Both ends, and whether each is a bound of the search."""

    ends: tuple[float, float]
    is_open: tuple[bool, bool]


Intervals = dict[str, Interval]


def told(best: Found, law: Noise, intervals: Intervals, profile: Profile, rests: bool) -> Fit:
    """The result in full."""
    model, x = best.model, best.x
    problem, start = model.family.member(model.values(x))
    degrees = model.curve.rows.shape[1] - len(intervals)
    chi_squared, p_value = goodness(best.least, degrees, law)
    share = profile.tails.chance(best.least, degrees)
    p_value = p_value if share is None else max(share, p_value)
    errors = simulation_errors(best, law, profile)
    is_heavy = share is not None
    notes = (
        *_of_noise(law, profile, is_heavy, rests),
        *_of_replicas(errors, intervals),
        *_of_ends(model.values(x), intervals),
        *of_curve(model.curve, problem, start, p_value < SMALL),
    )
    shift = 0.0 if law.drift is None else law.drift
    return Fit(
        estimates=model.values(x),
        intervals={name: one.ends for name, one in intervals.items()},
        open={name: one.is_open for name, one in intervals.items()},
        problem=problem,
        start=start,
        curve=model.curve,
        prediction=np.exp(model.course(x)[: model.curve.time.size] + shift),
        band=law.band if law.band is not None else np.zeros(model.curve.time.size),
        chi_squared=chi_squared,
        degrees=degrees,
        p_value=p_value,
        correlation=profile.spread.correlation,
        flat=profile.spread.flat,
        noise=law.told,
        simulation_error=errors,
        notes=notes,
    )


def goodness(least: float, degrees: int, law: Noise) -> tuple[float, float]:
    """Chi squared, with the mean `degrees` if the problem is right, and the chance of a larger one, if the noise is normal."""
    from scipy.stats import chi2, f

    nu = law.freedom
    if nu is None:
        return least, np.nan if law.source == "scatter" else float(chi2.sf(least, degrees))
    free = nu - degrees + 1
    return least * (free - 2) / nu, float(f.sf(least * free / (nu * degrees), degrees, free))


def simulation_errors(best: Found, law: Noise, profile: Profile, groups: int = 8) -> dict[str, float]:
    """Standard deviation of each estimate that comes from the number of replicas: jackknife over groups of them, by the slopes."""
    from scipy.linalg import cho_factor, cho_solve

    if law.sample is None or not best.x.size:
        return {}
    model, slopes, moved = best.model, profile.spread.slopes, []
    residual = model.curve.rows.mean(axis=0) - law.shift - model.predict(best.x)
    for i in range(groups):
        kept = np.delete(law.sample, np.s_[i::groups], axis=0)
        covariance = law._replace(covariance=np.atleast_2d(np.cov(kept.T)) + 1e-12 * np.eye(len(residual))).root
        weighted = cho_solve((covariance, True), slopes)
        moved.append(cho_solve(cho_factor(slopes.T @ weighted), weighted.T @ (residual - kept.mean(axis=0))))
    deviations = np.sqrt((groups - 1) * np.var(moved, axis=0))
    scale = [
        one.outer(value) if one.is_logarithmic else one.unit for one, value in zip(model.chosen, best.x, strict=True)
    ]
    return {one.name: float(size * s) for one, size, s in zip(model.chosen, deviations, scale, strict=True)}


def _of_noise(law: Noise, profile: Profile, is_heavy: bool, rests: bool) -> list[str]:
    notes = []
    odd = [one.name for i, one in enumerate(profile.model.chosen) if profile.tails.is_far(i)]
    if odd or is_heavy:
        which = f" along {' and '.join(odd)}" if odd else ""
        notes.append(
            f"replicas scatter far from normally{which}: p-value and intervals take the tails of the replicas, and are rough"
        )
    if law.diverged > DIVERGED:
        notes.append(
            f"{100 * law.diverged:.0f} % of the replicas diverge and are left out: the fit is for runs that do not"
        )
    if not rests:
        notes.append("estimate and noise did not come to rest together: intervals are not to be trusted")
    return notes


def _of_replicas(errors: dict[str, float], intervals: Intervals) -> list[str]:
    large = []
    for name, error in errors.items():
        low, high = intervals[name].ends
        if error > LARGE * 0.5 * (high - low):
            large.append(f"{name} ± {error:.2g}")
    return [f"another seed would move {', '.join(large)}, which the intervals contain"] if large else []


def _of_ends(estimates: dict[str, float], intervals: Intervals) -> list[str]:
    """Most likely values that their own noise puts at an end: it is large there, which makes any curve likely."""
    at_end = [
        name
        for name, (ends, is_open) in intervals.items()
        if ends[0] < ends[1] and any(end == estimates[name] and not is_open[i] for i, end in enumerate(ends))
    ]
    return [
        f"{name} is at the end of its interval: the noise is so large there that it may make any curve"
        for name in at_end
    ]


def of_curve(curve: Curve, problem: Problem, start: Overlaps, is_misfit: bool) -> list[str]:
    """What may be amiss with the data: how they were read, their first value, their clock."""
    notes = []
    if curve.told:
        notes.append(f"{curve.told}: read as {READ_AS[curve.quantity]}, quantity says otherwise")
    if curve.first is not None:
        first = run(problem, start, Macro(), times=np.zeros(1), progress=False)
        expected = float(observed(first, curve.quantity)[0, 0])
        if not abs(np.log(max(curve.first, 1e-300) / expected)) < AMISS:
            notes.append(
                f"at time 0 the curve has {curve.first:.4g} and the start {expected:.4g}: the start or the quantity may be wrong"
            )
    dim = problem.inputs.dim
    if is_misfit and curve.clock == "alpha" and dim is not None and curve.time[-1] > 5 * dim:
        notes.append(
            f"times reach alpha = {curve.time[-1]:.4g}, {curve.time[-1] / dim:.3g} times dim: is the clock steps?"
        )
    return notes

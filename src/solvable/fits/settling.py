"""Estimate and noise that belong together: the best parameters in units of the noise that these very parameters make."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from solvable.fits import noise as noises
from solvable.fits.curve import Curve
from solvable.fits.model import CurveModel
from solvable.fits.noise import Noise
from solvable.fits.report import Found, goodness

ROUNDS = 10  # of estimate and noise
GUESSES = 3
STILL = 0.01  # of chi squared: estimates that were as good as that have arrived
NEARLY = 0.1  # the same where the noise itself changes from draw to draw, as that of Meso
DOUBTFUL = 0.02  # p-value below which the likelihood is sought as a whole
TRIES = 10  # of parameters with their noise, for each parameter and one more
SIMPLEX = 0.3  # first steps of that search
WORST = 1e30
HALVES = 4  # of a step to where replicas diverge


class Settled(NamedTuple):
    """The best of all, the noise there, and whether noise and estimate belong together or still move."""

    best: Found
    law: Noise
    rests: bool


def settled(models: list[CurveModel], data: Curve, source: str, seed: int) -> Settled:
    """The best of all models, with the noise that belongs to it. Where that fits badly, the most likely parameters are sought, with
    the noise that each of them makes."""
    law = noises.rough(data)
    each = [least(searched(model, law, guess) for guess in _guesses(model)) for model in models]
    found = _at_rest(each, source, seed)
    if source == "simulated" and _is_doubtful(found):
        other = _likeliest(found.best.model, found.best.x, seed)
        found = found if other is None else min(found, other, key=_surprise)
    return found


def _is_doubtful(found: Settled) -> bool:
    best = found.best
    degrees = best.model.curve.rows.shape[1] - best.x.size
    return not found.rests or goodness(best.least, degrees, found.law)[1] < DOUBTFUL


def _surprise(found: Settled) -> float:
    """Minus twice the logarithm of the likelihood of the parameters with their own noise."""
    return found.best.model.misfit(found.law, found.best.x) + 2 * float(np.log(np.diag(found.law.root)).sum())


def _likeliest(model: CurveModel, first: np.ndarray, seed: int) -> Settled | None:
    """The most likely parameters near a guess, each with its own noise: where the noise changes much with the parameters, its size
    tells more than the mean."""
    from scipy.optimize import minimize

    def at(x: np.ndarray, most: int = noises.REPLICAS[1]) -> Settled:
        inside = np.clip(x, model.lower, model.upper)
        return Settled(Found(model, inside, 0.0), noise_at(Found(model, inside, 0.0), "simulated", seed, most), True)

    def surprise(x: np.ndarray) -> float:
        outside = float(np.abs(x - np.clip(x, model.lower, model.upper)).sum())
        try:
            return _surprise(at(x, noises.REPLICAS[0])) + 1e3 * outside
        except noises.Diverging:
            return WORST

    if not first.size:
        return None
    first = min(first, model.first, key=surprise)
    simplex = np.vstack([first, first + SIMPLEX * np.eye(first.size)])
    options: Any = {"maxfev": TRIES * (1 + first.size), "initial_simplex": simplex, "xatol": 0.01, "fatol": 0.1}
    found = minimize(surprise, first, method="Nelder-Mead", options=options)
    try:
        best = at(found.x)
    except noises.Diverging:
        return None
    return best._replace(best=best.best._replace(least=searched(model, best.law, best.best.x).least))


def _at_rest(each: list[Found], source: str, seed: int) -> Settled:
    """Estimates and noise in turn, until they belong together."""
    best, before = least(each), None
    for number in range(ROUNDS):
        best, law = _with_noise(best, before, source, seed)
        before = best
        each = [searched(one.model, law, one.x) for one in each]
        best = least(each)
        still = STILL if law.is_smooth else NEARLY
        rests = source == "errors" or before.model.misfit(law, before.x) < best.least + still
        if rests:
            break
        if ROUNDS // 2 < number < ROUNDS - 1 and best.model is before.model:  # it goes to and fro
            best = best._replace(x=0.5 * (best.x + before.x))
    return Settled(best, law, rests)


def _with_noise(best: Found, before: Found | None, source: str, seed: int) -> tuple[Found, Noise]:
    """The noise at the best parameters; where replicas diverge, half of the way back to where they did not."""
    back = best.model.first if before is None or before.model is not best.model else before.x
    for left in reversed(range(HALVES)):
        try:
            return best, noise_at(best, source, seed)
        except noises.Diverging:
            if not left:
                raise
            best = best._replace(x=0.5 * (best.x + back))
    raise AssertionError


def searched(model: CurveModel, law: Noise, first: np.ndarray) -> Found:
    """The best parameters near a guess."""
    return Found(model, *model.search(law, first))


def least(found: Iterable[Found]) -> Found:
    """The one with the smallest sum of squares."""
    return min(found, key=lambda one: one.least)


def _guesses(model: CurveModel) -> list[np.ndarray]:
    random, span = np.random.default_rng(0), np.minimum(model.upper - model.lower, 2.0)
    moves = 0.5 * span * random.uniform(-1, 1, (GUESSES - 1, span.size))
    return [model.first, *np.clip(model.first + moves, model.lower, model.upper)] if span.size else [model.first]


def noise_at(best: Found, source: str, seed: int, most: int = noises.REPLICAS[1]) -> Noise:
    """The noise that belongs to these parameters."""
    model, curve = best.model, best.model.curve
    if source == "errors":
        return noises.given(curve)
    expected = model.course(best.x)
    if source == "scatter":
        return noises.scattered(curve, curve.rows.mean(axis=0) - expected, best.x.size)
    problem, start = model.family.member(model.values(best.x))
    if source == "simulated":
        return noises.simulated(curve, problem, start, expected, seed, most)
    return noises.from_runs(curve, problem, start, expected, seed)

"""The function `fit`: least squares against the exact equations, with the noise that training itself makes."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from solvable.fits import noise as noises
from solvable.fits.curve import MOST, Curve, read_curve
from solvable.fits.flatness import Spread, spread
from solvable.fits.model import Model
from solvable.fits.noise import Noise
from solvable.fits.parameters import Family, Parameter, Start, parameters
from solvable.fits.profile import Profile, ending_rise
from solvable.fits.result import Fit
from solvable.overlaps import Overlaps
from solvable.problems import Problem
from solvable.results import Trajectory

ROUNDS = 3  # of estimate and noise
GUESSES = 3
STILL = 0.1  # of chi squared: estimates that were as good as that have arrived
WIDTHS = ("student.width", "teacher.width")
MOST_WHOLE = 20  # whole numbers that are tried


class Found(NamedTuple):
    """The best parameters of a model, and the sum of squared residuals in units of the noise."""

    model: Model
    x: np.ndarray
    least: float


class Interval(NamedTuple):
    """Both ends, and whether each is a bound of the search."""

    ends: tuple[float, float]
    is_open: tuple[bool, bool]


Intervals = dict[str, Interval]


def fit(
    curve: Any,
    problem: Problem,
    *,
    free: Any,
    start: Start | None = None,
    clock: str | None = None,
    quantity: str | None = None,
    overlaps: bool = False,
    noise: str | None = None,
    seed: int = 0,
) -> Fit:
    """Infer numbers of a problem from a learning curve, with intervals and a word about what the curve does not tell.

    Parameters
    ----------
    curve : Trajectory, tuple or path
        What was measured: (times, values) or (times, values, errors), with values (times,) or (runs, times); a Trajectory, as
        from `Trajectory.from_weights`; or a CSV file with the columns `time` (or `alpha`, `steps`), `risk` (or `mse`, `loss`;
        several of them are runs) and `error`. Times without a value (NaN) are left out. All runs have one start.
    problem : Problem
        What may have made it; its own numbers are the first guess.
    free : list or dict
        Names of the numbers to infer, as "training.learning_rate", "training.label_noise", "inputs.spectrum.beta",
        "teacher.width" (a whole number: all between the bounds are tried); "student.readout" and "teacher.readout" are factors
        on the readouts. In a dict each has None, a guess, or (lower, upper). Of the start: "start.scale" and "start.cross",
        arguments of `sv.start` or, where overlaps are given, factors on the students' length and on their cosines with the
        teachers.
    start : Overlaps, dict or callable, optional
        The state at time zero; a dict has arguments of `sv.start`; a function gets the problem, and by name what is free as
        "start.name". Left out, the first state of a Trajectory that begins at time zero.
    clock : str, optional
        Unit of the times, as in `Clock`; left out, "alpha" (steps/dim), or what the column of a file says.
    quantity : str, optional
        What the values are: "risk", the default; "mse", the risk over `training.loss_factor`; "loss", the risk with noisy
        labels.
    overlaps : bool
        Whether student and cross overlaps of a Trajectory are data beside its risk.
    noise : str, optional
        Where the noise comes from: "replicas", the scatter of at least 8 runs in the curve; "simulated", replicas of `Micro` or
        `Meso` at the estimate, with the errors given; "errors", those given alone; "scatter", what the fit leaves. Left out:
        the first that there is.
    seed : int
        Of the simulated replicas.

    Returns
    -------
    Fit
        Estimates, intervals, goodness of fit, and what cannot be told apart.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1)
    >>> start = sv.start(problem, student_overlap=np.eye(2), cross_overlap=[[0.3], [0.1]])
    >>> curve = sv.run(problem, start, sv.Macro(), times=np.linspace(2, 40, 20))
    >>> guess = problem.replace(training__learning_rate=0.03)
    >>> found = sv.fit((curve.alpha, curve.risk, 0.02 * curve.risk[0]), guess, free=["training.learning_rate"], start=start)
    >>> round(found.estimates["training.learning_rate"], 4)
    0.1

    Notes
    -----
    Logarithms of the curve, less a shift that finite size makes, are compared with `Macro` at the same times. Their
    covariance comes from replicas at the estimate; fit and replicas are repeated until the estimate rests. With nu + 1 replicas
    and d degrees of freedom the least sum of squares T, in units of this covariance, has the law

        T (nu - d + 1) / (nu d) ~ F(d, nu - d + 1)

    if the problem is right (Hotelling), which gives the p-value; `chi_squared` is T (nu - d - 1)/nu, with mean d. Intervals end
    where T has risen by F (nu + T)/(nu - d), with the 95 % point of F(1, nu - d).
    """
    if not isinstance(problem, Problem):
        raise TypeError(f"fit: the second argument must be a Problem, not {type(problem).__name__}")
    family = Family(problem, _start(curve, start))
    data = read_curve(curve, problem, clock, quantity, overlaps)
    chosen = parameters(family, free)
    source = noises.choose(data, problem, noise)
    data = data.thinned(min(MOST, data.runs // 2) if source == "replicas" else MOST)
    if data.rows.shape[1] <= len(chosen):
        raise ValueError(f"free: {len(chosen)} numbers to infer from {data.rows.shape[1]}, must be fewer")
    models = _models(family, data, chosen)
    best, law = _settled(models, data, source, seed)
    best, intervals, flatness = _profiled(best, law)
    return _told(best, law, intervals | _not_excluded(models, best, law), flatness)


def _start(curve: Any, given: Any) -> Start:
    if given is None and isinstance(curve, Trajectory) and curve.alpha[0] == 0 and len(set(curve.start_hash)) == 1:
        return curve.at(0.0, 0)
    if not isinstance(given, Overlaps | Mapping) and not callable(given):
        raise ValueError("start: must be Overlaps, a dict with arguments of sv.start, or a function of the problem")
    return given


def _models(family: Family, data: Curve, chosen: tuple[Parameter, ...]) -> list[Model]:
    """One for each value of a whole number that is free."""
    whole = [one for one in chosen if one.is_whole]
    rest = tuple(one for one in chosen if not one.is_whole)
    if len(whole) > 1:
        raise ValueError(f"free: {whole[0].name} and {whole[1].name} are whole numbers, only one of which can be free")
    values = range(int(np.ceil(whole[0].lower)), int(whole[0].upper) + 1) if whole else (None,)
    if len(values) > MOST_WHOLE:
        raise ValueError(f"free: {whole[0].name}: {len(values)} whole numbers to try, must be at most {MOST_WHOLE}")
    if whole and whole[0].name in WIDTHS and data.overlaps is not None:
        raise ValueError(f"overlaps: their number changes with {whole[0].name}, which is free; leave one of them out")
    models = [Model(family, data, rest, {} if value is None else {whole[0].name: value}) for value in values]
    for model in models:
        family.member(model.values(model.first))  # mistakes show here
    return models


def _settled(models: list[Model], data: Curve, source: str, seed: int) -> tuple[Found, Noise]:
    """The best of all models, with the noise that belongs to it."""
    law = noises.rough(data)
    each = [_least(_search(model, law, guess) for guess in _guesses(model)) for model in models]
    best = _least(each)
    for number in range(ROUNDS):
        law, before = _noise(best, source, seed + number), best
        each = [_search(one.model, law, one.x) for one in each]
        best = _least(each)
        if source == "errors" or before.model.misfit(law, before.x) < best.least + STILL:
            break
    return best, law


def _search(model: Model, law: Noise, first: np.ndarray) -> Found:
    return Found(model, *model.search(law, first))


def _least(found: Iterable[Found]) -> Found:
    return min(found, key=lambda one: one.least)


def _guesses(model: Model) -> list[np.ndarray]:
    random, span = np.random.default_rng(0), np.minimum(model.upper - model.lower, 2.0)
    moves = 0.5 * span * random.uniform(-1, 1, (GUESSES - 1, span.size))
    return [model.first, *np.clip(model.first + moves, model.lower, model.upper)] if span.size else [model.first]


def _noise(best: Found, source: str, seed: int) -> Noise:
    model, curve = best.model, best.model.curve
    if source == "errors":
        return noises.given(curve)
    expected = model.predict(best.x)
    if source == "scatter":
        return noises.scattered(curve.rows.mean(axis=0) - expected, best.x.size)
    problem, start = model.family.member(model.values(best.x))
    make = noises.simulated if source == "simulated" else noises.from_runs
    return make(curve, problem, start, expected, seed)


def _profiled(best: Found, law: Noise) -> tuple[Found, Intervals, Spread]:
    """Intervals; where the way to their ends leads to better parameters, once more from there."""
    for _ in range(ROUNDS):
        flatness = spread(best.model, law, best.x)
        profile = Profile(best.model, law, best.x, best.least, flatness.covariance)
        found = [profile.interval(i) for i in range(best.x.size)]
        if profile.better is None:
            break
        best = _search(best.model, law, profile.better)
    return best, {one.name: _outside(one, *pair) for one, pair in zip(best.model.chosen, found, strict=True)}, flatness


def _outside(one: Parameter, low: float, high: float) -> Interval:
    return Interval((one.outer(low), one.outer(high)), (bool(np.isinf(low)), bool(np.isinf(high))))


def _not_excluded(models: list[Model], best: Found, law: Noise) -> Intervals:
    """The least and the greatest of the whole numbers that the curve does not exclude, if one is free."""
    if not best.model.fixed:
        return {}
    ((name, own),) = best.model.fixed.items()
    rise = ending_rise(law, best.least, best.model.curve.rows.shape[1] - best.x.size - 1)
    others = [
        _least(_search(one, law, first) for first in (best.x, one.first)) for one in models if one is not best.model
    ]
    kept = [own, *(one.model.fixed[name] for one in others if one.least < best.least + rise)]
    tried = [one.fixed[name] for one in models]
    is_open = min(kept) == tried[0] > 1, max(kept) == tried[-1]
    return {name: Interval((min(kept), max(kept)), is_open)}


def _told(best: Found, law: Noise, intervals: Intervals, flatness: Spread) -> Fit:
    model, x = best.model, best.x
    problem, start = model.family.member(model.values(x))
    times, degrees = model.curve.time.size, model.curve.rows.shape[1] - len(intervals)
    chi_squared, p_value = _goodness(best.least, degrees, law)
    return Fit(
        estimates=model.values(x),
        intervals={name: one.ends for name, one in intervals.items()},
        open={name: one.is_open for name, one in intervals.items()},
        problem=problem,
        start=start,
        curve=model.curve,
        prediction=np.exp((model.predict(x) + law.shift)[:times]),
        band=np.sqrt(np.diag(law.covariance))[:times],
        chi_squared=chi_squared,
        degrees=degrees,
        p_value=p_value,
        correlation=flatness.correlation,
        flat=flatness.flat,
        noise=law.told,
    )


def _goodness(least: float, degrees: int, law: Noise) -> tuple[float, float]:
    """Chi squared, with the mean `degrees` if the problem is right, and the chance of a larger one."""
    from scipy.stats import chi2, f

    nu = law.freedom
    if nu is None:
        return least, np.nan if law.source == "scatter" else float(chi2.sf(least, degrees))
    free = nu - degrees + 1
    return least * (free - 2) / nu, float(f.sf(least * free / (nu * degrees), degrees, free))

"""The function `fit`: least squares against the exact equations, with the noise that training itself makes."""

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from solvable.fits import noise as noises
from solvable.fits.curve import MOST, Curve, read_curve
from solvable.fits.model import FEW_NODES, RTOL, CurveModel
from solvable.fits.noise import Noise
from solvable.fits.parameters import Family, InferredNumber, Start, check_arguments, parameters
from solvable.fits.profile import Profile, ending_rise, settled_end
from solvable.fits.report import Found, Interval, Intervals, told
from solvable.fits.result import Fit
from solvable.fits.settling import Settled, least, noise_at, searched, settled
from solvable.levels.progress import Report, meter
from solvable.macro import Macro
from solvable.overlaps import Overlaps
from solvable.problems import Problem
from solvable.problems.own_functions import check_unchanged
from solvable.results import Trajectory

AGAIN = 3  # times that intervals are sought, if better parameters are met on the way
WIDTHS = ("student.width", "teacher.width")
MOST_WHOLE = 20  # whole numbers that are tried


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
    columns: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> Fit:
    """Infer numbers of a problem from a learning curve, with intervals and a word about what the curve does not tell.

    Parameters
    ----------
    curve : Trajectory, tuple or path
        What was measured: (times, values) or (times, values, errors), with values (times,) or (runs, times) and errors (times,) or
        their covariance (times, times); a Trajectory, as
        from `Trajectory.from_weights`; or a CSV file with the columns `time` (or `alpha`, `steps`), `risk` (or `mse`, `loss`;
        several of them are runs) and `error`, or those that `columns` chooses. Times without a value (NaN) are left out, and
        a value at time zero is compared with the start only. All runs have one start.
    problem : Problem
        What may have made it; its own numbers are the first guess.
    free : str, list or dict
        Names of the numbers to infer, as "training.learning_rate", "training.label_noise", "inputs.spectrum.beta",
        "teacher.width" (a whole number: all between the bounds are tried); "student.readout" and "teacher.readout" are factors
        on the readouts, and the name of a schedule is a factor on it. In a dict each has None, a guess, or (lower, upper). Of
        the start: "start.scale" and "start.cross", arguments of `sv.start` or, where overlaps are given, factors on the
        students' length and on their cosines with the teachers.
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
    columns : dict, optional
        Names of the columns of a CSV file by their roles "time", "value" and "error", as {"time": "epoch", "value": "val_*"}; *
        stands for any characters, and several columns of values are runs.
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
    Logarithms of the curve, less a shift that finite size makes, are compared with `Macro` at the same times; of long curves means
    over groups of neighbouring times. Their covariance comes from replicas at the estimate, with common random numbers; fit and
    replicas are repeated until the estimate rests. With nu + 1 replicas and d degrees of freedom the least sum of squares T, in
    units of this covariance, has the law

        T (nu - d + 1) / (nu d) ~ F(d, nu - d + 1)

    if the problem is right (Hotelling), which gives the p-value; `chi_squared` is T (nu - d - 1)/nu, with mean d. Intervals end
    where T has risen by F (nu + T)/(nu - d), with the 95 % point of F(1, nu - d), in units of the noise at that end. Where
    replicas are not normal, their own quantiles and shares take the place of those of F.
    """
    if not isinstance(problem, Problem):
        raise TypeError(f"fit: the second argument must be a Problem, not {type(problem).__name__}")
    check_unchanged(problem)
    family = Family(problem, _start(curve, start))
    data = read_curve(curve, problem, clock, quantity, overlaps, columns)
    chosen = parameters(family, free)
    source = noises.choose(data, problem, noise)
    data = data.thinned()
    if source in ("replicas", "simulated"):
        data = data.grouped(min(MOST, data.runs // 2) if source == "replicas" else MOST)
    if data.rows.shape[1] <= len(chosen):
        raise ValueError(f"free: {len(chosen)} numbers to infer from {data.rows.shape[1]}, must be fewer")
    level = Macro(rtol=RTOL, nodes=FEW_NODES) if source == "simulated" else Macro(rtol=RTOL)
    models = _models(family, data, chosen, level)
    with meter(None, "stages") as report:
        report(0, 2 + 2 * len(chosen))  # the estimate counts as two, each end as one
        found = settled(models, data, source, seed)
        best, law, intervals, profile = _profiled(found, source, seed, report)
    intervals |= _not_excluded(models, best, law, source, seed)
    return told(best, law, intervals, profile, found.rests)


def _start(curve: Any, given: Any) -> Start:
    if given is None and isinstance(curve, Trajectory) and curve.alpha[0] == 0 and len(set(curve.start_hash)) == 1:
        return curve.at(0.0, 0)
    if not isinstance(given, Overlaps | Mapping) and not callable(given):
        raise ValueError("start: must be Overlaps, a dict with arguments of sv.start, or a function of the problem")
    if isinstance(given, Mapping):
        check_arguments(given)
    return given


def _models(family: Family, data: Curve, chosen: tuple[InferredNumber, ...], level: Macro) -> list[CurveModel]:
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
    models = [
        CurveModel(family, data, rest, {} if value is None else {whole[0].name: value}, level) for value in values
    ]
    for model in models:
        family.member(model.values(model.first))  # mistakes show here
    return models


def _profiled(given: Settled, source: str, seed: int, report: Report) -> tuple[Found, Noise, Intervals, Profile]:
    """Intervals; where the way to their ends leads to better parameters, once more from there."""
    best, law = given.best, given.law
    for _ in range(AGAIN):
        model = best.model
        profile = Profile(model, law, best.x, best.least)

        def noise(x: np.ndarray, model: CurveModel = model) -> Noise | None:
            return _own_noise(Found(model, x, 0.0), source, seed)

        ends: list[float] = []
        for i, side in itertools.product(range(best.x.size), (-1, 1)):
            report(2 + len(ends), 2 + 2 * best.x.size)
            ends.append(settled_end(profile, i, side, noise))
        if profile.better is None:
            break
        best = searched(model, law, profile.better)
    each = zip(model.chosen, ends[::2], ends[1::2], best.x, strict=True)
    return best, law, {one.name: _outside(one, low, high, inside) for one, low, high, inside in each}, profile


def _outside(one: InferredNumber, low: float, high: float, inside: float) -> Interval:
    ends = one.outer(min(low, inside)), one.outer(max(high, inside))
    return Interval(ends, (bool(np.isinf(low)), bool(np.isinf(high))))


def _own_noise(found: Found, source: str, seed: int) -> Noise | None:
    """The noise that these parameters make, where replicas tell it."""
    try:
        return noise_at(found, source, seed) if source == "simulated" else None
    except noises.Diverging:
        return None


def _not_excluded(models: list[CurveModel], best: Found, law: Noise, source: str, seed: int) -> Intervals:
    """The least and the greatest of the whole numbers that the curve does not exclude, if one is free."""
    if not best.model.fixed:
        return {}
    ((name, own),) = best.model.fixed.items()
    others = [least(searched(one, law, x) for x in (best.x, one.first)) for one in models if one is not best.model]
    kept = [own, *(one.model.fixed[name] for one in others if not _is_excluded(one, best, law, source, seed))]
    tried = [one.fixed[name] for one in models]
    is_open = min(kept) == tried[0] > 1, max(kept) == tried[-1]
    return {name: Interval((min(kept), max(kept)), is_open)}


def _is_excluded(other: Found, best: Found, law: Noise, source: str, seed: int) -> bool:
    """Whether the curve is too far from another whole number, with the noise of the best and with its own."""
    degrees = best.model.curve.rows.shape[1] - best.x.size - 1
    if other.least < best.least + ending_rise(law, best.least, degrees):
        return False
    own = _own_noise(other, source, seed)
    if own is None:
        return True
    there, here = (searched(one.model, own, one.x).least for one in (other, best))
    return there > here + ending_rise(own, min(here, there), degrees)

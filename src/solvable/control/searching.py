"""The search for the best schedule: the best constants, then descent from several guesses, then finer segments until the gap of
`certificate.py` is small."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from solvable.control.certificate import Certificate, gaps
from solvable.control.controls import Control, Knob, knobs, own_value, with_schedules
from solvable.control.ensemble import Ensemble
from solvable.control.optimum import Optimum
from solvable.levels import run
from solvable.levels.progress import Report, meter
from solvable.macro import Macro
from solvable.overlaps import Overlaps
from solvable.problems import Problem
from solvable.results.threshold import Threshold

GAP = 1e-3  # below which segments are fine enough
MOST = 1000  # segments of one control
ROUNDS = 8  # of finer segments, and of new steps
MOVED = 1e-7  # by which new steps may change the value of a finished descent
WIDE = 300  # controls from which on another method holds integrals
SCAN = 0.5 ** np.arange(9)  # of the upper bound: first constants


class Search(NamedTuple):
    """What is searched for, apart from the segments."""

    problem: Problem
    starts: tuple[Overlaps, ...]
    until: float
    objective: str | Threshold
    integral: Mapping[str, float]
    rtol: float

    def ensemble(self, chosen: Sequence[Knob]) -> Ensemble:
        return Ensemble(self.problem, self.starts, self.until, chosen, self.objective, self.rtol)


def constants(search: Search, chosen: Sequence[Knob]) -> tuple[np.ndarray, float, int]:
    """The best constant of each control, the value that they reach, and how many gradients it took."""
    from scipy.optimize import minimize

    single = [replace(knob, begins=np.zeros(1), lengths=np.array([search.until]), shape="steps") for knob in chosen]
    ensemble = search.ensemble(single)
    fixed = {
        i: search.integral[knob.name] / search.until for i, knob in enumerate(chosen) if knob.name in search.integral
    }

    def look(x: np.ndarray) -> tuple[float, np.ndarray]:
        x = x.copy()
        for i, value in fixed.items():
            x[i] = value / ensemble.scales[i]
        ensemble.record(x)
        value, gradient = ensemble(x)
        gradient[list(fixed)] = 0.0
        return value, gradient

    own = np.array([own_value(search.problem, knob.name) for knob in chosen])
    first = np.clip(own / ensemble.scales, ensemble.lower, ensemble.upper)
    guesses = [first]
    for factor in SCAN:
        guess = first.copy()
        guess[0] = max(factor * ensemble.upper[0], ensemble.lower[0])
        guesses.append(guess)
    best = min(guesses, key=lambda x: look(x)[0])
    bounds = list(zip(ensemble.lower, ensemble.upper, strict=True))
    found = minimize(look, best, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 100, "ftol": 1e-12})
    x = found.x if found.fun <= look(best)[0] else best
    for i, value in fixed.items():
        x[i] = value / ensemble.scales[i]
    return np.concatenate(ensemble.values(x)), float(look(x)[0]), ensemble.calls


def descend(search: Search, ensemble: Ensemble, x: np.ndarray, report: Report) -> tuple[np.ndarray, float]:
    """The nearest optimum: descent on frozen steps, then new steps, until these change nothing any more."""
    from scipy.optimize import LinearConstraint, minimize

    bounds = list(zip(ensemble.lower, ensemble.upper, strict=True))
    held = _constraints(search, ensemble)
    value = np.inf
    for _ in range(1 if ensemble.adaptive else ROUNDS):
        ensemble.record(x)

        def look(x: np.ndarray) -> tuple[float, np.ndarray]:
            report(ensemble.calls, ensemble.calls + 1)
            return ensemble(x)

        if not len(held):
            found = minimize(
                look, x, jac=True, method="L-BFGS-B", bounds=bounds,
                options={"maxcor": 20, "maxiter": 300, "maxfun": 600, "ftol": 1e-14, "gtol": 1e-8},
            )  # fmt: skip
        elif x.size <= WIDE:
            rows = [
                {"type": "eq", "fun": lambda x, row=row, sum=sum: row @ x - sum, "jac": lambda x, row=row: row}
                for row, sum in held
            ]
            found = minimize(
                look,
                x,
                jac=True,
                method="SLSQP",
                bounds=bounds,
                constraints=rows,
                options={"maxiter": 500, "ftol": 1e-12},
            )
        else:
            matrix, sums = np.array([row for row, _ in held]), [sum for _, sum in held]
            found = minimize(
                look, x, jac=True, method="trust-constr", bounds=bounds,
                constraints=[LinearConstraint(matrix, sums, sums)], options={"maxiter": 1000, "gtol": 1e-8},
            )  # fmt: skip
        before, x = found.fun, found.x
        if ensemble.adaptive:
            return x, float(before)
        ensemble.record(x)
        value, _ = ensemble(x)
        if abs(value - before) <= MOVED:
            break
    return x, value


def _constraints(search: Search, ensemble: Ensemble) -> list[tuple[np.ndarray, float]]:
    """Rows of what is held: each times x is the integral of a control over time, and what it must be."""
    rows, at = [], 0
    for knob in ensemble.knobs:
        count = knob.begins.size
        if knob.name in search.integral:
            row = np.zeros(ensemble.scales.size)
            row[at : at + count] = knob.lengths * ensemble.scales[at : at + count]
            rows.append((row, float(search.integral[knob.name])))
        at += count
    return rows


def prices(search: Search, ensemble: Ensemble, x: np.ndarray) -> list[float]:
    """What a unit of each control costs, where its integral is fixed: minus the derivative of the value by it, the same at all times
    at which no bound is met."""
    _, gradient = ensemble(x)
    found = []
    for knob, slope, value in zip(
        ensemble.knobs, np.split(gradient / ensemble.scales, ensemble.edges), ensemble.values(x), strict=True
    ):
        width = knob.upper - knob.lower
        inside = (value > knob.lower + 1e-6 * width) & (value < knob.upper - 1e-6 * width)
        held = knob.name in search.integral and inside.any()
        found.append(-float(np.average((slope / knob.lengths)[inside], weights=knob.lengths[inside])) if held else 0.0)
    return found


def finer(knob: Knob, values: np.ndarray, shares: np.ndarray, until: float) -> tuple[Knob, np.ndarray]:
    """Halve the segments that hold most of the gap, at most doubling their number."""
    order = np.argsort(shares)[::-1]
    enough = int(np.searchsorted(np.cumsum(shares[order]), 0.9 * shares.sum())) + 1
    ends = np.append(knob.begins[1:], until)
    middles = 0.5 * (knob.begins + ends)
    if knob.shape == "linear":
        order = order[order < knob.begins.size - 1]
    halved = np.sort(order[:enough])
    begins = np.sort(np.concatenate([knob.begins, middles[halved]]))
    if knob.shape == "linear":
        lengths = np.diff(begins)
        lengths = 0.5 * (np.append(lengths, 0.0) + np.insert(lengths, 0, 0.0))
        return replace(knob, begins=begins, lengths=lengths), np.interp(begins, knob.begins, values)
    owner = np.searchsorted(knob.begins, begins, side="right") - 1
    return replace(knob, begins=begins, lengths=np.diff(np.append(begins, until))), values[owner]


def guesses_from(chosen: Sequence[Knob], constant: np.ndarray, count: int, until: float) -> list[list[np.ndarray]]:
    """First values: the constants, the same falling towards the end, the same rising, then smooth random ones."""
    rng = np.random.default_rng(0)
    found = []
    for number in range(count):
        values = []
        for knob, level in zip(chosen, constant, strict=True):
            u = knob.begins / until
            waves = [np.ones_like(u), 1.5 - u, 0.5 + u]
            if number < len(waves):
                factor = waves[number]
            else:
                a, b = rng.uniform(-0.6, 0.6, 2)
                factor = np.exp(a * np.cos(np.pi * u) + b * np.cos(2 * np.pi * u))
            middle = level if level > knob.lower else knob.lower + 0.1 * (knob.upper - knob.lower) * (number > 0)
            values.append(np.clip(middle * factor, knob.lower, knob.upper))
        found.append(values)
    return found


def search_best(
    search: Search, control: Mapping[str, int | Control], guesses: int, refine: bool, progress: bool | None
) -> Optimum:
    """See `optimal`."""
    chosen: list[Knob] = list(knobs(search.problem, search.until, control))
    with meter(progress, "gradients") as report:
        constant, by_constant, calls = constants(search, chosen)
        ensemble = search.ensemble(chosen)
        reached: list[tuple[float, list[np.ndarray]]] = []
        interrupted = False
        try:
            for values in guesses_from(chosen, constant, guesses, search.until):
                x, value = descend(search, ensemble, ensemble.vector(values), report)
                reached.append((value, ensemble.values(x)))
            calls += ensemble.calls
            value, values = min(reached, key=lambda one: one[0])
            ensemble, x, value, shares, more = _refine(search, chosen, values, value, refine, report)
            calls += more
        except KeyboardInterrupt:
            if not reached:
                raise
            interrupted = True
            value, values = min(reached, key=lambda one: one[0])
            x = ensemble.vector(values)
            ensemble.record(x)
            ensemble(x)
            shares = gaps(ensemble, x, prices(search, ensemble, x))
    return _told(search, ensemble, x, shares, (constant, by_constant), [one for one, _ in reached], interrupted, calls)


def _refine(
    search: Search, chosen: Sequence[Knob], values: list[np.ndarray], value: float, refine: bool, report: Report
) -> tuple[Ensemble, np.ndarray, float, Any, int]:
    """Halve segments until the gap is small."""
    calls = 0
    for _ in range(ROUNDS):
        ensemble = search.ensemble(chosen)
        x, value = descend(search, ensemble, ensemble.vector(values), report)
        found = gaps(ensemble, x, prices(search, ensemble, x))
        calls += ensemble.calls
        shares = found[0]
        small = sum(share.sum() for share in shares) <= GAP
        if small or not refine or max(knob.begins.size for knob in chosen) >= MOST:
            break
        values = ensemble.values(x)
        most = max(share.sum() for share in shares)
        made = [
            finer(knob, one, share, search.until) if share.sum() > 0.1 * most else (knob, one)
            for knob, one, share in zip(chosen, values, shares, strict=True)
        ]
        chosen, values = [knob for knob, _ in made], [one for _, one in made]
    return ensemble, x, value, found, calls


def _told(
    search: Search, ensemble: Ensemble, x: np.ndarray, found: Any, constant: tuple[np.ndarray, float],
    reached: list[float], interrupted: bool, calls: int,
) -> Optimum:  # fmt: skip
    """The result, with its value on steps of its own."""
    shares, legendre, hamiltonian = found
    ensemble.record(x)
    value, gradient = ensemble(x)
    values = ensemble.values(x)
    timed = isinstance(search.objective, Threshold)
    natural = (lambda one: one) if timed else (lambda one: float(np.exp(one)))
    gain = float(np.log(constant[1] / value)) if timed else constant[1] - value
    free = ((x > ensemble.lower) | (gradient < 0)) & ((x < ensemble.upper) | (gradient > 0))
    certificate = Certificate(
        float(sum(share.sum() for share in shares)), legendre, (float(hamiltonian.mean()), float(np.std(hamiltonian))),
        float(np.abs(gradient[free]).max(initial=0.0)), tuple(natural(one) for one in reached),
    )  # fmt: skip
    schedule = {knob.name: knob.schedule(one) for knob, one in zip(ensemble.knobs, values, strict=True)}
    problem = with_schedules(search.problem, schedule)
    trajectory = run(problem, search.starts[0], Macro(), search.until, progress=False)
    return Optimum(
        problem, search.starts, search.until, search.objective, schedule, natural(value),
        ({knob.name: float(one) for knob, one in zip(ensemble.knobs, constant[0], strict=True)}, natural(constant[1])),
        gain, trajectory, certificate, certificate.gap <= GAP and not interrupted,
        _words(search, certificate, gain, interrupted), calls,
    )  # fmt: skip


def _words(search: Search, certificate: Certificate, gain: float, interrupted: bool) -> str:
    if interrupted:
        return "interrupted: the best schedule so far"
    fine = certificate.gap <= GAP
    text = "optimal up to" if fine else "finer segments could gain about"
    text = f"{text} {certificate.gap:.2g} of the logarithm of the {'risk' if search.objective != 'mean risk' else 'mean risk'}"
    if isinstance(search.objective, Threshold):
        text = f"{'optimal up to' if fine else 'finer segments could gain about'} {certificate.gap:.2g} of time"
    if not certificate.unique:
        values = ", ".join(f"{one:.4g}" for one in sorted(certificate.guesses))
        text += f"; several optima exist: first guesses led to {values}"
    return text

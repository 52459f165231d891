"""Descent to the nearest optimum by SciPy's optimisers, with exact gradients; the best constants; what fixed integrals cost."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from solvable.control.course import MET, NO_RISK, Asked
from solvable.control.ensemble import Ensemble
from solvable.control.knobs import Knob
from solvable.control.numbers import own_schedule
from solvable.overlaps import Overlaps

ROUNDS = 8  # of new steps
MOVED = 1e-7  # by which new steps may change the value of a finished descent
WIDE = 300  # controls from which on another method holds integrals
SCAN = 0.5 ** np.arange(9)  # of the upper bound: first constants
ALIKE = (
    1e-9  # relative change of the value at which constants are found: new steps in every look move it by less than rtol
)
HELD = 1e-9  # relative: how well a fixed integral is met


class Search(NamedTuple):
    """What is searched for, apart from the segments; `watch` hears of every gradient (ensemble, x, value)."""

    asked: Asked
    starts: tuple[Overlaps, ...]
    integral: Mapping[str, float]
    watch: Callable[[Ensemble, np.ndarray, float], None]

    def ensemble(self, knobs: tuple[Knob, ...]) -> Ensemble:
        return Ensemble(self.asked, self.starts, knobs)


def constants(search: Search, knobs: tuple[Knob, ...]) -> tuple[np.ndarray, float]:
    """The best constant of each control, and the value that they reach."""
    ensemble = search.ensemble(tuple(knob.constant() for knob in knobs))
    fixed = {i: search.integral[knob.name] / knob.until for i, knob in enumerate(knobs) if knob.name in search.integral}

    def look(x: np.ndarray) -> tuple[float, np.ndarray]:
        ensemble.record(x)
        value, gradient = ensemble(x)
        search.watch(ensemble, x, value)
        return value, gradient

    own = np.array([max(own_schedule(search.asked.problem, knob.name).rates) for knob in knobs])
    for i, value in fixed.items():
        own[i] = value
    first = np.clip(own / ensemble.scales, ensemble.lower, ensemble.upper)
    free = [i for i in range(len(knobs)) if i not in fixed]
    guesses = [first]
    for factor in SCAN if free else ():
        guess = first.copy()
        guess[free[0]] = max(factor * ensemble.upper[free[0]], ensemble.lower[free[0]])
        guesses.append(guess)
    values = [look(guess)[0] for guess in guesses]
    best, value = guesses[int(np.argmin(values))], min(values)
    bounds = [(best[i], best[i]) if i in fixed else bound for i, bound in enumerate(ensemble.bounds)]
    found = _minimise(look, best, method="L-BFGS-B", bounds=bounds, options={"maxiter": 100, "ftol": ALIKE})
    if found.fun <= value:
        best, value = found.x, float(found.fun)
    possible = possible_values(search, ensemble.knobs, ensemble.values(best))
    best, value = ensemble.vector(possible), look(ensemble.vector(possible))[0]
    if not ensemble.record(best):
        why = next(course.failure for course in ensemble.courses if not course.reaches)
        remedy = "give a longer `until`, or other bounds" if search.asked.objective.is_time else "lower the bounds"
        remedy = "give another integral" if fixed and not free else "give another threshold" if why == MET else remedy
        raise ValueError(f"optimal: with constant values no run comes to its end: {why}; {remedy}")
    if any(course.vanishes or course.is_rounding for course in ensemble.courses):
        raise ValueError(f"optimal: with constant values {NO_RISK}")
    return np.concatenate(ensemble.values(best)), value


def possible_values(search: Search, knobs: Sequence[Knob], values: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The nearest values that a problem can have, within fixed integrals."""
    return [knob.possible(one, search.integral.get(knob.name)) for knob, one in zip(knobs, values, strict=True)]


def descend(search: Search, ensemble: Ensemble, x: np.ndarray) -> tuple[np.ndarray, float]:
    """The nearest optimum: descent on frozen steps, then new steps, until these change nothing any more."""

    def look(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = ensemble(x)
        search.watch(ensemble, x, value)
        return value, gradient

    value, method = np.inf, _method(held(search, ensemble), x.size)
    for _ in range(1 if ensemble.adaptive else ROUNDS):
        ensemble.record(x)
        found = _minimise(look, x, bounds=ensemble.bounds, **method)
        x = found.x
        ensemble.record(x)
        value = look(x)[0]
        if abs(value - found.fun) <= MOVED:
            break
    return x, value


def _method(rows: list[tuple[np.ndarray, float]], size: int) -> dict[str, Any]:
    """SciPy's method, its constraints and options."""
    from scipy.optimize import LinearConstraint

    if not rows:
        options = {"maxcor": 20, "maxiter": 300, "maxfun": 600, "ftol": 1e-14, "gtol": 1e-8}
        return {"method": "L-BFGS-B", "options": options}
    if size <= WIDE:
        equal = [
            {"type": "eq", "fun": lambda x, row=row, sum=sum: row @ x - sum, "jac": lambda _, row=row: row}
            for row, sum in rows
        ]
        return {"method": "SLSQP", "constraints": equal, "options": {"maxiter": 500, "ftol": 1e-12}}
    sums = [sum for _, sum in rows]
    linear = LinearConstraint(np.array([row for row, _ in rows]), sums, sums)
    return {"method": "trust-constr", "constraints": [linear], "options": {"maxiter": 1000, "gtol": 1e-8}}


def _minimise(look: Callable[[np.ndarray], tuple[float, np.ndarray]], x: np.ndarray, **options: Any) -> Any:
    from scipy.optimize import minimize

    return minimize(look, x, jac=True, **options)


def held(search: Search, ensemble: Ensemble) -> list[tuple[np.ndarray, float]]:
    """Rows of what is fixed: each times x is the integral of a control over time, and what it must be."""
    rows = []
    for number, knob in enumerate(ensemble.knobs):
        if knob.name in search.integral:
            lengths = [knob.lengths if i == number else np.zeros(one.size) for i, one in enumerate(ensemble.knobs)]
            rows.append((np.concatenate(lengths) * ensemble.scales, float(search.integral[knob.name])))
    return rows


def holds(search: Search, ensemble: Ensemble, x: np.ndarray) -> bool:
    """Whether all fixed integrals are met."""
    return all(abs(row @ x - sum) <= HELD * abs(sum) for row, sum in held(search, ensemble))


def prices(search: Search, ensemble: Ensemble, x: np.ndarray) -> list[float]:
    """What a unit of each control costs, where its integral is fixed: minus the derivative of the value by it, the same at all
    times at which no bound is met. Where bounds are met at all times, it is between what those at either bound allow."""
    slopes = np.split(ensemble(x)[1] / ensemble.scales, ensemble.edges)
    found = []
    for knob, slope, value in zip(ensemble.knobs, slopes, ensemble.values(x), strict=True):
        found.append(_price(knob, value, -slope / knob.lengths) if knob.name in search.integral else 0.0)
    return found


def _price(knob: Knob, value: np.ndarray, worth: np.ndarray) -> float:
    """From what a unit is worth in each segment."""
    low, high = value <= knob.lower + 1e-6 * knob.width, value >= knob.upper - 1e-6 * knob.width
    inside = ~(low | high)
    if inside.any():
        return float(np.average(worth[inside], weights=knob.lengths[inside]))
    return float(np.mean([*([worth[low].max()] if low.any() else []), *([worth[high].min()] if high.any() else [])]))

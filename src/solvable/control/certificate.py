"""Whether a schedule is optimal: Pontryagin's condition along it.

H(v) = costate . dy/dalpha is what the value would change by, per unit of time, if a control had the value v for a moment. Along an
optimal schedule H is least at the value that is taken. The gap, the integral of H(taken) - min H over time, is about what finer
segments could still gain, in the unit of the objective.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from solvable.control.controls import Knob
from solvable.control.course import Course
from solvable.control.ensemble import Ensemble
from solvable.dynamics.reverse import BATCH, EIGENVALUES, RATE

GRID = 33  # values of a control in which H is no parabola


@dataclass(frozen=True)
class Certificate:
    """How far a schedule is from optimal, as Pontryagin's condition says.

    Parameters
    ----------
    gap : float
        Integral of H(taken) - min H over time, summed over controls: about what finer segments could still gain.
    legendre : float
        Least curvature of H by the learning rate along the run, positive where the rate is a proper minimum; NaN without this
        control.
    hamiltonian : tuple of float
        Mean of H over time and its spread: H is constant along an optimum, and equals the change of the value with the end of
        the run.
    slope : float
        Largest component of the gradient that no bound stops, in the optimiser's scale.
    guesses : tuple of float
        Values that were reached from each first guess.

    Examples
    --------
    >>> sv.control.Certificate(1e-4, 0.1, (-0.07, 1e-6), 1e-9, (0.5, 0.5)).unique
    True
    """

    gap: float
    legendre: float
    hamiltonian: tuple[float, float]
    slope: float
    guesses: tuple[float, ...]

    @property
    def unique(self) -> bool:
        """Whether all guesses led to the same value, to a thousandth of it."""
        return bool(np.ptp(self.guesses) <= 1e-3 * max(map(abs, self.guesses)))


def least(samples: np.ndarray, places: np.ndarray, parabola: bool) -> np.ndarray:
    """Least value over the places (first axis) of what is sampled there; between them where it is a parabola."""
    found = samples.min(axis=0)
    if not parabola:
        return found
    (a, b, c), (low, middle, high) = places, samples
    bend = ((high - middle) / (c - b) - (middle - low) / (b - a)) / (c - a)
    with np.errstate(all="ignore"):
        best = 0.5 * (a + b) - 0.5 * (middle - low) / (b - a) / bend
        inside = low + (best - a) * ((middle - low) / (b - a) + bend * (best - b))
    return np.where((bend > 0) & (best > a) & (best < c), np.minimum(found, inside), found)


def gaps(ensemble: Ensemble, x: np.ndarray, prices: Sequence[float]) -> tuple[list[np.ndarray], float, np.ndarray]:
    """For each control the share of the gap of each of its segments; the least curvature by the learning rate; and H over all steps
    of the first start. `prices` are what a control costs per unit where its integral is fixed."""
    chosen = ensemble.values(x)
    shares = [np.zeros(knob.begins.size) for knob in ensemble.knobs]
    curvature, first = np.inf, np.zeros(0)
    for course in ensemble.courses:
        course.place(chosen)
        taken = course.hamiltonian()
        if not first.size:
            first = taken.ravel()
        for number, knob in enumerate(ensemble.knobs):
            found, bend = _gap(course, ensemble.knobs, chosen, number, prices[number], taken)
            shares[number] += found / len(ensemble.courses)
            if RATE in knob.columns:
                curvature = min(curvature, bend)
    return shares, curvature if np.isfinite(curvature) else np.nan, first


def _gap(
    course: Course, knobs: Sequence[Knob], chosen: list[np.ndarray], number: int, price: float, taken: np.ndarray
) -> tuple[np.ndarray, float]:
    knob = knobs[number]
    column = knob.columns[0]
    parabola = column < EIGENVALUES and column != BATCH
    places = np.linspace(knob.lower, knob.upper, 3 if parabola else GRID)
    samples = []
    for place in places:
        others = [*chosen[:number], np.full(knob.begins.size, place), *chosen[number + 1 :]]
        course.place(others)
        samples.append(course.hamiltonian() + price * place)
    course.place(chosen)
    times, segments = course.mesh  # type: ignore[misc]
    found, (low, middle, high) = np.array(samples), (samples[0], samples[len(samples) // 2], samples[-1])
    at = np.column_stack([times[:-1], times[1:]])
    present = np.interp(at, knob.begins, chosen[number]) if knob.shape == "linear" else None
    if present is None:
        own = np.clip(np.searchsorted(knob.begins, times[:-1], side="right") - 1, 0, None)
        present = np.repeat(chosen[number][own][:, None], 2, axis=1)
    excess = np.maximum(taken + price * present - least(found, places, parabola), 0.0)
    parts = np.diff(times) * excess.mean(axis=1)
    owner = np.searchsorted(knob.begins, 0.5 * (times[:-1] + times[1:]), side="right") - 1
    half = 0.5 * (knob.upper - knob.lower)
    return np.bincount(owner, parts, knob.begins.size), float(((high - 2 * middle + low) / half**2).min())

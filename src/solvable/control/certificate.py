"""Whether a schedule is optimal: Pontryagin's condition along it.

H(v) = costate . dy/dalpha is what the value would change by, per unit of time, if a control had the value v for a moment. Along an
optimal schedule H is least at the value that is taken. The gap, the integral of H(taken) - min H over time, is about what finer
segments could still gain, in the unit of the objective.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from solvable.control.course import Course
from solvable.control.ensemble import Ensemble
from solvable.control.numbers import FACTOR, is_share
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

    Notes
    -----
    H = costate . dy/dalpha, the costate being the derivative of the value by the state.
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


class Gaps(NamedTuple):
    """For each control the share of the gap of each of its segments; the least curvature of H by the learning rate; H over all
    steps of the first start."""

    shares: list[np.ndarray]
    legendre: float
    hamiltonian: np.ndarray

    @property
    def total(self) -> float:
        return float(sum(share.sum() for share in self.shares))


def least(samples: np.ndarray, places: np.ndarray, parabola: bool) -> np.ndarray:
    """Least value over the places (first axis) of what is sampled there; between them by the parabola through three, which are all
    where it is one."""
    found: np.ndarray = samples.min(axis=0)
    at = np.ones(found.shape, int) if parabola else np.clip(samples.argmin(axis=0), 1, len(places) - 2)
    a, b, c = (places[at + shift] for shift in (-1, 0, 1))
    low, middle, high = (np.take_along_axis(samples, at[None] + shift, 0)[0] for shift in (-1, 0, 1))
    bend = ((high - middle) / (c - b) - (middle - low) / (b - a)) / (c - a)
    with np.errstate(all="ignore"):
        best = 0.5 * (a + b) - 0.5 * (middle - low) / (b - a) / bend
        inside = low + (best - a) * ((middle - low) / (b - a) + bend * (best - b))
    return np.where((bend > 0) & (best > a) & (best < c), np.minimum(found, inside), found)


def gaps(ensemble: Ensemble, x: np.ndarray, prices: Sequence[float]) -> Gaps:
    """After a gradient at x. `prices` are what a control costs per unit where its integral is fixed."""
    chosen, knobs = ensemble.values(x), ensemble.knobs
    shares, bends, first = [np.zeros(knob.size) for knob in knobs], [], []
    for course in ensemble.courses:
        course.place(chosen)
        first.append(course.hamiltonian())
        for number, knob in enumerate(knobs):
            share, bend = _gap(course, chosen, number, prices[number], first[-1])
            shares[number] += share / len(ensemble.courses)
            bends += [bend] if RATE in knob.columns else []
    return Gaps(shares, min(bends, default=np.nan), first[0].ravel())


def _gap(
    course: Course, chosen: list[np.ndarray], number: int, price: float, taken: np.ndarray
) -> tuple[np.ndarray, float]:
    """The share of each segment of one control, and the least curvature of H by it; a number that is free once has no share."""
    knob, times = course.knobs[number], course.times
    if knob.name == FACTOR:
        return np.zeros(knob.size), np.nan
    parabola = (knob.columns[0] < EIGENVALUES and knob.columns[0] != BATCH) or is_share(knob.name)
    places = np.linspace(knob.lower, knob.upper, 3 if parabola else GRID)
    samples = np.array([_sample(course, chosen, number, place) + price * place for place in places])
    course.place(chosen)
    own, ends = knob.owners(0.5 * (times[:-1] + times[1:])), np.column_stack([times[:-1], times[1:]])
    values, slopes = chosen[number][own], knob.slopes(chosen[number])[own]
    present = values[:, None] + slopes[:, None] * (ends - knob.begins[own][:, None])
    excess = np.maximum(taken + price * present - least(samples, places, parabola), 0.0)
    share = np.bincount(own, np.diff(times) * excess.mean(axis=1), knob.size)
    bend = samples[-1] - 2 * samples[len(places) // 2] + samples[0]
    return share, float(bend.min() / (0.5 * knob.width) ** 2)


def _sample(course: Course, chosen: list[np.ndarray], number: int, value: float) -> np.ndarray:
    """H along the run if one control had this value."""
    course.place([*chosen[:number], np.full_like(chosen[number], value), *chosen[number + 1 :]])
    return course.hamiltonian()

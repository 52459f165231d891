"""Whether a schedule is optimal: Pontryagin's condition along it.

H(v) = costate . dy/dalpha is what the value would change by, per unit of time, if a control had the value v for a moment. Along an
optimal schedule H is least at the value that is taken. The gap, the integral of H(taken) - min H over time, is about what finer
segments could still gain, in the unit of the objective. With several starts H is the mean over them; where an integral of a
control is fixed, its price times the control belongs to H. The condition is necessary: a schedule may meet it beside a better one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from solvable.control.course import Course
from solvable.control.ensemble import Ensemble
from solvable.control.knobs import Knob
from solvable.control.numbers import FACTOR, is_share
from solvable.dynamics.reverse import BATCH, EIGENVALUES, RATE

GRID = 33  # values of a control in which H is no parabola


@dataclass(frozen=True)
class Certificate:
    """How far a schedule is from optimal, as Pontryagin's condition says.

    Parameters
    ----------
    gap : float
        Integral of H(taken) - min H over time, summed over controls, of which one at a time is changed: about what finer segments
        could still gain.
    legendre : float
        Least curvature of H by the learning rate along the run, positive where the rate is a proper minimum; NaN without this
        control.
    hamiltonian : tuple of float
        Mean of H over time and its spread: H is constant along an optimum unless other numbers are scheduled. It is the change
        of the log risk with the end of the run; of the log of a mean over time, 1/until more; for a threshold it is -1.
    slope : float
        Largest component of the gradient that no bound and no fixed integral stops, in the optimiser's scale.
    guesses : tuple of float
        Values that were reached from each first guess.

    Examples
    --------
    >>> sv.control.Certificate(1e-4, 0.1, (-0.07, 1e-6), 1e-9, (0.5, 0.5)).unique
    True

    Notes
    -----
    H = costate . dy/dalpha, the costate being the derivative of the value by the state; mean over the starts, and with the price of
    controls whose integral is fixed.
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
    """For each control the share of the gap of each of its segments; the least curvature of H by the learning rate; mean of H over
    time, and its spread."""

    shares: list[np.ndarray]
    legendre: float
    hamiltonian: tuple[float, float]

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
    times = np.unique(np.concatenate([course.times for course in ensemble.courses]))
    taken = _mean(ensemble, chosen, times)
    found = [_gap(ensemble, chosen, number, prices[number], (times, taken)) for number in range(len(knobs))]
    bends = [bend for knob, (_, bend) in zip(knobs, found, strict=True) if RATE in knob.columns]
    paid = sum(price * _present(knob, one, times) for knob, one, price in zip(knobs, chosen, prices, strict=True))
    whole, weights = (taken + paid).mean(axis=1), np.diff(times)
    mean = float(np.average(whole, weights=weights))
    spread = float(np.sqrt(np.average((taken + paid - mean) ** 2, axis=0, weights=weights).mean()))
    return Gaps([share for share, _ in found], min(bends, default=np.nan), (mean, spread))


def _gap(
    ensemble: Ensemble, chosen: list[np.ndarray], number: int, price: float, along: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, float]:
    """The share of each segment of one control, and the least curvature of H by it; a number that is free once has no share.
    `along` are the times, and H as it is taken there."""
    knob, (times, taken) = ensemble.knobs[number], along
    if knob.name == FACTOR:
        return np.zeros(knob.size), np.nan
    parabola = (knob.columns[0] < EIGENVALUES and knob.columns[0] != BATCH) or is_share(knob.name)
    places = np.linspace(knob.lower, knob.upper, 3 if parabola else GRID)
    others = [[*chosen[:number], np.full(knob.size, place), *chosen[number + 1 :]] for place in places]
    samples = np.array([_mean(ensemble, one, times) + price * place for one, place in zip(others, places, strict=True)])
    excess = taken + price * _present(knob, chosen[number], times) - least(samples, places, parabola)
    owners = knob.owners(0.5 * (times[:-1] + times[1:]))
    share = np.bincount(owners, np.diff(times) * np.maximum(excess, 0.0).mean(axis=1), knob.size)
    bend = samples[-1] - 2 * samples[len(places) // 2] + samples[0]
    return share, float(bend.min() / (0.5 * knob.width) ** 2)


def _present(knob: Knob, values: np.ndarray, times: np.ndarray) -> np.ndarray:
    """(interval, 2) a control at both ends of all intervals of time."""
    own, ends = knob.owners(0.5 * (times[:-1] + times[1:])), np.column_stack([times[:-1], times[1:]])
    found: np.ndarray = values[own][:, None] + knob.slopes(values)[own][:, None] * (ends - knob.begins[own][:, None])
    return found


def _mean(ensemble: Ensemble, values: list[np.ndarray], times: np.ndarray) -> np.ndarray:
    """(interval, 2) mean of H over the starts if controls had these values, at both ends of all intervals of time: one schedule
    serves all starts, so the mean is what it makes least."""
    found = []
    for course in ensemble.courses:
        course.place(values)
        found.append(_between(course, times))
    return np.mean(found, axis=0)


def _between(course: Course, times: np.ndarray) -> np.ndarray:
    """(interval, 2) H of one run at times that are at least as fine as its steps; zero after its end."""
    found, own = course.hamiltonian(), course.times
    step = np.searchsorted(own, 0.5 * (times[:-1] + times[1:]), side="right") - 1
    at = np.minimum(step, len(found) - 1)
    share = (np.column_stack([times[:-1], times[1:]]) - own[at][:, None]) / np.diff(own)[at][:, None]
    return np.where((step < len(found))[:, None], (1 - share) * found[at, :1] + share * found[at, 1:], 0.0)

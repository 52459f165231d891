"""Plateaus of a learning curve, and the phases that they divide it into."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from solvable.results.observables import crossing_time

FINER, FINE = 16, 0.005  # points of a finer curve to an output, where log(risk) bends by more than this
STILL = 0.05  # change of log(risk) below which a valley that lasts to the end is a plateau


class FlatSpan(NamedTuple):
    """A plateau: from `start` to `end` the risk stays near `height`.

    Parameters
    ----------
    start, end : float
        Its borders, interpolated between outputs; `end` is NaN where it had not been left when the curve ended.
    height : float
        The risk where it falls most slowly.
    left : bool
        Whether it has been left. One that has not may be the end of learning: the curve cannot tell.
    """

    start: float
    end: float
    height: float
    left: bool = True

    @property
    def length(self) -> float:
        """How long the plateau lasts; NaN where it has not been left."""
        return self.end - self.start


def plateaus(
    times: np.ndarray, risk: np.ndarray, slopes: np.ndarray | None = None, *, flatness: float = 0.2, floor: float = 1e-9
) -> list[FlatSpan]:
    """Where the risk falls much slower than before and after: valleys of the speed v = |d log(risk) / d time|.

    A plateau lies between two peaks of v (or begins the run) and has been left: v has risen again by a factor
    1/flatness above the bottom of the valley, and the risk has fallen to a half, or by a twentieth with v past its peak. It starts
    and ends where v passes `flatness` times the peak on that side, or where the risk is one and a half times as high or low as its
    height, the risk at the bottom; borders are interpolated. A tail, slow to the end, is no plateau, nor is the maximum of a curve
    that rises and falls without a rest, nor a span of less than three points, nor anything below `floor` times the largest risk,
    which is rounding. None of this depends on units.

    The last one may not be left yet: a valley which the curve does not leave, at whose bottom v is so small that log(risk) would
    change by less than `STILL` from its begin to the end of the curve. Powers of time and exponentials fall faster.

    With `slopes`, those of log(risk), the curve between outputs is the monotone cubic that has them; without them v is a difference
    of outputs, and nothing shorter than their distance is seen.
    """
    if not 0 < flatness < 1:
        raise ValueError(f"flatness: {flatness} given, must be between 0 and 1")
    good = np.isfinite(risk) & (risk > 0)
    good &= risk > floor * np.max(risk[good], initial=0.0)
    ends = good.size > 0 and bool(good[np.isfinite(risk)][-1:].all())  # not in rounding
    times, risk = times[good], risk[good]
    if len(times) < 3:
        return []
    if slopes is None:
        slope = np.gradient(np.log(risk), times)
    else:
        times, risk, slope = finer(times, risk, slopes[good])
    speed = np.abs(slope)
    speed = np.maximum(speed, 1e-9 * speed.max())  # slower is rounding
    found: list[FlatSpan] = []
    peak = bottom = i = 0
    while i < len(speed):
        if speed[i] < speed[bottom]:
            bottom = i
        deep = bottom == 0 or speed[bottom] < flatness * speed[peak]
        if deep and speed[bottom] < flatness * speed[i]:
            right = _next_peak(slope, i, flatness)
            passed = right < len(speed) - 1 and risk[right + 1] < 0.95 * risk[bottom]
            begin = end = bottom
            if passed or risk[right] < 0.5 * risk[bottom]:
                begin, end, borders = _borders(times, risk, speed, (peak, bottom, right), flatness)
            if end - begin >= 2:
                if times[end] - times[begin] > _turning_time(risk, speed, (peak, bottom, right)):
                    found.append(FlatSpan(*borders, float(risk[bottom])))
                peak = bottom = right
            elif right < len(speed) - 1 and risk[right + 1] > risk[bottom] / 0.95:
                peak = bottom = right  # it was left by a rise
            i = right  # else a ripple, and the plateau goes on
        elif speed[i] > speed[peak] and (
            peak > 0 or bottom > 0
        ):  # while rising from the start, the start is the valley
            peak = bottom = i
        i += 1
    if ends and (bottom == 0 or speed[bottom] < flatness * speed[peak]):
        begin, _, borders = _borders(times, risk, speed, (peak, bottom, bottom), flatness)
        if len(times) - begin > 2 and speed[bottom] * (times[-1] - borders[0]) < STILL:
            found.append(FlatSpan(borders[0], float("nan"), float(risk[bottom]), left=False))
    return found


def _borders(
    times: np.ndarray, risk: np.ndarray, speed: np.ndarray, places: tuple[int, int, int], flatness: float
) -> tuple[int, int, tuple[float, float]]:
    """First and last point of the valley around the bottom between two peaks, and where it begins and ends between points: how
    far speed and risk are from where it would end, in log, is a straight line there."""
    peak, bottom, right = places
    near = np.log(1.5) - np.abs(np.log(risk / risk[bottom]))
    slow = [np.log(flatness * speed[place]) - np.log(speed) for place in (peak, right)]
    begin_margin = near if bottom == 0 else np.minimum(near, slow[0])
    end_margin = near if right == bottom else np.minimum(near, slow[1])
    begin = 0 if bottom == 0 else peak + int(np.argmax(begin_margin[peak : bottom + 1] > 0))
    end = bottom + int(np.flatnonzero(end_margin[bottom : right + 1] > 0)[-1])
    return begin, end, (_zero(times, begin_margin, begin, -1), _zero(times, end_margin, end, 1))


def _zero(times: np.ndarray, margin: np.ndarray, i: int, step: int) -> float:
    """Where a margin that is positive at point i vanishes towards the next point in a direction; at i itself if it does not."""
    j = i + step
    if not 0 <= j < len(times) or margin[j] >= 0 or not margin[i] > 0:
        return float(times[i])
    return float(times[i] + (times[j] - times[i]) * margin[i] / (margin[i] - margin[j]))


def finer(times: np.ndarray, risk: np.ndarray, slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times, risks and slopes of log(risk) at outputs, at `_knots`, and at `FINER` points to each of them on the cubics with these
    values and slopes; none where a straight line is as good, to `FINE`, and errors of outputs are all that is seen."""
    x, y, slope = _knots(times, np.log(risk), slopes)
    h, mean = np.diff(x), np.diff(y) / np.diff(x)
    s = np.arange(FINER)[:, None] / FINER
    u, left, right = 1.0 - s, slope[:-1], slope[1:]
    bent = h * np.maximum(np.abs(right - left), np.abs(2 * mean - left - right))
    values = y[:-1] * u**2 * (1 + 2 * s) + y[1:] * s**2 * (1 + 2 * u) + h * u * s * (left * u - right * s)
    rising = 6 * s * u * mean + left * u * (u - 2 * s) + right * s * (s - 2 * u)
    wanted = np.append(((s == 0.0) | (bent > FINE)).T.ravel(), True)
    grid = [(x[:-1] + h * s, x), (values, y), (rising, slope)]
    fine_times, fine_logs, fine_slopes = (np.append(inside.T.ravel(), ends[-1])[wanted] for inside, ends in grid)
    return fine_times, np.exp(fine_logs), fine_slopes


def _knots(x: np.ndarray, y: np.ndarray, slope: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """More points of a curve where an end of a stretch is steeper than three times its mean, which no monotone cubic is (Fritsch
    and Carlson 1980): the rest of the stretch is a line with the slope of the other end, reached as exponentials reach it."""
    h, dy = np.diff(x), np.diff(y)
    knots = [(x, y, slope)]
    for here, there, forward in ((slope[:-1], slope[1:], True), (slope[1:], slope[:-1], False)):
        with np.errstate(all="ignore"):
            width = (
                3.0 * (dy - there * h) / (here - 3.0 * there)
            )  # a cubic of this width falls as far as the line leaves it
            steep = (width > 0) & (width < h) & (np.abs(here) * h > 3.0 * np.abs(dy)) & (np.abs(there) < np.abs(here))
        width, rest, flat = width[steep], (h - width)[steep], there[steep]
        at = x[:-1][steep] + width if forward else x[1:][steep] - width
        value = y[1:][steep] - flat * rest if forward else y[:-1][steep] + flat * rest
        knots.append((at, value, flat))
    order = np.argsort(np.concatenate([one[0] for one in knots]), kind="stable")
    sorted_x, sorted_y, sorted_slope = (np.concatenate(parts)[order] for parts in zip(*knots, strict=True))
    return sorted_x, sorted_y, sorted_slope


def _turning_time(risk: np.ndarray, speed: np.ndarray, places: tuple[int, int, int]) -> float:
    """How long a curve that rises to a maximum between two peaks of its speed and falls again (or the reverse) takes for that at
    these speeds; zero if it does not turn. A smooth maximum is flat for less than half of it, a rest for much longer.
    """
    left, bottom, right = places
    if (risk[left] - risk[bottom]) * (risk[right] - risk[bottom]) <= 0:
        return 0.0
    return sum(float(abs(np.log(risk[i] / risk[bottom])) / speed[i]) for i in (left, right))


def _next_peak(slope: np.ndarray, i: int, flatness: float) -> int:
    """Index of the steepest slope from i on, before it falls to `flatness` of it or turns round."""
    top = i
    for j in range(i, len(slope)):
        steepness = slope[j] * np.sign(slope[top])
        if steepness > abs(slope[top]):
            top = j
        elif steepness < flatness * abs(slope[top]):
            break
    return top


class Phase(NamedTuple):
    """A phase of learning with its `name`, from `start` to `end`; a plateau has a `height`."""

    name: str
    start: float
    end: float
    height: float | None = None


def phases(
    times: np.ndarray,
    risk: np.ndarray,
    found: list[FlatSpan],
    end: float,
    is_norms: Callable[[float, float], bool],
    begin: float = 0.0,
) -> list[Phase]:
    """Divide a learning curve, from `begin` to `end`, into phases: approach, plateau, escape, descent.

    An escape lasts until the risk is half the plateau's height, a descent until the next plateau or the end. What leads
    to a plateau is "norm learning" where `is_norms(start, end)` says so, else "approach". Without a plateau that has been left
    there are no phases.
    """
    found = [one for one in found if one.left]
    spans = [
        Phase("norm learning" if is_norms(begin, one.start) else "approach", begin, one.start) for one in found[:1]
    ]
    for i, one in enumerate(found):
        last = found[i + 1].start if i + 1 < len(found) else end
        if last < end and is_norms(one.end, last):
            spans += [Phase("plateau", *one[:3]), Phase("norm learning", one.end, last)]
            continue
        after = times >= one.start
        half = crossing_time(times[after], risk[after], 0.5 * one.height)
        half = max(half, one.end) if half < last else last
        spans += [
            Phase("plateau", *one[:3]),
            Phase("escape", one.end, half),
            Phase("descent", half, last),
        ]
    return [span for span in spans if span.end > span.start]

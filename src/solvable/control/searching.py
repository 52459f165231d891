"""The search for the best schedule: the best constants, then descent from several guesses, then finer segments until the gap of
`certificate.py` is small. Whatever is reached is kept, so that Ctrl-C loses nothing."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from solvable.control.certificate import Certificate, Gaps, gaps
from solvable.control.course import Asked
from solvable.control.descent import MOVED, Search, constants, descend, holds, possible_values, prices
from solvable.control.ensemble import Ensemble
from solvable.control.knobs import FREELY, Knob
from solvable.control.numbers import with_schedules
from solvable.control.optimum import Optimum
from solvable.levels import run
from solvable.levels.progress import Report, meter
from solvable.macro import Macro
from solvable.overlaps import Overlaps

GAP = 1e-3  # of the value, below which segments are fine enough
MOST = 1000  # segments of one control
ROUNDS = 8  # of finer segments
ABUT = 1e-9  # of the width between its bounds: how near to one a control is at it
USUAL = 60  # gradients of a descent, for the bar


@dataclass
class Reached:
    """The best schedule that a descent ended with, what each first guess led to, how many gradients were computed; and what was
    passed by on the way of a descent, whose value is that of its frozen steps."""

    report: Report
    about: float  # gradients that are expected
    knobs: tuple[Knob, ...] = ()
    values: list[np.ndarray] = field(default_factory=list)
    value: float = np.inf
    calls: int = 0
    constant: tuple[np.ndarray, float] | None = None
    guesses: list[float] = field(default_factory=list)
    passed: tuple[tuple[Knob, ...], list[np.ndarray], float] | None = None

    def take(self, knobs: Sequence[Knob], values: list[np.ndarray], value: float) -> None:
        self.knobs, self.values, self.value, self.passed = tuple(knobs), values, value, None

    def take_passed(self) -> None:
        if self.passed is not None and self.passed[2] < self.value:
            self.take(*self.passed)

    def count(self) -> None:
        self.calls += 1
        self.report(self.calls, max(self.about, 1.1 * self.calls))


@dataclass(frozen=True)
class SearchPlan:
    """How a search goes: first guesses, whether segments are halved, whether a bar is shown, after how long it is cut off."""

    guesses: int
    refine: bool
    progress: bool | None
    seconds: float = np.inf


class TimeUp(Exception):
    """A search has taken as long as it may."""


def search_best(
    asked: Asked, starts: tuple[Overlaps, ...], knobs: tuple[Knob, ...], integral: Mapping[str, float], plan: SearchPlan
) -> Optimum:
    """See `optimal`."""
    why, end = "", time.monotonic() + plan.seconds
    with meter(plan.progress, "gradients") as report:
        reached = Reached(report, USUAL * (plan.guesses + 2))

        def watch(ensemble: Ensemble, x: np.ndarray, value: float) -> None:
            reached.count()
            if time.monotonic() > end:
                raise TimeUp(f"cut off after {plan.seconds:g} s")
            best = reached.value if reached.passed is None else reached.passed[2]
            if reached.constant is not None and value < best and holds(search, ensemble, x):
                reached.passed = tuple(ensemble.knobs), ensemble.values(x), value

        search = Search(asked, starts, integral, watch)
        try:
            _explore(search, knobs, plan, reached)
        except (KeyboardInterrupt, TimeUp) as error:
            if reached.constant is None:
                raise
            why = str(error) or "interrupted"
            reached.take_passed()
    return _told(search, reached, why)


def _explore(search: Search, knobs: tuple[Knob, ...], plan: SearchPlan, reached: Reached) -> None:
    """Constants, all guesses, then finer segments."""
    constant, value = constants(search, knobs)
    reached.constant = constant, value
    reached.take(knobs, [np.full(knob.size, one) for knob, one in zip(knobs, constant, strict=True)], value)
    ensemble = search.ensemble(knobs)
    for guess in first_guesses(knobs, constant, plan.guesses):
        x, value = descend(search, ensemble, ensemble.vector(guess))
        reached.guesses += [value] if ensemble.reaches else []
        if value < reached.value:
            reached.take(knobs, ensemble.values(x), value)
    for _ in range(ROUNDS if plan.refine else 0):
        ensemble, x = _again(search, reached)
        found = gaps(ensemble, x, prices(search, ensemble, x))
        if found.total <= _allowed(search, reached.value) or max(knob.size for knob in reached.knobs) >= MOST:
            return
        finer, values = halve(reached.knobs, reached.values, found)
        ensemble = search.ensemble(finer)
        x, value = descend(search, ensemble, ensemble.vector(values))
        if value > reached.value + MOVED:
            return
        reached.take(finer, ensemble.values(x), value)


def _again(search: Search, reached: Reached) -> tuple[Ensemble, np.ndarray]:
    """The best so far, on steps of its own."""
    ensemble = search.ensemble(reached.knobs)
    x = ensemble.vector(reached.values)
    ensemble.record(x)
    return ensemble, x


def halve(knobs: Sequence[Knob], values: list[np.ndarray], found: Gaps) -> tuple[tuple[Knob, ...], list[np.ndarray]]:
    """Halve the segments that hold nine tenths of the gap, of all controls that have a share in it."""
    made = []
    for knob, one, share in zip(knobs, values, found.shares, strict=True):
        order = np.argsort(share)[::-1]
        enough = int(np.searchsorted(np.cumsum(share[order]), 0.9 * share.sum())) + 1
        counts = share.sum() > 0.05 * found.total
        made.append(knob.finer(one, np.sort(order[:enough])) if counts else (knob, one))
    return tuple(knob for knob, _ in made), [one for _, one in made]


def first_guesses(knobs: Sequence[Knob], constant: np.ndarray, count: int) -> Iterator[list[np.ndarray]]:
    """The constants, the same falling towards the end, the same rising, then smooth random ones."""
    rng = np.random.default_rng(0)
    for number in range(count):
        values = []
        for knob, level in zip(knobs, constant, strict=True):
            u = knob.begins / knob.until
            a, b = rng.uniform(-0.6, 0.6, 2)
            waves = (np.ones_like(u), 1.5 - u, 0.5 + u, np.exp(a * np.cos(np.pi * u) + b * np.cos(2 * np.pi * u)))
            off = knob.lower + 0.1 * knob.width if number > 0 else level  # away from a bound, where slopes may be stuck
            values.append(
                np.clip((level if level > knob.lower else off) * waves[min(number, 3)], knob.lower, knob.upper)
            )
        yield values


def _told(search: Search, reached: Reached, cut_off: str) -> Optimum:
    """The result, with its value on steps of its own; `cut_off` says why the search did not come to its end."""
    asked, objective = search.asked, search.asked.objective
    reached.values = possible_values(search, reached.knobs, reached.values)
    ensemble, x = _again(search, reached)
    cost = prices(search, ensemble, x)
    found = gaps(ensemble, x, cost)
    value, gradient = ensemble(x)
    paid = [price * knob.lengths for price, knob in zip(cost, reached.knobs, strict=True)]
    gradient = gradient + np.concatenate(paid) * ensemble.scales
    assert reached.constant is not None
    constant, before = reached.constant
    near = ABUT * (ensemble.upper - ensemble.lower)
    free = ((x > ensemble.lower + near) | (gradient < 0)) & ((x < ensemble.upper - near) | (gradient > 0))
    certificate = Certificate(
        found.total,
        found.legendre,
        found.hamiltonian,
        float(np.abs(gradient[free]).max(initial=0.0)),
        tuple(objective.told(one) for one in reached.guesses) or (objective.told(value),),
    )
    small = certificate.gap <= _allowed(search, value)
    schedule = {knob.name: knob.schedule(one) for knob, one in zip(reached.knobs, reached.values, strict=True)}
    numbers = {knob.name: float(one) for knob, one in zip(reached.knobs, constant, strict=True)}
    constants = {knob.name: knob.number(one) for knob, one in zip(reached.knobs, constant, strict=True)}
    problems = [with_schedules(asked.problem, one) for one in (schedule, constants)]
    runs = [run(one, search.starts[0], Macro(), asked.until, progress=False) for one in problems]
    return Optimum(
        problem=problems[0],
        starts=search.starts,
        until=asked.until,
        objective=objective.threshold or objective.kind,
        schedule=schedule,
        value=objective.told(value),
        constant=(numbers, objective.told(before)),
        gain=objective.gain(before, value),
        trajectory=runs[0],
        constant_trajectory=runs[1],
        certificate=certificate,
        success=small and not cut_off,
        message=_words(certificate, small, objective.unit, cut_off)
        + _at_bounds(reached.knobs, reached.values)
        + _unspent(search, reached, numbers)
        + _rounded(asked, value),
        calls=reached.calls,
    )


def _allowed(search: Search, value: float) -> float:
    """The largest gap that is small: a thousandth of a time, or of a logarithm as it is."""
    return GAP * value if search.asked.objective.is_time else GAP


def _words(certificate: Certificate, small: bool, unit: str, cut_off: str) -> str:
    if cut_off:
        return f"{cut_off}: the best schedule so far; more could gain about {certificate.gap:.2g} {unit}"
    sure = "optimal up to" if small else "finer segments could gain up to about"
    text = f"{sure} {certificate.gap:.2g} {unit}"
    if not certificate.unique:
        values = ", ".join(f"{one:.4g}" for one in sorted(certificate.guesses))
        text += f"; several optima exist: first guesses led to {values}"
    return text


def _at_bounds(knobs: Sequence[Knob], values: Sequence[np.ndarray]) -> str:
    """A word about controls that are at upper bounds that nobody gave."""
    text = ""
    for knob, one in zip(knobs, values, strict=True):
        count = int((one >= knob.upper - ABUT * knob.width).sum()) if knob.unasked else 0
        if count:
            text += (
                f"; {knob.name} is at its upper bound {knob.upper:g} in {count} of {knob.size} segments, which is {FREELY:g} times "
                "the problem's own where none is given: give Control(upper=...)"
            )
    return text


def _rounded(asked: Asked, value: float) -> str:
    """A word about risks that may be errors of steps."""
    if asked.objective.is_time or value > np.log(asked.rtol):
        return ""
    return f"; the {asked.objective.kind} is below rtol = {asked.rtol:g}, and may be an error of steps: lower rtol, or `until`"


def _unspent(search: Search, reached: Reached, constants: Mapping[str, float]) -> str:
    """A word about fixed integrals that whole numbers do not meet."""
    text = ""
    for knob, one in zip(reached.knobs, reached.values, strict=True):
        wanted, used = search.integral.get(knob.name, 0.0), float(one @ knob.lengths)
        level = constants[knob.name] * knob.until
        if knob.name in search.integral and max(abs(used - wanted), abs(level - wanted)) > 1e-6 * wanted:
            text += (
                f"; {knob.name} goes in whole numbers, whose integral is {used:g}, and {level:g} with the best constants, where "
                f"{wanted:g} is given"
            )
    return text

"""The diffusion of the overlaps as a level."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from solvable.dynamics import reduced_form
from solvable.dynamics.case_form import has_cases
from solvable.dynamics.exactness import SCATTER, is_closed, is_exact, rule_for, tolerance_floor
from solvable.dynamics.gaussian_moments import NODES, start_moments
from solvable.dynamics.kernel_choice import System, check_functions, system
from solvable.dynamics.kernel_data import SEEN, WATCHED, Packed, pack
from solvable.dynamics.python_kernels import own_amplitudes
from solvable.levels import Lane, Level, Plan
from solvable.levels.jobs import Control, run_jobs
from solvable.levels.limits import check_rule, check_settings, check_whole
from solvable.levels.observer import Observer
from solvable.levels.records import Records
from solvable.levels.seeds import lane_seed, seed_settings
from solvable.meso import case_leap, following, leap, passage
from solvable.meso.case_leap import sums_of
from solvable.numerics.compiled import expect
from solvable.numerics.driving import first_step
from solvable.numerics.interpreting import by_machine_code, rewired
from solvable.numerics.lanes import WIDTH, slots
from solvable.numerics.random import STREAM, Purpose, child
from solvable.numerics.specialising import form_for
from solvable.numerics.threads import interruptible
from solvable.overlaps import Overlaps
from solvable.problems import CASES, Problem
from solvable.problems.spec import KernelSpec
from solvable.results import Ending, Threshold, Trajectory
from solvable.results.traits import TRAITS

FIRST = 64  # samples of the first leap, where velocities begin
FEWEST = 20  # steps that velocities remember: means are then off by up to 0.2 standard deviations of a path, by 0.7 at five steps
LEAPS, MANY_LEAPS = 32, 512  # at least, in a run that chooses them; with a threshold on the largest of several entries
MEMORY = 0.2  # of the time in which a velocity forgets: at this leap 20 000 paths have the means and variances of Micro


@dataclass(frozen=True)
class Meso(Level):
    """The diffusion as a level: the equations of the overlaps with the noise of SGD at large finite dim.

    A path leaps over as many samples as the state allows, so it costs the same for 10^4 and 10^13 samples.

    Parameters
    ----------
    runs : int
        How many paths from each start.
    seed : int or SeedSequence
        A path follows from the seed, the problem, the start, its number and the output times.
    rtol : float, optional
        Bound on the error of a leap in the mean (order 5), relative to overlaps larger than 0.1/sqrt(dim); it chooses
        the leap. Left out: 1e-6, or less where the noise is so small that this would be seen (see `tolerance`).
    leap : float, optional
        A fixed leap in units of alpha instead; leaps also end at outputs. Left out, a run takes at least 32, and 512 with
        a threshold on the largest of several entries, whose noise is not that of a single one.
    samples : int
        Number of sampled steps at either end of a leap that the noise is made of. Mean and covariance are right for any
        number, the tails are those of so few: raise it for quantiles after a few leaps.
    max_steps : int
        Leaps after which a path gives up.
    threads : int, optional
        How many to use; left out, all cores.

    Notes
    -----
    The splitting has weak order 2 in the leap and strong order 1/2; its error falls as 1/dim. Rare large samples, by
    which SGD at a small dim and a large rate may diverge, are not in it. A threshold is watched at all times: between the ends
    of a leap the noise is a Brownian bridge, by which the level may be passed and left again. SGD is looked at once per step or
    less often, by `Micro` every 16 steps: it stops as this does at a level 0.58 s farther, where s is the standard deviation
    of what is watched from one look to the next.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=10**9)
    >>> sv.run(problem, sv.start(problem, seed=0), sv.Meso(runs=4), until=5, progress=False).risk.shape
    (4, 201)
    """

    runs: int = 1
    seed: int | np.random.SeedSequence = 0
    rtol: float | None = None
    leap: float | None = None
    samples: int = 16
    max_steps: int = 1_000_000
    threads: int | None = None

    name = "meso"
    clock = "alpha"
    domain = CASES
    traits = TRAITS[name]

    def __post_init__(self) -> None:
        check_whole(self, runs=1, samples=WIDTH, max_steps=1, threads=1, seed=0)
        if self.samples % WIDTH:
            raise ValueError(f"samples: {self.samples} given, must be a multiple of {WIDTH}")
        if self.rtol is not None and (not isinstance(self.rtol, int | float) or not 1e-10 <= self.rtol <= 1e-2):
            raise ValueError(f"rtol: {self.rtol!r} given, must be between 1e-10 and 0.01")
        check_settings(self, leap="a positive time in units of alpha")

    def settings(self) -> dict[str, Any]:
        """What the result depends on, as plain values."""
        return {
            "runs": self.runs,
            **seed_settings(self.seed),
            "rtol": self.rtol,
            "leap": self.leap,
            "samples": self.samples,
            "max_steps": self.max_steps,
        }

    def tolerance(self, dim: int) -> float:
        """`rtol`, or where none is given a tenth of 1/sqrt(dim), at most 1e-6 and at least 1e-10.

        That keeps the bias of a whole path below its noise; 1e-6 keeps leaps short enough for the noise at any dim.
        """
        return max(1e-10, min(1e-6, 0.1 / dim**0.5)) if self.rtol is None else self.rtol

    def check(self, lanes: list[Lane]) -> None:
        """Raise an error for what this level cannot do, before anything runs."""
        problem = lanes[0].problem
        if problem.inputs.dim is None:
            raise ValueError("inputs.dim: infinite, but Meso has the noise of a finite one; give it, or use Macro")
        least = 2 * problem.student.width + problem.teacher.width + len(problem.extras)
        others = f" and {len(problem.extras)} further rows" if problem.extras else ""
        if problem.inputs.block_sizes.min() <= least:
            raise ValueError(
                f"inputs.dim: a block of {problem.inputs.block_sizes.min()} dimensions, must have more than {least} here "
                f"(twice the students and the teachers{others}); Micro takes blocks of any size"
            )
        check_rule(problem)
        check_functions(problem)
        _check_friction(problem)
        if not is_closed(problem):
            rule_for(problem, NODES, 0)

    def solve(self, lanes: list[Lane], plan: Plan) -> Trajectory:
        """Follow the paths of every lane; called by `run`."""
        records, paths = self._paths(lanes, plan)
        run_jobs(paths, [1.0] * len(paths), self.threads, plan.report)
        return records.trajectory(self.name, self.settings())

    @interruptible
    def _paths(self, lanes: list[Lane], plan: Plan) -> "tuple[Records, list[_Path]]":
        records = Records(lanes, plan, self.runs)
        records.evaluations = np.zeros(len(lanes) * self.runs)
        if not is_exact(lanes[0].problem, NODES, noise=True):
            records.overlap_error = np.inf
        settings = [_Setting(self, lane, records) for lane in lanes]
        return records, [
            _Path(setting, run, i * self.runs + run) for i, setting in enumerate(settings) for run in range(self.runs)
        ]


class _Setting:
    """What all paths of a lane share: its equations, frames and tolerances."""

    @by_machine_code()  # the first leap follows from these
    @np.errstate(all="ignore")  # a path that diverges overflows before it is stopped
    def __init__(self, level: Meso, lane: Lane, records: Records) -> None:
        problem = lane.problem
        self.level, self.lane, self.records = level, lane, records
        self.seed = lane_seed(level.seed, Purpose.DIFFUSION, lane)
        self.observer, self.system = (
            Observer(lane, records.plan),
            system(problem, _packed(lane, records.plan.stop), NODES),
        )
        self.packed = self.system.packed
        batched = KernelSpec.of(problem).replace(
            training__batch=2
        )  # as in a batch, nothing is drawn outside the frames
        if problem.teacher.rotation:  # teachers that only turn move here too, as in the equations
            batched = batched.replace(teacher__drift=1.0)
        begins = self.packed.problems["begin"]
        self.form = reduced_form.with_chances(reduced_form.reduced_form(batched), batched, begins)
        self.form.process["largest"] = 0  # lengths of inputs are their means
        watched, tables = records.plan.stop is not None, reduced_form.has_tables(self.form.form)
        self.kernels = _kernels(problem, self.system, watched=watched, tables=tables)
        expect(*self.kernels)
        coordinates = reduced_form.coordinates(batched, lane.start)
        self.first = slots(self.form.slots)
        self.first[:] = np.repeat(coordinates, WIDTH)
        q = int(self.form.form.fixed) if self.form.form.cases else problem.teacher.width
        self.frame = np.stack([coordinates[one.B :][: q * q].reshape(q, q) for one in self.form.frames])
        self.inverse = np.linalg.pinv(self.frame, rcond=1e-12).transpose(0, 2, 1).copy()
        speed, packed = np.empty_like(self.packed.state), self.packed
        self.kernels.rhs(0, 0.0, packed.state, speed, *self.system.data())
        fastest = self._fastest(speed) if self.form.form.cases else _fastest(problem, lane.start)
        self.rtol = level.tolerance(records.dim)
        floor = tolerance_floor(problem, NODES)
        if floor > SCATTER and not is_exact(problem, NODES, noise=True):
            self.rtol = max(self.rtol, floor)  # leaps would chase the jumps of averages over nodes
        begin = first_step(packed.state, speed, float(records.steps[-1]) / records.dim, self.rtol)
        self.leap = min(begin, 0.1 / max(fastest, 1e-12))  # the state may be at rest, but noise moves it
        self.longest = _longest(problem, float(records.steps[-1]) / records.dim, records.plan.stop)
        if problem.training.is_slow:  # velocities begin at zero: of few samples their squares would scatter below it
            self.leap = max(self.leap, FIRST / (records.dim * float(packed.problems["batch"][0])))

    def _fastest(self, speed: np.ndarray) -> float:
        """Roughly, by how much the slope of the equations changes with the state, which some directions show."""
        state, changes = self.packed.state, []
        for signs in np.random.default_rng(0).choice([-1e-6, 1e-6], size=(4, state.size)):
            other = np.empty_like(speed)
            self.kernels.rhs(0, 0.0, state + signs * np.abs(state).max(), other, *self.system.data())
            changes.append(np.abs(other - speed).max() / (1e-6 * np.abs(state).max()))
        return max(changes)


def _check_friction(problem: Problem) -> None:
    """Refuse velocities that remember so few steps that their noise is no diffusion."""
    largest, dim = float(problem.training.segments["friction"][:, 1].max()), problem.inputs.dim
    if dim is not None and problem.training.is_slow and FEWEST * largest > dim:
        raise ValueError(
            f"training.momentum.kappa: {largest:g} given for inputs.dim = {dim}, but Meso neglects kappa/dim, must be at most "
            f"dim/{FEWEST}; use Micro, or beta, which such velocities nearly are"
        )


def _longest(problem: Problem, span: float, stop: Threshold | None) -> float:
    """Leap beyond which a run would have so few kicks that the few samples of each show; or the splitting into kicks and steps, in
    rows that remember kicks: velocities and averages, which forget them at these rates; or, for a threshold, that the largest of
    many entries does not move within a leap as each of them does."""
    average, friction = problem.training.average, problem.training.segments["friction"][:, 1].max()
    fastest = max(float(friction), (average and average.rate) or 0.0)
    largest = stop is not None and stop.entry is None and stop.quantity != "risk"
    return min(span / (MANY_LEAPS if largest else LEAPS), MEMORY / fastest if fastest else np.inf)


def _fastest(problem: Problem, start: Overlaps) -> float:
    """A bound of the rates at which the equations move the overlaps."""
    drift, largest = start_moments(problem, start).drift, problem.inputs.at(0.0).eigenvalues.max()
    return float(problem.training.schedule(0.0) * largest * np.abs(drift).sum())


class _Path:
    """One path of the diffusion: number `run` of its lane, at `place` in the records."""

    def __init__(self, setting: _Setting, run: int, place: int) -> None:
        self.setting, self.run, self.place = setting, run, place

    def __call__(self, control: Control, job: int) -> None:
        one, records = self.setting, self.setting.records
        y, known = one.packed.state.copy(), one.packed.problems[0]
        blocks, times, observer = len(one.frame), records.steps / records.dim, one.observer
        states, observed = np.full((times.size, y.size), np.nan), np.empty((times.size, SEEN))
        path, data = self._path(), one.system.data()
        geometry = one.frame, one.inverse, np.zeros((blocks, known.moving, known.rows)), np.empty(known.students)
        with np.errstate(all="ignore"), _breakdown(times, states, path) as broken:
            follow, *functions = one.kernels
            follow(
                *functions,
                path,
                times,
                one.packed.breaks,
                y,
                data,
                self._sampler(),
                geometry,
                (states, observed, control.halt),
            )
        if broken:
            path["ending"] = Ending.DIVERGED
        look = None if observer.compiled else Observer(one.lane, records.plan)  # to each thread its own
        for output in np.flatnonzero(np.isfinite(states).all(axis=1)):
            seen = (observed[output], 0.0) if look is None else look.see(states[output], float(times[output]))
            records.write(self.place, int(output), states[output], *seen)
        records.end(self.place, Ending(path["ending"][0]), path["time"][0] * records.dim, y)
        assert records.evaluations is not None
        records.evaluations[self.place] = path["taken"][0]
        control.done[job] = 1.0

    def _path(self) -> np.ndarray:
        """How it is followed."""
        one, level, observer = self.setting, self.setting.level, self.setting.observer
        path = np.zeros(1, dtype=leap.PATH)
        for name, value in {
            "leap": one.leap, "longest": one.longest, "most": level.max_steps, "fixed": level.leap or 0.0,
            "rtol": one.rtol, "atol": 0.1 * one.rtol / np.sqrt(one.records.dim), "bound": observer.bound,
            "watched": WATCHED if observer.watches else -1, "direction": -1 if observer.falls else 1, "level": observer.level,
            "rounds": level.samples // WIDTH,
        }.items():  # fmt: skip
            path[name] = value
        return path

    def _sampler(self) -> tuple[np.ndarray, ...]:
        """The reduced process that draws the samples of kicks, with records and a stream of its own."""
        form, p = self.setting.form, self.setting.lane.problem.student.width
        state = slots(form.slots)
        state[:] = self.setting.first
        seeds = child(self.setting.seed, self.run), child(self.setting.seed, self.run, 1)  # the path's, its threshold's
        stream = np.concatenate([seed.generate_state(STREAM * WIDTH, np.uint64) for seed in seeds])
        rows = int(self.setting.packed.problems[0].rows)
        sums = slots(sums_of(len(form.frames), p, rows, int(form.form.readouts)))
        return form.process.copy(), form.frames.copy(), form.numbers, stream, state, slots(form.work), sums


@contextmanager
def _breakdown(times: np.ndarray, states: np.ndarray, path: np.ndarray) -> Iterator[list[Exception]]:
    """In Python, averages and roots raise where a path diverges and compiled code goes on with NaN: it was lost after the last
    output that it came to."""
    broken: list[Exception] = []
    try:
        yield broken
    except (ArithmeticError, ValueError, np.linalg.LinAlgError) as error:
        reached = np.flatnonzero(np.isfinite(states).all(axis=1))
        path["time"], path["taken"] = times[reached[-1]] if reached.size else 0.0, 0
        broken.append(error)


def _packed(lane: Lane, stop: Threshold | None) -> Packed:
    """For the equations between kicks: what of the noise lies within the frames comes with the kicks."""
    problem = lane.problem
    packed = pack(problem, lane.start)
    outside = problem.inputs.block_sizes - packed.problems["rows"][0]
    packed.blocks["fraction"] = outside / problem.inputs.dim
    if problem.teacher.drift:
        q, at = problem.teacher.width, int(packed.problems["drift_overlaps"][0])
        walks = packed.numbers[at : at + outside.size * q * q].reshape(outside.size, -1)
        walks *= (outside / problem.inputs.block_sizes)[:, None]
    return packed if stop is None else packed.watching(*stop.watched)


class Kernels(NamedTuple):
    """How to follow a path, and the functions that it calls: the equations' slope, and what is watched."""

    follow: Callable[..., int]
    rhs: Callable[..., None]
    observe: Callable[..., None]


def _kernels(problem: Problem, equations: System, *, watched: bool, tables: bool) -> Kernels:
    """Compiled, or Python around averages or samples of functions that compiled code cannot call."""
    own, cases = reduced_form.is_own(problem), has_cases(problem)
    general = case_leap.follow_cases if cases else following.follow
    kernels = Kernels(general, equations.rhs, equations.observe)
    if equations.compiled and not own:
        return kernels._replace(follow=form_for(general, THRESHOLD=watched, TABLES=tables))
    gather, kick = (case_leap.gather_cases, case_leap.kick_cases) if cases else (leap.gather, leap.kick)
    if own:
        amplitudes = own_amplitudes(problem)
        gather = rewired(gather, amplitudes=amplitudes, case_amplitudes=amplitudes)
    sample = rewired(leap.sample, gather=gather)
    sample_cases = rewired(case_leap.sample_cases, gather_cases=gather)
    kick = rewired(kick, sample=sample, sample_cases=sample_cases)
    mend = case_leap.mend_cases if cases else leap.mend
    once = rewired(leap.leap, kick=kick, step=rewired(leap.step), mend=mend)
    parts = {"kick": kick, "restore": case_leap.restore_cases if cases else leap.restore}
    for name in ("distance", "probe", "first_passage", "stop_at", "is_clear", "may_pass", "passage"):  # callees first
        parts[name] = rewired(getattr(passage, name), **parts)
    return kernels._replace(follow=rewired(following.follow, leap=once, **parts))

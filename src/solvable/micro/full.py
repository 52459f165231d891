"""Full weights, for inputs that come as data (or to check the reduced process): blocks of samples at once.

Within a block the weights are w_k = sigma_k w_k(0) + sum_j phi_kj x_j over the samples j before, so that fields follow from
H = X V^T / sqrt(dim) and X X^T, two matrix products, and the weights are touched once for each block.
"""

import math
import time
from typing import Protocol

import numpy as np

from solvable.dynamics import reduced_form
from solvable.dynamics.kernel_data import RISK, WATCHED
from solvable.dynamics.python_kernels import own_amplitudes
from solvable.dynamics.rows import moving_rows, row_order
from solvable.dynamics.sample import amplitudes
from solvable.levels import Lane
from solvable.levels.jobs import Control
from solvable.levels.observer import Observer
from solvable.levels.records import Records
from solvable.micro import process
from solvable.micro.full_kernels import fill_rows, look_ahead
from solvable.micro.reduced import CHUNK
from solvable.numerics.interpreting import rewired
from solvable.numerics.lanes import WIDTH
from solvable.numerics.memory import FLOAT
from solvable.numerics.random import child, streams
from solvable.overlaps import Weights, embed
from solvable.problems import Data, Problem
from solvable.problems.spec import KernelSpec
from solvable.results import Ending

AHEAD = 32  # samples in a block
SAMPLE = 4096  # rows on which the risk is measured, at most
WEIGHTS, ROWS, LABELS, CASES = range(WIDTH, WIDTH + 4)  # streams of a run, after those of eight samples at once
LOOK = 16, 20  # steps between looks at least, and looks per unit of alpha at most


def room(problem: Problem) -> int:
    """Bytes that one run takes: weights, factors they are embedded by, and rows of inputs."""
    n, rows = (
        problem.student.width + problem.teacher.width,
        8 * AHEAD if problem.training.segments["batch"][0, 1] > AHEAD else AHEAD,
    )
    return FLOAT * (problem.inputs.dim or 0) * (6 * n + 2 * rows)


class Rows(Protocol):
    """Where a run takes its inputs from, some rows at a time."""

    def take(self, count: int) -> np.ndarray: ...


class GaussianRows:
    """Gaussian inputs with the covariance of a problem, drawn as they are needed."""

    def __init__(self, problem: Problem, seed: np.random.SeedSequence) -> None:
        self._dim = problem.inputs.dim or 0
        self._stream = streams([child(seed, lane) for lane in range(WIDTH)])
        roots = np.sqrt(np.repeat(problem.inputs.eigenvalues, problem.inputs.block_sizes))
        self._roots = roots if (roots != 1).any() else None

    def take(self, count: int) -> np.ndarray:
        slots = -(-self._dim // WIDTH)
        rows = np.empty((count, slots * WIDTH))
        fill_rows(self._stream, rows.ravel(), count, slots)
        rows = rows[:, : self._dim]
        return rows if self._roots is None else rows * self._roots


class Sample:
    """Rows of data on which the risk is measured: all of them, or a number drawn once."""

    def __init__(self, data: Data, seed: np.random.SeedSequence) -> None:
        rows = data.rows
        assert rows is not None
        chosen = np.arange(len(rows))
        if len(rows) > SAMPLE:
            chosen = np.sort(np.random.default_rng(seed).choice(len(rows), SAMPLE, replace=False))
        self.part = len(chosen) / len(rows)
        self.rows = data.prepared(rows[chosen])

    def risk(self, problem: Problem, V: np.ndarray, readout: np.ndarray) -> tuple[float, float]:
        """With its standard error, which vanishes when no row is left out."""
        p, z = problem.student.width, self.rows @ V.T / math.sqrt(V.shape[1])
        error = problem.teacher.labels(z[:, p:]) - problem.student.unit.function(z[:, :p]) @ readout
        losses = problem.training.loss_factor * error**2
        return float(losses.mean()), float(losses.std() * math.sqrt((1 - self.part) / len(losses)))


class Walk:
    """One run of SGD with full weights."""

    def __init__(
        self,
        lane: Lane,
        run: int,
        seed: np.random.SeedSequence,
        records: Records,
        data: Data | None,
        sample: "Sample | None",
        trained: slice | np.ndarray,
    ) -> None:
        problem = lane.problem
        self.lane, self.runs, self.records, self.data, self.sample = lane, [run], records, data, sample
        self.trained = trained  # coordinates
        self.problem, self.dim, self.batch = problem, records.dim, int(problem.training.segments["batch"][0, 1])
        self.seed = seed
        self.segments = reduced_form.segments([(problem, lane.start)])
        self._make()

    def _make(self) -> None:
        """What kernels need of the problem."""
        self.made = reduced_form.reduced_form(KernelSpec.of(self.problem).replace(inputs__spectrum=None))
        self.own = own_amplitudes(self.problem) if reduced_form.is_own(self.problem) else None
        self.look_ahead = look_ahead if self.own is None else rewired(look_ahead, amplitudes=self.own)

    def __call__(self, control: Control, place: int) -> None:
        if control.stopped:
            return
        try:
            with np.errstate(all="ignore"):  # a run that diverges overflows before it is stopped
                self._run(control, place)
        finally:
            for name in ("V", "rows"):  # runs that are over need no memory
                self.__dict__.pop(name, None)

    def _run(self, control: Control, place: int) -> None:
        self._prepare()
        outputs, step, output = self.records.steps, 0, 0
        stride, began = max(LOOK[0], self.dim // LOOK[1]), time.monotonic()
        ending = self._look(0)
        while True:
            if output < outputs.size and step == outputs[output]:
                if self._size() <= self.observer.bound:
                    self.records.write(self.runs[0], output, *self._seen(step))
                output += 1
            if ending is None and step == outputs[-1]:
                ending = Ending.FINISHED
            if ending is None and control.stopped:
                ending = Ending.INTERRUPTED
            if ending is not None:
                break
            if time.monotonic() - began > CHUNK:
                began, control.done[place] = time.monotonic(), step
            came = self._advance(step, min(int(outputs[output]), (step // stride + 1) * stride))
            if came == step:
                ending = self._look(step) or Ending.EXHAUSTED
            elif came % stride == 0 or came == outputs[-1]:
                ending = self._look(came)
            step = came
        risk = np.nan if self.sample is None else self.sample.risk(self.problem, self.V, self.readout)[0]
        self.records.end(self.runs[0], ending, step, self.overlaps(), risk)
        control.done[place] = step if ending is Ending.INTERRUPTED else outputs[-1]

    def _prepare(self) -> None:
        self.observer = Observer(self.lane, self.records.plan)
        basis = None if self.data is None else self.data.basis if self._has_basis() else None
        weights = self.lane.weights
        if weights is None:
            weights = embed(self.problem, self.lane.start, child(self.seed, WEIGHTS), basis)
        self.basis: np.ndarray | None = basis
        self.V = np.ascontiguousarray(self._coordinates(weights, self.problem, basis))
        self.p = self.problem.student.width
        self.rows: Rows = (
            GaussianRows(self.problem, self.seed)
            if self.data is None
            else self.data.reader(child(self.seed, ROWS), self.dim)
        )
        self.noise = np.random.default_rng(child(self.seed, LABELS))
        self.work, self.state = np.zeros(self.made.work * WIDTH), np.zeros(self.made.slots * WIDTH)
        self.process = *self.made[:3], *self.segments, np.zeros(0, dtype=np.uint64), self.state, self.work
        self.numbers = self.state[self.made.form.readout * WIDTH :: WIDTH]  # readouts, then scalars
        self.numbers[:] = np.concatenate([self.lane.start.readout.ravel(), self.lane.start.scalars])
        self.readout = self.numbers[: self.lane.start.readout.size]
        if self.sample is not None:
            self.records.start_risk[self.runs[0]] = first = self._seen(0)[1][RISK]
            stop = self.records.plan.stop
            if stop is not None and stop.quantity == "risk":
                self.observer.level = stop.level_for(first)

    def _has_basis(self) -> bool:
        return self.data is not None and (self.data.rows is not None or self.data.like is not None)

    @staticmethod
    def _coordinates(weights: Weights, problem: Problem, basis: np.ndarray | None) -> np.ndarray:
        """(n, dim) students, then teachers, then extra rows by their roles, in the coordinates in which inputs come."""
        rows = np.vstack([weights.student, weights.teacher, weights.extra_rows(problem)])
        rows = rows if weights.basis is None else rows @ weights.basis
        return rows if basis is None else rows @ basis.T

    def _advance(self, step: int, goal: int) -> int:
        """Take steps up to `goal`; fewer if the rows run out."""
        if self.batch > AHEAD:
            return step + self._big_batch(step)
        steps = min(goal - step, max(1, AHEAD // self.batch))
        X = self.rows.take(steps * self.batch)
        steps = len(X) // self.batch
        if steps == 0:
            return step
        X = X[: steps * self.batch]
        root, W, seen = math.sqrt(self.dim), self.V[: self.p], X[:, self.trained]
        H, G, fixed = X @ self.V.T, seen @ seen.T, np.zeros((len(X), self.p))
        if seen.shape != X.shape:
            moving = seen @ W[:, self.trained].T
            fixed, H[:, : self.p] = (H[:, : self.p] - moving) / root, moving
        H /= root
        G /= root
        norms = np.einsum("ki,ki->k", W, W) if self.made.form.sphere else np.zeros(self.p)
        sigma, phi = np.empty(self.p), np.empty((self.p, len(X)))
        self.look_ahead(self.process, step, H, G, fixed, self._noise(len(X)), norms, sigma, phi)
        if (sigma != 1.0).any():
            W[:, self.trained] *= sigma[:, None]
        W[:, self.trained] += phi @ seen
        return step + steps

    def _noise(self, count: int) -> np.ndarray:
        return self.noise.standard_normal(count) if self.made.form.noisy else np.zeros(count)

    def _big_batch(self, step: int) -> int:
        """One step on a batch too large to look ahead, in pieces; 0 if the rows run out before its end."""
        form, push = self.made.form, self.own or amplitudes
        process.set_numbers(form, self.made.frames, *self.segments, float(step), self.work)
        slots = self.work.reshape(-1, WIDTH)
        W, pushed, left = self.V[: self.p], np.zeros(self.p), self.batch
        gradient = np.zeros_like(W[:, self.trained])
        while left:
            X = self.rows.take(min(left, 8 * AHEAD))
            if not len(X):
                return 0
            left -= len(X)
            H, noise = X @ self.V.T / math.sqrt(self.dim), self._noise(len(X))
            F = np.empty((len(X), self.p))
            for i in range(0, len(X), WIDTH):
                part = H[i : i + WIDTH].T
                count = part.shape[1]
                slots[form.fields :][: self.p, :count] = part[: self.p]
                slots[form.teacher_fields :][: len(part) - self.p, :count] = part[self.p :]
                slots[form.normals - 1, :count] = noise[i : i + count]
                self.state.reshape(-1, WIDTH)[:] = self.state[::WIDTH, None]
                push(form, self.made.numbers, self.state, self.work)
                F[i : i + count] = slots[form.amplitudes :][: self.p, :count].T
                pushed += slots[form.pushes :][: self.p, :count].sum(axis=1)
            gradient += F.T @ X[:, self.trained]
        rate = self.work[form.rate * WIDTH]
        W[:, self.trained] *= 1 - rate * form.decay
        W[:, self.trained] += rate * math.sqrt(self.dim) / self.batch * gradient
        if form.sphere:
            W *= np.sqrt(self.dim / np.einsum("ki,ki->k", W, W))[:, None]
        if form.train_readout:
            self.readout += self.work[form.readout_rate * WIDTH] / self.batch * pushed
        return 1

    def overlaps(self) -> np.ndarray:
        """The state as `dynamics.kernel_data` has it."""
        rows = self.V if self.basis is None else self.V @ self.basis
        sizes, moving = self.problem.inputs.block_sizes, moving_rows(self.problem)
        if moving > self.p:
            rows = rows[row_order(self.problem)]
        if sizes.size == 1:
            blocks = rows[:moving] @ rows.T
        elif sizes.max() == 1:
            blocks = np.einsum("ki,ji->ikj", rows[:moving], rows)
        else:
            blocks = np.array([part[:moving] @ part.T for part in np.split(rows, np.cumsum(sizes)[:-1], axis=1)])
        return np.concatenate([blocks.ravel() / self.dim, self.numbers])

    def _seen(self, step: int) -> tuple[np.ndarray, np.ndarray, float]:
        """The state after so many steps, risk and what is watched, and the error of the risk: on rows where there are data."""
        y = self.overlaps()
        seen, error = self.observer.see(y, step / self.dim)
        if self.sample is not None:
            seen[RISK], error = self.sample.risk(self.problem, self.V, self.readout)
            if self.observer.watches_risk:
                seen[WATCHED] = seen[RISK]
        return y, seen, error

    def _size(self) -> float:
        """Sum of the students' squared norms."""
        W = self.V[: self.p]
        return float(np.einsum("ki,ki->", W, W)) / self.dim

    def _look(self, step: int) -> Ending | None:
        """How the run ends here, if it does."""
        if not self._size() <= self.observer.bound:
            return Ending.DIVERGED
        if self.observer.watches and self.observer.passed(self._seen(step)[1]):
            return Ending.STOPPED
        return None

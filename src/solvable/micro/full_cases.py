"""Full weights of problems with cases: step by step in NumPy, as a check of the reduced process."""

import math
from typing import Any

import numpy as np

from solvable.dynamics import reduced_form
from solvable.dynamics.case_form import walk_covariance
from solvable.dynamics.case_sample import answer, set_chances
from solvable.dynamics.kernel_choice import system
from solvable.dynamics.kernel_data import pack
from solvable.dynamics.pace import ADAGRAD, CLIP, PACE, recall
from solvable.dynamics.python_kernels import own_amplitudes
from solvable.levels.observer import NODES
from solvable.micro import process
from solvable.micro.full import CASES, Walk
from solvable.micro.row_step import set_friction
from solvable.numerics.interpreting import rewired
from solvable.numerics.lanes import WIDTH
from solvable.numerics.random import child
from solvable.overlaps import gram_factor
from solvable.overlaps.state import ROLES


class CaseWalk(Walk):
    """One run. Rows of `V` are those of `Overlaps`: students, teachers, then extra rows by their roles."""

    def _make(self) -> None:
        self.made = reduced_form.with_chances(
            reduced_form.reduced_form(self.problem), self.problem, self.segments[0]["begin"][0]
        )
        own = reduced_form.is_own(self.problem)
        self.answer = rewired(answer, case_amplitudes=own_amplitudes(self.problem)) if own else answer

    def _prepare(self) -> None:
        super()._prepare()
        self.random = np.random.default_rng(child(self.seed, CASES))
        form = self.made.form
        self.table = self.made.numbers[form.table :][: form.cases * form.stride].reshape(form.cases, form.stride)
        self.edges = np.repeat(np.arange(form.blocks), self.problem.inputs.block_sizes)  # the block of each coordinate
        self.walk = gram_factor(walk_covariance(self.problem), self.problem.teacher.width)
        self.heads = self.readout.reshape(self.problem.heads, self.p)
        if self.made.form.pace:
            self.equations = system(self.problem, pack(self.problem, self.lane.start), NODES)
        moving = np.array([role == "readout_velocity" for role in self.problem.scalars], dtype=bool)
        self.speeds = np.flatnonzero(
            np.concatenate([np.zeros(self.readout.size, dtype=bool), moving])
        )  # places in `numbers`
        first = self.p + self.problem.teacher.width
        chosen = {role: np.flatnonzero([one == role for one in self.problem.extras]) for role in ROLES}
        self.extra = {role: slice(first + rows[0], first + rows[-1] + 1) for role, rows in chosen.items() if rows.size}

    def _advance(self, step: int, goal: int) -> int:
        for number in range(step, goal):
            self._step(number)
        return goal

    def _step(self, number: int) -> None:
        """One step, as `micro/case_step.py` takes it on the frames."""
        form, numbers, p, q = self.made.form, self.made.numbers, self.p, self.problem.teacher.width
        process.set_numbers(form, self.made.frames, *self.segments, float(number), self.work)
        segment = int(self.work[form.segments * WIDTH])
        now = self.segments[0][0, segment]
        passed = number / self.dim - now.begin
        set_chances(form, self.made.frames, numbers, segment, passed, self.work)
        set_friction(form, now.friction + now.friction_slope * passed)
        kick, share = (form.friction, 1.0 / self.dim) if form.slow else (1.0, 1.0)
        case, x, seen = self._inputs(int(form.batch))
        root, rate = math.sqrt(self.dim), self.work[form.rate * WIDTH]
        W, velocity = self.V[:p], self._rows("velocity")
        ahead = W + form.beta * share * velocity if form.nesterov else W
        sizes = np.einsum("si,si->s", seen, seen) / self.dim if form.shaped else None
        F, pushed, push = self._pushes(case, seen @ ahead.T / root, x @ self.V[p : p + q].T / root, sizes)
        gradient = np.zeros_like(W)
        gradient[:, self.trained] = F.T @ seen[:, self.trained] / len(case)
        if form.pace:
            rate = self._followed(number, rate, float((gradient**2).sum()) / self.dim)
        W[:, self.trained] -= rate * form.gain * self._pull()[:, self.trained]
        move = rate * kick * root * gradient
        if len(velocity):
            velocity *= form.beta
            velocity += move
            move = share * velocity
        W += move
        if form.sphere:
            W *= np.sqrt(self.dim / np.einsum("ki,ki->k", W, W))[:, None]
        self._follow(number, now)
        if form.train_readout or form.train_bias:
            heads = [self.table[case, 1] == t for t in range(len(self.heads))]
            readouts = np.array([form.train_readout * pushed[head].sum(axis=0) for head in heads])
            biases = [form.train_bias * push[head].sum() for head in heads if form.biased]
            move = kick * self.work[form.readout_rate * WIDTH] / len(case) * np.concatenate([readouts.ravel(), biases])
            if form.readout_velocities:
                self.numbers[self.speeds] = form.beta * self.numbers[self.speeds] + move
                move = share * self.numbers[self.speeds]
            self.numbers[: form.readouts] += move
        self._move_teachers()

    def _rows(self, role: str) -> np.ndarray:
        """Of the students, with this role; none if there are none."""
        return self.V[self.extra[role]] if role in self.extra else self.V[:0]

    def _followed(self, number: int, rate: float, square: float) -> float:
        """The rate of a step where it follows the state; G grows by the squared gradient."""
        form, G = self.made.form, float(self.numbers[-1])
        y, time = self.overlaps(), number / self.dim
        self.numbers[-1] = G + square / self.dim
        if form.pace == ADAGRAD:
            return float(rate / math.sqrt(form.pace_number**2 + G))
        if form.pace == CLIP:
            return float(rate * min(1.0, form.pace_number / math.sqrt(square + 1e-300)))
        segment = int(np.searchsorted(self.equations.packed.problems["begin"], time, side="right")) - 1
        data = self.equations.data()
        self.equations.rhs(segment, time, y, np.empty_like(y), *data)
        return float(rate * recall.py_func(data[-1], PACE))

    def _pull(self) -> np.ndarray:
        """Weight decay and anchors."""
        form, W, snapshot = self.made.form, self.V[: self.p], self._rows("snapshot")
        pull = form.decay * W
        if form.anchor:
            pull = pull + form.anchor * (W - (snapshot if len(snapshot) else self._rows("anchor")))
        return pull

    def _follow(self, number: int, now: Any) -> None:
        """Averages and snapshots after a step."""
        form, W, average = self.made.form, self.V[: self.p], self._rows("average")
        if len(average):
            gain = form.average_rate / self.dim or 1.0 / (number + 2.0 - form.average_begin * self.dim)
            average += (1.0 if now.average_follows else gain) * (W - average)
        if now.snapshot_follows:
            self._rows("snapshot")[:] = W

    def _inputs(self, batch: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Cases of a batch, what teachers see of its inputs, and what students see."""
        form, random = self.made.form, self.random
        cumulated = self.work[form.chances * WIDTH :][: form.cases]
        case = np.searchsorted(cumulated, 1.0 - random.random(batch))
        directions, means = form.directions, form.entries + self.p
        entries = self.table[case, means:]
        weights, spikes, roots = np.split(entries, [directions, 2 * directions], axis=1)
        weights = weights + spikes * random.standard_normal(weights.shape)
        first = self.p + self.problem.teacher.width
        deviations = self.made.frames["deviation"]
        x = (roots[:, ::2] * deviations)[:, self.edges] * random.standard_normal((batch, self.dim))
        x += weights @ self.V[first : first + directions] / math.sqrt(self.dim)
        if not form.seen:
            return case, x, x
        return case, x, x + roots[:, 1::2][:, self.edges] * random.standard_normal(x.shape)

    def _pushes(
        self, case: np.ndarray, fields: np.ndarray, taught: np.ndarray, sizes: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(sample, student) amplitudes, and what pushes the readouts; (sample,) what pushes the bias; `sizes` are |x|^2/dim, for
        rules that ask."""
        form, slots, p = self.made.form, self.work.reshape(-1, WIDTH), self.p
        noise, found, push = self._noise(len(case)), np.empty((2, len(case), p)), np.empty(len(case))
        self.state.reshape(-1, WIDTH)[:] = self.state[::WIDTH, None]
        for i in range(0, len(case), WIDTH):
            part = slice(i, i + WIDTH)
            count = len(case[part])
            slots[form.case] = form.table
            slots[form.case, :count] += form.stride * case[part]
            slots[form.fields :][:p, :count] = fields[part].T
            slots[form.teacher_fields :][: taught.shape[1], :count] = taught[part].T
            slots[form.normals - 1, :count] = noise[part]
            if sizes is not None:
                slots[form.norm, :count] = sizes[part]
            self.answer(form, self.made.numbers, self.state, self.work)
            for kind, at in enumerate((form.amplitudes, form.pushes)):
                found[kind, part] = slots[at:][:p, :count].T
            push[part] = slots[form.bare_push, :count]
        return found[0], found[1], push

    def _move_teachers(self) -> None:
        form, first, q = self.made.form, self.p, self.problem.teacher.width
        rows = self.V[first : first + q]
        if form.rotation:
            c, s = math.cos(form.rotation / self.dim), math.sin(form.rotation / self.dim)
            rows[:2] = np.array([[c, s], [-s, c]]) @ rows[:2]
        if form.drift:
            rows *= 1 - form.drift / self.dim
            rows += math.sqrt(2 * form.drift / self.dim) * self.walk @ self.random.standard_normal(rows.shape)

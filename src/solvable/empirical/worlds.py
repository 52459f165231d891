"""All that a run trains on: the space of its weights, the first weights in it, and the samples with their labels."""

import math
from typing import Any, NamedTuple

import numpy as np

from solvable.empirical.engines import (
    ClassEngine,
    DenseEngine,
    GramEngine,
    GramSpace,
    RevealedEngine,
    SampleEngine,
    compressed,
    gaussian_rows,
)
from solvable.empirical.forms import Questions
from solvable.empirical.revealed import Revealed, Space
from solvable.empirical.testing import HeldOut
from solvable.levels import Lane
from solvable.numerics.random import child
from solvable.overlaps import Weights, embed, gram_factor

NOISE, MATRIX, SELECTION, DIRECTIONS, CLASSES = range(5)  # streams of a run


class Part(NamedTuple):
    """Samples that are asked together, and their labels."""

    engine: SampleEngine
    labels: np.ndarray


class GivenSamples(NamedTuple):
    """Given samples: rows (n, dim) in the eigenbasis of the inputs, and labels where these are given too. Others, which training
    does not see, are for the risk; there may be none."""

    rows: np.ndarray
    labels: np.ndarray | None
    test_rows: np.ndarray
    test_labels: np.ndarray | None


class World:
    """Space, first weights (rows, room) and parts of a run; rows are students, teachers, directions.

    Parameters
    ----------
    lane : Lane
        Problem and start.
    form : str
        "coordinates", "frames", "dense", "rows" or "gram".
    found : Questions
        What the run is going to ask.
    seed : SeedSequence
        Of the run.
    given : GivenSamples, optional
        Samples in place of Gaussian ones.
    """

    def __init__(
        self, lane: Lane, form: str, found: Questions, seed: np.random.SeedSequence, given: GivenSamples | None
    ) -> None:
        self.problem, self.form, self.found, self.given = lane.problem, form, found, given
        self.random = {name: np.random.default_rng(child(seed, name)) for name in (NOISE, MATRIX, SELECTION, CLASSES)}
        self.space: Any
        if form == "coordinates":
            self.space, self.rows = coordinates(lane, found.more)
        else:
            explicit = _explicit(lane, child(seed, DIRECTIONS)) / math.sqrt(self.problem.inputs.dim or 1)
            self.space, self.rows = Space(self.problem, self.problem.inputs.block_sizes, 0), explicit
        tests = None if given is None else given.test_rows
        if form == "gram":
            first, rows = self.rows, self._rows(sum(found.sizes))
            self.space = GramSpace(first, rows)
            self.rows = np.eye(len(first), self.space.used)
            tests = None if tests is None else tests @ np.concatenate([first, rows]).T
        self.parts = self._parts()
        self.held_out = None
        if tests is not None and len(tests):
            p, q = self.problem.student.width, self.problem.teacher.width
            assert given is not None
            self.held_out = HeldOut(self.problem, tests, given.test_labels, self.rows[p : p + q])

    def _parts(self) -> list[Part]:
        if self.given is not None and self.form != "gram":
            edges = np.cumsum(self.found.sizes)[:-1]
            labels = [None] * len(self.found.sizes)
            if self.given.labels is not None:
                labels = np.split(self.given.labels, edges)  # type: ignore[assignment]
            pieces = zip(np.split(self.given.rows, edges), labels, strict=True)
            return [self._part(DenseEngine(rows), own) for rows, own in pieces]
        return [self._part(self._engine(size), None if self.given is None else self.given.labels)
                for size in self.found.sizes]  # fmt: skip

    def _engine(self, size: int) -> SampleEngine:
        random = self.random[MATRIX]
        if self.form == "gram":
            return GramEngine(self.space)
        if self.form == "dense":
            return DenseEngine(gaussian_rows(size, self.space, random))
        return RevealedEngine(Revealed(size, self.space, self.found.right, self.found.left, random))

    def _rows(self, count: int) -> np.ndarray:
        return gaussian_rows(count, self.space, self.random[MATRIX]) if self.given is None else self.given.rows

    def _part(self, engine: SampleEngine, labels: np.ndarray | None) -> Part:
        problem = self.problem
        p, q = problem.student.width, problem.teacher.width
        shift: Any = 0.0
        if problem.mixture is not None:
            engine, shift = self._in_classes(engine)
        fields = engine.fields(self.rows[: p + q, : self.space.used])
        if labels is not None:
            return Part(engine, labels)
        made = problem.teacher.labels(fields[:, p:], shift)
        noise = float(problem.training.label_noise)
        if noise > 0:
            made = made + math.sqrt(noise) * self.random[NOISE].standard_normal(engine.count)
        if problem.training.label_flips:
            made = np.where(self.random[CLASSES].random(engine.count) < problem.training.label_flips, -made, made)
        return Part(engine, made)

    def _in_classes(self, engine: SampleEngine) -> tuple[SampleEngine, np.ndarray]:
        """Samples with their classes, and what these add to labels."""
        mixture, random = self.problem.mixture, self.random[CLASSES]
        assert mixture is not None
        classes = random.choice(mixture.classes, engine.count, p=np.array(mixture.probabilities, dtype=float))
        means = np.array(mixture.means)[classes]
        spikes = mixture.spike_variances
        if spikes.any():
            means = means + np.sqrt(spikes)[classes] * random.standard_normal(means.shape)
        scales = np.sqrt(mixture.variance_factors(self.problem.inputs.blocks)[:, 0])[classes]
        first = self.problem.student.width + self.problem.teacher.width
        directions = self.rows[first : first + mixture.directions, : self.space.used].copy()
        labels = np.zeros(mixture.classes) if mixture.labels is None else np.array(mixture.labels)
        return ClassEngine(engine, scales, means, directions), labels[classes]

    def renew(self, rows: np.ndarray) -> np.ndarray:
        """Fresh samples in the place of those before, for weights `rows` (rows and velocities, room), which are given back in the
        coordinates of the new space."""
        if self.form == "coordinates":
            self.space, rows = compressed(self.problem, self.space, rows, self.found.more)
        self.rows = rows
        self.parts = self._parts()
        return rows


def coordinates(lane: Lane, more: int) -> tuple[Space, np.ndarray]:
    """The space that the units of a start span, with room for so many more directions in each block, and the units in it."""
    problem, stacked = lane.problem, lane.start.stacked
    sizes = problem.inputs.block_sizes
    columns = np.minimum(stacked.shape[1], sizes)
    space = Space(problem, columns, more)
    rows = np.zeros((stacked.shape[1], space.room))
    factors = [gram_factor(one, int(count)) for one, count in zip(stacked, columns, strict=True)]
    rows[:, : space.used] = np.concatenate(factors, axis=1)
    return space, rows


def _explicit(lane: Lane, seed: np.random.SeedSequence) -> np.ndarray:
    """(rows, dim) weights of students, teachers and directions, in the eigenbasis of the inputs."""
    weights: Weights = lane.weights or embed(lane.problem, lane.start, seed)
    extras = [] if weights.directions is None else [weights.directions]
    rows = np.vstack([weights.student, weights.teacher, *extras])
    return rows if weights.basis is None else rows @ weights.basis

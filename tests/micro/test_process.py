"""The reduced process as a machine: the same inputs through both forms, long runs, singular overlaps, any dim."""

import numpy as np
import pytest

import solvable as sv
from seeds import seed
from solvable.dynamics import reduced_form, sample
from solvable.micro import looking, process
from solvable.micro.full_kernels import look_ahead
from solvable.micro.step import learn
from solvable.numerics.lanes import WIDTH
from solvable.numerics.random import child, streams

TWO = sv.Spectrum(eigenvalues=(1.6, 0.4), weights=(1, 2))


def problem_of(**changes):
    problem = sv.Problem(
        teacher=sv.Teacher(width=2, overlap="sampled"),
        student=sv.Student(width=3),
        inputs=sv.Inputs(dim=60),
        training=sv.Training(learning_rate=0.05),
    )
    return problem.replace(**changes)


def weights_of(problem, seed=1):
    random, N = np.random.default_rng(seed), problem.inputs.dim
    W = random.standard_normal((problem.student.width, N))
    if problem.student.norm == "sphere":
        W *= np.sqrt(N) / np.linalg.norm(W, axis=1, keepdims=True)
    return W, random.standard_normal((problem.teacher.width, N))


def process_of(made, segments, state, work):
    """The tuple that kernels take, without a stream."""
    return made.process, made.frames, made.numbers, *segments, np.zeros(0, dtype=np.uint64), state, work


class Driven:
    """The reduced process fed with the coordinates of given inputs, in all lanes alike."""

    def __init__(self, problem, start):
        self.made = reduced_form.reduced_form(problem)
        self.form, self.frames = self.made.form, self.made.frames
        self.state = reduced_form.lanes([reduced_form.coordinates(problem, start)])
        self.work = np.zeros(self.made.work * WIDTH)
        self.segments = reduced_form.segments([(problem, start)])
        self.p, self.q = problem.student.width, problem.teacher.width

    def blocks(self):
        """C, L and B of every block, of the first lane."""
        values = self.state[::WIDTH]
        for frame in self.frames:
            rank = frame.rank
            C = values[frame.C :][: self.p * rank].reshape(self.p, rank)
            B = values[frame.B :][: self.q * rank].reshape(self.q, rank)
            L, at = np.zeros((self.p, self.p)), frame.L
            for j in range(self.p):
                L[j:, j] = values[at : at + self.p - j]
                at += self.p - j
            yield frame, C, L, B

    def step(self, number, inputs, noise, W, W_star):
        """`inputs` are the parts of x in each block, before the scale sqrt(lambda)."""
        slots = self.work.reshape(-1, WIDTH)
        N = W.shape[1]
        at = 0
        for b, (frame, C, L, B) in enumerate(self.blocks()):
            x = inputs[b]
            part = slice(at, at + x.size)
            at += x.size
            z = np.linalg.solve(B, W_star[:, part] @ x / np.sqrt(N))
            g = np.linalg.solve(L, W[:, part] @ x / np.sqrt(N) - C @ z)
            first = frame.draws
            slots[first : first + z.size + g.size] = np.concatenate([z, g])[:, None]
            slots[self.form.outsides + b] = np.sqrt(x @ x - z @ z - g @ g)
        if self.form.noisy:
            slots[self.form.normals - 1] = noise
        process.set_numbers(self.form, self.frames, *self.segments, float(number), self.work)
        sample.fields(self.form, self.frames, self.state, self.work)
        sample.amplitudes(self.form, self.made.numbers, self.state, self.work)
        learn(self.form, self.frames, self.state, self.work)

    def overlaps(self, size):
        y = np.empty((WIDTH, size))
        looking.all_overlaps(process_of(self.made, self.segments, self.state, self.work), y)
        assert (y == y[0]).all()
        return y[0]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"inputs__spectrum": TWO, "training__label_noise": 0.3, "training__weight_decay": 0.5},
        {"student__norm": "sphere", "training__train_readout": True, "inputs__spectrum": TWO},
        {"student__activation": "erf", "teacher__activation": "erf", "training__learning_rate": 1.0},
        {"student__activation": "relu", "teacher__activation": "relu", "training__learning_rate": 0.5},
    ],
    ids=["plain", "blocks", "sphere", "erf", "relu"],
)
def test_the_same_inputs_through_both_forms_give_the_same_overlaps(changes):
    """Weights updated as the definition says, the reduced process, and the form that looks ahead, over 2000 steps."""
    problem = problem_of(**changes)
    W, W_star = weights_of(problem)
    start = sv.overlaps.Weights(W, W_star).overlaps(problem)
    driven, N = Driven(problem, start), problem.inputs.dim
    sizes, roots = problem.inputs.block_sizes, np.sqrt(problem.inputs.eigenvalues)
    random, training = np.random.default_rng(5), problem.training
    a, c = np.array(start.readout), training.loss_factor
    steps, block = 2000, 20
    V, ahead_state, X, noises = np.vstack([W, W_star]), driven.state.copy(), [], []
    for number in range(steps):
        parts = [random.standard_normal(size) for size in sizes]
        noise = random.standard_normal()
        x = np.concatenate([root * part for root, part in zip(roots, parts, strict=True)])
        driven.step(number, parts, noise, W, W_star)
        h, u = W @ x / np.sqrt(N), W_star @ x / np.sqrt(N)
        unit = problem.student.unit
        error = problem.teacher.labels(u[None])[0] + np.sqrt(training.label_noise) * noise - a @ unit.function(h)
        W = W * (1 - training.learning_rate * training.weight_decay / N)
        W = W + training.learning_rate / np.sqrt(N) * np.outer(2 * c * a * unit.derivative(h) * error, x)
        if problem.student.norm == "sphere":
            W = W * (np.sqrt(N) / np.linalg.norm(W, axis=1, keepdims=True))
        if training.train_readout:
            a = a + training.learning_rate / N * 2 * c * unit.function(h) * error
        X.append(x)
        noises.append(noise)
        if len(X) == block:
            advance_ahead(problem, V, ahead_state, np.array(X), np.array(noises), number + 1 - block)
            X, noises = [], []
    expected = np.concatenate([sv.measure(problem, W, W_star).stacked[:, : driven.p].ravel(), a])
    assert np.abs(driven.overlaps(expected.size) - expected).max() < 1e-11
    assert np.abs(V[: driven.p] - W).max() < 1e-9
    assert np.abs(ahead_state[driven.form.readout * WIDTH :: WIDTH] - a).max() < 1e-11
    assert not np.allclose(
        expected[: start.stacked[:, : driven.p].size], start.stacked[:, : driven.p].ravel(), atol=0.01
    )


def advance_ahead(problem, V, state, X, noise, step):
    """A block of the full-weight form on given inputs; the readout is in `state`."""
    made = reduced_form.reduced_form(problem.replace(inputs__spectrum=None))
    full, p, N = np.zeros(made.slots * WIDTH), problem.student.width, problem.inputs.dim
    full[made.form.readout * WIDTH :] = state[-p * WIDTH :]
    W = V[:p]
    sigma, phi = np.empty(p), np.empty((p, len(X)))
    segments = reduced_form.segments([(problem, sv.start(problem, seed=0))])
    look_ahead(
        process_of(made, segments, full, np.zeros(made.work * WIDTH)), step,
        X @ V.T / np.sqrt(N), X @ X.T / np.sqrt(N), np.zeros((len(X), p)), noise, (W**2).sum(axis=1), sigma, phi,
    )  # fmt: skip
    state[-p * WIDTH :] = full[made.form.readout * WIDTH :]
    W *= sigma[:, None]
    W += phi @ X


@pytest.mark.statistical
def test_lengths_outside_the_frames_have_their_freedom():
    """Of an input what lies outside all units has as many dimensions as the block without them; mean squares of 32 000 lengths,
    within 5.5 standard errors (one dimension more would be at least thirty)."""
    problem = problem_of(inputs__spectrum=TWO, inputs__dim=24)
    made = reduced_form.reduced_form(problem)
    work, stream = np.zeros(made.work * WIDTH), streams([child(seed(3), lane) for lane in range(WIDTH)])
    slots = work.reshape(-1, WIDTH)[made.form.outsides :][:2]
    squares = []
    for _ in range(4000):
        sample.draw(made.form, made.frames, stream, work)
        squares.append(slots**2)
    freedom = np.array([8, 16]) - problem.student.width - problem.teacher.width
    found = np.array(squares).mean(axis=(0, 2))
    assert (np.abs(found - freedom) < 5.5 * np.sqrt(2 * freedom / 32_000)).all()


def test_wide_students_stay_at_a_solution():
    """Six students that solve the task exactly: their overlaps have rank three, and nothing moves them, for 3 10^5 steps."""
    problem = sv.Problem(
        teacher=sv.Teacher(width=3),
        student=sv.Student(width=6),
        inputs=sv.Inputs(dim=1000),
        training=sv.Training(learning_rate=0.3),
    )
    frame = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 3)))[0]
    start = sv.start(problem, student_overlap=2 * frame @ frame.T, cross_overlap=np.sqrt(2) * frame)
    micro = sv.run(problem, start, sv.Micro(runs=3), until=300)
    assert micro.success
    assert np.abs(micro.student_overlap[:, -1] - start.student_overlap).max() < 1e-9
    assert micro.risk.max() < 1e-14


@pytest.mark.statistical
def test_learning_goes_on_where_overlaps_become_singular():
    """From a random start to late times, where the surplus eigenvalues of the overlaps die: the risk follows the closed form of
    the tail at its noise level, and overlaps keep inside the cone."""
    problem = sv.Problem(
        teacher=sv.Teacher(width=2),
        student=sv.Student(width=4),
        inputs=sv.Inputs(dim=100),
        training=sv.Training(learning_rate=0.1),
    )
    micro = sv.run(problem, sv.start(problem, seed=seed(0)), sv.Micro(runs=8, seed=seed(0)), until=4000)
    late = sv.theory.late_risk(problem, 4000).value
    assert micro.success
    assert late / 2 < np.median(micro.risk[:, -1]) < 2 * late
    for run in range(8):
        state = micro.last(run)
        assert np.linalg.eigvalsh(state.stacked[0])[0] > -1e-13
    equal = problem.replace(student__width=2)
    assert (
        sv.run(equal, sv.start(equal, seed=seed(0)), sv.Micro(runs=8, seed=seed(0)), until=1500).risk[:, -1].max()
        < 1e-15
    )


@pytest.mark.statistical
@pytest.mark.slow
def test_a_hundred_million_steps():
    problem = sv.Problem(
        teacher=sv.Teacher(width=3),
        student=sv.Student(width=6),
        inputs=sv.Inputs(dim=1000),
        training=sv.Training(learning_rate=0.1),
    )
    micro = sv.run(problem, sv.start(problem, seed=seed(0)), sv.Micro(runs=16, seed=seed(0)), until=1e5)
    assert micro.success
    late = sv.theory.late_risk(problem, 1e5).value
    assert late / 2 < np.median(micro.risk[:, -1]) < 2 * late


@pytest.mark.statistical
@pytest.mark.parametrize("dim", [10**9, 10**12])
def test_dimensions_that_no_vector_has(dim):
    """Four thousand steps at any dim: what the overlaps move by, dim times, is what the equations say, to first order."""
    problem = problem_of(inputs__dim=dim, teacher__overlap="orthonormal", training__learning_rate=0.02)
    start = sv.start(problem, student_overlap=0.5 * np.eye(3), cross_overlap=[[0.3, 0.1], [-0.2, 0.2], [0.0, 0.4]])
    micro = sv.run(problem, start, sv.Micro(runs=64, seed=seed(0)), times=[4000], clock="steps")
    assert (micro.nfev == 4000).all()
    moved = (micro.cross_overlap[:, 0] - start.cross_overlap) * dim
    drift = sv.dynamics.moments(sv.dynamics.field_covariance(problem, start), problem).drift @ start.stacked[0][:, 3:]
    expected, error = 4000 * 0.02 * drift, moved.std(axis=0, ddof=1) / 8
    assert (np.abs(moved.mean(axis=0) - expected) < 5.5 * error).all()
    assert (np.abs(expected) > 5 * error).any()


def test_rates_are_set_when_they_change_and_only_then(quadratic) -> None:
    """Between the steps that `set_numbers` names the rates of no lane change, and at them they are those of the schedules."""
    small = quadratic.replace(inputs__dim=10)
    pieces = sv.Schedule(times=tuple(np.arange(40) / 4), rates=tuple(0.1 + 0.01 * (np.arange(40) % 7)))
    late = sv.Schedule(times=(0.0, 7.03), rates=(0.2, 0.05))
    ramp = sv.Schedule(times=(0.0, 3.0, 6.0), rates=(0.2, 0.1, 0.1), shape="linear")
    for schedules in ([pieces, late], [late], [ramp, pieces], [0.3]):
        problems = [small.replace(training__learning_rate=one) for one in schedules]
        made, first = reduced_form.reduced_form(problems[0]), sv.start(problems[0], seed=0)
        segments = reduced_form.segments([(one, first) for one in problems])
        work, due, calls = np.zeros(made.work * WIDTH), 0.0, 0
        for step in [*range(120), 3, 4]:  # also back
            if step >= due or step < 10:
                due = process.set_numbers(made.form, made.frames, *segments, float(step), work)
                calls += 1
            found = work[made.form.rate * WIDTH :][: len(problems)]
            assert found == pytest.approx([float(one.training.schedule(step / 10)) / 10 for one in problems], abs=1e-15)
        assert calls <= 12 + {1: 2, 2: 120}[len(schedules)]

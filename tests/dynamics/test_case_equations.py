"""The equations of motion of cases against averages over samples of one step, identities and closed forms."""

import numpy as np
import pytest
from scipy.special import erf

import solvable as sv
from seeds import seed
from solvable.dynamics.cases import case_table
from solvable.dynamics.kernel_choice import system
from solvable.dynamics.kernel_data import RISK, SEEN, pack
from solvable.dynamics.mean_moments import moments_with_means
from solvable.gaussian.closed_forms import KINDS, mean_scratch
from solvable.overlaps import measure

DIM = 24
UNITS = {
    "linear": (lambda z: z, np.ones_like),
    "quadratic": (lambda z: z**2, lambda z: 2 * z),
    "erf": (lambda z: erf(z / np.sqrt(2)), lambda z: np.sqrt(2 / np.pi) * np.exp(-(z**2) / 2)),
    "hermite3": (lambda z: (z**3 - 3 * z) / np.sqrt(6), lambda z: (z**2 - 1) * np.sqrt(1.5)),
    "tanh": (np.tanh, lambda z: np.cosh(z) ** -2.0),
    "relu": (lambda z: np.maximum(z, 0), lambda z: (z > 0) * 1.0),
}
MIXTURE = {
    "probabilities": (0.5, 0.2, 0.3), "means": ((1.0, 0.3), (-0.8, 0.0), (0.2, -1.0)), "labels": (1.0, -1.0, 0.4),
    "variances": ((1.0, 0.6), (0.5, 1.0), (1.3, 0.9)), "spikes": ((0.0, 2.0), (3.0, 0.0), (0.0, 0.0)),
}  # fmt: skip
TASKS = (sv.Task(readout=(0.7, 0.0, -0.4), probability=0.4), sv.Task(readout=(0.0, 0.9, 0.3), probability=0.6))

READOUTS = ((0.7, 0.2, -0.4), (0.1, 0.9, 0.3))
SWITCH = tuple(sv.Schedule(times=(0.0, 4.0), rates=rates) for rates in ((0.0, 0.3), (1.0, 0.7)))


def random_problem(random, unit, **changes):
    """Three classes, two tasks, two blocks, noise on inputs, flips: everything at once, with weights."""
    directions = random.standard_normal((2, DIM))
    problem = sv.Problem(
        teacher=sv.Teacher(width=3, activation=unit, overlap="sampled"),
        student=sv.Student(width=2, activation=unit),
        inputs=sv.Inputs(dim=DIM, spectrum=sv.Spectrum(eigenvalues=(0.5, 1.5))),
        training=sv.Training(
            learning_rate=0.7, loss_factor=0.5, label_noise=0.2, label_flips=0.1, input_noise=(1.0, 0.5), batch=2,
            train_readout=True, readout_rate=0.4,
        ),
        mixture=sv.Mixture(**MIXTURE, vectors=tuple(map(tuple, directions))),
        tasks=TASKS,
    ).replace(**changes)  # fmt: skip
    W, V = 0.8 * random.standard_normal((2, DIM)), random.standard_normal((3, DIM))
    readout = random.standard_normal(problem.readout_values.shape)
    anchors = 0.5 * random.standard_normal((2, DIM)) if problem.training.anchor else None
    start = measure(problem, W, V, readout, directions=directions, anchors=anchors)
    return problem, start, (W, V, directions, readout, anchors)


def equations(problem, start, nodes=2**13, node_seed=0, time=0.0, noise=True):
    """Speeds of all moving overlaps (block, moving, row), of the readouts (head, student), and the risk."""
    one = system(problem, pack(problem, start, noise=noise), nodes, node_seed)
    state, seen = one.packed.state, np.empty(SEEN)
    speed = np.empty_like(state)
    segment = int(np.searchsorted(one.packed.problems["begin"], time, side="right")) - 1
    one.rhs(segment, time, state, speed, *one.data())
    one.observe(segment, time, state, seen, *one.data())
    record = one.packed.problems[0]
    size = record.blocks * record.moving * record.rows
    rows = speed[:size].reshape(record.blocks, record.moving, record.rows)
    return rows, speed[size:].reshape(problem.heads, -1), seen[RISK]


def sampled_step(problem, weights, samples, random):
    """(sample, ...) what one step at these weights adds, with the first order in the rate apart from the second, which are exact at
    any dim and for many dimensions: F_i x_b.V_j/sqrt(dim) (block, student, row), (lambda + sigma) F F^T f_b (block, p, p), and the
    readouts' (head, student)."""
    W, V, directions, heads, anchors = weights
    table, c = case_table(problem), problem.training.loss_factor
    g, slope = UNITS[problem.student.activation]
    kind = random.choice(table.size, size=samples, p=table.probability[0])
    sizes = np.round(problem.inputs.fractions * DIM).astype(int)
    variance = np.repeat(table.factors * problem.inputs.eigenvalues, sizes, axis=1)
    extra = np.repeat(table.input_noise, sizes, axis=1)
    zeta = random.standard_normal((samples, len(directions)))
    x = (table.means[kind] + np.sqrt(table.spikes[kind]) * zeta) @ directions / np.sqrt(DIM)
    x = x + np.sqrt(variance[kind]) * random.standard_normal(x.shape)
    seen = x + np.sqrt(extra[kind]) * random.standard_normal(x.shape)
    z, u = seen @ W.T / np.sqrt(DIM), x @ V.T / np.sqrt(DIM)
    a = table.mask[kind] * np.atleast_2d(heads)[table.head[kind]]
    label = table.label[kind] + (table.teacher_readout[kind] * UNITS[problem.teacher.activation][0](u)).sum(axis=1)
    error = label - (a * g(z)).sum(axis=1)
    F = 2 * c * a * slope(z) * error[:, None]
    square = F[:, :, None] * F[:, None, :] + problem.training.label_noise * 4 * c**2 * (
        (a * slope(z))[:, :, None] * (a * slope(z))[:, None, :]
    )
    rows = np.concatenate([W, V, directions, *([] if anchors is None else [anchors])])
    parts = [
        s @ r.T / np.sqrt(DIM)
        for s, r in zip(np.split(seen, [sizes[0]], 1), np.split(rows, [sizes[0]], 1), strict=True)
    ]
    first = np.stack([F[:, :, None] * part[:, None, :] for part in parts], axis=1)
    spread = (table.factors * problem.inputs.eigenvalues + table.input_noise)[kind] * problem.inputs.fractions
    second = spread[:, :, None, None] * square[:, None]
    belongs = (table.head[kind][:, None] == np.arange(problem.heads)).astype(float)
    pull = belongs[:, :, None] * (table.mask[kind] * g(z) * 2 * c * error[:, None])[:, None]
    return first, second, pull


def from_samples(problem, start, samples, random, weights):
    """Mean and standard error of the speeds of all moving rows and of the readouts; decay, anchors and moving teachers by hand."""
    p, q, training = problem.student.width, problem.teacher.width, problem.training
    rate, Omega, m = training.learning_rate, start.stacked, p + (q if problem.teacher.is_moving else 0)
    first, second, pull = sampled_step(problem, weights, samples, random)
    gain = np.zeros_like(Omega[:, :m])
    gain[:, :p] = -rate * (training.weight_decay + training.anchor) * Omega[:, :p]
    if training.anchor:
        gain[:, :p] += rate * training.anchor * Omega[:, -p:]
    if m > p:
        gain[:, p:] = -problem.teacher.drift * Omega[:, p : p + q]
        gain[:, p] += problem.teacher.rotation * Omega[:, p + 1]
        gain[:, p + 1] -= problem.teacher.rotation * Omega[:, p]
    each = rate * first
    each[..., :p] += each[..., :p].swapaxes(-1, -2) + rate**2 / training.batch * second
    speed, error = gain.copy(), np.zeros_like(gain)
    speed[:, :, :m] += gain[:, :, :m].transpose(0, 2, 1)
    speed[:, :p] += each.mean(axis=0)
    error[:, :p] = each.std(axis=0) / np.sqrt(samples)
    if m > p:
        speed[:, p:, :p], error[:, p:, :p] = (part[:, :p, p:m].transpose(0, 2, 1) for part in (speed, error))
    if problem.teacher.drift:
        speed[:, p:, p : p + q] += 2 * problem.teacher.drift * problem.inputs.fractions[:, None, None] * np.eye(q)
    moved = training.readout_rate * pull
    return (speed, error), (moved.mean(axis=0), moved.std(axis=0) / np.sqrt(samples))


FEATURES = {
    "classes, tasks, flips, noisy inputs": {},
    "dropout": {"training__dropout": sv.problems.Dropout(keep=0.7), "mixture__spikes": None},
    "decay and anchor": {"training__weight_decay": 0.3, "training__anchor": 0.4, "training__input_noise": 0.0},
    "moving teachers": {"teacher__drift": 0.3, "teacher__rotation": 0.5, "training__label_flips": 0.0},
    "one head": {"tasks__0__head": 0, "tasks__1__head": 0},
}


@pytest.mark.statistical
@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.parametrize("unit", ["quadratic", "erf"])
def test_equations_are_averages_of_a_step(unit, feature) -> None:
    """Within 6 standard errors of 100 000 samples in 24 dimensions, where the first order in the rate is exact and the second is
    taken as for many dimensions."""
    random = np.random.default_rng(seed(31))
    problem, start, weights = random_problem(random, unit, **FEATURES[feature])
    (speed, error), (moved, moved_error) = from_samples(problem, start, 100_000, random, weights)
    rows, readout, _ = equations(problem, start)
    assert (np.abs(rows - speed) <= 6 * error + 1e-12).all()
    assert (np.abs(readout - moved) <= 6 * moved_error).all()


@pytest.mark.statistical
@pytest.mark.parametrize("unit", ["linear", "tanh", "relu"])
def test_equations_of_any_unit_are_averages_of_a_step(unit) -> None:
    """The same on nodes, whose error is a thousandth."""
    random = np.random.default_rng(seed(32))
    changes = {} if unit == "linear" else {"teacher__activation": "erf"}
    problem, start, weights = random_problem(random, unit, **changes)
    (speed, error), (moved, moved_error) = from_samples(problem, start, 100_000, random, weights)
    rows, readout, _ = equations(problem, start)
    assert (np.abs(rows - speed) <= 6 * error + 2e-3 * np.abs(speed).max()).all()
    assert (np.abs(readout - moved) <= 6 * moved_error + 2e-3 * np.abs(moved).max()).all()


@pytest.mark.statistical
@pytest.mark.parametrize(
    "left_out", ["mixture__spikes", "mixture__variances", "training__input_noise", "tasks", "mixture__labels"]
)
def test_what_is_left_out_is_noticed(left_out) -> None:
    """The comparison above fails where one part of the problem is not told to the equations."""
    random = np.random.default_rng(seed(33))
    problem, start, weights = random_problem(random, "erf")
    (speed, error), _ = from_samples(problem, start, 100_000, random, weights)
    empty = {
        "training__input_noise": 0.0,
        "tasks": (TASKS[0].replace(probability=0.5), TASKS[1].replace(probability=0.5)),
    }
    rows, _, _ = equations(problem.replace(**{left_out: empty.get(left_out)}), start)
    assert (np.abs(rows - speed) > 6 * error + 1e-12).any()


@pytest.mark.parametrize("unit", KINDS)
def test_a_plain_problem_is_one_case(unit) -> None:
    """Flips that never happen take the equations of cases: they give the speeds and the risk of those without."""
    random = np.random.default_rng(5)
    full, _, (W, V, _, _, _) = random_problem(random, unit)
    problem = full.replace(mixture=None, tasks=(), training__input_noise=0.0, training__label_flips=0.0)
    plain = measure(problem, W, V, random.standard_normal(2))
    one = pack(problem, plain)
    rows, readout, risk = equations(problem, plain)
    turning = problem.replace(teacher__rotation=1e-300)
    again, moved, same = equations(turning, plain)
    assert pack(turning, plain).problems[0].several
    assert not one.problems[0].several
    assert again[:, :2] == pytest.approx(rows, rel=1e-12, abs=1e-13)
    assert moved == pytest.approx(readout, rel=1e-12)
    assert same == pytest.approx(risk, rel=1e-12)


@pytest.mark.parametrize("unit", [*KINDS, "relu"])
def test_the_first_order_is_the_gradient_of_the_risk(unit) -> None:
    """Where tests are like training (no flips, no noise on inputs), dW/dalpha = -rate dim dR/dW: against finite differences of the
    risk over all weights. So the risk falls by rate dim |dR/dW|^2."""
    random = np.random.default_rng(6)
    changes = {"training__input_noise": 0.0, "training__label_flips": 0.0}
    problem, start, (W, V, directions, readout, _) = random_problem(random, unit, **changes)
    rows, _, _ = equations(problem, start, noise=False)
    risk = lambda W: equations(problem, measure(problem, W, V, readout, directions=directions))[2]
    gradient, h = np.zeros_like(W), 1e-4
    for i in np.ndindex(*W.shape):
        step = np.zeros_like(W)
        step[i] = h
        gradient[i] = (risk(W + step) - risk(W - step)) / (2 * h)
    moved = -problem.training.learning_rate * DIM * gradient
    everyone, still = np.concatenate([W, V, directions]), np.zeros((5, DIM))
    speeds = np.concatenate([moved, still])
    half = np.round(problem.inputs.fractions[0] * DIM).astype(int)
    for b, part in enumerate((slice(0, half), slice(half, DIM))):
        expected = (moved[:, part] @ everyone[:, part].T + W[:, part] @ speeds[:, part].T) / DIM
        assert rows[b] == pytest.approx(expected, rel=1e-6, abs=1e-7)
    changed = (risk(W + 1e-4 * moved) - risk(W - 1e-4 * moved)) / 2e-4
    assert changed == pytest.approx(-problem.training.learning_rate * DIM * (gradient**2).sum(), rel=1e-5)


@pytest.mark.parametrize("unit", KINDS)
def test_the_noise_raises_the_risk_as_the_balance_says(unit) -> None:
    """The second order of dR/dalpha is -1/2 sum_b tr(sum_c pi_c lambda_bc D^c N^b) over students: against the risk of overlaps that
    the noise N^b has moved."""
    changes = {"training__input_noise": 0.0, "training__label_flips": 0.0, "mixture__spikes": None}
    problem, start, (_, _, _, heads, _) = random_problem(np.random.default_rng(6), unit, **changes)
    noise = equations(problem, start)[0] - equations(problem, start, noise=False)[0]
    table, Omega, expected = case_table(problem), start.stacked, 0.0
    along, c = Omega.sum(axis=0)[:5, 5:], problem.training.loss_factor
    for case in range(table.size):
        eigenvalues, a = table.factors[case] * problem.inputs.eigenvalues, heads[table.head[case]]
        C = np.tensordot(eigenvalues, Omega[:, :5, :5], axes=1)
        out, scratch = (np.zeros((5, 5)), np.zeros((5, 5)), np.zeros(5), np.zeros(5)), np.zeros(mean_scratch(5))
        error = float(table.label[case]), np.concatenate([-a, table.teacher_readout[case]])
        rule, prefactors = (c, 0.0, False, False), np.concatenate([a, np.zeros(3)])
        moments_with_means(KINDS[unit], 2, rule, prefactors, (along @ table.means[case], C), error, out, scratch)
        for value, spread in zip(eigenvalues, noise, strict=True):
            expected -= 0.5 * table.probability[0, case] * value * np.trace(out[0][:2, :2] @ spread[:, :2])
    risks = []
    for sign in (1.0, -1.0):
        moved = Omega.copy()
        moved[:, :2, :2] += sign * 1e-6 * noise[:, :, :2]
        parts = moved[:, :2, :2], moved[:, :2, 2:5], moved[:, 2:5, 2:5], start.readout, start.extras, moved[:, 5:]
        risks.append(equations(problem, sv.Overlaps(*parts))[2])
    assert (risks[0] - risks[1]) / 2e-6 == pytest.approx(expected, rel=1e-6)
    assert expected > 0


@pytest.mark.parametrize("unit", KINDS)
@pytest.mark.parametrize("time", [0.0, 5.0])
def test_cases_that_are_alike_are_followed_together(unit, time) -> None:
    """Opposite classes, tasks of one class and flips share what their fields need: the same as one case after the other. At the
    first time the first task, whose cases lead, is not learned."""
    tasks = [sv.Task(readout=one, probability=chance) for one, chance in zip(READOUTS, SWITCH, strict=True)]
    mixture = sv.Mixture.xor(0.7).replace(labels=(1.0, -0.5, 0.0, 2.0), vectors=None)
    problem, start, _ = random_problem(np.random.default_rng(2), unit, mixture=mixture, tasks=tuple(tasks))
    one = system(problem, pack(problem, start), 0)
    cases = one.packed.cases.copy()
    assert cases["first"][0, :16].sum() == 2
    cases["first"], cases["following"], cases["turn"] = True, -1, 1.0
    speeds = []
    for records in (one.packed.cases, cases):
        packed = one.packed._replace(cases=records)
        speeds.append(np.empty_like(packed.state))
        segment = int(np.searchsorted(packed.problems["begin"], time, side="right")) - 1
        one.rhs(segment, time, packed.state, speeds[-1], *packed.data(one.workspace()))
    assert speeds[0] == pytest.approx(speeds[1], rel=1e-11, abs=1e-12)

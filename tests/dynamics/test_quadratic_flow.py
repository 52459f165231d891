"""The closed form of population gradient flow against the overlaps' equations, weight-space integration and exact cases."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import solvable as sv
from solvable.dynamics.modes import flow_modes
from solvable.dynamics.quadratic_flow import common_frame, flow_factor, flow_matrix, flow_overlaps, start_weights

REFERENCE = sv.Macro(small_rate=True, rtol=1e-11)


def setting(p, q, overlap="orthonormal", rate=0.01, **training) -> sv.Problem:
    return sv.Problem(
        teacher=sv.Teacher(width=q, overlap=overlap),
        student=sv.Student(width=p),
        inputs=sv.Inputs(dim=100),
        training=sv.Training(learning_rate=rate, **training),
    )


def gram(seed, size, rank=None):
    factor = np.random.default_rng(seed).standard_normal((rank or size, size))
    return factor.T @ factor / size


def loss(A, target):
    """saraomannelli2020's E = tr D^2 + (tr D)^2 / 2."""
    D = A - target
    return (D**2).sum(axis=(-2, -1)) + np.trace(D, axis1=-2, axis2=-1) ** 2 / 2


ALPHA = np.array([0.0, 0.01, 1, 30, 100, 300, 1000, 3000, 10_000, 20_000])  # rate x alpha up to 200


@pytest.mark.parametrize(("p", "q"), [(6, 3), (3, 3), (2, 3), (4, 1), (1, 1)])
def test_overlaps_from_orthogonal_students(p, q) -> None:
    """Commuting case: the scalars alone give every entry."""
    problem = setting(p, q)
    start = sv.start(problem, seed=0, students="orthogonal", cross=0.01)
    flow = flow_overlaps(problem, start, ALPHA)
    run = sv.run(problem, start, REFERENCE, times=ALPHA)
    assert flow.rotation_free
    assert flow.risk == pytest.approx(run.risk[0], rel=1e-8, abs=1e-12)
    assert flow.student_overlap == pytest.approx(run.student_overlap[0], abs=1e-9)
    assert flow.cross_overlap == pytest.approx(run.cross_overlap[0], abs=1e-9)


@pytest.mark.parametrize(
    "problem",
    [
        setting(6, 3),
        setting(3, 3, gram(1, 3)),
        pytest.param(setting(6, 3, gram(2, 3)), marks=pytest.mark.slow),
        setting(6, 3, np.ones((3, 3))),  # one teacher, three times
        setting(2, 4, gram(3, 4)),
        setting(7, 4, "sampled"),
    ],
    ids=["orthonormal", "square", "any overlap", "one direction", "fewer students", "sampled"],
)
def test_overlaps_from_any_students(problem: sv.Problem) -> None:
    """Students turn among each other; what the turn leaves alone agrees first, then every entry."""
    start = sv.start(problem, seed=1)
    flow = flow_overlaps(problem, start, ALPHA)
    run = sv.run(problem, start, REFERENCE, times=ALPHA)
    Q, R = run.student_overlap[0], run.cross_overlap[0]
    assert not flow.rotation_free
    assert flow.risk == pytest.approx(run.risk[0], rel=1e-8, abs=1e-12)
    assert np.trace(flow.student_overlap, axis1=1, axis2=2) == pytest.approx(np.trace(Q, axis1=1, axis2=2), rel=1e-9)
    assert np.linalg.svd(flow.cross_overlap)[1] == pytest.approx(np.linalg.svd(R)[1], abs=1e-9)
    assert flow.student_overlap == pytest.approx(Q, abs=1e-9)
    assert flow.cross_overlap == pytest.approx(R, abs=1e-9)


def test_the_turn_is_needed_for_the_entries_only() -> None:
    problem = setting(6, 3)
    weights = start_weights(sv.start(problem, seed=1))[0] / np.sqrt(6)
    eigenvalues, times = np.repeat([1 / 3, 0.0], [3, weights.shape[1] - 3]), np.array([0.0, 1.0, 10.0])
    still, turned = (flow_factor(weights, eigenvalues, times, turn=turn).factor for turn in (False, True))
    assert still.transpose(0, 2, 1) @ still == pytest.approx(turned.transpose(0, 2, 1) @ turned, abs=1e-14)
    assert still[0] == pytest.approx(turned[0], abs=1e-15)
    assert np.abs(still[2] - turned[2]).max() > 1e-2


@pytest.mark.parametrize(("p", "q"), [(6, 3), (3, 3), (4, 1)])
def test_the_whole_tail(p, q) -> None:
    """Against the modes, which have another state, up to rate x alpha = 200: 1e-9 of the risk, or 1e-13."""
    problem = setting(p, q)
    start = sv.start(problem, seed=3, students="orthogonal", cross=0.01)
    alpha = np.linspace(0, 20_000, 81)
    flow, modes = flow_overlaps(problem, start, alpha), flow_modes(problem, start, alpha, small_rate=True)
    assert flow.risk == pytest.approx(modes.risk, rel=1e-9, abs=1e-13)
    assert flow.cross_overlap == pytest.approx(modes.cross_overlap, abs=1e-10)


def test_a_direction_without_students_is_never_found() -> None:
    """Rank two of three: a saddle for good, where rounding would escape (weights grow by e^177). Its risk is
    (1 - s/p*) [2 (1 - s/p*) / (2 + r + s) + 2/p*] = 1/4 at s = 2, r = 4."""
    problem = setting(6, 3)
    random = np.random.default_rng(0)
    U, V = (np.linalg.qr(random.standard_normal((size, 2)))[0] for size in (6, 3))
    start = sv.start(problem, student_overlap=np.eye(6), cross_overlap=U * [0.1, 0.05] @ V.T)
    flow = flow_overlaps(problem, start, [10_000.0, 20_000.0])
    assert flow.risk == pytest.approx([0.25, 0.25], rel=1e-12)


def test_small_singular_values_are_kept() -> None:
    """One teacher after the other: the risk rests at .9167, .5556 and .25 on its way down."""
    problem = setting(6, 3)
    R = np.zeros((6, 3))
    R[[0, 1, 2], [0, 1, 2]] = 1e-4, 1e-9, 1e-14
    start, alpha = sv.start(problem, student_overlap=np.eye(6), cross_overlap=R), np.arange(0, 15_000, 10.0)
    flow, run = flow_overlaps(problem, start, alpha), sv.run(problem, start, REFERENCE, times=alpha)
    assert (np.abs(flow.risk[:, None] - [2 / 3 + 2 / 8, 5 / 9, 1 / 4]).min(axis=0) < 1e-4).all()
    assert flow.risk[-1] < 1e-3
    assert flow.risk == pytest.approx(run.risk[0], rel=1e-7)


def test_loss_factor_and_schedule_only_set_the_clock() -> None:
    plain = setting(4, 2, gram(4, 2), rate=0.02)
    start = sv.start(plain, seed=0)
    schedule = sv.Schedule(times=(0, 100, 200, 300), rates=(0.01, 0.05, 0.0, 0.02), shape="linear")
    changed = plain.replace(training__learning_rate=schedule, training__loss_factor=0.5)
    alpha = np.array([0.0, 50, 150, 300, 1000])
    one = flow_overlaps(changed, start, alpha)
    clock = 0.5 * schedule.integral(alpha) / 0.02
    two = flow_overlaps(plain, start, clock)
    assert one.risk == pytest.approx(two.risk / 2, rel=1e-11)
    assert one.cross_overlap == pytest.approx(two.cross_overlap, abs=1e-11)
    resting = changed.replace(training__learning_rate=schedule.replace(rates=(0.01, 0.0, 0.0, 0.02), shape="steps"))
    rest = flow_overlaps(resting, start, [100.0, 150.0, 300.0])
    assert np.array_equal(rest.risk, rest.risk[[0, 0, 0]])


def test_the_two_flows_are_one() -> None:
    """Overlaps and matrix of the same weights: A has the eigenvalues of Q/p, E is half the mean squared error, and
    saraomannelli2020's time is 4 rate alpha / p."""
    random = np.random.default_rng(5)
    p, q, d = 4, 2, 7
    W, B = random.standard_normal((p, d)), random.standard_normal((q, d))
    problem = setting(p, q, B @ B.T)
    start = sv.start(problem, student_overlap=W @ W.T, cross_overlap=W @ B.T)
    alpha = np.array([0.0, 3, 30, 300])
    flow = flow_overlaps(problem, start, alpha)
    A = flow_matrix(W.T @ W / p, B.T @ B / q, 4 * 0.01 / p * alpha)
    assert np.linalg.eigvalsh(A)[:, d - p :] == pytest.approx(np.linalg.eigvalsh(flow.student_overlap) / p, abs=1e-11)
    assert 2 * loss(A, B.T @ B / q) == pytest.approx(flow.risk, rel=1e-10)


@pytest.mark.parametrize(
    ("d", "rank", "teacher_rank"), [(5, 5, 5), (6, 2, 6), (6, 6, 2), (6, 2, 3), (4, 1, 1), (5, 0, 3), (5, 3, 0)]
)
def test_matrix_flow_against_weights(d, rank, teacher_rank) -> None:
    """dW/dt = W G in weight space, by SciPy, for every mix of ranks."""
    random = np.random.default_rng(10 * d + rank)
    W, B = (random.standard_normal((size, d)) / np.sqrt(d) for size in (rank, teacher_rank))
    target, times = B.T @ B, np.array([0.0, 0.01, 0.3, 1.0, 4.0])

    def rhs(_, w):
        w = w.reshape(rank, d)
        D = target - w.T @ w
        return (w @ (np.trace(D) * np.eye(d) + 2 * D)).ravel()

    A = flow_matrix(W.T @ W, target, times)
    weights = np.zeros((5, 0, d))
    if rank:
        weights = solve_ivp(rhs, (0, 4), W.ravel(), t_eval=times, method="DOP853", rtol=1e-12, atol=1e-14).y.T
        weights = weights.reshape(5, rank, d)
    assert pytest.approx(weights.transpose(0, 2, 1) @ weights, abs=1e-9) == A


def test_the_growth_is_a_determinant() -> None:
    """g = (det A(t) / det A(0))^(1/(d+2)) from any positive start."""
    d, times = 5, np.array([0.0, 0.1, 0.5, 2.0])
    kappa, F = np.array([1.3, 0.7, 0.7, 0.2, 0.0]), np.random.default_rng(0).standard_normal((d, d))
    flow = flow_factor(F, kappa, times)
    logs = 2 * np.linalg.slogdet(flow.factor)[1]
    assert flow.log_growth == pytest.approx((logs - logs[0]) / (d + 2), abs=1e-11)


def test_isotropic_teacher() -> None:
    """A* = a 1 from A(0) = 1: one logistic curve, lambda = a / (1 + (a - 1) exp(-2 a (d + 2) t))."""
    d, times = 6, np.array([0.0, 0.001, 0.01, 0.1, 1.0, 100.0])
    for a in (0.1, 1.0, 2.5):
        expected = a / (1 + (a - 1) * np.exp(-2 * a * (d + 2) * times))
        A = flow_matrix(np.eye(d), a * np.eye(d), times)
        assert pytest.approx(expected[:, None, None] * np.eye(d), abs=1e-12) == A


def test_one_teacher_in_eight_dimensions() -> None:
    """The setting of saraomannelli2020, figure 3: known values, and the tail t^2 E -> (d - m*)(m* + 2) / (16 (d + 2)),
    where the largest weight is e^(2 million)."""
    target = np.zeros((8, 8))
    target[0, 0] = 1
    E = loss(flow_matrix(np.eye(8), target, [0.1, 1, 10, 100, 1e6]), target)
    assert E[:4] == pytest.approx([3.523703, 0.1356695, 1.360628e-3, 1.320834e-5], rel=5e-7)
    assert 1e12 * E[4] == pytest.approx(7 * 3 / (16 * 10), rel=1e-5)


def test_matrix_flow_does_not_depend_on_the_basis() -> None:
    A, target, times = gram(1, 5), gram(2, 5, rank=2), np.array([0.2, 1.0, 50.0])
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((5, 5)))[0]
    turned = flow_matrix(basis @ A @ basis.T, basis @ target @ basis.T, times)
    assert basis.T @ turned @ basis == pytest.approx(flow_matrix(A, target, times), abs=1e-12)


def test_common_frame_also_where_lengths_are_equal() -> None:
    random = np.random.default_rng(0)
    P = np.linalg.qr(random.standard_normal((5, 5)))[0]
    lengths = [[1, 1, 1, 0, 0], [2, 2, 1, 1, 0], [0, 1, 0, 3, 3]]
    frames = [np.linalg.qr(random.standard_normal((5, 5)))[0] for _ in lengths]
    factors = [P * length @ frame for length, frame in zip(lengths, frames, strict=True)]
    found, shared = common_frame(factors)
    assert shared
    assert found.T @ found == pytest.approx(np.eye(5), abs=1e-14)
    for factor in factors:
        turned = found.T @ factor @ factor.T @ found
        assert turned == pytest.approx(np.diag(np.diag(turned)), abs=1e-13)
    assert not common_frame([*factors, random.standard_normal((5, 5))])[1]


def test_the_first_time_may_be_the_last() -> None:
    problem = setting(3, 2)
    start = sv.start(problem, seed=0)
    flow = flow_overlaps(problem, start, 0.0)
    assert flow.student_overlap[0] == pytest.approx(start.student_overlap, abs=1e-14)
    assert flow.cross_overlap[0] == pytest.approx(start.cross_overlap, abs=1e-14)
    assert flow_matrix(gram(0, 3), np.eye(3), [0.0])[0] == pytest.approx(gram(0, 3), abs=1e-14)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"training__label_noise": 0.1}, "training.label_noise"),
        ({"training__weight_decay": 0.1}, "training.weight_decay"),
        ({"training__batch": 2}, "training.batch"),
        ({"training__train_readout": True}, "training.train_readout"),
        ({"student__norm": "sphere"}, "student.norm"),
        ({"student__readout": "sqrt"}, "student.readout"),
        ({"teacher__readout": "sqrt"}, "teacher.readout"),
        ({"student__activation": "erf", "teacher__activation": "erf"}, "student.activation"),
        ({"inputs__spectrum": sv.Spectrum(eigenvalues=(2.0,))}, "inputs.spectrum"),
    ],
)
def test_refused_problems(quadratic: sv.Problem, changes, message) -> None:
    problem = quadratic.replace(**changes)
    start = sv.start(problem, seed=0)
    with pytest.raises(ValueError, match=message):
        flow_overlaps(problem, start, [1.0])


def test_refused_starts_and_times(quadratic: sv.Problem) -> None:
    start = sv.start(quadratic, seed=0)
    with pytest.raises(ValueError, match="readout: "):
        flow_overlaps(quadratic, sv.start(quadratic.replace(student__readout="sqrt"), seed=0), [1.0])
    with pytest.raises(ValueError, match="start: has"):
        flow_overlaps(quadratic.replace(student__width=5), start, [1.0])
    for times in ([-1.0], [1.0, 1.0], [np.nan], []):
        with pytest.raises(ValueError, match="alpha: must be finite"):
            flow_overlaps(quadratic, start, times)


@pytest.mark.parametrize(
    ("start", "target", "message"),
    [
        (np.eye(3), np.eye(2), r"start_matrix: shape \(3, 3\) given, must be \(2, 2\)"),
        (np.eye(2), -np.eye(2), "teacher_matrix: must be positive semidefinite, but has the eigenvalue -1"),
        ([[1, 1], [0, 1]], np.eye(2), "start_matrix: must be symmetric"),
        (np.eye(2), np.ones(2), "teacher_matrix: shape"),
        (np.full((2, 2), np.nan), np.eye(2), "start_matrix: .* finite"),
    ],
)
def test_refused_matrices(start, target, message) -> None:
    with pytest.raises(ValueError, match=message):
        flow_matrix(start, target, [1.0])
    with pytest.raises(ValueError, match="times: must be"):
        flow_matrix(np.eye(2), np.eye(2), [2.0, 1.0])

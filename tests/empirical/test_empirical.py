"""Gradient flow on a data set: against the flow of matrices, of plain weights and of the population, its ends, and bad input."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import solvable as sv
from seeds import seed
from solvable.empirical import kernels
from solvable.empirical.sample import DataSet
from solvable.numerics.symmetric import squares, to_matrix, to_vector

PAPER = sv.problems.convention("saraomannelli2020")
TIMES = np.array([0.0, 0.01, 0.1, 1.0, 10.0])


def spanning(problem: sv.Problem, seed: int = 0) -> sv.Overlaps:
    """A(0) = 1."""
    return sv.start(problem, seed=seed, students="spanning", scale=problem.inputs.dim**0.5)


def data(d: int, n: int, units: int = 1, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    return random.standard_normal((n, d)), random.standard_normal((units, d)) / np.sqrt(d)


def test_symmetric_vectors_keep_lengths() -> None:
    A = np.random.default_rng(0).standard_normal((3, 5, 5))
    A = A + A.transpose(0, 2, 1)
    v = to_vector(A)
    assert np.allclose((v**2).sum(axis=1), (A**2).sum(axis=(1, 2)))
    assert np.allclose(to_matrix(v), A)
    x = np.random.default_rng(1).standard_normal((4, 5))
    assert np.allclose(squares(x) @ v[0], np.einsum("si,ij,sj->s", x, A[0], x))


@pytest.mark.parametrize(("n", "k"), [(7, 4), (40, 4), (7, 2), (9, 3)])
def test_slope_and_jacobian_are_those_of_the_loss(n: int, k: int) -> None:
    """By differences: dY/dt = -1/2 dE_n/dY, and (1 - g J)^-1 both by n and by k d unknowns."""
    rows, W = data(4, n, 2)
    sample = DataSet.from_teacher(rows, W.T @ W / 2)
    y = np.random.default_rng(2).standard_normal(k * 4)
    given = sample.data(k * 4)

    def loss(y):
        return float(sample.losses(y.reshape(k, 4))[0])

    def slope(y):
        dy = np.empty_like(y)
        kernels.slope(0, 0.0, y, dy, *given)
        return dy

    h, axes = 1e-5, np.eye(k * 4)
    gradient = np.array([(loss(y + h * e) - loss(y - h * e)) / (2 * h) for e in axes])
    assert np.abs(slope(y) + 0.5 * gradient).max() < 1e-8 * np.abs(gradient).max() + 1e-8
    J = np.array([(slope(y + h * e) - slope(y - h * e)) / (2 * h) for e in axes]).T
    assert np.abs(J - J.T).max() < 1e-7 * np.abs(J).max()
    g, b = 1e-3, np.random.default_rng(3).standard_normal(k * 4)
    v = b.copy()
    kernels.factor(0, y, g, *given)
    kernels.solve(v, *given)
    assert np.abs(v - g * J @ v - b).max() < 1e-7


@pytest.mark.parametrize("method", ["stabilised", "implicit"])
def test_weights_flow_equals_matrix_flow(method: str) -> None:
    """Against dA/dt = G A + A G integrated by SciPy, from more and from fewer students than inputs."""
    for width in (9, 5, 3):
        problem = PAPER.problem(m=width, m_star=2, d=5, n=12)
        random = np.random.default_rng(width)
        weights = sv.overlaps.Weights(np.sqrt(5) * random.standard_normal((width, 5)), _orthonormal(random, 2, 5))
        rows = random.standard_normal((12, 5))
        run = sv.run(
            problem, weights, sv.Empirical(data=sv.Data(rows, prepare=False), method=method, rtol=1e-9), times=TIMES
        )
        hills = sv.empirical.TrainingLandscape(rows, weights.teacher / np.sqrt(5))
        first = weights.student.T @ weights.student / (5 * width)
        found = solve_ivp(
            lambda t, v, hills=hills: hills.force(v), (0, 10), to_vector(first), "LSODA", TIMES, rtol=1e-11, atol=1e-13,
            jac=lambda t, v, hills=hills: hills.jacobian(v),
        )  # fmt: skip
        A = to_matrix(found.y.T)
        error = 3e-5 if method == "stabilised" else 3e-7
        assert np.abs(run.matrix[0] - A).max() < error
        assert np.allclose(run.training_loss[0], hills.energy(found.y.T), rtol=1e-3, atol=error)
        assert np.allclose(run.population_loss[0], hills.population_loss(found.y.T), rtol=1e-3, atol=error)


def test_weights_follow_plain_gradient_descent() -> None:
    """Small steps of gradient descent on all weights, w_i' = -m dL_n/dw_i, end at the same overlaps."""
    problem = PAPER.problem(m=7, m_star=2, d=4, n=9)
    random = np.random.default_rng(0)
    weights = sv.overlaps.Weights(2 * random.standard_normal((7, 4)), _orthonormal(random, 2, 4))
    rows = random.standard_normal((9, 4))
    run = sv.run(problem, weights, sv.Empirical(data=sv.Data(rows, prepare=False), rtol=1e-9), times=[0.5])
    W, teacher, step = weights.student / 2, weights.teacher / 2, 1e-5
    labels = ((rows @ teacher.T) ** 2).mean(axis=1)
    for _ in range(50_000):
        fields = rows @ W.T
        W = W + step * ((labels - (fields**2).mean(axis=1))[:, None] * fields).T @ rows / 9
    assert np.abs(run.student_overlap[0, 0] - W @ W.T).max() < 2e-4
    assert np.abs(run.cross_overlap[0, 0] - W @ teacher.T).max() < 2e-4
    assert np.abs(run.last().student_overlap - W @ W.T).max() < 2e-4
    assert np.abs(run.weights[0, 0] - 2 * W).max() < 2e-4
    assert (run.teacher_weights[0] == weights.teacher).all()


@pytest.mark.parametrize("width", [3, 7])
def test_weights_have_the_form_and_the_overlaps_and_go_on(width: int) -> None:
    problem = PAPER.problem(m=width, m_star=2, d=4, n=9)
    level = sv.Empirical(runs=2, seed=5, rtol=1e-9)
    run = sv.run(problem, sv.start(problem, seed=1), level, times=[0.0, 0.5, 2.0])
    W, B = run.weights, run.teacher_weights
    assert W.shape == (2, 3, width, 4)
    assert run.data["weights"].dims == ("run", "time", "student", "input")
    assert W.swapaxes(2, 3) @ W / (4 * width) == pytest.approx(run.matrix, abs=1e-12)
    assert B.swapaxes(1, 2) @ B / (4 * 2) == pytest.approx(run.teacher_matrix, abs=1e-12)
    assert W @ W.swapaxes(2, 3) / 4 == pytest.approx(run.student_overlap, abs=1e-12)
    assert W @ B[:, None].swapaxes(2, 3) / 4 == pytest.approx(run.cross_overlap, abs=1e-12)
    rows = np.random.default_rng(2).standard_normal((9, 4))
    seen = sv.Empirical(data=sv.Data(rows, prepare=False), rtol=1e-9)
    whole = sv.run(problem, sv.overlaps.Weights(W[0, 0], B[0]), seen, times=[0.5, 2.0])
    rest = sv.run(problem, sv.overlaps.Weights(whole.weights[0, 0], B[0]), seen, times=[1.5])
    assert rest.weights[0, -1] == pytest.approx(whole.weights[0, -1], abs=1e-5)


def test_points_of_the_landscape_have_a_layout_and_students() -> None:
    random = np.random.default_rng(4)
    rows, teacher = random.standard_normal((6, 3)), random.standard_normal((2, 3))
    hills = sv.empirical.TrainingLandscape(rows, teacher)
    A = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, -0.2], [0.1, -0.2, 0.0]])
    point = hills.point(A)
    assert hills.entries.tolist() == [[0, 0], [0, 1], [0, 2], [1, 1], [1, 2], [2, 2]]
    for number, (i, j) in zip(point, hills.entries, strict=True):
        assert number == pytest.approx(A[i, j] * (1 if i == j else 2**0.5), abs=1e-15)
    assert np.linalg.norm(point) == pytest.approx(np.linalg.norm(A))
    assert hills.matrix(point) == pytest.approx(A, abs=1e-15)
    assert hills.matrix(hills.solution) == pytest.approx(teacher.T @ teacher / 2)
    factors = random.standard_normal((5, 2, 3))
    points = hills.point(factors.swapaxes(1, 2) @ factors)  # of rank two
    for width in (2, 3, 7):
        W = hills.weights(points, width)
        assert W.shape == (5, width, 3)
        outputs = ((rows @ W.swapaxes(1, 2) / 3**0.5) ** 2).mean(axis=2)
        assert outputs == pytest.approx(np.einsum("si,pij,sj->ps", rows, hills.matrix(points), rows))
    assert hills.weights(hills.identity) @ hills.weights(hills.identity).T == pytest.approx(9 * np.eye(3))
    for call, text in [
        (lambda: hills.weights(points, 1), "^width: 1 given, but a form of rank 2 needs as many students$"),
        (lambda: hills.weights(points, 0), "^width: 0 given, must be a whole number, at least 1$"),
        (lambda: hills.weights(-hills.identity), "^points: no students have a form with the eigenvalue -1$"),
        (lambda: hills.matrix(np.ones(5)), r"^points: shape \(5,\) given, must end in 6 for 3 inputs$"),
        (lambda: hills.point(np.ones((2, 2))), r"^matrices: shape \(2, 2\) given, must end in \(3, 3\)$"),
        (lambda: hills.point(np.triu(np.ones((3, 3)))), "^matrices: must be symmetric$"),
    ]:
        with pytest.raises(ValueError, match=text):
            call()


def _orthonormal(random: np.random.Generator, units: int, dim: int) -> np.ndarray:
    """Rows of squared norm dim, orthogonal."""
    return np.sqrt(dim) * np.linalg.qr(random.standard_normal((dim, units)))[0].T


@pytest.mark.statistical
def test_population_is_the_limit_of_samples_and_of_small_rates() -> None:
    problem = PAPER.problem(m=6, m_star=2, d=5)
    start = sv.start(problem, seed=seed(0))
    flow = sv.run(problem, start, sv.Empirical(), times=TIMES)
    macro = sv.run(problem, start, sv.Macro(small_rate=True, rtol=1e-11), times=TIMES, clock="saraomannelli2020")
    assert flow.unit == "saraomannelli2020"
    assert np.abs(flow.alpha - macro.alpha).max() < 1e-9 * macro.alpha[-1]
    for name in ("risk", "student_overlap", "cross_overlap"):
        assert np.abs(getattr(flow, name) - getattr(macro, name)).max() < 1e-9
    assert np.allclose(flow.training_loss, flow.population_loss)
    many = sv.run(problem.replace(training__samples=40_000), start, sv.Empirical(seed=seed(0)), times=TIMES)
    few = sv.run(problem.replace(training__samples=400), start, sv.Empirical(seed=seed(0)), times=TIMES)
    apart = [float(np.abs(run.risk / flow.risk - 1).max()) for run in (few, many)]
    assert apart[1] < 0.1
    assert apart[1] < 0.4 * apart[0]


def test_known_population_losses_and_eigenvalue_flow() -> None:
    """d = 8, m* = 1, A(0) = 1: (20), and numbers found by another program."""
    problem = PAPER.problem(m=8, m_star=1, d=8)
    times = np.array([0.1, 1.0, 10.0, 100.0])
    run = sv.run(problem, spanning(problem), sv.Empirical(), times=times)
    assert np.allclose(run.population_loss[0], [3.523703, 0.1356695, 1.360628e-3, 1.320834e-5], rtol=1e-6)
    teacher = np.array([0.0] * 7 + [1.0])

    def eigenvalues(t, u):
        values = np.exp(u)
        return 2 * (teacher - values).sum() + 4 * (teacher - values)

    found = solve_ivp(eigenvalues, (0, 100), np.zeros(8), "LSODA", times, rtol=1e-10, atol=1e-12)
    assert np.allclose(run.eigenvalues[0], np.exp(found.y.T), rtol=1e-6, atol=1e-12)


def test_spanning_students_are_infinitely_many() -> None:
    problem = PAPER.problem(m=5, m_star=2, d=5)
    start = sv.start(problem, seed=1, students="spanning", scale=0.7)
    run = sv.run(problem, start, sv.Empirical(), times=[0.0])
    assert np.allclose(run.matrix[0, 0], 0.49 / 5 * np.eye(5), atol=1e-14)
    one = sv.run(problem, spanning(problem), sv.Empirical(), times=[0.0])
    assert np.allclose(one.matrix[0, 0], np.eye(5), atol=1e-14)
    assert np.allclose(np.linalg.eigvalsh(run.teacher_matrix[0]), [0, 0, 0, 0.5, 0.5], atol=1e-14)
    assert np.isclose(run.start_risk[0], run.risk[0, 0])
    wide = PAPER.problem(m=1000, m_star=2, d=5)
    crowd = sv.start(wide, seed=2, scale=0.7)
    assert abs(sv.run(wide, crowd, sv.Empirical(), times=[0.0]).start_risk[0] / run.start_risk[0] - 1) < 0.15
    with pytest.raises(sv.overlaps.InvalidStart, match="needs as many students as inputs"):
        sv.start(PAPER.problem(m=6, m_star=2, d=5), seed=0, students="spanning")
    with pytest.raises(sv.overlaps.InvalidStart, match="cross: given with spanning"):
        sv.start(problem, seed=0, students="spanning", cross=0.1)
    with pytest.raises(sv.overlaps.InvalidStart, match="cannot hold 6 independent teachers"):
        sv.start(PAPER.problem(m=5, m_star=6, d=5), seed=0, students="spanning")


def test_losses_fall_and_entropy_balances() -> None:
    problem = PAPER.problem(m=6, m_star=2, d=6, n=15)
    start = spanning(problem)
    times = np.concatenate([[0.0], np.geomspace(1e-3, 1e4, 80)])
    runs = sv.run(problem, start, sv.Empirical(runs=5), times=times)
    assert sv.checks.losses_fall(runs).passed
    assert not sv.checks.losses_fall(replace(runs, training_loss=runs.training_loss[:, ::-1])).passed
    flow = sv.run(problem.replace(training__samples=None), start, sv.Empirical(), times=times[:60])
    assert sv.checks.entropy_balance(flow).passed
    slower = replace(flow, matrix=0.5 * (flow.matrix + flow.matrix[:, :1]))
    assert not sv.checks.entropy_balance(slower).passed
    with pytest.raises(ValueError, match="do not commute"):
        sv.checks.entropy_balance(
            sv.run(problem.replace(training__samples=None), sv.start(problem, seed=1), sv.Empirical(), times=TIMES)
        )
    with pytest.raises(ValueError, match="not a data set"):
        sv.checks.entropy_balance(runs)


def test_data_sets_are_nested_and_runs_independent_of_threads() -> None:
    problem = PAPER.problem(m=4, m_star=1, d=4, n=6)
    start = sv.start(problem, seed=0, students="spanning")
    one = sv.run(problem, start, sv.Empirical(runs=4, seed=3, threads=1), times=TIMES)
    two = sv.run(problem, start, sv.Empirical(runs=4, seed=3, threads=2), times=TIMES)
    assert (one.risk == two.risk).all()
    assert (one.training_loss == two.training_loss).all()
    assert len(np.unique(one.training_loss[:, 0])) == 4
    faster = problem.replace(training__learning_rate=0.5, training__label_noise=0.1)  # what the rows do not depend on
    again = sv.run(faster, start, sv.Empirical(runs=4, seed=3), times=[0.0])
    assert (again.teacher_matrix == one.teacher_matrix).all()
    more = sv.run(problem.replace(training__samples=7), start, sv.Empirical(runs=4, seed=3), times=[0.0])
    # mean over seven samples is the mean over six and one more: 7 L_7 >= 6 L_6
    assert (7 * more.training_loss[:, 0] >= 6 * one.training_loss[:, 0] - 1e-12).all()
    assert (more.teacher_matrix == one.teacher_matrix).all()


def test_own_data_and_labels() -> None:
    rows, W = data(4, 30)
    problem = PAPER.problem(m=4, m_star=1, d=4)
    weights = sv.overlaps.Weights(4 * np.eye(4), 2 * W / np.linalg.norm(W))
    plain = sv.Data(rows, prepare=False)
    labels = np.einsum("si,si->s", rows, rows)  # as from the identity: the students begin at zero loss
    run = sv.run(problem, weights, sv.Empirical(data=plain, labels=labels), times=[0.0, 1.0])
    assert np.abs(run.training_loss).max() < 1e-25
    assert np.allclose(run.matrix[0], np.eye(4))
    part = sv.run(problem.replace(training__samples=10), weights, sv.Empirical(data=plain), times=[0.0])
    expected = 0.5 * ((labels - (rows @ W[0] / np.linalg.norm(W)) ** 2)[:10] ** 2).mean()
    assert np.isclose(part.training_loss[0, 0], expected)
    noisy = problem.replace(training__label_noise=0.5)
    runs = sv.run(noisy, weights, sv.Empirical(data=plain, runs=3), times=[0.0, 10.0])
    assert len(np.unique(runs.training_loss[:, 0])) == 3


@pytest.mark.statistical
def test_label_noise_leaves_a_training_loss() -> None:
    """With many samples the training loss ends near half the noise variance, and the population loss near zero."""
    problem = PAPER.problem(m=4, m_star=1, d=4, n=4000, Delta=0.3)
    run = sv.run(
        problem, sv.start(problem, seed=seed(0), students="spanning"), sv.Empirical(seed=seed(0)), times=[100.0]
    )
    assert abs(run.training_loss[0, 0] / 0.15 - 1) < 5 * np.sqrt(2 / 4000)
    limit = problem.replace(training__samples=None)
    flow = sv.run(limit, sv.start(limit, seed=seed(0), students="spanning"), sv.Empirical(), times=[0.0, 100.0])
    assert np.allclose(flow.training_loss, flow.population_loss + 0.15)
    assert run.population_loss[0, 0] < 0.01


def test_stop_save_and_select(tmp_path) -> None:
    problem = PAPER.problem(m=4, m_star=1, d=4, n=8)
    start = spanning(problem)
    level = sv.Empirical(runs=3, seed=1)
    stop = sv.when("training_loss", below=1e-3, relative=True)
    run = sv.run(problem, start, level, until=1000, stop=stop)
    assert all(ending == sv.results.Ending.STOPPED for ending in run.ending)
    again = sv.run(problem, start, level, times=[float(run.end_time[0])])
    assert np.isclose(
        again.training_loss[0, 0], 1e-3 * sv.run(problem, start, level, times=[0.0]).training_loss[0, 0], rtol=1e-4
    )
    half = sv.run(problem, start, level, until=1000, stop=sv.when("risk", below=0.5, relative=True))
    assert np.allclose(
        half.exit_time(), sv.run(problem, start, level, times=np.linspace(0, 0.2, 2001)).exit_time(0.5), rtol=1e-3
    )
    run.save(tmp_path / "run.nc")
    back = sv.Trajectory.load(tmp_path / "run.nc")
    for name in ("training_loss", "matrix", "teacher_matrix", "weights", "teacher_weights", "population_loss"):
        assert np.array_equal(getattr(back, name), getattr(run, name), equal_nan=True)
    assert run.select(run=[1]).matrix.shape == (1, 201, 4, 4)
    assert run.mean("training_loss").runs == 3
    assert {"training_loss", "population_loss", "matrix", "teacher_matrix"} <= set(run.data.data_vars)
    with pytest.raises(ValueError, match="must be one of risk"):
        sv.run(problem.replace(training__samples=None), start, sv.Macro(), until=1).mean("training_loss")


def test_very_long_runs_and_large_labels_come_to_their_end() -> None:
    problem = PAPER.problem(m=4, m_star=1, d=4, n=12)
    run = sv.run(problem, spanning(problem), sv.Empirical(), times=[1e10, 1e18])
    assert run.success
    rows = data(4, 12)[0]
    weights = sv.overlaps.Weights(4 * np.eye(4), 2 * np.eye(4)[:1])
    labels = 1e10 * (rows**2).sum(axis=1)
    big = sv.run(problem, weights, sv.Empirical(data=sv.Data(rows, prepare=False), labels=labels), times=[1.0])
    assert big.success
    assert np.allclose(np.trace(big.matrix[0, 0]), 4e10, rtol=1e-3)


def test_limit_of_steps_is_told() -> None:
    problem = PAPER.problem(m=4, m_star=1, d=4, n=8)
    run = sv.run(problem, sv.start(problem, seed=0), sv.Empirical(max_steps=2), until=10)
    assert run.ending == [sv.results.Ending.STEP_LIMIT]
    assert np.isnan(run.risk[0, -1])
    assert not run.success


def test_refusals() -> None:
    problem = PAPER.problem(m=4, m_star=1, d=4, n=8)
    start, rows = sv.start(problem, seed=0), data(4, 9)[0]
    for level in (sv.Macro(), sv.Meso(), sv.Micro()):
        with pytest.raises(ValueError, match=r"training.samples: 8 given, but \w+ sees every sample once"):
            sv.run(problem, start, level, until=1)
    with pytest.raises(ValueError, match="has no training loss"):
        sv.run(
            problem.replace(training__samples=None), start, sv.Macro(), until=1, stop=sv.when("training_loss", below=1)
        )
    for change, text in [
        ({"student__activation": "erf", "teacher__activation": "erf"}, "student.activation"),
        (
            {"inputs__spectrum": sv.Spectrum(eigenvalues=(1.0, 2.0))},
            r"has 2 eigenvalues; Empirical\(form='flow'\) is for isotropic inputs",
        ),
        ({"training__weight_decay": 0.1}, "training.weight_decay: is 0.1"),
        ({"student__norm": "sphere"}, "student.norm: is 'sphere'"),
    ]:
        with pytest.raises(ValueError, match=text):
            sv.run(problem.replace(**change), start, sv.Empirical(form="flow"), until=1)
    bad = [
        ({"runs": 0}, "runs: 0 given"),
        ({"rtol": 1.0}, "rtol: 1.0 given"),
        ({"method": "euler"}, "method: 'euler' given"),
        ({"data": rows}, "data: ndarray given, must be Data"),
        ({"data": sv.Data(iter(rows))}, "an iterator given"),
        ({"data": sv.Data(rows, order="drawn")}, "order 'drawn' given"),
        ({"data": sv.Data(rows), "labels": [np.nan] * 9}, "labels: must be finite"),
        ({"labels": [1.0]}, "labels: given without data"),
        ({"data": sv.Data(rows), "labels": [1.0]}, r"labels: shape \(1,\) given, must be 9"),
        ({"data": sv.Data(rows), "labels": ["a"] * 9}, "labels: must be numbers"),
    ]
    for arguments, text in bad:
        with pytest.raises(ValueError, match=text):
            sv.Empirical(**arguments)
    large = PAPER.problem(m=80, m_star=1, d=80, n=10_000)
    weights, wider = sv.overlaps.Weights(2 * np.eye(4), 2 * np.eye(4)[:1]), problem.replace(inputs__dim=5)
    runs = [
        (problem.replace(training__samples=None), start, sv.Empirical(runs=2), {}, "there is no data set to draw"),
        (problem.replace(training__samples=None), start, sv.Empirical(method="implicit"), {}, "has its closed form"),
        (problem.replace(training__samples=None), start, sv.Empirical(), {"stop": sv.when("risk", below=1)}, "does not watch"),
        (problem, start, sv.Empirical(), {"stop": sv.when("cross_overlap", above=1)}, "'risk' and 'training_loss' only"),
        (problem.replace(training__samples=10), weights, sv.Empirical(data=sv.Data(rows)), {}, "the data have 9 rows"),
        (problem, weights, sv.Empirical(data=sv.Data(rows), runs=2), {}, "all would see the same samples"),
        (problem, start, sv.Empirical(data=sv.Data(rows), labels=[1.0] * 9), {}, "start from Weights"),
        (large, sv.start(large, seed=0), sv.Empirical(method="implicit"), {}, "must be at most 4000"),
        (wider, sv.start(wider, seed=0), sv.Empirical(data=sv.Data(rows)), {}, "rows of 4"),
        (problem.replace(inputs__dim=None), sv.start(problem, seed=0), sv.Empirical(), {}, "inputs.dim: infinite"),
    ]  # fmt: skip
    for what, first, level, extra, text in runs:
        with pytest.raises(ValueError, match=text):
            sv.run(what, first, level, until=1, **extra)
    big = PAPER.problem(m=2, m_star=1, d=600, n=5)
    with pytest.raises(ValueError, match="ask for fewer times or runs"):
        sv.run(big, sv.start(big, seed=0), sv.Empirical(runs=50), until=1)
    with pytest.raises(ValueError, match="has no matrix on the inputs"):
        sv.run(problem.replace(training__samples=None), start, sv.Macro(), until=1).eigenvalues  # noqa: B018

"""Label noise and the last approach: the closed forms against the exact equations, linearised by differences and followed."""

import math

import numpy as np
import pytest

import solvable as sv


def erf(K: int, M: int, rate: float, noise: float = 0.0, **changes) -> sv.Problem:
    return sv.Problem(
        teacher=sv.Teacher(width=M, activation="erf", readout="unit"),
        student=sv.Student(width=K, activation="erf", readout="unit"),
        training=sv.Training(learning_rate=rate, loss_factor=0.5, label_noise=noise),
    ).replace(**changes)


def at_the_teacher(problem: sv.Problem) -> sv.Overlaps:
    """Students on the teachers, the others near zero."""
    K, M, T = problem.student.width, problem.teacher.width, problem.teacher.overlap
    T = np.eye(M) if isinstance(T, str) else np.array(T)
    scale = math.sqrt(K / M) if problem.student.activation == "quadratic" else 1.0
    R = scale * np.eye(K, M) @ T
    return sv.start(
        problem, student_overlap=scale * R @ np.eye(M, K) + 1e-5 * np.diag(np.arange(1, K + 1)), cross_overlap=R
    )


def stationary_risk(problem: sv.Problem, until: float) -> float:
    return float(sv.run(problem, at_the_teacher(problem), sv.Macro(rtol=1e-9), times=[until]).risk[0, -1])


def printed(K: int, M: int, rate: float, noise: float) -> float:
    return rate * noise * (K - M + M / math.sqrt(3)) / (2 * math.pi)


@pytest.mark.parametrize(("K", "M"), [(1, 1), (2, 2), (3, 2), (4, 2), (6, 2), (4, 3)])
def test_the_floor_of_label_noise_to_first_order_in_the_rate(K, M) -> None:
    """The ratio to rate Delta (K - M + M/sqrt 3)/(2 pi) tends to one: extrapolated from two rates, of second order what is left."""
    ratios = [stationary_risk(erf(K, M, rate, 0.1), 150 / rate) / printed(K, M, rate, 0.1) for rate in (0.02, 0.01)]
    assert abs(ratios[0] - 1) < 0.035
    assert 2 * ratios[1] - ratios[0] == pytest.approx(1, abs=1.5e-3)
    assert sv.theory.noise_floor(erf(K, M, 1e-6, 0.1)).value == pytest.approx(printed(K, M, 1e-6, 0.1), rel=1e-5)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"training__loss_factor": 1.0},
        {"training__batch": 4},
        {"inputs__spectrum": sv.Spectrum(eigenvalues=(1.0, 3.0))},
        {"teacher__overlap": ((1.0, 0.3), (0.3, 2.0))},
        {"student__readout": 0.7, "teacher__readout": 0.7},
    ],
    ids=lambda changes: next(iter(changes), "plain"),
)
@pytest.mark.parametrize("K", [2, 3])
def test_the_floor_at_any_rate(K, changes) -> None:
    """At rate 0.2 the first order is off by 2 to 40 %; of what is left the label noise, 0.01, is the measure."""
    problem = erf(K, 2, 0.2, 0.01, **changes)
    found = sv.theory.noise_floor(problem)
    assert stationary_risk(problem, 2000.0) == pytest.approx(found.value, rel=4e-3)
    assert not found.caveats


def test_students_at_zero_part_in_pairs() -> None:
    """Two students beyond the teachers' width: the floor holds for long, and then it falls."""
    problem = erf(4, 2, 0.04, 1.0)
    floor = sv.theory.noise_floor(problem)
    assert "pairs of opposite sign" in floor.caveats[0]
    run = sv.run(problem, at_the_teacher(problem), sv.Macro(), times=[1e3, 1e5])
    assert run.risk[0] / floor.value == pytest.approx([1.0, 0.5], abs=0.1)
    pair = run.last().student_overlap[2:, 2:]
    assert pair[0, 1] / pair[0, 0] == pytest.approx(-1, abs=0.01)


@pytest.mark.parametrize(("p", "q"), [(1, 1), (2, 2), (3, 2), (6, 3)])
def test_the_floor_of_quadratic_students(p, q) -> None:
    problem = sv.problems.convention("bocchi2026").problem(p=p, p_star=q, eta=0.02).replace(training__label_noise=0.1)
    assert stationary_risk(problem, 3e5) == pytest.approx(sv.theory.noise_floor(problem).value, rel=1e-4)


def test_the_floor_of_linear_students() -> None:
    problem = sv.problems.convention("worschech2024").problem(K=2, M=2, eta=0.5, beta=1.0, L=4, activation="linear")
    problem = problem.replace(training__label_noise=0.3)
    start = sv.start(problem, student_overlap=np.eye(2), cross_overlap=0.1 * np.eye(2))
    late = sv.theory.linear_risk(problem, start, 1e6).value
    assert sv.theory.noise_floor(problem).value == pytest.approx(float(late), rel=1e-9)


def jacobian(problem: sv.Problem) -> np.ndarray:
    """Of the exact equations in (Q, R) at the teacher, by differences of fourth order."""
    M, rate, T = problem.teacher.width, problem.training.learning_rate, np.eye(problem.teacher.width)
    upper = np.triu_indices(M)
    size = len(upper[0])

    def slope(x: np.ndarray) -> np.ndarray:
        Q = np.zeros((M, M))
        Q[upper] = x[:size]
        Q, R = Q + Q.T - np.diag(np.diag(Q)), x[size:].reshape(M, M)
        found = sv.dynamics.moments(np.block([[Q, R], [R.T, T]]), problem)
        moved = rate * found.drift @ np.block([[Q, R], [R.T, T]])
        noise = rate**2 / problem.training.batch * found.noise
        return np.concatenate([(moved[:, :M] + moved[:, :M].T + noise)[upper], moved[:, M:].ravel()])

    x = np.concatenate([T[upper], T.ravel()])
    steps = 1e-4 * np.eye(len(x))
    return np.array(
        [(8 * (slope(x + e) - slope(x - e)) - slope(x + 2 * e) + slope(x - 2 * e)) / 12e-4 for e in steps]
    ).T


@pytest.mark.parametrize(
    ("M", "rate", "batch"), [(1, 0.5, 1), (1, 3.5, 1), (2, 0.5, 1), (2, 2.0, 1), (2, 2.0, 3), (3, 1.0, 1), (3, 1.5, 1)]
)
def test_the_late_rate_against_the_linearised_equations(M, rate, batch) -> None:
    """Overlaps that students have outside the teachers' span enter the risk in first order, those within in second: of these the
    eigenvalues count twice. They are the ones whose left eigenvectors see R."""
    problem = erf(M, M, rate, training__batch=batch)
    J = jacobian(problem)
    size = M * (M + 1) // 2
    within = np.linalg.eigvals(J[size:, size:] + J[size:, :size] @ _errors_of(M)).real  # with D = 0: dQ = dR + dR^T
    outside = np.linalg.eigvals(J[:size, :size] - _errors_of(M) @ J[size:, :size]).real
    slowest = min(-outside.max(), -2 * within.max())
    assert sv.theory.late_rate(problem).value == pytest.approx(slowest, rel=1e-6)


def _errors_of(M: int) -> np.ndarray:
    """dQ of dR where D = Q - R - R^T + T stays zero: (M (M + 1)/2, M^2)."""
    first, second = np.triu_indices(M)
    made = np.zeros((len(first), M, M))
    made[np.arange(len(first)), first, second] += 1
    made[np.arange(len(first)), second, first] += 1
    return made.reshape(len(first), M * M)


@pytest.mark.parametrize(("M", "rate"), [(1, 0.3), (1, 3.5), (2, 2.1), (3, 1.5)])
def test_the_risk_falls_at_the_late_rate(M, rate) -> None:
    """Where errors within the teachers' span are slowest, at width one and a small rate, and where those outside are."""
    problem = erf(M, M, rate)
    law = sv.theory.late_rate(problem).value
    tilt = np.random.default_rng(0).standard_normal((M, M))
    R = np.eye(M) + 0.02 * tilt
    start = sv.start(problem, student_overlap=R @ R.T + 0.01 * np.eye(M), cross_overlap=R)
    times = np.array([10.0, 13.0]) / law
    risk = sv.run(problem, start, sv.Macro(rtol=1e-11), times=times).risk[0]
    assert -np.log(risk[1] / risk[0]) / np.diff(times)[0] == pytest.approx(law, rel=5e-3)


@pytest.mark.parametrize("M", [1, 2, 5])
def test_the_late_rate_vanishes_at_the_limit_and_is_greatest_between(M) -> None:
    problem = erf(M, M, 0.1)
    limit, best = sv.theory.rate_limit(problem).value, sv.theory.optimal_late_rate(problem).value

    def law(rate: float) -> float:
        return sv.theory.late_rate(problem.replace(training__learning_rate=rate)).value

    assert law(limit * (1 - 1e-6)) < 1e-4 * law(best)
    assert law(best) > max(law(0.999 * best), law(1.001 * best))
    with pytest.raises(sv.theory.NotApplicable, match="does not vanish"):
        law(1.001 * limit)
    many = problem.replace(training__batch=10)
    assert sv.theory.optimal_late_rate(many).value > best


def test_the_best_rates_of_quadratic_and_linear_students() -> None:
    quadratic = sv.problems.convention("bocchi2026").problem(p=2, p_star=2, eta=0.1)
    assert sv.theory.optimal_late_rate(quadratic).value == pytest.approx(sv.theory.rate_limit(quadratic).value / 2)
    linear = sv.problems.convention("worschech2024").problem(K=1, M=1, eta=0.3, activation="linear")
    assert sv.theory.optimal_late_rate(linear).value == pytest.approx(sv.theory.rate_limit(linear).value / 2, rel=1e-6)
    assert sv.theory.late_rate(linear).value == pytest.approx(sv.theory.linear_modes(linear).value.rates.min())


def test_where_there_is_no_floor() -> None:
    for problem, message in [
        (erf(2, 2, 0.1), "label_noise: is 0"),
        (erf(2, 3, 0.1, 0.1), "not of the teacher's width"),
        (erf(2, 2, 3.0, 0.1), "noise grows without bound"),
        (erf(41, 2, 0.1, 0.1), "at most 40"),
        (erf(2, 2, 0.1, 0.1, training__weight_decay=0.1), "weights without decay"),
    ]:
        with pytest.raises(sv.theory.NotApplicable, match=message):
            sv.theory.noise_floor(problem)

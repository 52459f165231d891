"""Formulas of bocchi2026's appendix as printed, beside what vanishing gradients, finite differences and exact risks say."""

import numpy as np
import pytest

import solvable as sv

P, Q, N = 4, 3, 9


def problem_of(**changes):
    return sv.problems.convention("bocchi2026").problem(p=P, p_star=Q, eta=0.1).replace(inputs__dim=N, **changes)


def frames(seed=0):
    """A p x p rotation, and N x N of which the first p* rows are the teachers over sqrt(N)."""
    random = np.random.default_rng(seed)
    return tuple(np.linalg.qr(random.standard_normal((n, n)))[0] for n in (P, N))


def slope(students):
    _, axes = frames()
    return np.abs(
        sv.landscape.gradient(problem_of(), sv.overlaps.Weights(np.sqrt(N) * students, np.sqrt(N) * axes[:Q]))
    ).max()


@pytest.mark.parametrize("r", [1, 3])
def test_columns_are_orthonormal_and_their_scale_has_the_rank(r) -> None:
    """B5: the gradient vanishes for M^T M = 1 (M M^T has rank r < p, and is no identity). B6: in 7.2.1 the scale alpha solves
    1 - alpha r/p - 2 alpha/p = 0; without the factor alpha before the rank, as printed, the gradient does not vanish."""
    turn, axes = frames()
    M, outside = turn[:, :r], axes[Q : Q + r]
    right, printed = P / (2 + r), (P - r) / 2
    assert slope(np.sqrt(right) * M @ outside) < 1e-14
    assert slope(np.sqrt(printed) * M @ outside) > 0.01


@pytest.mark.parametrize("s", [1, 2, 3])
def test_correlated_students_need_a_frame_of_the_teachers_span(s) -> None:
    """B7: in (30) the p x s matrix M cannot multiply W*^T (N x p*); with any s orthonormal directions of the teachers'
    span the gradient vanishes at the printed scale."""
    turn, axes = frames()
    inside = np.linalg.qr(np.random.default_rng(1).standard_normal((Q, Q)))[0][:s] @ axes[:Q]
    scale = np.sqrt(P * (2 + Q) / (Q * (2 + s)))
    assert slope(scale * turn[:, :s] @ inside) < 1e-14


def test_the_hessian_of_the_plateau_sums_over_students() -> None:
    """B10: -(1/p) sum_k w_k w_k^T inside the bracket of 7.2.2, not one w_k w_k^T."""
    _, axes = frames()
    teachers, students = axes[:Q], np.sqrt(P / (P + 2)) * axes[Q : Q + P]
    dense = sv.landscape.hessian(problem_of(), sv.overlaps.Weights(np.sqrt(N) * students, np.sqrt(N) * teachers))

    def written(own):
        blocks = [
            [
                8 / P * (np.outer(students[n], students[m]) + np.outer(students[m], students[n])) / P
                - (m == n) * 8 / P * (teachers.T @ teachers / Q - own(m) / P)
                for n in range(P)
            ]
            for m in range(P)
        ]
        return np.block(blocks)

    assert written(lambda _: students.T @ students) == pytest.approx(dense, abs=1e-13)
    assert np.abs(written(lambda m: np.outer(students[m], students[m])) - dense).max() > 0.1


def test_slopes_by_the_weights_themselves_have_a_factor_of_the_dimension() -> None:
    """B11: (24) holds for weights of norm one; for |w|^2 = N, as in the main text, the derivative of the risk by w is 1/N of it."""
    random, problem = np.random.default_rng(2), problem_of(teacher__overlap="sampled")
    W, W_star = random.standard_normal((P, N)), random.standard_normal((Q, N))
    rho, overlap = W @ W_star.T / N, W @ W.T / N
    trace = np.trace(W_star @ W_star.T) / N / Q - np.trace(overlap) / P
    printed = -4 / P * (trace * W + 2 / Q * rho @ W_star - 2 / P * overlap @ W)
    step = 1e-5 * random.standard_normal(W.shape)

    def risk(students):
        state = sv.measure(problem, students, W_star)
        return sv.dynamics.moments(sv.dynamics.field_covariance(problem, state), problem).risk

    difference = (risk(W + step) - risk(W - step)) / 2
    assert np.sum(printed * step) / N == pytest.approx(difference, rel=1e-6)
    assert np.sum(printed * step) != pytest.approx(difference, rel=0.5)


def test_solutions_in_overlaps_pair_different_teachers() -> None:
    """B17: (21) is sum_ll' S_kl S_k'l' T_ll'; with S_kl' S_k'l', as printed, overlapping teachers give students wrong norms."""
    T = np.array([[1.0, 0.3, 0.0], [0.3, 1.0, 0.2], [0.0, 0.2, 1.0]])
    problem, S = problem_of(teacher__overlap=T), frames()[0][:, :Q]
    R = np.sqrt(P / Q) * S @ T
    right = sv.start(problem, student_overlap=P / Q * S @ T @ S.T, cross_overlap=R)
    assert sv.dynamics.moments(sv.dynamics.field_covariance(problem, right), problem).risk == pytest.approx(
        0, abs=1e-14
    )
    printed = P / Q * np.einsum("km,jm,lm->kj", S, S, T)
    assert np.abs(printed - right.student_overlap).max() > 0.1


def some_overlaps(seed=4):
    """A covariance of all fields with orthonormal teachers, its blocks Q and rho, and tr Q."""
    factor = np.vstack([np.random.default_rng(seed).standard_normal((P, P + Q)), np.eye(Q, P + Q)])
    C = factor @ factor.T
    return C, C[:P, :P], C[:P, P:], np.trace(C[:P, :P])


def test_printed_risk() -> None:
    """(23) is right."""
    C, overlap, rho, trace = some_overlaps()
    pairs = sum(overlap[k, k] * overlap[j, j] + 2 * overlap[k, j] ** 2 for k in range(P) for j in range(k + 1, P))
    squares = np.sum(np.diag(overlap) ** 2)
    printed = (Q + 2) / Q - 2 / P * trace - 4 / (P * Q) * np.sum(rho**2) + (3 * squares + 2 * pairs) / P**2
    assert sv.dynamics.moments(C, problem_of()).risk == pytest.approx(printed, rel=1e-12)


def test_printed_equations() -> None:
    """(33) and the order eta of (34) are right, sum by sum, and so are (38) and (39)."""
    C, overlap, rho, trace = some_overlaps()
    drift = sv.dynamics.moments(C, problem_of()).drift @ C  # <F z>, over the rate
    own = np.diag(overlap)
    others = overlap - np.diag(own)
    first = 4 / P * rho * (1 + 2 / Q - (trace + 2 * own[:, None]) / P) - 8 / P**2 * others @ rho
    assert drift[:, P:] == pytest.approx(first, rel=1e-10)
    rest = others.T @ overlap  # sums over r other than k, and other than k'
    second = (
        8 / P * overlap * (1 - (trace + own[:, None] + own) / P)
        + 16 / (P * Q) * rho @ rho.T
        - 8 / P**2 * (rest + rest.T)
    )
    assert drift[:, :P] + drift[:, :P].T == pytest.approx(second, rel=1e-10)
    tau = 1 - trace / P
    assert drift[:, P:] == pytest.approx(4 / P * (tau + 2 / Q) * rho - 8 / P**2 * overlap @ rho, rel=1e-10)
    short = 8 / P * tau * overlap + 16 / (P * Q) * rho @ rho.T - 16 / P**2 * overlap @ overlap
    assert drift[:, :P] + drift[:, :P].T == pytest.approx(short, rel=1e-10)


def test_printed_hessian() -> None:
    """(25) is right for weights of norm one."""
    _, axes = frames()
    students, teachers = np.random.default_rng(3).standard_normal((P, N)) / np.sqrt(N), axes[:Q]
    overlap = students @ students.T
    inner = (1 - np.trace(overlap) / P) * np.eye(N) + 2 / Q * teachers.T @ teachers - 2 / P * students.T @ students

    def block(m, n):
        pair = np.outer(students[n], students[m])
        return 8 / P**2 * (overlap[m, n] * np.eye(N) + pair + pair.T) - (m == n) * 4 / P * inner

    printed = np.block([[block(m, n) for n in range(P)] for m in range(P)])
    dense = sv.landscape.hessian(problem_of(), sv.overlaps.Weights(np.sqrt(N) * students, np.sqrt(N) * teachers))
    assert printed == pytest.approx(dense, abs=1e-12)

"""Overlaps per block against worschech2024's own description: powers of the covariance, closed by Cayley and Hamilton."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import solvable as sv

TIMES = np.array([0.0, 1.0, 10.0, 60.0])


def hierarchy(problem: sv.Problem, start: sv.Overlaps) -> np.ndarray:
    """Risk at TIMES from Q^(k), R^(k), k < L, in exact arithmetic the same equations at small rates."""
    values, L, K = problem.inputs.eigenvalues, problem.inputs.blocks, problem.student.width
    coefficients = np.poly(values)[::-1]  # Sigma^L = -sum_k c_k Sigma^k
    powers = values[None, :] ** np.arange(L)[:, None]
    Q, R = (np.tensordot(powers, blocks, axes=1) for blocks in (start.block_student_overlap, start.block_cross_overlap))
    T = np.tensordot(values[None, :] ** np.arange(L + 1)[:, None], start.block_teacher_overlap, axes=1)
    eta = problem.training.learning_rate

    def above(X: np.ndarray) -> np.ndarray:
        return np.concatenate([X[1:], [-np.tensordot(coefficients[:L], X, axes=1)]])

    def covariance(Q: np.ndarray, R: np.ndarray) -> np.ndarray:
        first = 1 if L > 1 else 0
        q, r = (Q[1], R[1]) if L > 1 else (values[0] * Q[0], values[0] * R[0])
        return np.block([[q, r], [r.T, T[first] if L > 1 else values[0] * T[0]]])

    def slope(t: float, y: np.ndarray) -> np.ndarray:
        Q, R = y[: L * K * K].reshape(L, K, K), y[L * K * K :].reshape(L, K, -1)
        D = sv.dynamics.moments(covariance(Q, R), problem, problem.student.readout_values).drift
        S, G = D[:K, :K], D[:K, K:]
        half = S @ above(Q) + G @ above(R).transpose(0, 2, 1)
        return np.concatenate(
            [(eta * (half + half.transpose(0, 2, 1))).ravel(), (eta * (S @ above(R) + G @ T[1:])).ravel()]
        )

    found = solve_ivp(
        slope, (0, TIMES[-1]), np.concatenate([Q.ravel(), R.ravel()]), "DOP853", TIMES, rtol=1e-10, atol=1e-14
    )
    pairs = [(y[: L * K * K].reshape(L, K, K), y[L * K * K :].reshape(L, K, -1)) for y in found.y.T]
    return np.array(
        [sv.dynamics.moments(covariance(*pair), problem, problem.student.readout_values).risk for pair in pairs]
    )


@pytest.mark.parametrize(("L", "M"), [(1, 2), (3, 2), (6, 2), (8, 1)])
def test_blocks_are_the_power_hierarchy(L: int, M: int) -> None:
    problem = sv.problems.convention("worschech2024").problem(
        K=2, M=M, eta=0.3, beta=1.0 if L > 1 else 0.0, L=L, N=40 * L
    )
    start = sv.start(problem, seed=0, scale=0.5)
    run = sv.run(problem, start, sv.Macro(small_rate=True, rtol=1e-10), times=TIMES)
    assert np.allclose(run.risk[0], hierarchy(problem, start), rtol=1e-4)

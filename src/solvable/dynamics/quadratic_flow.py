"""Gradient flow of quadratic networks on the population, in closed form up to a few scalars.

Write A = W^T W / p for the students and A* for the teachers, both as matrices on the inputs. The flow dW/dt = W G gives

    dA/dt = G A + A G,    G = tr(A* - A) 1 + 2 (A* - A)                                      (saraomannelli2020, 7 and 8),

a Riccati equation but for the trace. From A(0) = F^T F, with the growth g = exp(2 int tr(A* - A)) and J = 4 int g exp(4 A* u) du,

    F(t) = U L^-1 V,    V = sqrt(g) F exp(2 A* t),    L L^T = 1 + F J F^T,    U a rotation of the rows,

so A(t) = F(t)^T F(t) needs the growth and one J per distinct eigenvalue kappa of A*. Scaled to b = J exp(-4 kappa t) / g,
neither overflows:

    d log g / dt = 2 tr(A* - A),    db/dt = 4 - (4 kappa + 2 tr(A* - A)) b.

Where the Gram matrices X_l = F_l F_l^T of the rows within each eigenspace of A* commute, their common frame makes L diagonal and
U = 1. Elsewhere the rows turn as dU/dt = 2 U (N - N^T), with N the part of (L^-1 V)(L^-1 V)^T below its diagonal. Time is
saraomannelli2020's; bocchi2026's is p/4 times as long. The integrators are SciPy's: a second way to the limit of small rates,
not a fast one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from solvable.numerics.threads import interruptible, one_blas_thread, raise_if_abandoned
from solvable.overlaps import Overlaps, as_array, check_start
from solvable.problems import Domain, Problem

RTOL = 1e-13
TURN_RTOL = 1e-10  # the scalars between steps are no smoother, and errors of a rotation do not grow
MOST_STEPS = 20_000  # of SciPy's integrators, about a minute
ZERO = 1e-14  # relative to the largest: rounding, not a direction
FLOW = Domain(units="quadratic", isotropic=True, teachers="any", schedules="rates")
EQUAL = 1e-10  # singular values this close, relatively, are one


@dataclass(frozen=True)
class ClosedFlow:
    """Curves of the closed form: alpha (time,), risk (time,), student_overlap (time, p, p), cross_overlap (time, p, p*).

    `rotation_free` says whether one fixed frame of the students serves all times, so that scalars alone give every
    overlap.
    """

    alpha: np.ndarray
    risk: np.ndarray
    student_overlap: np.ndarray
    cross_overlap: np.ndarray
    rotation_free: bool


class FactorFlow(NamedTuple):
    """A factor of the students' matrix along the flow: factor (time, rows, n), log_growth (time,) = 2 int tr(A* - A),
    rotation_free.
    """

    factor: np.ndarray
    log_growth: np.ndarray
    rotation_free: bool


def flow_overlaps(problem: Problem, start: Overlaps, alpha: Any) -> ClosedFlow:
    """Overlaps of the deterministic limit at vanishing rate, at the times `alpha` (steps/dim, increasing).

    For quadratic units on isotropic inputs with readouts 1/width, free norms and labels without noise, and any overlap of the
    teachers; other problems raise NotApplicable with the field at fault. The clock is c x the integral of the rate, so loss factor
    and schedule are free. All overlaps are exact; where not `rotation_free`, what a common rotation of the students leaves alone
    (risk, tr Q, R^T R) comes from the scalars and the single entries from the rotation besides. Solves bocchi2026, 6 at first order
    in the rate; not in the papers.
    """
    require_quadratic(problem, start)
    alpha = checked_times("alpha", alpha)
    p, c = problem.student.width, problem.training.loss_factor
    weights, norms, E = start_weights(start)
    kappa = np.concatenate([norms / problem.teacher.width, np.zeros(weights.shape[1] - norms.size)])
    times = 4 * c / p * problem.training.schedule.integral(alpha)
    F, _, rotation_free = flow_factor(weights / np.sqrt(p), kappa, times, turn=True)
    D = np.diag(kappa) - F.transpose(0, 2, 1) @ F
    risk = c * (np.trace(D, axis1=1, axis2=2) ** 2 + 2 * (D**2).sum(axis=(1, 2)))
    R = np.sqrt(p) * F[:, :, : norms.size] @ (E * np.sqrt(norms)).T
    return ClosedFlow(alpha, risk, p * F @ F.transpose(0, 2, 1), R, rotation_free)


def flow_matrix(start_matrix: Any, teacher_matrix: Any, times: Any) -> np.ndarray:
    """A(t), shape (time, d, d), of dA/dt = G A + A G with G = tr(A* - A) 1 + 2 (A* - A) (saraomannelli2020, 7 and 8).

    `start_matrix` A(0) and `teacher_matrix` A*, both (d, d), are any positive semidefinite matrices, also without full
    rank; `times` increase from 0 or later, in the paper's unit.
    """
    A, values, vectors = as_array(start_matrix), *_spectrum("teacher_matrix", teacher_matrix)
    start_values, start_vectors = _spectrum("start_matrix", A)
    if A.shape != vectors.shape:
        raise ValueError(f"start_matrix: shape {A.shape} given, must be {vectors.shape} like teacher_matrix")
    kept = start_values > 0
    F = np.sqrt(start_values[kept])[:, None] * (start_vectors[:, kept].T @ vectors)
    factor = flow_factor(F, values, checked_times("times", times)).factor @ vectors.T
    return factor.transpose(0, 2, 1) @ factor


@interruptible
def flow_factor(factor: np.ndarray, eigenvalues: np.ndarray, times: np.ndarray, turn: bool = False) -> FactorFlow:
    """The core: F(t) of A(t) = F^T F from `factor` (rows, n), in coordinates where A* is the diagonal `eigenvalues` (n,).

    F is exact up to a common rotation of its rows; with `turn`, exact. Every eigenvalue of A* must be among the coordinates.
    """
    kappa, group = _distinct(eigenvalues)
    frame, shared = common_frame([factor[:, group == one] for one in range(kappa.size)])
    rows = _Rows.from_factor(frame.T @ factor, kappa, group)
    trace = float(eigenvalues.sum())

    def rhs(t: float, y: np.ndarray) -> np.ndarray:
        tau = trace - (rows(t, y) ** 2).sum()
        return np.concatenate([[2 * tau], 4 - (4 * kappa + 2 * tau) * y[1:]])

    size = max(float((factor**2).sum()) + trace, 1e-300)  # b matters where it is of the order of 1/size
    atol = 0.01 * RTOL / np.concatenate([[1.0], np.full(kappa.size, size)])
    with one_blas_thread():  # very many very small products: threads would only wait for each other
        solution = integrate(rhs, np.zeros(1 + kappa.size), 0.0, times[-1], atol)
        scalars = solution(times)
        moving = np.array([rows(t, y) for t, y in zip(times, scalars, strict=True)])
        if turn and not shared:
            moving = _turns(rows, solution, times) @ moving
    return FactorFlow(frame @ moving, scalars[:, 0], shared)


@dataclass(frozen=True)
class _Rows:
    """L^-1 V without large numbers. Rows stand on a staircase: row i has no part in the groups before `lead[i]`, so that group's
    weight is its largest scale, and with the scale divided out all is of order one, however far the weights are apart."""

    factor: np.ndarray  # (rows, n)
    kappa: np.ndarray  # (groups,), falling
    group: np.ndarray  # (n,)
    lead: np.ndarray  # (rows,)

    @classmethod
    def from_factor(cls, factor: np.ndarray, kappa: np.ndarray, group: np.ndarray) -> "_Rows":
        squares = factor**2 @ (group[:, None] == np.arange(kappa.size))  # (rows, groups)
        present = squares > ZERO**2 * squares.sum(axis=0)
        lead = np.where(present.any(axis=1), present.argmax(axis=1), kappa.size)
        return cls(factor, kappa, group, lead)

    def __call__(self, t: float, scalars: np.ndarray) -> np.ndarray:
        """(rows, n) at time t, from log g and the b of each group."""
        log_weight, b = scalars[0] + 4 * self.kappa * t, np.maximum(scalars[1:], 0.0)
        top = np.maximum(np.append(log_weight, 0.0)[self.lead], 0.0)[:, None]  # the log of the row's scale, squared
        # the minimum acts before `lead` only: what stands there is rounding and must not grow
        V = self.factor * np.exp(0.5 * np.minimum(log_weight[self.group] - top, 0.0))
        K = np.concatenate([np.diag(np.exp(-0.5 * top[:, 0])), (V * np.sqrt(b[self.group])).T])  # K^T K = L L^T, scaled
        scale = np.sqrt((K**2).sum(axis=0))
        triangle = np.asarray(np.linalg.qr(K / scale, mode="r"))
        triangle *= np.where(np.diag(triangle) < 0, -1.0, 1.0)[:, None]
        return solve_triangular(triangle, V / scale[:, None], trans="T", check_finite=False)


def _turns(rows: _Rows, scalars: Callable[[Any], np.ndarray], times: np.ndarray) -> np.ndarray:
    """(time, rows, rows) the rotation U."""
    size = len(rows.factor)

    def rhs(t: float, y: np.ndarray) -> np.ndarray:
        Y = rows(t, scalars(t))
        lower = np.tril(Y @ Y.T, -1)
        return (2 * y.reshape(size, size) @ (lower - lower.T)).ravel()

    turned = integrate(rhs, np.eye(size).ravel(), 0.0, times[-1], 0.01 * TURN_RTOL, "DOP853", rtol=TURN_RTOL)(times)
    left, _, right = np.linalg.svd(turned.reshape(-1, size, size))
    return left @ right


def common_frame(factors: list[np.ndarray]) -> tuple[np.ndarray, bool]:
    """Frame P (rows, rows) in which the rows P^T F of the first factor are orthogonal, those it leaves equally long (or at
    zero) orthogonal in the second, and so on; and whether all rows of all factors are, so that all F F^T commute."""
    size = len(factors[0])
    P, clusters = np.eye(size), [np.arange(size)]
    for F in factors:
        floor = ZERO * np.linalg.norm(F)
        finer = []
        for cluster in clusters:
            U, values, _ = np.linalg.svd(P[:, cluster].T @ F)
            P[:, cluster] = P[:, cluster] @ U
            length = np.concatenate([values, np.zeros(cluster.size - values.size)])
            length[length <= floor] = 0.0
            finer += np.split(cluster, np.flatnonzero(-np.diff(length) > EQUAL * length[:-1]) + 1)
        clusters = finer
    return P, all(_orthogonal_rows(P.T @ F) for F in factors)


def _orthogonal_rows(F: np.ndarray) -> bool:
    gram = F @ F.T
    length = np.sqrt(np.diag(gram))
    allowed = EQUAL * np.outer(length, length) + ZERO * np.linalg.norm(F) * np.add.outer(length, length)
    return bool((np.abs(gram - np.diag(np.diag(gram))) <= allowed).all())


def start_weights(start: Overlaps) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Students (p, r + rank) in an orthonormal basis: r eigenvectors of the teachers, then what is left; the r eigenvalues
    of the teacher overlap; and its eigenvectors (p*, r)."""
    Q, R = start.student_overlap, start.cross_overlap
    values, vectors = _spectrum("teacher_overlap", start.teacher_overlap)
    norms, E = values[values > 0], vectors[:, values > 0]
    inside = R @ E / np.sqrt(norms)
    left, axes = np.linalg.eigh(Q - inside @ inside.T)
    kept = left > ZERO * np.trace(Q)
    return np.concatenate([inside, axes[:, kept] * np.sqrt(left[kept])], axis=1), norms, E


def _spectrum(name: str, matrix: Any) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues (rounding set to zero) and eigenvectors of a positive semidefinite matrix."""
    A = as_array(matrix)
    if A.ndim != 2 or A.shape[0] != A.shape[1] or not np.isfinite(A).all():
        raise ValueError(f"{name}: shape {A.shape} given, must be a square matrix of finite numbers")
    size = np.abs(A).max(initial=0.0)
    if (np.abs(A - A.T) > 1e-10 * size).any():
        raise ValueError(f"{name}: must be symmetric")
    values, vectors = np.linalg.eigh((A + A.T) / 2)
    if values.min(initial=0.0) < -1e-9 * size:
        raise ValueError(f"{name}: must be positive semidefinite, but has the eigenvalue {values[0]:.3g}")
    return np.where(values > ZERO * size * len(A), values, 0.0), vectors


def _distinct(eigenvalues: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct eigenvalues (groups,), falling, and the group of each coordinate (n,); equal up to rounding is equal."""
    order = np.argsort(-eigenvalues)
    falls = -np.diff(eigenvalues[order], prepend=np.inf) > ZERO * len(eigenvalues) * eigenvalues.max()
    group = np.empty(len(eigenvalues), dtype=np.int64)
    group[order] = np.cumsum(falls) - 1
    return np.bincount(group, eigenvalues) / np.bincount(group), group


def require_quadratic(problem: Problem, start: Overlaps, domain: Domain = FLOW) -> None:
    """Raise ValueError, naming the field, unless the problem is in the domain and the start belongs to it."""
    domain.require(problem)
    check_start(problem, start)


def checked_times(name: str, times: Any) -> np.ndarray:
    array = np.atleast_1d(as_array(times))
    if array.ndim != 1 or not array.size or not np.isfinite(array).all() or array[0] < 0 or (np.diff(array) <= 0).any():
        raise ValueError(f"{name}: must be finite, not negative and increasing")
    return array


def integrate(
    rhs: Callable[[float, np.ndarray], np.ndarray],
    start: np.ndarray,
    begin: float,
    end: float,
    atol: Any,
    method: Literal["LSODA", "DOP853"] = "LSODA",
    bound: float = np.inf,
    rtol: float = RTOL,
) -> Callable[[Any], np.ndarray]:
    """The solution as a function of time: (size,) at one, (time, size) at many; RuntimeError where it passes `bound`."""
    if end == begin:
        return lambda t: np.broadcast_to(start, (*np.shape(t), start.size))
    from scipy import integrate as scipy_integrate  # slow to load, and few come here

    solver = getattr(scipy_integrate, method)(rhs, begin, start, end, rtol=rtol, atol=atol)
    times: list[float] = [begin]
    pieces: list[Any] = []
    with np.errstate(over="ignore", invalid="ignore"):  # trial steps beyond the bound
        while solver.status == "running":
            raise_if_abandoned()
            if len(pieces) >= MOST_STEPS:
                raise ValueError(
                    f"times: more than {MOST_STEPS} steps of the closed form, which came to {solver.t:.3g} of {end:.3g}; ask for "
                    f"less, or use Macro with another method"
                )
            message = solver.step()
            if message is not None or not np.abs(solver.y).max() < bound:
                why = "diverge: lower the learning rate" if message is None else f"are lost: {message}"
                raise RuntimeError(f"from time {solver.t:.6g} on the overlaps {why}")
            times.append(solver.t)
            pieces.append(solver.dense_output())
    solution = scipy_integrate.OdeSolution(times, pieces)
    return lambda t: solution(t).T

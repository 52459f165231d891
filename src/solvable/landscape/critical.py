"""All critical points of the population risk of quadratic networks, with their curvature, at any dim.

For teachers that are orthonormal, with readouts 1/p and 1/p*: at a critical point U^T U / p = a_1 P_s + a_2 P_r, where P_s
projects on s directions inside the teachers' span and P_r on r directions outside. (bocchi2026, 4.2 and 7.2, has the families
r = 0 and s = 0; the mixed points are missing there: docs/ERRATA.md B8.)
"""

import math
from dataclasses import dataclass

import numpy as np

from solvable.overlaps import Weights
from solvable.problems import InvalidProblem, Problem, convention


@dataclass(frozen=True)
class CriticalPoint:
    """`outside` (r) and `inside` (s) directions, `risk`, and the `spectrum` of the Hessian by the weights over sqrt(dim): pairs of
    eigenvalue and multiplicity, ascending. `index` counts the negative ones, `flat` the zeros, of which `tangent` lie along the set
    of critical points itself."""

    outside: int
    inside: int
    risk: float
    spectrum: tuple[tuple[float, int], ...]
    index: int
    flat: int
    tangent: int

    @property
    def kind(self) -> str:
        negative, positive = self.index > 0, any(value > 0 for value, _ in self.spectrum)
        if negative and positive:
            return "saddle"
        return "maximum" if negative else "minimum"


def critical_points(problem: Problem) -> list[CriticalPoint]:
    """All of them, by falling risk."""
    p, q, dim, c = _sizes(problem)
    found = [
        _critical_point(p, q, dim, c, r, s)
        for s in range(min(p, q, dim) + 1)
        for r in range(min(p - s, dim - q) + 1)
        if r == 0 or s < q
    ]
    return sorted(found, key=lambda point: -point.risk)


def _sizes(problem: Problem) -> tuple[int, int, int, float]:
    try:
        convention("bocchi2026").require(problem)
    except InvalidProblem as error:
        raise ValueError(f"critical_points: {'; '.join(error.problems)}") from None
    if problem.teacher.overlap != "orthonormal":
        raise ValueError("critical_points: teacher.overlap is not 'orthonormal'")
    if problem.inputs.dim is None:
        raise ValueError("critical_points: inputs.dim is infinite; multiplicities count dimensions, give it")
    p, q, dim = problem.student.width, problem.teacher.width, problem.inputs.dim
    if dim < q:
        raise ValueError(f"critical_points: {q} orthonormal teachers do not fit into {dim} dimensions")
    return p, q, dim, problem.training.loss_factor


def _critical_point(p: int, q: int, dim: int, c: float, r: int, s: int) -> CriticalPoint:
    k = r + s
    a2 = (1 - s / q) / (2 + k)
    a1, tau = a2 + 1 / q, 2 * a2
    values: list[tuple[float, int]] = [
        (-4 / p * (tau + 2 / q), (p - k) * (q - s)),
        (-4 / p * tau, (p - k) * (dim - q - r)),
        (-8 / (p * q), r * (q - s)),
        (8 / (p * q), s * (dim - q - r)),
        (16 * a1 / p, s * (s - 1) // 2 + max(s - 1, 0)),
        (16 * a2 / p, r * (r - 1) // 2 + max(r - 1, 0)),
        (8 * (a1 + a2) / p, r * s),
        (0.0, (p - k) * k + k * (k - 1) // 2 + s * (q - s) + r * (dim - q - r)),
        *((float(value), 1) for value in _breathing(p, r, s, a1, a2)),
    ]
    merged: dict[float, int] = {}
    for value, count in values:
        if count:
            near = next((other for other in merged if math.isclose(other, value, rel_tol=1e-12, abs_tol=1e-15)), value)
            merged[near] = merged.get(near, 0) + count
    spectrum = tuple((c * value + 0.0, merged[value]) for value in sorted(merged))  # minus zero is zero
    miss = 1 - s / q
    tangent = (p - k) * k + k * (k - 1) // 2 + s * (q - s) + r * (dim - q - r)
    return CriticalPoint(
        r, s, c * miss * (2 * miss / (2 + k) + 2 / q), spectrum,
        sum(count for value, count in spectrum if value < 0), sum(count for value, count in spectrum if value == 0), tangent,
    )  # fmt: skip


def _breathing(p: int, r: int, s: int, a1: float, a2: float) -> np.ndarray:
    """Curvature along the common scales of the inner and of the outer part."""
    mixed = math.sqrt(r * s * a1 * a2)
    matrix = 8 / p * np.array([[(2 + s) * a1, mixed], [mixed, (2 + r) * a2]])
    kept = [i for i, count in enumerate((s, r)) if count]
    return np.linalg.eigvalsh(matrix[np.ix_(kept, kept)]) if kept else np.zeros(0)


def weights_at(problem: Problem, point: CriticalPoint, seed: int) -> Weights:
    """Weights at a critical point, in random directions."""
    p, q, dim, _ = _sizes(problem)
    r, s = point.outside, point.inside
    random = np.random.default_rng(seed)
    frame = np.linalg.qr(random.standard_normal((dim, dim)))[0].T
    teachers, outside = frame[:q], frame[q : q + r]
    turn = np.linalg.qr(random.standard_normal((q, q)))[0]
    a2 = (1 - s / q) / (2 + r + s)
    scales = np.sqrt(p * np.concatenate([np.full(s, a2 + 1 / q), np.full(r, a2)]))
    mix = np.linalg.qr(random.standard_normal((p, p)))[0][:, : r + s]
    students = mix * scales @ np.vstack([turn[:s] @ teachers, outside])
    return Weights(math.sqrt(dim) * students, math.sqrt(dim) * teachers)

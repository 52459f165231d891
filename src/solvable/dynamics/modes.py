"""Quadratic networks mode by mode: the deterministic limit at any rate, where the students' frame never turns.

With an orthonormal teacher, and a start whose student overlap Q commutes with R R^T (as when Q = q 1), the singular vectors of
R stay:

    R = U diag(s) V^T,    Q = U diag(s^2 + o) U^T,

one s for each of the k modes that see the teachers (o: their part outside the teachers' span), one o alone for each other. Of
bocchi2026, 6 with the corrected 34 (docs/ERRATA.md, B1) remain, per alpha, with q = s^2 + o, tau = 1 - sum q / p,
h = 4 c rate / p, and weight decay kappa, label noise Delta and batch B besides:

    d log s = h (tau + 2/p* - 2 q / p) - rate kappa
    do      = 2 h o (tau - 2 q / p) - 2 rate kappa o + h^2 / B [(mse + Delta) q + 4 tau K + 8 K_2]
    K = s^2 (1/p* - q/p) - o q / p,    K_2 = s^2 (1/p* - q/p)^2 + o q^2 / p^2.

Two scalars per mode and one per other student (equal ones stay equal: 2k + 1 from Q = q 1); no difference of large terms.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from solvable.dynamics.quadratic_flow import (
    FLOW,
    RTOL,
    ZERO,
    ClosedFlow,
    checked_times,
    common_frame,
    integrate,
    require_quadratic,
    start_weights,
)
from solvable.overlaps import InvalidStart, Overlaps
from solvable.problems import Problem

BOUND = 1e8  # overlaps beyond this have diverged


MODES = replace(FLOW, label_noise=True, decay=True, batch=True)


@dataclass(frozen=True)
class StartModes:
    """A start by modes: R = U[:, :k] diag(s) V^T and Q = U diag(norms) U^T.

    singular_values s (k,), not zero; norms (p,), those of the k modes first; student_frame U (p, p) and teacher_frame
    V (p*, k), orthonormal columns.
    """

    singular_values: np.ndarray
    norms: np.ndarray
    student_frame: np.ndarray
    teacher_frame: np.ndarray


def reduce_to_modes(problem: Problem, start: Overlaps) -> StartModes:
    """The modes of a start; ValueError names what does not commute, is not orthonormal, or has no modes at all."""
    require_quadratic(problem, start, MODES)
    Q, R, T = start.student_overlap, start.cross_overlap, start.teacher_overlap
    deviation = np.abs(T - np.eye(len(T))).max()
    if deviation > 1e-9:
        raise InvalidStart(f"teacher_overlap: is not orthonormal but differs by {deviation:.3g}, so the modes mix")
    weights = start_weights(start)[0]
    U, shared = common_frame([weights[:, : len(T)], weights[:, len(T) :]])
    if not shared:
        raise InvalidStart(
            f"student_overlap: does not commute with cross_overlap cross_overlap^T (the commutator has norm "
            f"{np.linalg.norm(Q @ R @ R.T - R @ R.T @ Q):.3g}), so the modes mix"
        )
    rows = U.T @ R
    values = np.linalg.norm(rows, axis=1)
    k = int((values > ZERO * np.linalg.norm(R)).sum())
    return StartModes(values[:k], np.einsum("ki,kl,li->i", U, Q, U), U, (rows[:k] / values[:k, None]).T)


def flow_modes(problem: Problem, start: Overlaps, alpha: Any, small_rate: bool = False) -> ClosedFlow:
    """The deterministic limit at the times `alpha` (steps/dim, increasing), exact at any rate, by modes.

    Rate or schedule, loss factor, constant label noise, batch and weight decay are free; units are quadratic, inputs isotropic,
    readouts 1/width, norms free, or NotApplicable names what is not. `small_rate` drops the order rate^2. RuntimeError, with the
    time, where the overlaps diverge.
    """
    modes, alpha = reduce_to_modes(problem, start), checked_times("alpha", alpha)
    p, q, k = problem.student.width, problem.teacher.width, modes.singular_values.size
    segments = problem.training.schedule.segments
    inside = np.concatenate([modes.singular_values**2, np.zeros(p - k)])
    state = np.concatenate([np.zeros(k), np.maximum(modes.norms - inside, 0.0)])
    states = np.empty((alpha.size, state.size))
    for segment, end in zip(segments, [*segments[1:, 0], np.inf], strict=True):
        begin, stop = segment[0], min(end, alpha[-1])
        if stop < begin:
            break
        rhs = _equations(problem, modes, small_rate, segment)
        solution = integrate(rhs, state, begin, stop, 1e-2 * RTOL, bound=BOUND)
        here = (begin <= alpha) & (alpha < end)
        if here.any():
            states[here] = solution(alpha[here])
        state = solution(stop)
    s, o = _parts(modes, states)
    mse = _mean_squared_error(s, o, q)
    U, V = modes.student_frame, modes.teacher_frame
    Q = np.einsum("ki,ti,li->tkl", U, s**2 + o, U)
    R = np.einsum("ki,ti,li->tkl", U[:, :k], s[:, :k], V)
    return ClosedFlow(alpha, problem.training.loss_factor * mse, Q, R, True)


def _parts(modes: StartModes, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """s and o, both (..., p), from states (..., k + p): the log of how much s has grown, and o."""
    k = modes.singular_values.size
    s, o = np.zeros_like(states[..., k:]), states[..., k:]
    s[..., :k] = modes.singular_values * np.exp(states[..., :k])
    return s, o


def _mean_squared_error(s: np.ndarray, o: np.ndarray, teachers: int) -> np.ndarray:
    """(tr D)^2 + 2 tr D^2 of D = A* - A, as a sum over the modes' own planes."""
    p, q = s.shape[-1], teachers
    gap = -(s**2) / p
    gap[..., :q] += 1 / q
    unseen = max(q - p, 0)  # teachers beyond the number of students
    tau = gap.sum(axis=-1) - o.sum(axis=-1) / p + unseen / q
    square = gap**2 + 2 * s**2 * o / p**2 + o**2 / p**2
    return tau**2 + 2 * (square.sum(axis=-1) + unseen / q**2)


def _equations(
    problem: Problem, modes: StartModes, small_rate: bool, segment: np.ndarray
) -> Callable[[float, np.ndarray], np.ndarray]:
    """d(log growth of s, o)/d alpha within one segment of the schedule: its start, rate and slope."""
    p, q, training, k = problem.student.width, problem.teacher.width, problem.training, modes.singular_values.size
    begin, first, slope = segment

    def rhs(alpha: float, state: np.ndarray) -> np.ndarray:
        rate = first + slope * (alpha - begin)
        h, decay = 4 * training.loss_factor * rate / p, rate * training.weight_decay
        s, o = _parts(modes, state)
        norm = s**2 + o
        tau = 1 - norm.sum() / p
        growth = h * (tau + 2 / q - 2 * norm[:k] / p) - decay
        change = 2 * o * (h * (tau - 2 * norm / p) - decay)
        if not small_rate:
            pull = 1 / q - norm / p
            K = s**2 * pull - o * norm / p
            K2 = s**2 * pull**2 + o * norm**2 / p**2
            power = _mean_squared_error(s, o, q) + training.label_noise
            change += h**2 / training.batch * (power * norm + 4 * tau * K + 8 * K2)
        return np.concatenate([growth, change])

    return rhs

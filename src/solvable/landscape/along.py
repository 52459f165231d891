"""The landscape along a trajectory: which critical points it comes near to, and the curvature where it is. All from overlaps."""

import itertools
import math
from typing import NamedTuple

import numpy as np

from solvable.landscape.critical import (
    CriticalPoint,
    critical_points,
    equal_groups,
    families,
    risk_of,
    shift,
    teacher_directions,
)
from solvable.landscape.quadratic import LANDSCAPE, WHO, gradient, hessian, sphere_hessian
from solvable.overlaps import Overlaps, Weights, check_start, gram_factor
from solvable.problems import Problem
from solvable.results import Trajectory
from solvable.results.selecting import run_number


class Visit(NamedTuple):
    """A stay of a run near critical points of one kind.

    Parameters
    ----------
    outside, inside : int
        Numbers of directions outside the teachers' span, and of teacher directions learned, as in `CriticalPoint`.
    chosen : tuple of int
        Which of the teachers' directions.
    risk : float
        Risk of the critical points.
    start, end : float
        When the stay begins and ends, in the unit of the trajectory's clock.
    closest : float
        The smallest loss c <(y - y')^2> between the students' output y and that of a critical point, y'.

    Examples
    --------
    >>> sv.landscape.Visit(2, 0, (), 0.5, start=1.0, end=4.0, closest=0.01).length
    3.0
    """

    outside: int
    inside: int
    chosen: tuple[int, ...]
    risk: float
    start: float
    end: float
    closest: float

    @property
    def length(self) -> float:
        """How long the stay lasts."""
        return self.end - self.start


def visits(trajectory: Trajectory, run: int | None = None, *, within: float = 0.01) -> list[Visit]:
    """The critical points that a run of quadratic students comes near to, in order.

    A run is near one where the loss between its output and that of the nearest critical point is less than `within`
    times the loss of students of weight zero. At a finite learning rate students wait beside critical points of the
    risk, the further the larger the rate (`theory.plateau`), and may need a larger `within`.

    Parameters
    ----------
    trajectory : Trajectory
        Runs of quadratic students; ask for many outputs, because stays begin and end at outputs.
    run : int, optional
        Number of the run; may be left out where there is only one.
    within : float
        How near is near; the length of a stay depends on it.

    Returns
    -------
    list of Visit
        In the order of time.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.05, N=1000)
    >>> start = sv.start(problem, seed=0, students="orthogonal", cross=0.01)
    >>> run = sv.run(problem, start, sv.Macro(), until=200)
    >>> [(visit.outside, visit.inside) for visit in sv.landscape.visits(run)]
    [(2, 0), (0, 1)]
    """
    if not isinstance(within, int | float) or not within > 0:
        raise ValueError(f"within: {within!r} given, must be a positive number")
    problem, run = _problem_and_run("visits", trajectory, run)
    c, teachers = problem.training.loss_factor, trajectory.teacher_overlap[run]
    kappa, directions = teacher_directions(problem, teachers)
    found = families(problem.student.width, problem.inputs.dim, kappa)
    reached = np.isfinite(trajectory.risk[run])
    Q, R = trajectory.student_overlap[run][reached], trajectory.cross_overlap[run][reached]
    apart = c * _distances(found, kappa, Q, R @ directions)
    time, nearest = trajectory.time[reached], apart.argmin(axis=0)
    near = apart.min(axis=0) < within * risk_of(kappa, c, 0, ())
    label = np.where(near, nearest, -1)
    edges = [0, *(np.flatnonzero(np.diff(label)) + 1), len(label)]
    stays = [(int(label[i]), i, j) for i, j in itertools.pairwise(edges) if i < j and label[i] >= 0]
    return [
        Visit(
            found[k][0], len(found[k][1]), found[k][1], risk_of(kappa, c, *found[k]),
            float(time[i]), float(time[j - 1]), float(apart[k, i:j].min()),
        )
        for k, i, j in stays
    ]  # fmt: skip


def nearest(problem: Problem, state: Overlaps, count: int | None = None) -> list[tuple[CriticalPoint, float]]:
    """Critical points by their distance from a state, nearest first.

    The distance is the smallest loss c <(y - y')^2> between the output of students with these overlaps and that of a
    critical point of each kind. Another point may be nearer in risk.

    Parameters
    ----------
    problem : Problem
        Quadratic students and teachers with isotropic inputs of finite dim.
    state : Overlaps
        Where to measure from.
    count : int, optional
        How many to return; left out, all.

    Returns
    -------
    list of (CriticalPoint, float)
        Points with their distances.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=100)
    >>> state = sv.start(problem, seed=0, students="orthogonal", cross=0.01)
    >>> point, distance = sv.landscape.nearest(problem, state, count=1)[0]
    >>> point.outside, point.inside
    (2, 0)
    """
    if count is not None and (not isinstance(count, int) or isinstance(count, bool) or count < 1):
        raise ValueError(f"count: {count!r} given, must be a whole number, at least 1")
    LANDSCAPE.require(problem, WHO)
    check_start(problem, state)
    kappa, directions = teacher_directions(problem, state.teacher_overlap)
    points = critical_points(problem.replace(teacher__overlap=state.teacher_overlap.tolist()))
    kinds = [(point.outside, point.chosen) for point in points]
    Q, X = state.student_overlap[None], (state.cross_overlap @ directions)[None]
    apart = problem.training.loss_factor * _distances(kinds, kappa, Q, X)[:, 0]
    return [(points[i], float(apart[i])) for i in np.argsort(apart, kind="stable")[:count]]


def _problem_and_run(who: str, trajectory: Trajectory, run: int | None) -> tuple[Problem, int]:
    if not isinstance(trajectory, Trajectory):
        raise TypeError(f"landscape: the first argument must be a Trajectory, not {type(trajectory).__name__}")
    LANDSCAPE.require(trajectory.problem, WHO)
    return trajectory.problem, run_number(trajectory, who, run)


def _distances(found: list[tuple[int, tuple[int, ...]]], kappa: np.ndarray, Q: np.ndarray, X: np.ndarray) -> np.ndarray:
    """(family, time) (tr A - tr A')^2 + 2 |A - A'|^2 between A = U^T U / p and the nearest A' of a family: of equal directions,
    those along the largest eigenvalues of A. X (time, p, p*) are students along the teachers' directions."""
    p = Q.shape[1]
    outer = np.linalg.eigvalsh(Q - X @ X.transpose(0, 2, 1))[:, ::-1] / p
    inner = np.empty((len(Q), len(kappa)))
    for group in equal_groups(kappa):
        part = X[:, :, group]
        inner[:, group] = np.linalg.eigvalsh(part.transpose(0, 2, 1) @ part)[:, ::-1] / p
    trace, square = np.trace(Q, axis1=1, axis2=2) / p, np.sum(Q**2, axis=(1, 2)) / p**2
    result = np.empty((len(found), len(Q)))
    for i, (r, chosen) in enumerate(found):
        half = shift(kappa, r, chosen) / 2
        a = half + kappa[list(chosen)]
        overlap = inner[:, list(chosen)] @ a + half * outer[:, :r].sum(axis=1)
        norm = float(np.sum(a**2)) + r * half**2
        result[i] = (trace - a.sum() - r * half) ** 2 + 2 * np.maximum(square - 2 * overlap + norm, 0.0)
    return result


class Curvature(NamedTuple):
    """Eigenvalues of the Hessian of the risk by the weights over sqrt(dim).

    Parameters
    ----------
    inside : ndarray
        (..., p m) along the m directions that students and teachers span, each once. On the sphere (..., p (m - 1)):
        each student has one direction less.
    outside : ndarray
        (..., p) along any direction outside that span.
    room : int or None
        How many such directions there are; None if dim is infinite.

    Examples
    --------
    >>> curvature = sv.landscape.Curvature(inside=np.array([-1.0, 0.0, 2.0]), outside=np.array([1.0]), room=7)
    >>> int(curvature.number(1))
    8
    """

    inside: np.ndarray
    outside: np.ndarray
    room: int | None

    def number(self, sign: int, rounding: float = 1e-9) -> np.ndarray:
        """(...) how many eigenvalues are negative (sign -1), zero (0) or positive (1).

        Zero is what is below `rounding` times the largest. Near a critical point its flat directions have small
        eigenvalues of either sign: raise `rounding` to count them as zero.
        """
        if sign not in (-1, 0, 1):
            raise ValueError(f"sign: {sign!r} given, must be -1, 0 or 1")
        size = np.abs(self.inside).max(axis=-1, keepdims=True)
        inside, outside = (
            (np.sign(np.where(np.abs(part) < rounding * size, 0.0, part)) == sign).sum(axis=-1)
            for part in (self.inside, self.outside)
        )
        if self.room is None and np.any(outside > 0):
            raise ValueError("number: dim is infinite, and so is the number of these directions")
        counted: np.ndarray = inside + (self.room or 0) * outside
        return counted


def curvature(problem: Problem, state: Overlaps) -> Curvature:
    """All eigenvalues of the risk's Hessian at weights with these overlaps, at any dim.

    Parameters
    ----------
    problem : Problem
        Quadratic students and teachers with isotropic inputs.
    state : Overlaps
        Where.

    Returns
    -------
    Curvature
        Eigenvalues within and outside the span of all units.

    Notes
    -----
    Any direction outside that span gives the same p x p matrix, 8 c a_k a_j Q_kj - 4 c a_k tau delta_kj; along the
    sphere it has u_k . grad_k delta_kj less.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=100)
    >>> found = sv.landscape.curvature(problem, sv.start(problem, seed=0))
    >>> found.inside.shape, found.outside.shape, found.room
    ((6,), (2,), 97)
    """
    LANDSCAPE.require(problem, WHO)
    check_start(problem, state)
    units = state.stacked.shape[1]
    span = units if problem.inputs.dim is None else min(units, problem.inputs.dim)
    rows = math.sqrt(span) * gram_factor(state.stacked, span, rounding=1e-14)[0]
    p, c = problem.student.width, problem.training.loss_factor
    a = problem.student.readout_values if not problem.training.train_readout else state.readout
    weights, small = Weights(rows[:p], rows[p:], a), problem.replace(inputs__dim=span)
    if problem.student.norm == "sphere":
        along = _tangents(rows[:p])
        inside = np.linalg.eigvalsh(along.T @ sphere_hessian(small, weights) @ along)
        pull = np.sum(rows[:p] * gradient(small, weights), axis=1) / math.sqrt(span)
    else:
        inside, pull = np.linalg.eigvalsh(hessian(small, weights)), np.zeros(p)
    Q, T = state.student_overlap, state.teacher_overlap
    tau = problem.teacher.readout_values @ np.diag(T) - a @ np.diag(Q)
    outside = np.linalg.eigvalsh(8 * c * np.outer(a, a) * Q - 4 * c * tau * np.diag(a) - np.diag(pull))
    return Curvature(inside, outside, None if problem.inputs.dim is None else problem.inputs.dim - span)


def _tangents(rows: np.ndarray) -> np.ndarray:
    """(p m, p (m - 1)) an orthonormal basis of the directions in which no row of (p, m) changes its length."""
    p, m = rows.shape
    basis = np.zeros((p, m, p, m - 1))
    for k, row in enumerate(rows):
        basis[k, :, k, :] = np.linalg.qr(row[:, None], mode="complete")[0][:, 1:]
    return basis.reshape(p * m, p * (m - 1))


def curvature_along(trajectory: Trajectory, run: int | None = None) -> Curvature:
    """`curvature` at every output that a run reached.

    Parameters
    ----------
    trajectory : Trajectory
        Runs of quadratic students.
    run : int, optional
        Number of the run; may be left out where there is only one.

    Returns
    -------
    Curvature
        With a leading time axis.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=100)
    >>> run = sv.run(problem, sv.start(problem, seed=0), sv.Macro(), times=[0, 5, 10])
    >>> sv.landscape.curvature_along(run).outside.shape
    (3, 2)
    """
    _, run = _problem_and_run("curvature_along", trajectory, run)
    times = trajectory.time[np.isfinite(trajectory.risk[run])]
    found = [curvature(trajectory.problem, trajectory.at(time, run)) for time in times]
    return Curvature(np.array([one.inside for one in found]), np.array([one.outside for one in found]), found[0].room)

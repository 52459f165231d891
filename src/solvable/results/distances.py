"""Methods of `Trajectory`: how far its states are from another state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from solvable.overlaps import Overlaps, nearest_frame

if TYPE_CHECKING:
    from solvable.results.trajectory import Trajectory


def frame_drift(self: Trajectory, since: Overlaps | None = None) -> np.ndarray:
    """How far `frame` has moved: the Frobenius norm |S(t) - S(0)|.

    Parameters
    ----------
    since : Overlaps, optional
        The state to compare with; left out, the first output.

    Returns
    -------
    ndarray
        (run, time) distances. Unrelated frames are about sqrt(2 p*) apart.

    Examples
    --------
    >>> bool(run.frame_drift().max() < 1e-6)
    True
    """
    if since is not None:
        _check_state("frame_drift", self, since)
    frame = self.frame
    first = frame[:, :1] if since is None else nearest_frame(since.cross_overlap)
    drift: np.ndarray = np.linalg.norm(frame - first, axis=(2, 3))
    return drift


def distance(self: Trajectory, target: Overlaps, of: str = "weights") -> np.ndarray:
    """Distance of every state from a target whose students lie in the span of the teachers.

    Parameters
    ----------
    target : Overlaps
        The state to measure from, for instance what `theory.nearest_solution` returns.
    of : str
        "weights": |W - W'|/sqrt(dim), with the same teacher weights; "cross_overlap": |R - R'| (both Frobenius
        norms).

    Returns
    -------
    ndarray
        (run, time) distances.

    Examples
    --------
    >>> solution = sv.theory.nearest_solution(problem, start).value
    >>> bool(run.distance(solution)[0, -1] < 0.1 * run.distance(solution)[0, 0])
    True
    """
    _check_state("distance", self, target)
    if self.problem.teacher.is_moving:
        raise ValueError(
            "distance: the teachers move, so their overlaps with students do not tell where the students are"
        )
    R, T = target.cross_overlap, target.teacher_overlap
    if self.problem.inputs.blocks > 1 and of == "weights":
        raise ValueError("distance: with several blocks of inputs the weights' distance is not in the total overlaps")
    if np.abs(self.teacher_overlap - T).max() > 1e-9 * np.abs(T).max():
        raise ValueError("distance: the target has other teachers than the trajectory")
    if of == "cross_overlap":
        apart: np.ndarray = np.linalg.norm(self.cross_overlap - R, axis=(2, 3))
        return apart
    if of != "weights":
        raise ValueError(f"of: {of!r} given, must be 'weights' or 'cross_overlap'")
    return _weight_distance(self, target)


def _weight_distance(trajectory: Trajectory, target: Overlaps) -> np.ndarray:
    """(run, time) |W - W'|/sqrt(dim). Students of the target are W' = R' T^-1 W*, so its square is
    tr Q - 2 tr(R T^-1 R'^T) + tr Q'."""
    Q, R, T = target.student_overlap, target.cross_overlap, target.teacher_overlap
    mixing = R @ np.linalg.pinv(T, hermitian=True)
    if np.abs(mixing @ R.T - Q).max() > 1e-9 * np.abs(Q).max():
        raise ValueError(
            "distance: the target's students leave the span of the teachers, so overlaps do not tell how far it is"
        )
    norms = np.trace(trajectory.student_overlap, axis1=2, axis2=3)
    squared = norms - 2 * np.einsum("rtkl,kl->rt", trajectory.cross_overlap, mixing) + np.trace(Q)
    return np.sqrt(np.maximum(squared, 0.0))


def _check_state(who: str, trajectory: Trajectory, state: Overlaps) -> None:
    """Raise unless `state` has the shape of the trajectory's."""
    if not isinstance(state, Overlaps):
        hint = "; take its .value" if hasattr(state, "value") else ""
        raise TypeError(f"{who}: must be given Overlaps, not {type(state).__name__}{hint}")
    found = state.block_cross_overlap.shape
    expected = (trajectory.problem.inputs.blocks, *trajectory.cross_overlap.shape[2:])
    if found != expected:
        raise ValueError(f"{who}: the state has (blocks, students, teachers) = {found}, the trajectory {expected}")

"""Whether a state that has stopped moving stays where it is, or leaves an unstable plateau too slowly to be seen yet.

Near a state y whose slope f(y) is small, the equations are linear: in a time T it moves by

    integral_0^T exp(J s) ds f(y),      J = df/dy

which is f(y) T only if nothing grows. Rounding of the slope grows as well, and tells nothing: a plateau that the equations never
leave would seem to be left.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

MOST = 240  # components of a state; Jacobian and exponential of larger ones would take longer than many a run
GROWTH = 500.0  # exponents beyond it overflow
NEAR = 1e-2  # of the largest overlap with a teacher
ROUNDING = 64 * np.finfo(float).eps  # of the terms that a slope is the sum of
CHANGE = 1e-5  # of a component, for central differences
DIFFERENCES = 1e-8  # of the largest eigenvalue: error that rounding, over CHANGE, leaves in the others


def alike(cross: np.ndarray) -> bool:
    """Whether two students, or two teachers, have nearly the same overlaps with the others: only where units may be exchanged is
    there a plateau that differences smaller than a tolerance can leave."""
    size = np.abs(cross).max(initial=0.0)
    for rows in (cross, cross.T):
        apart = np.abs(rows[:, None] - rows[None]).max(axis=2, initial=0.0)[np.triu_indices(len(rows), 1)]
        if (apart <= NEAR * size).any():
            return True
    return False


def jacobian(slope: Callable[[np.ndarray], np.ndarray], y: np.ndarray) -> np.ndarray:
    """(component, component) df_i/dy_j by central differences."""
    steps = CHANGE * np.maximum(np.abs(y), 0.1 * np.abs(y).max())
    columns = [
        (slope(y + h * unit) - slope(y - h * unit)) / (2 * h) for h, unit in zip(steps, np.eye(y.size), strict=True)
    ]
    return np.stack(columns, axis=1)


def leaves(slope: Callable[[np.ndarray], np.ndarray], y: np.ndarray, span: float, rtol: float) -> bool:
    """Whether, within a time `span`, some component of y would move by more than rtol, for another reason than rounding. Too large
    states are taken for steady."""
    if y.size > MOST:
        return False
    speed, J = slope(y), jacobian(slope, y)
    if not np.isfinite(J).all():
        return False
    fastest = float(np.linalg.eigvals(J).real.max())  # J is finite, so that there are some
    if not fastest * span > 1.0:  # nothing grows: a steady slope was looked at before
        return False
    moves = integrated_flow(J, min(span, GROWTH / fastest))
    certain = np.abs(moves @ speed) > np.abs(moves) @ (ROUNDING * (np.abs(J) @ np.abs(y)))
    return bool((certain & (np.abs(moves @ speed) > rtol * np.abs(y))).any())


def rest_of(slope: Callable[[np.ndarray], np.ndarray], y: np.ndarray, span: float, rtol: float) -> np.ndarray | None:
    """Return the fixed point near which a state y stays for a time `span`; None where something moves by more than rtol.

    Explicit steps at the limit of their stability jump about a stable fixed point by as much as their tolerance, so that slopes
    there never look small. The linear equations around y tell where it goes: each component by at most rtol of itself, or of the
    largest where it fades towards zero. A state from which anything grows is not at rest; one that is too large is not looked at.
    """
    if y.size > MOST:
        return None
    speed, J = slope(y), jacobian(slope, y)
    if not (np.isfinite(J).all() and np.isfinite(speed).all()):
        return None
    values = np.linalg.eigvals(J)
    resolved = DIFFERENCES * np.abs(values).max()  # smaller eigenvalues are errors of the differences
    if not values.real.max() <= max(1.0 / span, resolved):
        return None
    flow = integrated_flow(J, span)
    move, rounding = flow @ speed, np.abs(flow) @ (ROUNDING * (np.abs(J) @ np.abs(y)))
    fades = (move * y <= 0.0) & (np.abs(move) <= rtol * np.abs(y).max())
    steady = fades | (np.abs(move) <= np.maximum(rtol * np.abs(y), rounding))
    return y + np.where(np.abs(move) <= rounding, 0.0, move) if steady.all() else None


def integrated_flow(J: np.ndarray, span: float) -> Any:
    """integral_0^span exp(J s) ds."""
    from scipy.linalg import expm

    n = len(J)
    whole = np.zeros((2 * n, 2 * n))
    whole[:n, :n], whole[:n, n:] = span * J, span * np.eye(n)
    return expm(whole)[:n, n:]

"""The string method: a path of least resistance between two points (e2007's simplified form).

A chain of images hangs between the ends. Every image follows the flow for a while, then all are set back to equal distances along
the chain, until nothing moves. Flow lines do not depend on how fast they are followed, so every image takes a step of its own:
as long as its neighbours are apart, linearly implicit, which converges where the flow is stiff or slow.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from solvable.numerics.threads import interruptible, raise_if_abandoned

LONGEST = 1e4  # of a step in time, over the size of the Jacobian, where the flow has almost come to rest


class Landscape(Protocol):
    """What `string` asks of a landscape: a protocol, which no class needs to inherit. `points` is (images, n) everywhere.

    Examples
    --------
    >>> bowl = sv.landscape.Potential(lambda x: x @ x / 2, lambda x: x)
    >>> bowl.force(np.array([[1.0, 0.0]]))
    array([[-1., -0.]])
    """

    def energy(self, points: np.ndarray) -> np.ndarray:
        """(images,) height of each point."""
        ...

    def force(self, points: np.ndarray) -> np.ndarray:
        """(images, n) velocity of the flow: downhill, in whatever metric."""
        ...

    def jacobian(self, points: np.ndarray) -> np.ndarray:
        """(images, n, n) derivative of the force."""
        ...

    def growth(self, points: np.ndarray) -> np.ndarray:
        """(images,) about the fastest rate at which neighbouring flow lines part."""
        ...

    def project(self, points: np.ndarray) -> np.ndarray:
        """(images, n) the nearest points that are allowed."""
        ...


@dataclass(frozen=True)
class Potential:
    """A landscape from functions of one point x (n,).

    Parameters
    ----------
    function : callable
        Height, a number.
    gradient : callable
        (n,) its gradient.
    hessian : callable, optional
        (n, n) its Hessian; left out, by finite differences of the gradient.

    Examples
    --------
    >>> bowl = sv.landscape.Potential(lambda x: x @ x / 2, lambda x: x)
    >>> bowl.energy(np.array([[1.0, 0.0], [0.0, 2.0]]))
    array([0.5, 2. ])
    """

    function: Any
    gradient: Any
    hessian: Any = None

    def energy(self, points: np.ndarray) -> np.ndarray:
        """(images,) the function at each point."""
        return np.array([float(self.function(x)) for x in points])

    def force(self, points: np.ndarray) -> np.ndarray:
        """(images, n) minus the gradient."""
        return -np.array([np.asarray(self.gradient(x), dtype=float) for x in points])

    def jacobian(self, points: np.ndarray) -> np.ndarray:
        """(images, n, n) derivative of the force."""
        if self.hessian is not None:
            return -np.array([np.asarray(self.hessian(x), dtype=float) for x in points])
        n = points.shape[1]
        made = np.empty((*points.shape, n))
        for i in range(n):
            step = 6e-6 * np.maximum(np.abs(points).max(axis=1), 1e-3)
            nudge = np.zeros_like(points)
            nudge[:, i] = step
            made[:, :, i] = (self.force(points + nudge) - self.force(points - nudge)) / (2 * step[:, None])
        return made

    def growth(self, points: np.ndarray) -> np.ndarray:
        """(images,) largest eigenvalue of the Jacobian's symmetric part: how fast neighbouring flow lines part."""
        matrices = self.jacobian(points)
        fastest: np.ndarray = np.linalg.eigvalsh(matrices + matrices.swapaxes(1, 2))[:, -1] / 2
        return fastest

    def project(self, points: np.ndarray) -> np.ndarray:
        """The points themselves: all are allowed."""
        return points


@dataclass(frozen=True, eq=False)
class String:
    """A path between two points, as a chain of images at equal distances.

    Parameters
    ----------
    points : ndarray
        (images, n).
    energy : ndarray
        (images,) heights of the images.
    moved : float
        How far the last iteration moved the images at most, over the length of the string.
    iterations : int
        How many iterations it took.
    converged : bool
        Whether `moved` fell below the tolerance.

    Examples
    --------
    >>> path = sv.landscape.String(np.array([[0.0, 0.0], [3.0, 4.0]]), np.zeros(2), moved=0.0, iterations=1, converged=True)
    >>> path.length
    5.0
    """

    points: np.ndarray
    energy: np.ndarray
    moved: float
    iterations: int
    converged: bool

    @property
    def length(self) -> float:
        """Length of the path."""
        return float(np.linalg.norm(np.diff(self.points, axis=0), axis=1).sum())


@interruptible
def string(
    landscape: Landscape,
    start: Any,
    end: Any,
    *,
    images: int = 100,
    tolerance: float = 1e-4,
    iterations: int = 500,
) -> String:
    """The path of least resistance between two points, by the string method.

    Parameters
    ----------
    landscape : Landscape
        A `Potential`, or for instance `empirical.TrainingLandscape`.
    start, end : array
        (n,) the two ends, which stay where they are; the string begins straight.
    images : int
        How many points the string has.
    tolerance : float
        It has converged when an iteration moves no image by more than this part of the string's length.
    iterations : int
        How many are made at most.

    Returns
    -------
    String
        The path with its heights.

    Examples
    --------
    >>> double_well = sv.landscape.Potential(
    ...     lambda x: (x[0] ** 2 - 1) ** 2 + x[1] ** 2, lambda x: np.array([4 * x[0] * (x[0] ** 2 - 1), 2 * x[1]])
    ... )
    >>> path = sv.landscape.string(double_well, [-1.0, 0.0], [1.0, 0.0], images=21)
    >>> round(float(path.energy.max()), 3)
    1.0
    """
    if not all(hasattr(landscape, name) for name in ("energy", "force", "jacobian", "growth", "project")):
        raise TypeError(f"string: {type(landscape).__name__} given, must be a Potential or another Landscape")
    first, last = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    if first.ndim != 1 or first.shape != last.shape or not (np.isfinite(first).all() and np.isfinite(last).all()):
        raise ValueError(
            f"string: ends of shape {first.shape} and {last.shape} given, must be finite vectors of equal length"
        )
    if (first == last).all():
        raise ValueError("string: start and end are the same point")
    for name, value, least in [("images", images, 3), ("iterations", iterations, 1)]:
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise ValueError(f"{name}: {value!r} given, must be a whole number, at least {least}")
    if not tolerance > 0:
        raise ValueError(f"tolerance: {tolerance!r} given, must be positive")
    points = first + np.linspace(0, 1, images)[:, None] * (last - first)
    moved, done = np.inf, 0
    while done < iterations and not moved <= tolerance:
        raise_if_abandoned()
        length = np.linalg.norm(np.diff(points, axis=0), axis=1).sum()
        new = points.copy()
        new[1:-1] = landscape.project(points[1:-1] + _step(landscape, points[1:-1], length / (images - 1)))
        new = _even(new)
        moved = float(np.linalg.norm(new - points, axis=1).max() / length)
        points, done = new, done + 1
        if not np.isfinite(moved):
            raise ArithmeticError(f"string: the images are lost after {done} iterations")
    return String(points, landscape.energy(points), moved, done, moved <= tolerance)


def _step(landscape: Landscape, points: np.ndarray, spacing: float) -> np.ndarray:
    """How far the flow takes each image in a time of its own, (1/dt - J) step = force."""
    force, matrices = landscape.force(points), -landscape.jacobian(points)
    if force.shape != points.shape:
        raise ValueError(f"string: the gradient has {force.shape[1:]} numbers at a point of {points.shape[1:]}")
    speed, size = np.linalg.norm(force, axis=1), np.linalg.norm(matrices, axis=(1, 2))
    times = np.minimum(LONGEST / np.maximum(size, 1e-300), spacing / np.maximum(speed, 1e-300))
    times = np.minimum(times, 0.5 / np.maximum(landscape.growth(points), 1e-300))
    diagonal = np.arange(points.shape[1])
    matrices[:, diagonal, diagonal] += 1 / times[:, None]
    step = np.linalg.solve(matrices, force[:, :, None])[:, :, 0]
    plain = np.minimum(times, 1 / np.maximum(size, 1e-300))[:, None] * force
    return np.where(
        ((step * force).sum(axis=1) >= 0)[:, None], step, plain
    )  # an implicit step may go uphill where lines part


def _even(points: np.ndarray) -> np.ndarray:
    """The same chain with images at equal distances, by straight lines between them (so that convex sets are not left)."""
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    wanted = np.linspace(0, along[-1], len(points))
    right = np.clip(np.searchsorted(along, wanted, side="right"), 1, len(points) - 1)
    left = right - 1
    share = (wanted - along[left]) / np.maximum(along[right] - along[left], 1e-300)
    made = points[left] + share[:, None] * (points[right] - points[left])
    made[0], made[-1] = points[0], points[-1]
    return made

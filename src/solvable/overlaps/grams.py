"""Gram matrices to begin with: from norms and a pair overlap, and per block from what they sum to."""

from typing import Any

import numpy as np

from solvable.overlaps.measuring import as_array
from solvable.overlaps.state import InvalidStart
from solvable.problems import Problem

ROUNDING = 1e-9  # relative, as `Overlaps` allows


def gram(size: int, norm: Any = 1.0, overlap: float = 0.0) -> np.ndarray:
    """Overlaps of units that are all alike but for their norms.

    Parameters
    ----------
    size : int
        Number n of units.
    norm : float or (n,) array
        The diagonal, w.w/dim: squared norms over dim.
    overlap : float
        All other entries, w.w'/dim of any two units.

    Returns
    -------
    (n, n) array
        For `Teacher(overlap=...)` or `start(..., student_overlap=...)`. InvalidStart where no units have these overlaps.

    Examples
    --------
    >>> import solvable as sv
    >>> sv.overlaps.gram(2, norm=[1.0, 4.0], overlap=0.5).tolist()
    [[1.0, 0.5], [0.5, 4.0]]
    """
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 1:
        raise InvalidStart(f"size: {size!r} given, must be a whole number, at least 1")
    norms = as_array(norm)
    if norms.shape not in ((), (size,)) or not (np.isfinite(norms).all() and (norms >= 0).all()):
        raise InvalidStart(f"norm: {norm!r} given, must be a number or one for each of {size} units, none negative")
    if not np.isfinite(overlap):
        raise InvalidStart(f"overlap: {overlap!r} given, must be finite")
    made = np.full((size, size), float(overlap))
    np.fill_diagonal(made, norms)
    lowest = float(np.linalg.eigvalsh(made)[0])
    if lowest < -ROUNDING * np.abs(made).max():
        least = f"from {-1 / max(size - 1, 1):.3g} to 1 times the norm" if norms.ndim == 0 else "nearer to zero"
        raise InvalidStart(
            f"overlap: {overlap:g} given, must be {least} for {size} units, or the matrix has the eigenvalue {lowest:.3g}"
        )
    return made


def block_gram(problem: Problem, first: Any, second: Any) -> np.ndarray:
    """Overlaps in every block of inputs from their sums of first and second order.

    Parameters
    ----------
    problem : Problem
        Whose inputs have the blocks: eigenvalues lambda_b, which hold shares f_b of the dimensions.
    first : (n, n) array
        sum_b Omega^b, the overlaps w.w'/dim.
    second : (n, n) array
        sum_b lambda_b Omega^b, the covariance of the fields.

    Returns
    -------
    (blocks, n, n) array
        For `start(..., block_teacher_overlap=...)`; rows of students and teachers may be stacked. InvalidStart where no units
        have these sums.

    Examples
    --------
    >>> import numpy as np
    >>> import solvable as sv
    >>> problem = sv.problems.convention("worschech2024").problem(K=2, M=2, eta=0.1, beta=1.0, L=2)
    >>> blocks = sv.overlaps.block_gram(problem, sv.overlaps.gram(2), sv.overlaps.gram(2, norm=1.2, overlap=0.1))
    >>> np.tensordot(problem.inputs.eigenvalues, blocks, axes=1).round(12).tolist()
    [[1.2, 0.1], [0.1, 1.2]]

    Notes
    -----
    Such blocks exist where lambda_min first <= second <= lambda_max first (as forms): each is positive, so no direction has a ratio
    of second to first beyond the eigenvalues; within them the blocks of the smallest and the largest eigenvalue are enough. Of all
    solutions this one departs least from f_b in every direction v in which first and second are both diagonal: with the ratio mu
    there, it gives block b the share proportional to f_b exp(theta lambda_b), theta such that the mean of lambda is mu. So
    second = (sum_b f_b lambda_b) first gives f_b first.
    """
    inputs = problem.inputs.at(0.0)
    G, H = _form("first", first), _form("second", second)
    if G.shape != H.shape:
        raise InvalidStart(f"second: shape {H.shape} given, must be {G.shape} as first")
    values, vectors = np.linalg.eigh(G)
    if values[0] < -ROUNDING * values[-1]:
        raise InvalidStart(f"first: must be positive semidefinite but has the eigenvalue {values[0]:.3g}")
    kept = values > 1e-12 * max(values[-1], 1e-300)
    root, inverse = vectors[:, kept] * np.sqrt(values[kept]), vectors[:, kept] / np.sqrt(values[kept])
    ratios, turn = np.linalg.eigh(inverse.T @ H @ inverse)
    frame = root @ turn
    low, high = float(inputs.eigenvalues.min()), float(inputs.eigenvalues.max())
    if np.abs((frame * ratios) @ frame.T - H).max() > ROUNDING * max(np.abs(H).max(), high * np.abs(G).max()):
        raise InvalidStart("second: is not zero in a direction in which first is, where there is nothing to sum")
    if ratios.size and (ratios[0] < low - ROUNDING * high or ratios[-1] > high * (1 + ROUNDING)):
        raise InvalidStart(
            f"second: over first it is {ratios[0]:.6g} to {ratios[-1]:.6g} along some direction, must be between the smallest and "
            f"the largest eigenvalue of the inputs, {low:.6g} and {high:.6g}"
        )
    shares = np.array([_shares(inputs.eigenvalues, inputs.fractions, ratio) for ratio in ratios])
    return np.einsum("ib,ni,mi->bnm", shares.reshape(-1, inputs.blocks), frame, frame)


def _form(name: str, given: Any) -> np.ndarray:
    matrix = as_array(given)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not np.isfinite(matrix).all():
        raise InvalidStart(f"{name}: shape {matrix.shape} given, must be a finite matrix (n, n)")
    if np.abs(matrix - matrix.T).max(initial=0.0) > 1e-10 * np.abs(matrix).max(initial=0.0):
        raise InvalidStart(f"{name}: must be symmetric")
    return matrix


def _shares(eigenvalues: np.ndarray, fractions: np.ndarray, mean: float) -> np.ndarray:
    """Shares proportional to fractions x exp(theta x eigenvalues), with this mean eigenvalue."""
    from scipy.optimize import brentq

    low, high = float(eigenvalues.min()), float(eigenvalues.max())
    width = high - low
    if width <= ROUNDING * high:
        return fractions
    if not low + 1e-12 * width < mean < high - 1e-12 * width:
        chosen = fractions * (eigenvalues == (low if mean < 0.5 * (low + high) else high))
        return chosen / chosen.sum()
    apart = (eigenvalues - mean) / width

    def tilted(theta: float) -> np.ndarray:
        weights = fractions * np.exp(theta * apart - np.max(theta * apart))
        return weights / weights.sum()

    def beyond(theta: float) -> float:
        return float(tilted(theta) @ apart)

    reach = 1.0
    while not beyond(-reach) < 0 < beyond(reach):
        reach *= 2
    return tilted(brentq(beyond, -reach, reach, xtol=1e-14))

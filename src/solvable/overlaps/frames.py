"""The orthonormal frame nearest to a cross overlap: which combinations of students learn which teachers."""

import numpy as np


def nearest_frame(cross_overlap: np.ndarray) -> np.ndarray:
    """Polar factor S = R (R^T R)^(-1/2) of cross overlaps: the nearest matrix with S^T S = 1.

    Parameters
    ----------
    cross_overlap : ndarray
        (..., p, p*) with p >= p*.

    Returns
    -------
    ndarray
        (..., p, p*), by singular values. NaN where R loses rank or is not finite.

    Examples
    --------
    >>> sv.overlaps.nearest_frame(np.array([[0.3], [0.4]]))
    array([[0.6],
           [0.8]])
    """
    if cross_overlap.shape[-2] < cross_overlap.shape[-1]:
        raise ValueError("nearest_frame: needs at least as many students as teachers")
    finite = np.isfinite(cross_overlap).all(axis=(-2, -1))
    U, values, Vt = np.linalg.svd(np.where(finite[..., None, None], cross_overlap, 0.0), full_matrices=False)
    frame = U @ Vt
    lost = values[..., -1] <= 1e-13 * values[..., 0]
    return np.where(lost[..., None, None], np.nan, frame)

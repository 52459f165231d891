"""The orthonormal frame nearest to a cross overlap: which student directions the teachers are being learned by."""

import numpy as np


def nearest_frame(cross_overlap: np.ndarray) -> np.ndarray:
    """Polar factor S = R (R^T R)^(-1/2) of cross overlaps (..., p, p*), p >= p*: S^T S = 1. By singular values, so that
    nothing is squared. Not defined where R loses rank (or is not finite): then NaN."""
    if cross_overlap.shape[-2] < cross_overlap.shape[-1]:
        raise ValueError("nearest_frame: needs at least as many students as teachers")
    finite = np.isfinite(cross_overlap).all(axis=(-2, -1))
    U, values, Vt = np.linalg.svd(np.where(finite[..., None, None], cross_overlap, 0.0), full_matrices=False)
    frame = U @ Vt
    lost = values[..., -1] <= 1e-13 * values[..., 0]
    return np.where(lost[..., None, None], np.nan, frame)

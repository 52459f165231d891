"""Overlaps from an integrator, which are possible only up to its tolerance."""

import numpy as np

from solvable.overlaps.state import ARRAYS, Overlaps


def repaired(
    student: np.ndarray,
    cross: np.ndarray,
    teacher: np.ndarray,
    readout: np.ndarray,
    *,
    sphere: bool = False,
    extras: tuple[str, ...] = (),
    extra: np.ndarray | None = None,
    scalars: np.ndarray | None = None,
    scalar_roles: tuple[str, ...] = (),
) -> Overlaps:
    """Overlaps from an integrator, moved to the nearest possible ones.

    An integrator's overlaps may be impossible by the size of its tolerance, where students coincide with teachers.
    Teachers, extra rows and cross overlaps stay; of what the students have outside the teachers' span, the negative part is
    removed.

    Parameters
    ----------
    student, cross, teacher : ndarray
        (blocks, p, p), (blocks, p, p*) and (blocks, p*, p*).
    readout : ndarray
        (p,), or (heads, p).
    extras : tuple of str
        Roles of further rows, as in `Overlaps`.
    extra : ndarray, optional
        (blocks, extra, p + p* + extra) their overlaps with all rows.
    scalars, scalar_roles : ndarray and tuple of str, optional
        Numbers beside the readout and what they are, as in `Overlaps`.
    sphere : bool
        Whether students are then scaled back to norm one.

    Returns
    -------
    Overlaps
        A possible state.

    Examples
    --------
    >>> one = np.ones((1, 1, 1))
    >>> sv.overlaps.repaired(one - 1e-12, one, one, np.ones(1)).student_overlap
    array([[1.]])
    """
    p, q = cross.shape[1:]
    if extra is not None:
        teacher = _without_negative(np.block([[teacher, extra[:, :, p : p + q].transpose(0, 2, 1)], [extra[:, :, p:]]]))
        cross = np.concatenate([cross, extra[:, :, :p].transpose(0, 2, 1)], axis=2)
    inverse = np.linalg.pinv(teacher, rcond=1e-12, hermitian=True)
    cross = cross @ inverse @ teacher
    inside = cross @ inverse @ cross.transpose(0, 2, 1)
    values, vectors = np.linalg.eigh(student - inside)
    outside = (vectors * np.maximum(values, 0.0)[:, None, :]) @ vectors.transpose(0, 2, 1)
    total = np.where(values[:, :1, None] < 0, inside + outside, student)
    total = 0.5 * (total + total.transpose(0, 2, 1))
    if sphere:
        norms = np.sqrt(np.einsum("bkk->k", total))
        total, cross = total / np.outer(norms, norms), cross / norms[:, None]
    scalars = np.zeros(0) if scalars is None else scalars
    if extra is None:
        return Overlaps(total, cross, teacher, readout, scalars=scalars, scalar_roles=scalar_roles)
    rows = np.concatenate([cross[:, :, q:].transpose(0, 2, 1), teacher[:, q:]], axis=2)
    return Overlaps(total, cross[:, :, :q], teacher[:, :q, :q], readout, extras, rows, scalars, scalar_roles)


def _without_negative(gram: np.ndarray) -> np.ndarray:
    """The same without the negative part that moving teachers may have got; as it is where there is none."""
    values, vectors = np.linalg.eigh(gram)
    clipped = (vectors * np.maximum(values, 0.0)[:, None, :]) @ vectors.transpose(0, 2, 1)
    is_negative = values[:, :1, None] < -1e-12 * np.abs(values[:, -1:, None])
    return np.where(is_negative, 0.5 * (clipped + clipped.transpose(0, 2, 1)), gram)


def integrated(
    student: np.ndarray,
    cross: np.ndarray,
    teacher: np.ndarray,
    readout: np.ndarray,
    extras: tuple[str, ...] = (),
    extra: np.ndarray | None = None,
    scalars: np.ndarray | None = None,
) -> Overlaps:
    """Overlaps as an integrator has them, without a check: possible only up to its tolerance.

    Parameters
    ----------
    student, cross, teacher : ndarray
        (blocks, p, p), (blocks, p, p*) and (blocks, p*, p*).
    readout : ndarray
        (p,), or (heads, p).
    extras : tuple of str
        Roles of further rows, as in `Overlaps`.
    extra : ndarray, optional
        (blocks, extra, p + p* + extra) their overlaps with all rows.
    scalars : ndarray, optional
        Numbers beside the readout, as in `Overlaps`.

    Returns
    -------
    Overlaps
        With copies of these arrays.

    Examples
    --------
    >>> one = np.ones((1, 1, 1))
    >>> bool(sv.overlaps.integrated(one - 1e-12, one, one, np.ones(1)).student_overlap < 1)
    True
    """
    made = object.__new__(Overlaps)
    extra = np.zeros((len(student), 0, student.shape[1] + teacher.shape[1])) if extra is None else extra
    scalars = np.zeros(0) if scalars is None else scalars
    for name, array in zip(ARRAYS, (student, cross, teacher, readout, extra, scalars), strict=True):
        kept = array.copy()
        kept.setflags(write=False)
        object.__setattr__(made, name, kept)
    object.__setattr__(made, "extras", extras)
    object.__setattr__(made, "scalar_roles", ())
    return made

"""The state that all levels share: how all units overlap, in each block of equal input variance."""

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np


class InvalidStart(ValueError):
    """Overlaps that no weights have, or that do not belong to the problem."""


def repaired(
    student: np.ndarray, cross: np.ndarray, teacher: np.ndarray, readout: np.ndarray, *, sphere: bool = False
) -> "Overlaps":
    """Overlaps from an integrator, moved to the nearest possible ones.

    An integrator's overlaps may be impossible by the size of its tolerance, where students coincide with teachers.
    Teachers and cross overlaps stay; of what the students have outside the teachers' span, the negative part is
    removed.

    Parameters
    ----------
    student, cross, teacher : ndarray
        (blocks, p, p), (blocks, p, p*) and (blocks, p*, p*).
    readout : ndarray
        (p,).
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
    return Overlaps(total, cross, teacher, readout)


def integrated(student: np.ndarray, cross: np.ndarray, teacher: np.ndarray, readout: np.ndarray) -> "Overlaps":
    """Overlaps as an integrator has them, without a check: possible only up to its tolerance.

    Parameters
    ----------
    student, cross, teacher : ndarray
        (blocks, p, p), (blocks, p, p*) and (blocks, p*, p*).
    readout : ndarray
        (p,).

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
    for name, array in zip(Overlaps.__dataclass_fields__, (student, cross, teacher, readout), strict=True):
        kept = array.copy()
        kept.setflags(write=False)
        object.__setattr__(made, name, kept)
    return made


@dataclass(frozen=True)
class Overlaps:
    """The state that all levels share: overlaps w.w'/dim of students and teachers within each block, and the readout.

    Arrays are read-only. Overlaps that no weights have are refused with `InvalidStart`.

    Parameters
    ----------
    block_student_overlap : array
        (blocks, p, p) overlaps between students.
    block_cross_overlap : array
        (blocks, p, p*) overlaps of students with teachers.
    block_teacher_overlap : array
        (blocks, p*, p*) overlaps between teachers.
    readout : array
        (p,) second layer of the students.

    Examples
    --------
    >>> state = sv.Overlaps([[[1.0]]], [[[0.6]]], [[[1.0]]], readout=[1.0])
    >>> state.cross_overlap
    array([[0.6]])
    """

    block_student_overlap: np.ndarray
    block_cross_overlap: np.ndarray
    block_teacher_overlap: np.ndarray
    readout: np.ndarray

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            array = np.array(getattr(self, name), dtype=float)
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        self._check_shapes()
        self._check_cone()

    @property
    def student_overlap(self) -> np.ndarray:
        """(p, p) overlaps between students, summed over the blocks."""
        return self.block_student_overlap.sum(axis=0)

    @property
    def cross_overlap(self) -> np.ndarray:
        """(p, p*) overlaps of students with teachers, summed over the blocks."""
        return self.block_cross_overlap.sum(axis=0)

    @property
    def teacher_overlap(self) -> np.ndarray:
        """(p*, p*) overlaps between teachers, summed over the blocks."""
        return self.block_teacher_overlap.sum(axis=0)

    @cached_property
    def longest(self) -> float:
        """The largest overlap of a unit with itself; no other overlap is larger."""
        parts = self.block_student_overlap, self.block_teacher_overlap
        return max(float(part.sum(axis=0).max()) for part in parts)

    @property
    def stacked(self) -> np.ndarray:
        """(blocks, p + p*, p + p*) overlaps of all units, students first."""
        return np.block(
            [
                [self.block_student_overlap, self.block_cross_overlap],
                [self.block_cross_overlap.transpose(0, 2, 1), self.block_teacher_overlap],
            ]
        )

    @cached_property
    def hash(self) -> str:
        """Hash of the content: equal states have equal hashes."""
        digest = hashlib.sha256()
        for name in self.__dataclass_fields__:
            array = np.ascontiguousarray(getattr(self, name), dtype="<f8")
            digest.update(repr(array.shape).encode() + array.tobytes())
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Overlaps) and self.hash == other.hash

    def __hash__(self) -> int:
        return hash(self.hash)

    def _check_shapes(self) -> None:
        blocks, p, q = (*self.block_student_overlap.shape[:2], self.block_teacher_overlap.shape[-1])
        expected = {
            "block_student_overlap": (blocks, p, p),
            "block_cross_overlap": (blocks, p, q),
            "block_teacher_overlap": (blocks, q, q),
            "readout": (p,),
        }
        for name, shape in expected.items():
            array = getattr(self, name)
            if array.shape != shape:
                raise InvalidStart(f"{name}: shape {array.shape} given, must be {shape}")
            if not np.isfinite(array).all():
                raise InvalidStart(f"{name}: must be finite")

    def _check_cone(self) -> None:
        stacked = self.stacked
        size = np.abs(stacked).max(axis=(1, 2))
        skew = np.abs(stacked - stacked.transpose(0, 2, 1)).max(axis=(1, 2))
        if (skew > 1e-10 * size).any():
            raise InvalidStart("overlaps: must be symmetric")
        lowest = np.linalg.eigvalsh(stacked)[:, 0]
        worst = int(np.argmin(lowest))
        if lowest[worst] < -1e-9 * max(size[worst], 1e-300):
            where = f" in block {worst}" if len(stacked) > 1 else ""
            raise InvalidStart(
                f"overlaps: no weights have them, the stacked matrix of students and teachers{where} must be positive "
                f"semidefinite but has the eigenvalue {lowest[worst]:.3g}"
            )

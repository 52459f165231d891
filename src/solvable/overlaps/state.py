"""The state that all levels share: how all units overlap, in each block of equal input variance."""

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from solvable.overlaps.card import card, text
from solvable.problems.nearest import telling_names


class InvalidStart(ValueError):
    """Overlaps that no weights have, or that do not belong to the problem."""


ARRAYS = (
    "block_student_overlap", "block_cross_overlap", "block_teacher_overlap", "readout", "block_extra_overlap", "scalars",
)  # fmt: skip
ROLES = ("direction", "anchor", "velocity", "average", "snapshot")  # of extra rows, in the order in which they come
WORDS = {  # of others, by which errors propose ours
    **dict.fromkeys(("Q", "q"), "student_overlap"),
    **dict.fromkeys(("R", "M", "m", "overlap"), "cross_overlap"),
    **dict.fromkeys(("T", "P"), "teacher_overlap"),
    **dict.fromkeys(("a", "v"), "readout"),
}
COPIES = ("anchor", "average", "snapshot")  # which begin as copies of the students; velocities begin at zero


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
        (p,) second layer of the students, or (heads, p) where tasks have heads of their own.
    extras : tuple of str
        Roles of further rows: "direction" of a mixture; "anchor", "velocity", "average" or "snapshot" of a student.
    block_extra_overlap : array, optional
        (blocks, extra, p + p* + extra) their overlaps with all rows: students, teachers, extras.
    scalars : array, optional
        Numbers beside the readout, such as its velocities, in the order of `problem.scalars`.
    scalar_roles : tuple of str, optional
        What they are, as `problem.scalars` says it; left out, a run takes them for those of its problem.

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
    extras: tuple[str, ...] = ()
    block_extra_overlap: np.ndarray = None  # type: ignore[assignment]  # an array once it is made
    scalars: np.ndarray = None  # type: ignore[assignment]
    scalar_roles: tuple[str, ...] = ()

    _repr_html_ = card

    if not TYPE_CHECKING:  # which is to tell of names that there are not
        __getattr__ = telling_names(WORDS)

    def __repr__(self) -> str:
        return text(self)

    def __post_init__(self) -> None:
        if self.block_extra_overlap is None:
            shape = (np.shape(self.block_student_overlap)[0], 0, sum(np.shape(self.block_cross_overlap)[1:]))
            object.__setattr__(self, "block_extra_overlap", np.zeros(shape))
        if self.scalars is None:
            object.__setattr__(self, "scalars", np.zeros(0))
        object.__setattr__(self, "extras", tuple(self.extras))
        object.__setattr__(self, "scalar_roles", tuple(self.scalar_roles))
        for name in ARRAYS:
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
        extra = self.block_extra_overlap[:, :, self.block_extra_overlap.shape[2] - len(self.extras) :]
        parts = self.block_student_overlap, self.block_teacher_overlap, extra
        return max(float(part.sum(axis=0).max(initial=0.0)) for part in parts)

    @property
    def direction_overlap(self) -> np.ndarray:
        """(students, directions) overlaps with the directions of a mixture."""
        return self._with("direction")

    @property
    def anchor_overlap(self) -> np.ndarray:
        """(students, anchors) overlaps with the students of the start."""
        return self._with("anchor")

    @property
    def velocity_overlap(self) -> np.ndarray:
        """(students, students) overlaps with the velocities."""
        return self._with("velocity")

    @property
    def average_overlap(self) -> np.ndarray:
        """(students, students) overlaps with their averages."""
        return self._with("average")

    @property
    def snapshot_overlap(self) -> np.ndarray:
        """(students, students) overlaps with the copies of a time."""
        return self._with("snapshot")

    def _with(self, role: str) -> np.ndarray:
        chosen = [i for i, one in enumerate(self.extras) if one == role]
        rows: np.ndarray = self.block_extra_overlap[:, chosen, : self.block_student_overlap.shape[1]]
        return rows.sum(axis=0).T

    @property
    def stacked(self) -> np.ndarray:
        """(blocks, n, n) overlaps of all units, students first, then teachers, then extras."""
        units = np.block(
            [
                [self.block_student_overlap, self.block_cross_overlap],
                [self.block_cross_overlap.transpose(0, 2, 1), self.block_teacher_overlap],
            ]
        )
        if not self.extras:
            return units
        columns = self.block_extra_overlap[:, :, : units.shape[1]].transpose(0, 2, 1)
        return np.concatenate([np.concatenate([units, columns], axis=2), self.block_extra_overlap], axis=1)

    def without(self, role: str) -> "Overlaps":
        """The same without the extra rows of one role.

        Parameters
        ----------
        role : str
            "direction", "anchor", "velocity", "average" or "snapshot".

        Returns
        -------
        Overlaps
            Of the rows that are left.

        Examples
        --------
        >>> state.anchored().without("anchor") == state
        True
        """
        return self._chosen([(one, i) for i, one in enumerate(self.extras) if one != role])

    def anchored(self) -> "Overlaps":
        """The same with its students as anchors, in the place of any before.

        Returns
        -------
        Overlaps
            With one extra row for each student.

        Examples
        --------
        >>> state.anchored().extras
        ('anchor',)
        """
        return self.without("anchor").with_role("anchor")

    def with_role(self, role: str) -> "Overlaps":
        """The same with one more extra row for each student: velocities of zero, or copies of the students.

        Parameters
        ----------
        role : str
            "anchor", "velocity", "average" or "snapshot".

        Returns
        -------
        Overlaps
            With its extra rows in the order of these roles.

        Examples
        --------
        >>> state.with_role("velocity").block_extra_overlap
        array([[[0., 0., 0.]]])
        """
        kept = [(one, i) for i, one in enumerate(self.extras)]
        new = [(role, -1 - k) for k in range(self.block_student_overlap.shape[1])]
        return self._chosen(sorted(kept + new, key=lambda row: ROLES.index(row[0])))

    def with_scalars(self, scalars: np.ndarray) -> "Overlaps":
        """The same with other numbers beside the readout.

        Parameters
        ----------
        scalars : array
            In the order of `problem.scalars`.

        Returns
        -------
        Overlaps
            With these.

        Examples
        --------
        >>> state.with_scalars([0.5]).scalars
        array([0.5])
        """
        roles = self.scalar_roles if np.size(scalars) == len(self.scalar_roles) else ()
        return replace(self, scalars=scalars, scalar_roles=roles)

    def _chosen(self, rows: list[tuple[str, int]]) -> "Overlaps":
        """With other extra rows: roles, and numbers among those that there are; number -1 - k begins from student k."""
        n = self.block_student_overlap.shape[1] + self.block_teacher_overlap.shape[1]
        sources = [*range(n), *(n + i if i >= 0 else -1 - i for _, i in rows)]
        starts = np.array([1.0] * n + [float(i >= 0 or role in COPIES) for role, i in rows])
        found = self.stacked[:, sources][:, :, sources] * np.outer(starts, starts)
        return replace(self, extras=tuple(role for role, _ in rows), block_extra_overlap=found[:, n:])

    @cached_property
    def hash(self) -> str:
        """Hash of the content: equal states have equal hashes."""
        digest = hashlib.sha256()
        for name in ARRAYS[: 5 if self.extras else 4] + ARRAYS[5:] * bool(self.scalars.size):
            array = np.ascontiguousarray(getattr(self, name), dtype="<f8")
            digest.update(repr(array.shape).encode() + array.tobytes())
        digest.update(" ".join(self.extras).encode())
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
            "readout": (p,) if self.readout.ndim < 2 else (len(self.readout), p),
            "block_extra_overlap": (blocks, len(self.extras), p + q + len(self.extras)),
            "scalars": (self.scalars.size,),
        }
        if self.scalar_roles and len(self.scalar_roles) != self.scalars.size:
            raise InvalidStart(
                f"scalars: {self.scalars.size} given for {len(self.scalar_roles)} roles, must be as many"
            )
        for role in self.extras:
            if role not in ROLES:
                raise InvalidStart(f"extras: {role!r} given, must be one of {', '.join(ROLES)}")
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
                f"overlaps: no weights have them, the stacked matrix of {_listed(self.extras)}{where} must be positive "
                f"semidefinite but has the eigenvalue {lowest[worst]:.3g}"
            )


def _listed(extras: tuple[str, ...]) -> str:
    *most, last = ["students", "teachers", *(f"{role}s" for role in dict.fromkeys(extras))]
    return f"{', '.join(most)} and {last}"

"""A data set, and the quadratic students and teachers that meet on it."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from solvable.empirical import kernels
from solvable.numerics import chebyshev, rosenbrock
from solvable.numerics.control import REPORT, RISES, control, outputs_for
from solvable.numerics.memory import FLOAT
from solvable.numerics.threads import bell

BOUND = 1e4  # factors beyond this multiple of what may be expected have diverged
MOST_IMPLICIT = 300  # unknowns up to which a matrix of their number is factored at every step


def room(samples: int, dim: int, units: int) -> int:
    """Bytes that one run takes: samples and labels, twice, weights of all units with what embeds them, implicit steps."""
    k = min(units, dim)
    implicit = kernels.room_size(samples, dim, k) if min(samples, k * dim) <= MOST_IMPLICIT else 0
    return FLOAT * (3 * samples * (dim + 1) + 6 * units * dim + 4 * dim**2 + implicit)


class Followed(NamedTuple):
    """One flow as it was followed: factors (time, k, d), training and population losses (time,), NaN after its end.

    Also the last factor, its time, how it ended (a code of `Ending`) and the number of right-hand sides.
    """

    factors: np.ndarray
    training: np.ndarray
    population: np.ndarray
    last: np.ndarray
    end: float
    ending: int
    evaluations: int


@dataclass(frozen=True, eq=False)
class DataSet:
    """A data set: inputs `rows` (n, d) with `labels` (n,), and the teachers' matrix `teacher` (d, d).

    Students come as a factor F (k, d) of their matrix A = F^T F. Without samples only the population loss has a
    meaning.
    """

    rows: np.ndarray
    labels: np.ndarray
    teacher: np.ndarray

    @classmethod
    def from_teacher(cls, rows: np.ndarray, teacher: np.ndarray, noise: np.ndarray | float = 0.0) -> "DataSet":
        return cls(rows, np.einsum("si,ij,sj->s", rows, teacher, rows) + noise, teacher)

    def data(self, unknowns: int = 0) -> tuple[np.ndarray, ...]:
        """As the kernels take it; with room for implicit steps of so many unknowns."""
        n, d = self.rows.shape
        room = kernels.room(n, d, unknowns // d) if unknowns else (np.empty((0, 0)),) * 3
        return np.ascontiguousarray(self.rows), self.labels, np.ascontiguousarray(self.teacher), *room

    def losses(self, factors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Training and population loss of each of `factors` (..., k, d)."""
        flat = np.ascontiguousarray(factors).reshape(-1, factors.shape[-2] * factors.shape[-1])
        found, data = np.empty((len(flat), 2)), self.data()
        for y, out in zip(flat, found, strict=True):
            kernels.losses(0, 0.0, y, out, *data)
        return found[:, 0].reshape(factors.shape[:-2]), found[:, 1].reshape(factors.shape[:-2])

    def _size(self, first: np.ndarray) -> float:
        """Of the factors that may be expected: the first, or what the largest label needs."""
        lengths = np.median((self.rows**2).sum(axis=1)) / self.rows.shape[1]
        needed = np.sqrt(np.abs(self.labels).max() / max(lengths, 1e-300))
        return max(1.0, float(np.abs(first).max()), float(needed))

    def follow(
        self,
        first: np.ndarray,
        times: np.ndarray,
        *,
        method: str = "auto",
        rtol: float = 1e-6,
        max_steps: int = 10**6,
        watch: tuple[int, int, float] = (-1, RISES, 0.0),
    ) -> Followed:
        """The flow of the factor `first` (k, d) through `times`, by `method` "stabilised" or "implicit", or by which of the two
        is cheaper ("auto"). `watch` is which of the losses to stop at, in which direction, and the level."""
        (n, d), k = self.rows.shape, len(first)
        implicit = method == "implicit" or (method == "auto" and min(n, k * d) <= MOST_IMPLICIT)
        solve, rows, functions = _METHODS[implicit]
        told = control(rtol=rtol, bound=BOUND * self._size(first), watch=watch, max_steps=max_steps, rests=False)
        outputs, report = outputs_for(times, np.ravel(first), 2), np.zeros(1, REPORT)

        def interrupt() -> None:
            report["interrupt"] = 1

        with bell(interrupt, None):
            course = times, np.empty(0), outputs
            solve(*functions, told, report[0], course, np.empty((rows, k * d)), self.data(k * d if implicit else 0))
        factors = outputs[:, 2:].reshape(-1, k, d)
        return Followed(
            factors[:-1],
            outputs[:-1, kernels.TRAINING],
            outputs[:-1, kernels.POPULATION],
            factors[-1],
            float(report["time"][0]),
            int(report["ending"][0]),
            int(report["evaluations"][0]),
        )


_METHODS = {  # by whether they are implicit: entry, rows of memory, the system
    False: (kernels.stabilised, chebyshev.ROWS, (kernels.losses, kernels.slope)),
    True: (
        kernels.implicit,
        rosenbrock.ROWS,
        (kernels.losses, kernels.slope, kernels.factor, kernels.solve, kernels.fastest_growth),
    ),
}

"""Particles: samples of the process of one sample's fields, on scrambled Sobol' points.

The fields h(0), h(1), ... and those of the teachers, u, are jointly normal. Their covariance is known one time after the other, so
its factor grows by rows: every row is a sum over the innovations that came before it, and adds one of its own unless that is
negligible. Few innovations carry a smooth process, which is why quasi-random points serve so well: they fill few dimensions evenly.
"""

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import ndtri

PIVOT = 1e-8  # of the variance: innovations below it are left out; 1e-12 and below amplify rounding until all explodes
EVEN = 128  # dimensions of quasi-random points; further ones are random


class Innovations:
    """Standard normal numbers of all particles, one row for each dimension, drawn when it is first asked for; `beside` them so many
    rows of numbers uniform between zero and one, in the dimensions after the first few: early ones are the most even."""

    def __init__(
        self, particles: int, most: int, seed: np.random.SeedSequence, beside: int = 0, after: int = 0
    ) -> None:
        from scipy.stats import qmc

        points, order, rest = seed.spawn(3)
        self.random = np.random.default_rng(rest)
        self.even = min(EVEN, most)
        sobol = qmc.Sobol(self.even + beside, scramble=True, rng=np.random.default_rng(points))
        mixed = np.random.default_rng(order).permutation(particles)  # kick times go by the number of a particle
        uniform = sobol.random_base2(int(np.log2(particles)))[mixed].T
        self.uniform = uniform[after : after + beside].copy()
        uniform = np.delete(uniform, slice(after, after + beside), axis=0)
        self.rows = np.empty((most, particles))
        self.rows[: self.even] = ndtri(np.clip(uniform, 1e-16, 1 - 1e-16))
        self.count = 0

    def more(self) -> int:
        """The number of a dimension that was not used yet."""
        number, self.count = self.count, self.count + 1
        if number >= self.even:
            self.rows[number] = self.random.standard_normal(self.rows.shape[1])
        return number


class Fields:
    """The factor of the covariance of (u, h(0), h(1), ...), row by row: (rows, innovations)."""

    def __init__(self, rows: int, innovations: Innovations) -> None:
        self.innovations, self.first = innovations, innovations.count
        self.factor = np.zeros((rows, innovations.rows.shape[0] - self.first))
        self.pivots = np.zeros(rows, dtype=int)  # the row to which each innovation belongs
        self.size = self.rank = 0

    @property
    def known(self) -> np.ndarray:
        """(rows, innovations) so far."""
        return self.factor[: self.size, : self.rank]

    @property
    def noise(self) -> np.ndarray:
        """(innovations, particles)."""
        return self.innovations.rows[self.first : self.first + self.rank]

    def add(self, covariance: np.ndarray, variance: np.ndarray) -> np.ndarray:
        """New rows, whose covariance with those that are known is (new, known) and among themselves (new, new): their values for
        all particles."""
        for i, row in enumerate(covariance):
            to_known = np.concatenate([row, variance[i, :i]])
            own = float(variance[i, i])
            pivots = self.pivots[: self.rank]
            if self.rank:
                triangle = self.factor[pivots, : self.rank]
                found = solve_triangular(triangle, to_known[pivots], lower=True, check_finite=False)
                self.factor[self.size, : self.rank] = found
                own -= float(found @ found)
            if own > PIVOT * variance[i, i]:
                self.pivots[self.rank] = self.size
                self.factor[self.size, self.rank] = np.sqrt(own)
                self.innovations.more()
                self.rank += 1
            self.size += 1
        return self.factor[self.size - len(covariance) : self.size, : self.rank] @ self.noise

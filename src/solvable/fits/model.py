"""Predicted rows of a curve as a function of parameters, and the search for the best of them."""

from collections.abc import Mapping

import numpy as np

from solvable.fits.curve import Curve, observed, overlaps_of, stacked
from solvable.fits.noise import Noise
from solvable.fits.parameters import Family, InferredNumber
from solvable.levels import run
from solvable.macro import Macro
from solvable.overlaps import InvalidStart

RTOL = 1e-8
NUDGE = 1e-4  # of what the search sees: central differences
FEW_NODES = 1024  # of averages without a closed form, where replicas tell their mean and what few nodes leave with it
FAR = 50.0  # a row of a start that no weights have


class CurveModel:
    """Predicted rows of a curve, where some numbers are chosen by the search and others are fixed."""

    def __init__(
        self,
        family: Family,
        curve: Curve,
        chosen: tuple[InferredNumber, ...],
        fixed: Mapping[str, float] | None = None,
        level: Macro | None = None,
    ) -> None:
        self.level = Macro(rtol=RTOL) if level is None else level
        self.family, self.curve, self.chosen, self.fixed = family, curve, chosen, dict(fixed or {})
        self._last: dict[bytes, np.ndarray] = {}
        self.lower = np.array([one.inner(one.lower) for one in chosen])
        self.upper = np.array([one.inner(one.upper) for one in chosen])

    @property
    def first(self) -> np.ndarray:
        """Where a search begins."""
        return np.array([one.inner(one.guess) for one in self.chosen])

    def values(self, x: np.ndarray) -> dict[str, float]:
        """The numbers by name."""
        return {one.name: one.outer(value) for one, value in zip(self.chosen, x, strict=True)} | self.fixed

    def predict(self, x: np.ndarray) -> np.ndarray:
        """(numbers,) by the deterministic limit."""
        key = np.asarray(x, dtype=float).tobytes()
        if key not in self._last:
            self._last = {
                key: self.curve.compared(self.course(x))
            }  # searches ask for values, then for slopes, at one place
        return self._last[key]

    def course(self, x: np.ndarray) -> np.ndarray:
        """(times x entries,) before any means are taken."""
        try:
            problem, start = self.family.member(self.values(x))
        except InvalidStart:
            return np.full(self.curve.time.size * self.curve.entries, FAR)
        found = run(problem, start, self.level, times=self.curve.time, clock=self.curve.clock, progress=False)
        overlaps = None if self.curve.overlaps is None else overlaps_of(found)
        return stacked(observed(found, self.curve.quantity), overlaps)[0]

    def slopes(self, x: np.ndarray) -> np.ndarray:
        """(numbers, parameters) by central differences: two runs for each parameter. A reverse pass costs some three to eight runs
        for one number of the curve, however many parameters there are; here are few parameters and many numbers."""
        columns = np.zeros((self.curve.rows.shape[1], x.size))
        for i in range(x.size):
            above, below = x.copy(), x.copy()
            above[i], below[i] = min(x[i] + NUDGE, self.upper[i]), max(x[i] - NUDGE, self.lower[i])
            columns[:, i] = (self.predict(above) - self.predict(below)) / (above[i] - below[i])
        return columns

    def one_sided_slopes(self, x: np.ndarray) -> np.ndarray:
        """The same by one run for each parameter, which is enough for a search."""
        here, columns = self.predict(x), []
        for i in range(x.size):
            moved = x.copy()
            moved[i] += NUDGE if x[i] + NUDGE <= self.upper[i] else -NUDGE
            columns.append((self.predict(moved) - here) / (moved[i] - x[i]))
        return np.array(columns).T

    def misfit(self, noise: Noise, x: np.ndarray) -> float:
        """Sum of squared residuals in units of the noise."""
        from scipy.linalg import solve_triangular

        residual = self.curve.rows.mean(axis=0) - noise.shift - self.predict(x)
        return float((solve_triangular(noise.root, residual, lower=True) ** 2).sum())

    def search(self, noise: Noise, first: np.ndarray, close: float = 1e-9) -> tuple[np.ndarray, float]:
        """The best parameters near a guess, and the sum of their squared residuals in units of the noise, up to a share."""
        from scipy.linalg import solve_triangular
        from scipy.optimize import least_squares

        root, data = noise.root, self.curve.rows.mean(axis=0) - noise.shift

        def whiten(vectors: np.ndarray) -> np.ndarray:
            whitened: np.ndarray = solve_triangular(root, vectors, lower=True)
            return whitened

        if not first.size:
            return first, self.misfit(noise, first)

        def residuals(x: np.ndarray) -> np.ndarray:
            return whiten(self.predict(x) - data)

        def jacobian(x: np.ndarray) -> np.ndarray:
            return whiten(self.one_sided_slopes(x))

        inside = np.clip(first, self.lower + 1e-9, self.upper - 1e-9)
        found = least_squares(
            residuals, inside, jac=jacobian, bounds=(self.lower, self.upper), x_scale="jac", xtol=1e-7, ftol=close, gtol=1e-9,
            max_nfev=60,
        )  # fmt: skip
        return found.x, float(2 * found.cost)

    def held(self, number: int, value: float) -> "CurveModel":
        """The same with one of the chosen parameters fixed at what the search sees as `value`."""
        rest = (*self.chosen[:number], *self.chosen[number + 1 :])
        fixed = {self.chosen[number].name: self.chosen[number].outer(value)}
        return CurveModel(self.family, self.curve, rest, self.fixed | fixed, self.level)

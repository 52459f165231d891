"""Whether noise is normal where it matters, and what takes the place of normal laws where it is not."""

import numpy as np

from solvable.fits.model import CurveModel
from solvable.fits.noise import Noise

SURE = 4.0  # standard errors of skewness and kurtosis, beyond which a sample is not normal
RARE = 0.01  # p-value of which the law of chi squared is asked
UNLIKELY = 1e-4  # chance that normal replicas are called otherwise
TAIL = 0.025  # beyond each end of an interval
FAR = 1.2  # factor of a rise from which on it is told
MOST = 25.0  # by which factor a rise is stretched at most


class Tails:
    """The replicas of a noise as seen by a fit: along each parameter, and in what no parameter can do."""

    def __init__(self, model: CurveModel, noise: Noise, x: np.ndarray, slopes: np.ndarray | None = None) -> None:
        from scipy.linalg import solve_triangular

        self.along = np.zeros((x.size, 0))
        self.left = np.zeros(0)
        if noise.sample is None:
            return
        rows = solve_triangular(noise.root, noise.sample.T, lower=True)
        slopes = solve_triangular(noise.root, model.slopes(x) if slopes is None else slopes, lower=True)
        self.along = np.array([_alone(slopes, i) @ rows for i in range(x.size)]).reshape(x.size, -1)
        if x.size:
            basis = np.linalg.qr(slopes)[0]
            rows = rows - basis @ (basis.T @ rows)
        self.left = left_out((rows**2).sum(axis=0))

    def is_normal(self, number: int) -> bool:
        """Whether the replicas scatter normally along a parameter."""
        sample = self.along[number]
        if not sample.size:
            return True
        sample = (sample - sample.mean()) / sample.std()
        skewness, kurtosis = (sample**3).mean(), (sample**4).mean() - 3
        return bool(
            abs(skewness) < SURE * np.sqrt(6 / sample.size) and abs(kurtosis) < SURE * np.sqrt(24 / sample.size)
        )

    def is_far(self, number: int) -> bool:
        """Whether that matters."""
        return max(self.stretch(number, side) for side in (-1, 1)) > FAR

    def stretch(self, number: int, side: int) -> float:
        """By which factor the rise at an end of an interval is larger than that of normal noise. Below its lower end (side -1) a
        parameter would have made the data by chance only if noise moved the estimate up."""
        from scipy.stats import norm

        if self.is_normal(number):
            return 1.0
        sample = -side * self.along[number] / self.along[number].std()
        return float(np.clip((np.quantile(sample, 1 - TAIL) / norm.isf(TAIL)) ** 2, 1.0, MOST))

    def chance(self, least: float, degrees: int) -> float | None:
        """Share of the replicas that are at least as far off as the data, if they are not normal; None: they may be."""
        from scipy.stats import binom, f

        count = self.left.size
        free = count - degrees
        if not count or free < 1:
            return None
        beyond = (self.left * free / ((count - 1) * degrees) > f.isf(RARE, degrees, free)).sum()
        if beyond <= binom.isf(UNLIKELY, count, RARE):
            return None
        return float((1 + (self.left >= least).sum()) / (1 + count))


def _alone(slopes: np.ndarray, number: int) -> np.ndarray:
    """Unit vector along one slope, less what the others can do."""
    others = np.delete(slopes, number, axis=1)
    alone = slopes[:, number]
    if others.size:
        basis = np.linalg.qr(others)[0]
        alone = alone - basis @ (basis.T @ alone)
    return np.asarray(alone / max(float(np.linalg.norm(alone)), 1e-300))


def left_out(squares: np.ndarray) -> np.ndarray:
    """Squared distances in units of a covariance from all replicas, as they are in units of one from all others: S without e is
    ((n - 1) S - n/(n - 1) e e^T)/(n - 2), and e is n/(n - 1) times as far from the mean of the others."""
    n = squares.size
    inside = np.minimum(n * squares / (n - 1) ** 2, 1 - 1e-9)
    return np.asarray((n / (n - 1)) ** 2 * (n - 2) / (n - 1) * squares / (1 - inside))

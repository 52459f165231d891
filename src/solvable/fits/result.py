"""What `fit` returns."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from solvable.fits.curve import Curve, observed
from solvable.levels import run
from solvable.macro import Macro
from solvable.overlaps import Overlaps
from solvable.problems import Problem
from solvable.problems.nearest import telling_names

if TYPE_CHECKING:
    import xarray

SMALL = 0.01  # p-value below which a problem is said not to fit
FINE = 200  # times of a smooth curve
WORDS = {  # of others, by which errors propose ours
    **dict.fromkeys(("params", "parameters", "x", "theta", "popt", "values"), "estimates"),
    **dict.fromkeys(("errors", "ci", "confidence_intervals", "bounds", "pcov", "stderr"), "intervals"),
    **dict.fromkeys(("chi2", "chisq", "cost", "fun"), "chi_squared"),
}


@dataclass(frozen=True, eq=False)
class Fit:
    """Parameters inferred from a learning curve.

    Attributes
    ----------
    estimates : dict
        The best value of each.
    intervals : dict
        95 % intervals, (lower, upper), by profile likelihood; an end that the curve does not tell is the bound of the search.
        Of a whole number: the least and the greatest that are not excluded.
    open : dict
        For each, whether its lower and its upper end are bounds rather than what the curve tells.
    problem : Problem
        The problem with the estimates.
    start : Overlaps
        Its start.
    curve : Curve
        What was fitted: the data at the times that were used.
    prediction : ndarray
        (times,) the fitted curve, with what finite size does to its mean.
    band : ndarray
        (times,) standard deviation of the logarithm of the data about it.
    chi_squared : float
        Sum of squared residuals in units of the noise; with a covariance from replicas scaled to have the mean `degrees`.
    degrees : int
        Numbers that are compared, less parameters.
    p_value : float
        Chance of a larger chi squared if the problem is right; NaN where the noise was taken from the residuals.
    correlation : ndarray
        (parameters, parameters) of the estimates but whole numbers, as the slopes at the optimum promise.
    flat : tuple of str
        Changes of parameters that the curve does not tell, in words.
    noise : str
        Where the noise was taken from.
    simulation_error : dict
        Standard deviation of each estimate by the finite number of replicas; another seed moves it so. Intervals contain it.
    notes : tuple of str
        What else a reader should know: noise that is not normal, replicas that diverge, a first value that is not the start's.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1)
    >>> start = sv.start(problem, student_overlap=np.eye(2), cross_overlap=[[0.3], [0.1]])
    >>> curve = sv.run(problem, start, sv.Macro(), times=np.linspace(2, 40, 20))
    >>> found = sv.fit((curve.alpha, curve.risk, 0.02 * curve.risk[0]), problem, free=["training.learning_rate"], start=start)
    >>> found
    <Fit: training.learning_rate 0.1 [0.09847, 0.1018]; fits (p = 1)>
    """

    estimates: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    open: dict[str, tuple[bool, bool]]
    problem: Problem
    start: Overlaps
    curve: Curve
    prediction: np.ndarray
    band: np.ndarray
    chi_squared: float
    degrees: int
    p_value: float
    correlation: np.ndarray
    flat: tuple[str, ...]
    noise: str
    simulation_error: dict[str, float]
    notes: tuple[str, ...] = ()

    @property
    def success(self) -> bool:
        """Whether the problem can have made the curve; True also where nothing tells."""
        return not self.p_value < SMALL

    @property
    def message(self) -> str:
        """How good the fit is, and what the curve does not tell, in words."""
        return "; ".join(self._parts)

    @property
    def _parts(self) -> list[str]:
        parts = [self._verdict, *self.notes, *self.flat]
        for name, sides in self.open.items():
            if any(sides):
                which = (
                    "its interval is"
                    if all(sides)
                    else f"the {'lower' if sides[0] else 'upper'} end of its interval is"
                )
                parts.append(f"{name}: the curve does not bound it, {which} that of the search")
        return parts

    @property
    def _verdict(self) -> str:
        text = f"chi squared {self.chi_squared:.1f} for {self.degrees} degrees of freedom (noise: {self.noise})"
        if np.isnan(self.p_value):
            doubt = "so nothing tells whether the problem fits, and intervals are too short where errors last"
            return f"{text}: the noise is taken from the residuals, {doubt}"
        verdict = (
            "the problem fits"
            if self.success
            else "the problem does not fit, so its numbers are effective ones at best"
        )
        return f"{text}, p = {self.p_value:.2g}: {verdict}"

    @cached_property
    def data(self) -> "xarray.Dataset":
        """Data, fit and band as a labelled xarray Dataset; `fit` is the fitted curve on a fine grid of times."""
        import xarray

        from solvable.results.clock import Clock

        label = Clock(self.problem, self.curve.clock).label
        grid = self._grid()
        return xarray.Dataset(
            {
                self.curve.quantity: (("run", "time"), self.curve.values),
                "prediction": ("time", self.prediction),
                "band": ("time", self.band),
                "fit": ("fine_time", self._on(grid)),
            },
            coords={"time": ("time", self.curve.time, {"long_name": label}), "fine_time": ("fine_time", grid)},
            attrs={"quantity": self.curve.quantity, "message": self.message},
        )

    def _grid(self) -> np.ndarray:
        """The times of the data and many between them."""
        time = self.curve.time
        fine = np.linspace(time[0], time[-1], FINE), np.geomspace(time[0], time[-1], FINE)
        return np.unique(np.concatenate([time, *fine]).clip(time[0], time[-1]))

    def _on(self, grid: np.ndarray) -> np.ndarray:
        """The fitted curve at other times, with what finite size does to its mean between those of the data."""
        limits = [
            observed(
                run(self.problem, self.start, Macro(), times=times, clock=self.curve.clock, progress=False),
                self.curve.quantity,
            )[0]
            for times in (grid, self.curve.time)
        ]
        return np.asarray(limits[0] * np.interp(grid, self.curve.time, self.prediction / limits[1]))

    if not TYPE_CHECKING:  # which is to tell of names that there are not
        __getattr__ = telling_names(WORDS)

    def __repr__(self) -> str:
        numbers = ", ".join(self._line(name) for name in self.estimates)
        if np.isnan(self.p_value):
            return f"<Fit: {numbers}; noise taken from the residuals>"
        return f"<Fit: {numbers}; {'fits' if self.success else 'does not fit'} (p = {self.p_value:.2g})>"

    def __str__(self) -> str:
        return "\n".join([*(f"{self._line(name)}" for name in self.estimates), *self._parts])

    def _line(self, name: str) -> str:
        low, high = self.intervals[name]
        ends = [f"{end:.4g}{' (bound)' * is_open}" for end, is_open in zip((low, high), self.open[name], strict=True)]
        return f"{name} {self.estimates[name]:.4g} [{', '.join(ends)}]"

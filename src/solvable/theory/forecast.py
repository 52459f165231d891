"""Forecast for inputs with a given spectrum: the learning curve of a linear student, and the plateau of erf students."""

from typing import TYPE_CHECKING, Any

import numpy as np

from solvable.overlaps import start
from solvable.problems import Inputs, Problem, Spectrum, convention
from solvable.problems.powerlaw import PowerLawFit, fit_power_law
from solvable.theory import committee, linear, uniform
from solvable.theory.prediction import Prediction

if TYPE_CHECKING:
    pass


def forecast(
    eigenvalues: Any, *, learning_rate: float = 0.1, width: int = 2, first: int | None = None, last: int | None = None
) -> Prediction:
    """Forecast of learning on inputs with given covariance eigenvalues.

    Parameters
    ----------
    eigenvalues : array
        Of the input covariance; they are scaled to mean one.
    learning_rate : float
        Of the linear student.
    width : int
        Number of erf students, and of teachers.
    first, last : int, optional
        Ranks between which the power law is fitted; left out, a window is chosen.

    Returns
    -------
    Prediction
        Its value: a labelled dataset for `plot.forecast`. It has the eigenvalues with their power law (attributes
        `beta`, `beta_error`, `beta_drift`, `first`, `last`, `distinct`, `participation`); the risk over time of one
        linear student from zero, at small rates and, below `rate_limit`, as the mean of SGD at this rate and dimension;
        the power -beta/(1 + beta) that a long window would show (`exponent`, NaN unless beta > 0); and for erf students
        of typical teachers the height of the symmetric plateau and the time tau in which differences between students
        grow by e.

    Examples
    --------
    >>> found = sv.theory.forecast(np.arange(1, 101) ** -1.5).value
    >>> round(found.attrs["beta"], 3)
    0.5
    """
    import xarray

    try:
        values = np.asarray(eigenvalues, dtype=float)
    except (TypeError, ValueError):
        hint = "; take its .eigenvalues" if hasattr(eigenvalues, "eigenvalues") else ""
        raise ValueError(
            f"eigenvalues: {type(eigenvalues).__name__} given, must be an array of numbers{hint}"
        ) from None
    if values.ndim != 1:
        raise ValueError(f"eigenvalues: shape {values.shape} given, must be one-dimensional")
    values = np.sort(values)[::-1]
    fit: PowerLawFit = fit_power_law(values, first, last)
    if not isinstance(width, int | np.integer) or isinstance(width, bool) or not 2 <= width <= 100:
        raise ValueError(f"width: {width!r} given, must be a whole number from 2 to 100")
    if not isinstance(learning_rate, int | float | np.number) or not 0 < learning_rate < np.inf:
        raise ValueError(f"learning_rate: {learning_rate!r} given, must be a positive number")
    values = np.maximum(values, 0.0) / values.mean()
    inputs = Inputs(dim=values.size, spectrum=Spectrum(eigenvalues=tuple(values.tolist())))
    student = _problem(1, float(learning_rate), "linear", inputs)
    begin = start(student, student_overlap=[[0.0]], cross_overlap=[[0.0]])
    times = np.geomspace(0.1, 1e4, 101) / float(learning_rate) / values.max()
    far = np.geomspace(times[-1], 1e3 / float(learning_rate), 20)
    times = np.unique(np.concatenate([times, far, [1.0, 10.0, 100.0]]))
    width = int(width)
    committees = _problem(width, float(learning_rate), "erf", inputs)
    typical = start(committees, student_overlap=np.zeros((width, width)), cross_overlap=np.zeros((width, width)))
    plateau = committee.erf_plateau(committees, typical).value
    limit = linear.rate_limit(student).value
    data: dict[str, Any] = {
        "eigenvalue": ("rank", values),
        "power_law": ("rank", _line(values, fit)),
        "small_rate_risk": ("time", linear.linear_risk(student, begin, times, small_rate=True).value),
    }
    if learning_rate < limit:
        data["risk"] = ("time", linear.linear_mean_risk(student, begin, times).value)
    attributes = {
        "beta": fit.beta, "beta_error": fit.error, "beta_drift": fit.drift, "first": fit.first, "last": fit.last,
        "distinct": fit.distinct, "participation": fit.participation,
        "exponent": -fit.beta / (1 + fit.beta) if fit.beta > 0 else float("nan"),
        "learning_rate": float(learning_rate), "rate_limit": limit, "width": width,
        "plateau_risk": plateau.risk, "escape_time": uniform.uniform_escape_time(committees, typical).value,
    }  # fmt: skip
    found: xarray.Dataset = xarray.Dataset(data, {"rank": np.arange(1, values.size + 1), "time": times}, attributes)
    return Prediction(
        found, ("Gaussian inputs with this spectrum", "typical teachers"), "worschech2024, sections 4 and 5"
    )


def _problem(width: int, rate: float, activation: str, inputs: Inputs) -> Problem:
    made: Problem = convention("worschech2024").problem(K=width, M=width, eta=rate, activation=activation)
    return made.replace(inputs=inputs, teacher__overlap="orthonormal")


def _line(values: np.ndarray, fit: PowerLawFit) -> np.ndarray:
    """The fitted power law within its window, NaN outside."""
    ranks = np.arange(1, values.size + 1)
    inside = (ranks >= fit.first) & (ranks <= fit.last)
    level = np.exp(np.average(np.log(values[inside] * ranks[inside] ** (1 + fit.beta)), weights=1 / ranks[inside]))
    return np.where(inside, level * ranks ** -(1.0 + fit.beta), np.nan)

"""Picture of a spectrum with its power law, and of the learning curves that it forecasts."""

from typing import TYPE_CHECKING, Any

import numpy as np

from solvable.plot.style import figure, in_style, letter

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@in_style
def forecast(data: Any) -> "Figure":
    """Draw a spectrum with its power law, and the learning curves that it forecasts.

    Parameters
    ----------
    data : xarray.Dataset
        The value of `theory.forecast`.

    Returns
    -------
    matplotlib Figure
        Left: eigenvalues and power law. Right: learning curve of a linear student, and plateau of erf students.

    Examples
    --------
    >>> eigenvalues = np.arange(1, 51) ** -1.5
    >>> picture = sv.plot.forecast(sv.theory.forecast(eigenvalues).value)
    """
    picture, (left, right) = figure(1, 2, height=2.9)
    good = data["eigenvalue"].values > 1e-12 * float(data["eigenvalue"][0])
    left.loglog(data["rank"][good], data["eigenvalue"][good], label="eigenvalues, mean one")
    left.loglog(data["rank"], data["power_law"], "k--", linewidth=1.0, label=f"$\\beta = {data.attrs['beta']:.2f}$")
    left.set_xlabel("rank")
    left.set_ylabel("eigenvalue")
    times, risks = data["time"].values, data["small_rate_risk"].values
    if "risk" in data:
        right.loglog(times, data["risk"], label=f"linear student, rate {data.attrs['learning_rate']:g}")
    right.loglog(times, risks, "k--", linewidth=1.0, label="linear student, small rates")
    power, height = data.attrs["exponent"], data.attrs["plateau_risk"]
    if np.isfinite(power):
        shown = (times > 10 * times[0]) & (risks > 1e-3 * risks[0])
        line = 2 * risks[shown][0] * (times[shown] / times[shown][0]) ** power
        right.loglog(times[shown], line, color="C2", linewidth=1.0, label=f"$\\alpha^{{{power:.2f}}}$")
    tau = data.attrs["escape_time"]
    right.axhline(
        height, color="0.5", linestyle=":", label=f"plateau of {data.attrs['width']} erf students, $\\tau = {tau:.3g}$"
    )
    right.set_ylim(min(1e-5 * risks[0], 0.3 * height), 2 * risks[0])
    right.set_xlim(times[0], times[risks > 1e-5 * risks[0]][-1])
    right.set_xlabel("α = steps / dim")
    right.set_ylabel("risk")
    left.legend(fontsize=7)
    right.legend(fontsize=7)
    letter(left, "a")
    letter(right, "b")
    return picture

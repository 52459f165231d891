"""Picture of a learning curve with what was fitted to it."""

from typing import TYPE_CHECKING, Any

import numpy as np

from solvable.plot.curves import label_time
from solvable.plot.style import figure, in_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDE = 1.96  # standard deviations of the band: 95 %


@in_style
def fit(found: Any) -> "Figure":
    """Draw a learning curve, the fit with its 95 % band, and how far the data are from the fit.

    Parameters
    ----------
    found : Fit or xarray.Dataset
        What `fit` returns, or its `data`.

    Returns
    -------
    matplotlib Figure
        Above: data, fit and the band in which 95 % of such data are at each time; several runs as thin lines, with their mean, and
        the band is that of means. Below: residuals of the logarithm in standard deviations, each by itself; those of one run last,
        so neighbours go together, and chi squared, which knows that, may be large where no residual is.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1)
    >>> start = sv.start(problem, student_overlap=np.eye(2), cross_overlap=[[0.3], [0.1]])
    >>> curve = sv.run(problem, start, sv.Macro(), times=np.linspace(2, 40, 20))
    >>> found = sv.fit((curve.alpha, curve.risk, 0.02 * curve.risk[0]), problem, free=["training.learning_rate"], start=start)
    >>> picture = sv.plot.fit(found)
    """
    data = found if hasattr(found, "data_vars") else found.data
    quantity, time = data.attrs["quantity"], data["time"].values
    runs, expected, band = data[quantity].values, data["prediction"].values, data["band"].values
    picture, (above, below) = figure(2, 1, height=2.1, width=5.0, sharex=True, gridspec_kw={"height_ratios": (3, 1.2)})
    mean = np.exp(np.log(runs).mean(axis=0))
    if len(runs) > 1:
        lines = above.plot(time, runs.T, color="0.75", linewidth=0.6, zorder=1)
        lines[0].set_label(f"{len(runs)} runs")
    band_of = f"95 % of {'data' if len(runs) == 1 else 'such means'}, if the problem is right"
    edges = expected * np.exp(-WIDE * band), expected * np.exp(WIDE * band)
    above.fill_between(time, *edges, color="C0", alpha=0.25, linewidth=0, label=band_of)
    above.plot(data["fine_time"].values, data["fit"].values, color="C0", label="fit")
    above.plot(time, mean, "o", color="C1", markersize=3, label="data" if len(runs) == 1 else "their mean")
    above.set_yscale("log")
    above.set_ylabel(quantity)
    above.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, fontsize=7)
    below.axhspan(-WIDE, WIDE, color="C0", alpha=0.25, linewidth=0)
    below.axhline(0.0, color="C0")
    below.plot(time, np.log(mean / expected) / band, "o", color="C1", markersize=3)
    below.set_ylim(*(np.array([-1, 1]) * max(3.0, 1.1 * np.abs(np.log(mean / expected) / band).max())))
    below.set_ylabel("residual / sd")
    label_time(below, data)
    return picture

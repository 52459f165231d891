"""The critical points of a landscape, from `landscape.atlas`."""

from typing import TYPE_CHECKING, Any

import numpy as np

from solvable.plot.style import axes, figure, in_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKERS = {"maximum": "^", "saddle": "o", "minimum": "*"}
MOST_NAMES = 40  # beyond, names of points on an axis cannot be read


def _check(data: Any) -> None:
    if not hasattr(data, "data_vars"):
        raise TypeError(f"plot: must be given a dataset, as from landscape.atlas(problem), not {type(data).__name__}")


@in_style
def landscape(data: Any, ax: "Axes | None" = None) -> "Axes":
    """Draw the risk of every critical point against the number of directions outside the teachers' span.

    Each number of teacher directions has a colour. Points of full rank, at which learning waits, are filled.

    Parameters
    ----------
    data : xarray.Dataset
        From `landscape.atlas`.
    ax : matplotlib Axes, optional
        Where to draw; left out, a new figure.

    Returns
    -------
    matplotlib Axes
        The axes that were drawn into.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=3, p_star=2, eta=0.1, N=100)
    >>> ax = sv.plot.landscape(sv.landscape.atlas(problem))
    """
    _check(data)
    ax = axes(ax)
    inside, outside, risk = (data[name].values for name in ("inside", "outside", "risk"))
    full = inside + outside == data.attrs["students"]
    for s in np.unique(inside):
        for chosen in np.unique(data["chosen"].values[inside == s]):
            line = np.flatnonzero((inside == s) & (data["chosen"].values == chosen))
            line = line[np.argsort(outside[line])]
            ax.plot(outside[line], risk[line], color=f"C{s % 10}", linewidth=0.8, alpha=0.5)
        for kind, marker in MARKERS.items():
            for filled in (False, True):
                here = (inside == s) & (data["kind"].values == kind) & ((full == filled) | (kind == "minimum"))
                if here.any():
                    face = f"C{s % 10}" if filled or kind == "minimum" else "white"
                    size = 9 if kind == "minimum" else 4.5
                    ax.plot(
                        outside[here], risk[here], linestyle="", marker=marker, markersize=size, color=f"C{s % 10}",
                        markerfacecolor=face,
                    )  # fmt: skip
        ax.plot([], [], color=f"C{s % 10}", label=f"{s} inside")
    for kind in sorted(set(data["kind"].values), key=list(MARKERS).index):
        face = "0.3" if kind == "minimum" else "white"
        ax.plot([], [], linestyle="", marker=MARKERS[kind], color="0.3", markerfacecolor=face, label=kind)
    if full.any():
        ax.plot([], [], linestyle="", marker="o", color="0.3", label="of full rank")
    ax.set_xlabel("directions outside the teachers' span")
    ax.set_ylabel("risk")
    ax.legend(loc="upper right", ncols=2, fontsize="small")
    return ax


@in_style
def spectra(data: Any, ax: "Axes | None" = None) -> "Axes":
    """Draw the Hessian's eigenvalues at every critical point, by falling risk.

    The area of a mark grows with the logarithm of the multiplicity.

    Parameters
    ----------
    data : xarray.Dataset
        From `landscape.atlas`.
    ax : matplotlib Axes, optional
        Where to draw; left out, a new figure.

    Returns
    -------
    matplotlib Axes
        The axes that were drawn into.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=3, p_star=2, eta=0.1, N=100)
    >>> ax = sv.plot.spectra(sv.landscape.atlas(problem))
    """
    _check(data)
    ax = axes(ax)
    values, counts = data["eigenvalue"].values, data["multiplicity"].values
    point, _ = np.nonzero(counts)
    value, count = values[counts > 0], counts[counts > 0]
    colours = np.where(value < 0, "C1", np.where(value > 0, "C0", "0.5"))
    ax.axhline(0, color="0.8", linewidth=0.8)
    ax.scatter(point, value, s=4 + 6 * np.log(count), c=colours, linewidths=0, alpha=0.8)
    for name, colour in [("negative", "C1"), ("flat", "0.5"), ("positive", "C0")]:
        ax.scatter([], [], s=16, c=colour, linewidths=0, label=name)
    for count in (1, 1000):
        ax.scatter(
            [], [], s=4 + 6 * np.log(count), c="white", edgecolors="0.3", linewidths=0.7, label=f"multiplicity {count}"
        )
    ax.set_xlabel("critical points, by falling risk")
    ax.set_ylabel("eigenvalue of the Hessian")
    if data.sizes["point"] <= MOST_NAMES:
        inside = (
            data["inside"].values
            if len(set(data["chosen"].values)) == len(set(data["inside"].values))
            else data["chosen"].values
        )
        names = [f"{r}, {s}" for r, s in zip(data["outside"].values, inside, strict=True)]
        ax.set_xticks(range(len(names)), labels=names, rotation=90, fontsize="x-small")
        ax.set_xlabel("critical point (outside, inside), by falling risk")
    low, high = ax.get_ylim()
    ax.set_ylim(low, high + 0.3 * (high - low))
    ax.legend(fontsize="small", loc="upper left", ncols=2)
    return ax


@in_style
def atlas(data: Any) -> "Figure":
    """Draw `landscape` and `spectra` side by side.

    Parameters
    ----------
    data : xarray.Dataset
        From `landscape.atlas`.

    Returns
    -------
    matplotlib Figure
        With two panels.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=3, p_star=2, eta=0.1, N=100)
    >>> picture = sv.plot.atlas(sv.landscape.atlas(problem))
    """
    picture, (left, right) = figure(1, 2, height=3.0, width=8.5)
    landscape(data, left)
    spectra(data, right)
    return picture

"""Picture of the best schedule, above the learning curves that it and the best constants lead to."""

from typing import TYPE_CHECKING, Any

import numpy as np

from solvable.plot.style import figure, in_style, stroke

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BEHIND = 1.2  # times the end of what counts: how far a picture goes


@in_style
def schedule(best: Any, *others: Any, labels: list[str] | None = None) -> "Figure":
    """Draw the schedules of an optimum, and under them the risk with these and with the best constants.

    Parameters
    ----------
    best : Optimum
        What `optimal` returns.
    *others : Trajectory
        Further curves for the lower panel, such as the greedy rate or SGD.
    labels : list of str, optional
        Their names; left out, their levels.

    Returns
    -------
    matplotlib Figure
        A panel for each control, then the risk.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=1000)
    >>> start = sv.start(problem, seed=0, students="orthogonal", cross=0.1)
    >>> best = sv.optimal(problem, start, until=20, control={"training.learning_rate": 8}, refine=False)
    >>> len(sv.plot.schedule(best).axes)
    2
    """
    names = list(best.schedule)
    if labels is not None and len(labels) != len(others):
        raise ValueError(f"schedule: {len(labels)} labels given for {len(others)} trajectories, must be as many")
    picture, panels = figure(len(names) + 1, 1, height=1.9, width=4.6, sharex=True)
    for ax, name in zip(panels, names, strict=False):
        draw_schedule(ax, best.schedule[name], best.until)
        ax.set_xlim(0.0, min(best.until, BEHIND * best.end))
        ax.axhline(best.constant[0][name], **stroke(1))
        ax.set_ylim(bottom=0.0)
        ax.set_ylabel(_title(name))
    _draw_risks(panels[-1], best, others, labels or [one.level for one in others])
    panels[-1].set_xlabel("α = steps / dim")
    return picture


def draw_schedule(ax: "Axes", one: Any, until: float, **style: Any) -> None:
    """A schedule as a line, with its jumps."""
    times = np.append(one.times, until)
    if one.shape == "steps":  # what holds from the end on is not shown
        shown = np.array(one.rates)[np.array(one.times) < until]
        ax.step(
            np.append(times[: shown.size], until), np.append(shown, shown[-1]), where="post", **{**stroke(0), **style}
        )
    else:
        ax.plot(times, np.append(one.rates, one.rates[-1]), **{**stroke(0), **style})


def _draw_risks(ax: "Axes", best: Any, others: Any, labels: list[str]) -> None:
    curves = [(best.trajectory, "best schedule"), (best.constant_trajectory, "best constant")]
    for i, (run, label) in enumerate([*curves, *zip(others, labels, strict=True)]):
        ax.plot(run.alpha, np.nanmean(best.counted(run), axis=0), **stroke(i), label=label)
    ax.set_yscale("log")
    ax.set_ylabel("risk" if best.quantity == "time" else best.quantity.removeprefix("mean "))
    if best.quantity == "time":
        ax.axvline(best.value, color="0.5", linewidth=0.6, label=f"the best time, {best.value:.4g}")
    ax.legend(fontsize=7)


def _title(name: str) -> str:
    """The last word of a path that is one, as "learning rate"; with a number behind or before it, "eigenvalue 1", "probability of
    task 1"."""
    *_, before, last = name.split(".")
    if before.isdecimal():
        return f"{last} of {name.split('.')[-3].removesuffix('s')} {int(before) + 1}"
    if last.isdecimal():
        return f"{'probability of class' if before == 'probabilities' else before.removesuffix('s')} {int(last) + 1}"
    return last.replace("_", " ")

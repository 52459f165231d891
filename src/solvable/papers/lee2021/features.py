"""Two students learn a task of one unit, then another whose unit overlaps with the first by V. How much of the first is lost
depends on V: little where the tasks are alike, and little where they are orthogonal, since the second then finds a student that is
free. So it is from small starts; from large ones orthogonal tasks are forgotten as much as any. Where V is 0 and starts are small,
the noise of SGD decides which student is free, and single runs scatter about the equations."""

from typing import TYPE_CHECKING, Any

import numpy as np

from solvable.levels import run_batch
from solvable.macro import Macro
from solvable.micro import Micro
from solvable.numerics.statistics import standard_error
from solvable.papers.claims import Claim, beyond, holds
from solvable.papers.figure import PaperFigure, whole
from solvable.papers.lee2021.settings import (
    DIM,
    KEY,
    MARKS,
    RATE,
    SCALE,
    SEEDS,
    peak,
    peak_with_error,
    points,
    problem,
    risks,
    starts,
)
from solvable.papers.parameters import UNREAD, Parameter, table
from solvable.plot.style import figure, letter, stroke
from solvable.results import Trajectory

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

MINE = "our choice"
PARAMETERS = table(
    DIM,
    RATE,
    SCALE,
    Parameter("students", UNREAD, 2, why="the default of the authors' public code", label="students"),
    Parameter("switch", UNREAD, 60.0, why=f"{MINE}: the first task is learned by then", label="switch, in steps/D"),
    Parameter("after", UNREAD, (5.0, 20.0, 60.0), why=MINE, label="steps/D after the switch, of panels c and d"),
    Parameter("similarities", UNREAD, tuple(np.linspace(0, 1, 11).round(2).tolist()), (0.0, 0.15, 0.3, 0.45, 0.6, 0.8, 1.0), MINE,
              "$V$ of panels c and d"),
    Parameter("shown", UNREAD, (0.0, 0.3, 0.6, 1.0), why=MINE, label="$V$ of panels a and b"),
    Parameter("large_scale", UNREAD, 1.0, why=f"{MINE}: beyond the paper", label="scale of large starts"),
    Parameter("starts", UNREAD, 24, 8, "standard errors of 0.01 at the largest", "starts of each point"),
    *SEEDS,
)  # fmt: skip


def followed(values: Any, similarity: float, scale: float, level: Any, times: Any) -> Trajectory:
    """Runs from all starts."""
    here = problem(similarity, ([1.0], [1.0]), values["students"], values["rate"], values["dim"], values["switch"])
    first = starts(here, values["starts"], scale, values["seed"])
    return whole(run_batch(here, first, level, times=times, progress=False))


def compute(quick: bool) -> "xarray.Dataset":
    import xarray

    values = PARAMETERS.values(quick)
    switch, after, similarities = values["switch"], np.array(values["after"]), np.array(values["similarities"])
    levels = {"equations": Macro(rtol=1e-6), "sgd": Micro(runs=1, seed=values["sgd_seed"])}
    arrays: dict[str, Any] = {}
    for scale, name in ((values["scale"], "forgetting"), (values["large_scale"], "large")):
        for kind, level in levels.items():
            times = [0.0, switch, *(switch + after)]
            found = [followed(values, one, scale, level, times).forgetting[:, 2:, 0] for one in similarities]
            arrays[f"{name}_{kind}"] = (("similarity", "start", "after"), np.array(found))
    fine = np.linspace(0, switch + after.max(), 121)
    one = values | {"starts": 1}
    for kind, level in levels.items():
        seen = fine if kind == "equations" else fine[::8]
        curves = [risks(followed(one, V, values["scale"], level, seen))[0] for V in values["shown"]]
        arrays[f"risk_{kind}"] = (("shown", f"time_{kind}", "task"), np.array(curves))
    coordinates = {
        "similarity": similarities, "after": after, "shown": list(values["shown"]), "time_equations": fine, "time_sgd": fine[::8],
    }  # fmt: skip
    facts = {"switch": switch, "dim": values["dim"], "scale": values["scale"], "large_scale": values["large_scale"]}
    return xarray.Dataset(arrays, coordinates, {name: str(value) for name, value in facts.items()})


def draw(data: "xarray.Dataset") -> "Figure":
    picture, panels = figure(2, 2, height=2.5)
    (first, second), (small, large) = panels
    for task, ax in enumerate((first, second)):
        for i, V in enumerate(data["shown"].values):
            ax.plot(data["time_equations"], data["risk_equations"][i, :, task], label=f"$V = {V:g}$", **stroke(i))
            ax.plot(
                data["time_sgd"], data["risk_sgd"][i, :, task], color=f"C{i}", linestyle="", marker="x", markersize=3
            )
        ax.axvline(float(data.attrs["switch"]), color="0.6", linewidth=0.8)
        ax.set_yscale("log")
        ax.set_ylim(1e-5, 0.5)
        ax.set_xlabel("steps/$D$")
        ax.set_ylabel(f"risk of the {('first', 'second')[task]} task")
    second.legend(loc="lower left", fontsize=7)
    second.set_title(f"crosses: one run, $D = {data.attrs['dim']}$", fontsize=8, loc="right")
    for ax, name in ((small, "forgetting"), (large, "large")):
        for j, later in enumerate(data["after"].values):
            points(ax, data, name, {"after": later}, "similarity", j, f"{later:g} after the switch")
        ax.set_xlabel("similarity of features $V$")
        ax.set_ylabel("forgetting")
        scale = float(data.attrs["scale" if name == "forgetting" else "large_scale"])
        ax.set_title(f"mean of {data.sizes['start']} starts of scale {scale:g}", fontsize=8, loc="right")
        ax.set_ylim(-0.01, 0.36)
    large.legend(loc="upper right", fontsize=7, title=MARKS, title_fontsize=7)
    for ax, name in zip((first, second, small, large), "abcd", strict=True):
        letter(ax, name)
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    V, equations, sgd = data["similarity"].values, data["forgetting_equations"].values, data["forgetting_sgd"].values
    found, micro = [], "exact SGD at finite D from the same starts"
    late = sgd[..., -1].mean(axis=1)
    end = max((0, -1), key=late.__getitem__)  # the more forgotten of orthogonal and equal features
    found.append(
        holds(
            FIGURE.key, "forgetting is greatest at intermediate V (by which part of it the more forgotten of V = 0 and V = 1 is "
            "below; no number is printed: at least half)", source="abstract", printed=1.0, found=1 - late[end] / late.max(),
            error=standard_error(sgd[end, :, -1]) / late.max(), tolerance=0.5, evidence="exact SGD at finite D, from small starts",
        )
    )  # fmt: skip
    for j, words in ((0, "soon after the switch"), (-1, "long after it")):
        place, error = peak_with_error(V, sgd[..., j])
        claim = f"V of the largest forgetting {words} ({data['after'].values[j]:g} steps/D)"
        expected = peak(V, equations[..., j].mean(axis=1))
        found.append(
            beyond(FIGURE.key, claim, expected=expected, found=place, tolerance=4 * error, error=error, evidence=micro)
        )
    middle, far = (int(np.argmin(np.abs(V - one))) for one in (0.3, 0.6))
    large = [data[f"large_{kind}"].values[..., -1] for kind in ("equations", "sgd")]
    for claim, pair in (
        (f"forgetting at V = {V[middle]:g}, long after the switch", (equations[middle, :, -1], sgd[middle, :, -1])),
        (f"from large starts an orthogonal task is forgotten by so much more than one with V = {V[far]:g}",
         tuple(one[0] - one[far] for one in large)),
    ):  # fmt: skip
        error = float(standard_error(pair[1] - pair[0]))
        facts = {"expected": pair[0].mean(), "found": pair[1].mean(), "tolerance": 4 * error, "error": error}
        found.append(beyond(FIGURE.key, claim, **facts, evidence=micro))
    return found


FIGURE = PaperFigure(
    f"{KEY}/features", "Forgetting against the similarity of features", compute, draw, claims, PARAMETERS
)

"""Beyond figure 1, at m* = 1: the printed threshold of two samples per dimension fails as the dimension grows."""

from typing import TYPE_CHECKING

import numpy as np

from solvable import empirical, theory
from solvable.papers.claims import Claim, beyond, holds, refuted
from solvable.papers.figure import PaperFigure
from solvable.papers.parameters import UNSAID, Parameter, table
from solvable.papers.saraomannelli2020.settings import KEY, LINES, problem
from solvable.plot.style import figure, letter

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

PARAMETERS = table(
    Parameter("dims", "d to infinity", (4, 8, 16, 24, 32, 48, 64), (4, 8, 16, 32), "from d = 128 on certificates take minutes",
    "$d$"),
    Parameter(
        "instances", UNSAID, (400, 400, 300, 150, 100, 30, 20), (150, 60, 24, 30),
        "standard errors of 0.05 d and less", "data sets, by $d$",
    ),
    Parameter("width", 1, 1, label="$m^*$"),
    Parameter("seed", UNSAID, 2, why="any"),
)  # fmt: skip
ALPHA = 2.25


def compute(quick: bool) -> "xarray.Dataset":
    import xarray

    values = PARAMETERS.values(quick)
    dims, instances = values["dims"], values["instances"]
    fewest = np.full((len(dims), max(instances)), np.nan)
    for row, d, many in zip(fewest, dims, instances, strict=True):
        row[:many] = empirical.recovery(problem(d, values["width"]), many, seed=values["seed"]).fewest
    return xarray.Dataset({"fewest": (("dim", "instance"), fewest)}, {"dim": list(dims)})


def recoveries(data: "xarray.Dataset") -> dict[int, empirical.Recovery]:
    found = {}
    for d, row in zip(data["dim"].values, data["fewest"].values, strict=True):
        found[int(d)] = empirical.Recovery(problem(int(d), 1), row[np.isfinite(row)].astype(int))
    return found


def draw(data: "xarray.Dataset") -> "Figure":
    picture, (left, right) = figure(1, 2, height=3.0)
    found = recoveries(data)
    for i, d in enumerate([d for d in found if d in (4, 8, 16, 32, 64)]):
        n = np.arange(d, int(4 * d) + 1)
        share, low, high = found[d].probability(n)
        left.plot(n / d, share, color=f"C{i}", linestyle=LINES[i], label=f"$d = {d}$")
        left.fill_between(n / d, low, high, color=f"C{i}", alpha=0.15, linewidth=0)
    left.axvline(2, color="0.4", linewidth=1.0, label="printed threshold")
    left.fill_between([], [], [], color="0.4", alpha=0.15, linewidth=0, label="95 % confidence")
    left.set_xlabel("samples per dimension, $n/d$")
    left.set_ylabel("probability that the teacher is determined")
    left.legend(loc="lower right", fontsize=7)
    left.set_xlim(1, 4)
    dims = np.array(list(found))
    means = np.array([one.mean for one in found.values()])
    errors = np.array([one.standard_error for one in found.values()])
    right.errorbar(dims, means / dims, errors / dims, linestyle="", marker="o", markersize=4, label="certified, mean")
    every = np.unique(np.geomspace(4, 256, 20).astype(int))
    lines = [theory.recovery_threshold(problem(int(d), 1)).value / d for d in every]
    right.plot(every, lines, color="C1", linestyle="--", label="statistical dimension, corrected")
    limit = theory.recovery_limit(problem(4, 1)).value
    right.axhline(limit, color="C2", linestyle=":", label=f"$d \\to \\infty$: {limit:.3f}")
    right.plot(every, 2 - 1 / every, color="0.4", linewidth=1.0, label="printed, (13)")
    right.set_xscale("log")
    right.set_xticks([4, 16, 64, 256], ["4", "16", "64", "256"])
    right.minorticks_off()
    right.set_xlabel("dimension $d$")
    right.set_ylabel("samples that determine the teacher, $N^*/d$")
    right.set_ylim(1.3, 3.6)
    right.legend(fontsize=7, loc=(0.03, 0.52))
    letter(left, "a")
    letter(right, "b")
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    found = recoveries(data)
    wrong = "tests/theory/test_recovery_theory.py::test_printed_threshold_fails_at_large_dim"
    d = max(found)
    last, many = found[d], len(found[d].fewest)
    alpha, error = last.mean / d, last.standard_error / d
    solved, missed = (float(last.probability(int(at * d))[0]) for at in (ALPHA, 2.0))
    exact, (part, low, high) = theory.unique_probability(problem(4, 1)).value, found[4].probability(5, 0.9999)
    stated, few = theory.recovery_threshold(problem(d, 1)).value, 1 - float(found[8].probability(16)[0])
    return [
        holds(
            FIGURE.key, f"2 d samples do not determine the teacher as d grows (part of the data sets for which so, d = {d})",
            source="(11)", printed=1.0, found=1 - missed, tolerance=0.05 + 4 * _error(1 - missed, many),
            error=_error(1 - missed, many), evidence=f"certified decisions, {many} data sets; {few:.2f} at d = 8",
        ),
        refuted(
            FIGURE.key, f"alpha_c = 2: more than 2 d samples do so, as d grows (mean of N*/d at d = {d}; it rises with d)",
            source="(12)", row="S11", printed=2.0, found=alpha, tolerance=0.1, error=error, evidence=wrong,
        ),
        refuted(
            FIGURE.key, f"phase retrieval is solved with n > 2 d samples (part of the data sets for which {ALPHA} d do, d = {d})",
            source="section 1", row="S11", printed=1.0, found=solved, tolerance=0.1, error=_error(solved, many), evidence=wrong,
        ),
        beyond(
            FIGURE.key, f"d = {d}: mean of N* over the statistical dimension, corrected", expected=1.0, found=last.mean / stated,
            tolerance=0.04 + 4 * last.standard_error / stated, error=last.standard_error / stated,
            evidence="theory.recovery_threshold, which knows nothing of certificates",
        ),
        beyond(
            FIGURE.key, f"d = 4: five samples are enough with probability {exact:.4f}, exactly", expected=exact, found=float(part),
            tolerance=float(high - low) / 2, error=_error(exact, len(found[4].fewest)), evidence="theory.unique_probability",
        ),
    ]  # fmt: skip


def _error(share: float, many: int) -> float:
    """Standard error of a share of so many, at least that of one in them."""
    return float(np.sqrt(max(share * (1 - share), 1 / many) / many))


FIGURE = PaperFigure(
    f"{KEY}/threshold", "Phase retrieval: where the printed threshold fails", compute, draw, claims, PARAMETERS
)

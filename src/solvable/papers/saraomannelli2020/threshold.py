"""Beyond figure 1, at m* = 1: the printed threshold of two samples per dimension fails as the dimension grows."""

from typing import TYPE_CHECKING

import numpy as np

from solvable import empirical, theory
from solvable.papers.claims import Claim, judge
from solvable.papers.figure import PaperFigure
from solvable.papers.saraomannelli2020.settings import KEY, problem
from solvable.plot.style import figure, letter

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

FULL = {4: 400, 8: 400, 16: 300, 24: 150, 32: 100, 48: 40, 64: 30}
QUICK = {4: 150, 8: 60, 16: 24, 32: 20}
ALPHA = 2.25
KNOWN = {8: (0.96, 0.02), 16: (0.82, 0.04), 32: (0.50, 0.07), 64: (0.05, 0.04)}  # probability there, by another program
MEANS = {8: (1.774, 0.014), 16: (2.015, 0.018), 32: (2.324, 0.034), 64: (2.559, 0.034)}  # (N* - 1/2)/d


def compute(quick: bool) -> "xarray.Dataset":
    import xarray

    sizes = QUICK if quick else FULL
    many = max(sizes.values())
    fewest = np.full((len(sizes), many), np.nan)
    for row, (d, instances) in zip(fewest, sizes.items(), strict=True):
        row[:instances] = empirical.recovery(problem(d, 1), instances, seed=2).fewest
    return xarray.Dataset({"fewest": (("dim", "instance"), fewest)}, {"dim": list(sizes)})


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
        left.plot(n / d, share, color=f"C{i}", label=f"$d = {d}$")
        left.fill_between(n / d, low, high, color=f"C{i}", alpha=0.15, linewidth=0)
    left.axvline(2, color="0.4", linewidth=1.0, label="printed threshold")
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
    stated = []
    for d, (share, error) in KNOWN.items():
        if d in found:
            here, many = float(found[d].probability(int(ALPHA * d))[0]), len(found[d].fewest)
            width = 4 * np.hypot(np.sqrt(share * (1 - share) / many), error)
            if width < 0.35:  # else nothing would be decided
                stated.append(
                    judge(
                        FIGURE.key, f"d = {d}, n = {ALPHA} d: the teacher is determined with probability {share}, less at larger d",
                        expected=share, found=here, tolerance=width, evidence=wrong,
                        correction="S11" if d >= 32 else None, beyond=d < 32,
                    )
                )  # fmt: skip
    for d, (mean, spread) in MEANS.items():
        if d in found:
            one = found[d]
            stated.append(
                judge(
                    FIGURE.key, f"d = {d}: the mean of (N* - 1/2)/d is {mean}, rising with d, where (13) stays below 2",
                    expected=mean, found=(one.mean - 0.5) / d, tolerance=4 * float(np.hypot(one.standard_error / d, spread)),
                    evidence=wrong, correction="S11" if d >= 32 else None, beyond=d < 32,
                )
            )  # fmt: skip
    for d in (4, 8):
        exact, (part, low, high) = theory.unique_probability(problem(d, 1)).value, found[d].probability(d + 1, 0.9999)
        stated.append(
            judge(
                FIGURE.key, f"d = {d}: d + 1 samples are enough with probability {exact:.4f}, exactly",
                expected=exact, found=float(part), tolerance=float(high - low) / 2 + 1e-9,
                evidence="theory.unique_probability", beyond=True,
            )
        )  # fmt: skip
    return stated


FIGURE = PaperFigure(f"{KEY}/threshold", "Phase retrieval: where the printed threshold fails", compute, draw, claims)

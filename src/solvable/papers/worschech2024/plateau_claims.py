"""Verdicts on figures 4 and 18, and on sections 5.1, C.2 to C.4."""

from typing import TYPE_CHECKING

import numpy as np

from solvable.numerics.statistics import standard_error
from solvable.papers.claims import Claim, beyond, corrected, holds
from solvable.papers.worschech2024.committees import DROP, PRINTS, TEST
from solvable.papers.worschech2024.settings import KEY

if TYPE_CHECKING:
    import xarray

SPREAD = 2.5  # standard deviations over teachers by which the paper's one teacher may differ from the mean


def claims_four(data: "xarray.Dataset") -> list[Claim]:
    return [*_heights(data), *_escape(data), *_teachers(data)]


def _mean(values: np.ndarray) -> tuple[float, float]:
    """With its standard error."""
    return float(values.mean()), standard_error(values)


def _typical(key: str, claim: str, source: str, printed: float, over_teachers: np.ndarray) -> Claim:
    """The paper's number for its one teacher against the mean over teachers."""
    return holds(
        key, f"{claim} (mean over {over_teachers.size} teachers, against the paper's one)", source=source, printed=printed,
        found=float(over_teachers.mean()), tolerance=SPREAD * float(over_teachers.std(ddof=1)),
        evidence="theory.erf_plateau; tolerance: 2.5 standard deviations over teachers",
    )  # fmt: skip


def _heights(data: "xarray.Dataset") -> list[Claim]:
    key, one = f"{KEY}/4", data.isel(seed=0)
    height = float(one["waits"])
    return [
        holds(
            key, "(13) is the mean height of the overlaps with the M teachers (equations over formula)", source="(13)",
            printed=1.0, found=float((data["mean_cross"] / data["alike_mean"]).mean()), tolerance=0.002,
            evidence=f"equations at alpha = 700, {data.sizes['seed']} starts",
        ),
        beyond(
            key, "every teacher has its own height, that of the exact fixed point (largest |equations / exact - 1|)",
            expected=0.0, found=float(data["gap"].max()), tolerance=0.01, evidence="theory.erf_plateau against the equations",
        ),
        _typical(key, "overlaps between students wait at 0.1443", "figure 4, inset", 0.1443,
                 data["scatter_student"].sel(order=1).values),
        _typical(key, "the risk waits at 0.00711", "figure 4, inset", 0.00711, data["scatter_risk"].values),
        corrected(
            key, "(99) with D/(M - 1) is the height of the risk", source="(99)", row="W31", printed=float(one["printed_height"]),
            expected=float(one["alike_height"]), found=height, tolerance=2e-3 * height,
            evidence=f"{PRINTS}::test_heights_of_the_plateau_as_printed",
        ),
    ]  # fmt: skip


def _escape(data: "xarray.Dataset") -> list[Claim]:
    key, begin = f"{KEY}/4", data.attrs["begin"]
    falling, falling_error = _mean(data["falling"].values)
    twice, twice_error = _mean((data["tau"] / data["falling"]).values)
    once, once_error = _mean((data["tau"] / data["parting"]).values)
    reached, reached_error = _mean(data["reached"].values - begin)
    return [
        holds(
            key, "students part with the time of (15) (tau of (15) over that of the equations)", source="(15)", printed=1.0,
            found=once, error=once_error, tolerance=0.05, evidence="differences of R between alpha = 1600 and 2300",
        ),
        corrected(
            key, "the risk falls as exp(2 alpha/tau) (tau of (15) over the time of its fall)", source="(115)", row="W34",
            printed=1.0, expected=2.0, found=twice, error=twice_error, tolerance=0.1,
            evidence=f"{PRINTS}::test_the_risk_falls_twice_as_fast_as_students_part",
        ),
        holds(
            key, "tau = 239 is the time in which the fall of the risk grows by e, half of (15)", source="section C.4",
            printed=239.0, found=falling, error=falling_error,
            tolerance=SPREAD * float(data["scatter_tau"].std(ddof=1)) / 2,
            evidence="the equations; tolerance: 2.5 standard deviations over teachers",
        ),
        corrected(
            key, "R is e times its plateau value after tau log(B/spread), tau = 478, not after 2751 with half of tau and with "
            "log(N)/2 beside a spread that contains it (mean time from alpha = 300 on)",
            source="section C.4", row="W36", printed=2751.0, expected=float(data["right"].mean()) - begin, found=reached,
            error=reached_error, tolerance=0.1 * reached, evidence=f"{TEST}::test_length_of_the_plateau",
        ),
        beyond(
            key, f"the fall of the risk by {DROP:.0%} follows from the modes of the escape (largest |predicted / found - 1|)",
            expected=0.0, found=float(np.abs(data["predicted"] / data["end"] - 1).max()), tolerance=0.05,
            evidence="linearised escape against the equations",
        ),
    ]  # fmt: skip


def _teachers(data: "xarray.Dataset") -> list[Claim]:
    """Section 5.1.1: the variance of overlaps between two teachers."""
    key = f"{KEY}/4"
    measured, fewer = ((data[name].values ** 2).mean(axis=(0, 2)) for name in ("pairs", "fewer_pairs"))
    formula = data["moments"].values / data.attrs["N"]
    error = float(np.sqrt(2 / data["pairs"].sel(power=1).size))
    power = float(np.log(fewer[1] / measured[1]) / np.log(0.1))
    return [
        holds(
            key, "Var T(1) of two teachers is the sum of squared eigenvalues over N^2 (ratio)", source="section 5.1.1",
            printed=1.0, found=float(measured[0] / formula[0]), error=error, tolerance=4 * error,
            evidence=f"{data.sizes['sample']} teachers; tolerance: 4 standard errors",
        ),
        corrected(
            key, "Var T(2) has the fourth powers (over the sum of lambda^4 / N^2)", source="section 5.1.1", row="W7",
            printed=float(formula[0] / formula[1]), expected=1.0, found=float(measured[1] / formula[1]), error=error,
            tolerance=4 * error, evidence=f"{PRINTS}::test_scatter_of_teachers",
        ),
        corrected(
            key, "with L = 10 eigenvalues the variance falls with the dimension (power of N)", source="section 5.1.1", row="W8",
            printed=0.0, expected=-1.0, found=power, error=1.5 * error / np.log(10), tolerance=6 * error / np.log(10),
            evidence=f"{PRINTS}::test_scatter_of_teachers",
        ),
    ]  # fmt: skip


def claims_eighteen(data: "xarray.Dataset") -> list[Claim]:
    key = f"{KEY}/18"
    insets = [("overlaps with teachers", "cross", 4, 6.0), ("overlaps between students", "student", 4, 4.752),
              ("overlaps with teachers", "cross", 6, 105.0), ("overlaps between students", "student", 6, 81.85)]  # fmt: skip
    stated = [
        _typical(key, f"{name} of order {order} wait at {printed:g}", "figure 18, insets", printed,
                 data[f"scatter_{what}"].sel(order=order).values)
        for name, what, order, printed in insets
    ]  # fmt: skip
    at = int(np.argmin(np.abs(data["time"].values - 700)))
    for order in (4, 6):
        Q = float(data["student_overlap"].sel(order=order).values[at].mean())
        stated.append(
            corrected(
                key, f"(98) of order {order} with (T + D) in the place of T is the height of the overlaps between students",
                source="(98)", row="W30", printed=float(data["printed_student"].sel(order=order)),
                expected=float(data["alike_student"].sel(order=order)), found=Q, tolerance=2e-3 * Q,
                evidence=f"{PRINTS}::test_heights_of_the_plateau_as_printed",
            )
        )  # fmt: skip
    return stated

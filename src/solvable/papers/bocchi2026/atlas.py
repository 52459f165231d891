"""Section 4.2 as a picture: all critical points of the population risk with their spectra, and the paper's counts."""

from typing import TYPE_CHECKING

from solvable import landscape, plot
from solvable.papers.bocchi2026.settings import KEY, problem
from solvable.papers.claims import Claim, judge
from solvable.papers.figure import PaperFigure
from solvable.plot.style import letter

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

DIM = 1000


def compute(quick: bool) -> "xarray.Dataset":  # noqa: ARG001
    """Formulas: the quick and the full form are the same."""
    return landscape.atlas(problem().replace(inputs__dim=DIM))


def largest_ratio(q: int, dim: int) -> float:
    """Of negative to flat directions on the plateau, over all widths that have one."""
    ratios = []
    for p in range(1, dim + 1):
        points = landscape.critical_points(problem(p, q).replace(inputs__dim=dim))
        ratios += [point.index / point.flat for point in points if (point.outside, point.inside) == (p, 0)]
    return max(ratios)


def draw(data: "xarray.Dataset") -> "Figure":
    picture = plot.atlas(data)
    for ax, name in zip(picture.axes, "ab", strict=True):
        letter(ax, name)
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    p, q, N = 6, 3, DIM

    def at(outside: int, inside: int, name: str) -> float:
        return float(data[name].values[(data["outside"].values == outside) & (data["inside"].values == inside)][0])

    def positive(outside: int, inside: int) -> float:
        return p * N - at(outside, inside, "index") - at(outside, inside, "flat")

    dense = "tests/landscape/test_landscape.py::test_every_critical_point"
    facts = [
        ("tabula rasa: all p N directions are negative", p * N, at(0, 0, "index")),
        ("plateau: p p* negative directions", p * q, at(p, 0, "index")),
        ("plateau: p (p + 1)/2 positive directions", p * (p + 1) // 2, positive(p, 0)),
        ("plateau: p (N - p* - p) + p (p - 1)/2 flat directions", p * (N - q - p) + p * (p - 1) // 2, at(p, 0, "flat")),
        ("plateau: (29), negative over flat", q / (N - q - p / 2 - 1 / 2), at(p, 0, "index") / at(p, 0, "flat")),
        ("solutions: no negative direction", 0, at(0, q, "index")),
        ("solutions: p* (N - p*) + p* (p* + 1)/2 positive directions", q * (N - q) + q * (q + 1) // 2, positive(0, q)),
        ("solutions: p p* - p* (p* + 1)/2 flat directions are tangent", p * q - q * (q + 1) // 2, at(0, q, "tangent")),
        ("solutions: (N - p*)(p - p*) flat directions are not", (N - q) * (p - q), at(0, q, "flat") - at(0, q, "tangent")),
        ("all aligned to one teacher: (N - 1)(p - 1) negative directions", (N - 1) * (p - 1), at(0, 1, "index")),
        ("all aligned to one teacher: N - p* + 1 positive directions", N - q + 1, positive(0, 1)),
        ("all aligned to one teacher: p + p* - 2 flat directions", p + q - 2, at(0, 1, "flat")),
        ("plateau: risk 2/p* + 2/(p + 2)", 2 / q + 2 / (p + 2), at(p, 0, "risk")),
    ]  # fmt: skip
    found = [
        judge(FIGURE.key, f"{text} (p = 6, p* = 3, N = {N})", expected=expected, found=value, tolerance=1e-12, evidence=dense)
        for text, expected, value in facts
    ]  # fmt: skip
    mixed = (data["outside"].values > 0) & (data["inside"].values > 0)
    return [
        *found,
        judge(
            FIGURE.key, "beside the paper's classes there are mixed critical points, r >= 1 and 0 < s < p* (number of kinds)",
            expected=sum(p - s for s in range(1, q)), found=float(mixed.sum()), tolerance=0, correction="B8", evidence=dense,
        ),
        judge(
            FIGURE.key, "negative over flat on the plateau grows up to p = N - p*, to 2 p*/(N - p* - 1) (p* = 3, N = 20)",
            expected=2 * 3 / 16, found=largest_ratio(3, 20), tolerance=1e-12, correction="B9",
            evidence="tests/landscape/test_landscape.py::test_the_plateau_needs_room",
        ),
        judge(
            FIGURE.key, "every critical point but the solutions has a negative direction (smallest index of the others)",
            expected=(p - q + 1), found=float(data["index"].values[data["inside"].values < q].min()), tolerance=0, evidence=dense,
        ),
    ]  # fmt: skip


FIGURE = PaperFigure(f"{KEY}/atlas", "All critical points of the population risk", compute, draw, claims)

"""Figure 4: the landscape of phase retrieval on the sphere, a golf course with one hole (and its mirror image)."""

from typing import TYPE_CHECKING

import numpy as np

from solvable import landscape
from solvable.overlaps import Weights
from solvable.papers.arnaboldi2023.settings import KEY, problem
from solvable.papers.claims import Claim, judge
from solvable.papers.figure import PaperFigure
from solvable.plot.style import letter

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

DIM = 8  # of the spectra; the sketch has three


def student_at(m: float, dim: int) -> Weights:
    axes = np.sqrt(dim) * np.eye(dim)
    return Weights(m * axes[:1] + np.sqrt(1 - m * m) * axes[1:2], axes[:1])


def compute(quick: bool) -> "xarray.Dataset":  # noqa: ARG001
    """Risk over the sphere in three dimensions, and tangent eigenvalues against the overlap."""
    import xarray

    overlaps = np.linspace(0, 1, 41)
    here, sketch = problem(1, DIM, 0.1), problem(1, 3, 0.1)
    spectra = []
    for m in overlaps:
        values, vectors = np.linalg.eigh(landscape.sphere_hessian(here, student_at(m, DIM)))
        own = student_at(m, DIM).student[0] / np.sqrt(DIM)
        off = np.argmax(np.abs(own @ vectors))  # the direction off the sphere
        spectra.append(np.delete(values, off))
    height, around = np.meshgrid(np.linspace(0, np.pi, 61), np.linspace(0, 2 * np.pi, 121), indexing="ij")
    risk = [landscape.population_risk(sketch, student_at(abs(np.cos(one)), 3)) for one in height[:, 0]]
    return xarray.Dataset(
        {
            "eigenvalue": (("overlap", "direction"), spectra),
            "risk": (("polar", "around"), np.repeat(np.array(risk)[:, None], around.shape[1], axis=1)),
        },
        {"overlap": overlaps, "polar": height[:, 0], "around": around[0]},
    )


def draw(data: "xarray.Dataset") -> "Figure":
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure

    picture = Figure(figsize=(7.0, 2.9), layout="constrained")
    sphere = picture.add_subplot(1, 2, 1, projection="3d")
    right = picture.add_subplot(1, 2, 2)
    height, around = np.meshgrid(data["polar"].values, data["around"].values, indexing="ij")
    norm, colours = Normalize(0, 2), colormaps["viridis"]
    sphere.plot_surface(
        np.sin(height) * np.cos(around), np.sin(height) * np.sin(around), np.cos(height),
        facecolors=colours(norm(data["risk"].values)), rstride=1, cstride=1, linewidth=0, antialiased=False, shade=False,
    )  # fmt: skip
    sphere.text(0, 0, 1.25, "$w_\\star$", ha="center")
    sphere.text(0, 0, -1.45, "$-w_\\star$", ha="center")
    sphere.set_axis_off()
    sphere.set_box_aspect((1, 1, 1), zoom=1.2)
    picture.colorbar(ScalarMappable(norm, colours), ax=sphere, shrink=0.7, label="excess risk $2(1 - m^2)$")
    lines = right.plot(data["overlap"], data["eigenvalue"].values[:, 1:], color="C0")
    lines[0].set_label(f"$4m^2$, {DIM - 2} times")
    right.plot(data["overlap"], data["eigenvalue"].values[:, 0], color="C1", label="$4(2m^2 - 1)$, towards the teacher")
    right.axhline(0, color="0.7", linewidth=0.8)
    right.set_xlabel("overlap $m$")
    right.set_ylabel(f"Hessian on the sphere, $d = {DIM}$")
    right.legend(loc="upper left")
    letter(sphere, "a")
    letter(right, "b")
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    m, values = data["overlap"].values, data["eigenvalue"].values
    expected = np.sort(
        np.concatenate([np.repeat(4 * m[:, None] ** 2, DIM - 2, axis=1), 4 * (2 * m[:, None] ** 2 - 1)], axis=1)
    )
    test = "tests/landscape/test_sphere_landscape.py::test_one_student_on_the_sphere"
    return [
        judge(
            FIGURE.key, "the risk is 2 (1 - m^2): largest on the equator, zero at the teacher (at polar angle 60 degrees)",
            expected=1.5, found=float(data["risk"].values[20, 0]), tolerance=1e-12, evidence="population risk at weights",
        ),
        judge(
            FIGURE.key, "tangent eigenvalues are 4 m^2, d - 2 times, and 4 (2 m^2 - 1) (largest difference)",
            expected=0.0, found=np.abs(values - expected).max(), tolerance=1e-9, correction="A17", evidence=test,
        ),
        judge(
            FIGURE.key, "at no overlap one direction is negative and d - 2 are flat, not d - 1 (number of flat ones, d = 8)",
            expected=DIM - 2, found=float((np.abs(values[0]) < 1e-9).sum()), tolerance=0, correction="A18", evidence=test,
        ),
    ]  # fmt: skip


FIGURE = PaperFigure(f"{KEY}/4", "Mediocrity at initialisation: the landscape on the sphere", compute, draw, claims)

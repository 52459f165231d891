"""Figure 4: the landscape of phase retrieval on the sphere, a golf course with one hole (and its mirror image)."""

from typing import TYPE_CHECKING, Any

import numpy as np

from solvable import landscape
from solvable.overlaps import Weights
from solvable.papers.arnaboldi2023.settings import KEY, problem
from solvable.papers.claims import Claim, corrected, holds
from solvable.papers.figure import PaperFigure
from solvable.papers.parameters import UNSAID, Parameter, table
from solvable.plot.style import letter
from solvable.problems import Problem

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

PARAMETERS = table(
    Parameter("sketch", UNSAID, 3, why="the dimension of a sphere that can be drawn", label="d of the sketch"),
    Parameter("dim", UNSAID, 8, why="enough that d - 2 and d - 1 differ from each other and from 1", label="d of the spectra"),
    Parameter("rate", UNSAID, 0.1, why="the landscape does not depend on it", label="γ"),
)  # fmt: skip
POINTS = ("zero", "saddle", "teacher")
VIEW = (18.0, -60.0)  # degrees above the equator, and around


def student_at(m: float, dim: int, scale: float = 1.0) -> Weights:
    """A student of overlap m with the teacher, in the plane of the first two axes; its norm times `scale`."""
    axes = np.sqrt(dim) * np.eye(dim)
    return Weights(scale * (m * axes[:1] + np.sqrt(1 - m * m) * axes[1:2]), axes[:1])


def tangent(here: Problem, m: float, dim: int) -> np.ndarray:
    """Eigenvalues of the Hessian on the sphere, without the direction off it."""
    values, vectors = np.linalg.eigh(landscape.sphere_hessian(here, student_at(m, dim)))
    own = student_at(m, dim).student[0] / np.sqrt(dim)
    return np.delete(values, np.argmax(np.abs(own @ vectors)))


def compute(quick: bool) -> "xarray.Dataset":
    """Risk over the sphere in three dimensions, tangent eigenvalues against the overlap; the critical points without a sphere."""
    import xarray

    dim, rate, flat = (PARAMETERS.values(quick)[name] for name in ("dim", "rate", "sketch"))
    overlaps, polar, around = np.linspace(0, 1, 41), np.linspace(0, np.pi, 91), np.linspace(0, 2 * np.pi, 181)
    here, sketch, free = (
        problem(1, dim, rate),
        problem(1, flat, rate),
        problem(1, dim, rate).replace(student__norm="free"),
    )
    risk = np.array([landscape.population_risk(sketch, student_at(np.cos(one), flat)) for one in polar])
    where = [student_at(1.0, dim, 0.0), student_at(0.0, dim, 1 / np.sqrt(3)), student_at(1.0, dim)]
    slopes = [np.abs(landscape.gradient(free, one)).max() for one in where]
    return xarray.Dataset(
        {
            "eigenvalue": (("overlap", "direction"), [tangent(here, m, dim) for m in overlaps]),
            "slope": (("overlap", "axis"), [landscape.sphere_gradient(here, student_at(m, dim))[0] for m in overlaps]),
            "risk": (("polar", "around"), np.repeat(risk[:, None], around.size, axis=1)),
            "free_risk": ("point", [landscape.population_risk(free, one) for one in where]),
            "free_slope": ("point", slopes),
            "free_eigenvalue": (("point", "axis"), [np.linalg.eigvalsh(landscape.hessian(free, one)) for one in where]),
        },
        {"overlap": overlaps, "polar": polar, "around": around, "point": list(POINTS)},
        {"dim": dim},
    )  # fmt: skip


def draw(data: "xarray.Dataset") -> "Figure":
    from matplotlib.figure import Figure

    picture, dim = Figure(figsize=(7.0, 3.1), layout="constrained"), int(data.attrs["dim"])
    sphere = picture.add_subplot(1, 2, 1, projection="3d", computed_zorder=False)
    right = picture.add_subplot(1, 2, 2)
    _draw_sphere(data, picture, sphere)
    lines = right.plot(data["overlap"], data["eigenvalue"].values[:, 1:], color="C0")
    lines[0].set_label(f"$4m^2$, {dim - 2} times")
    right.plot(
        data["overlap"],
        data["eigenvalue"].values[:, 0],
        color="C1",
        linestyle="--",
        label="$4(2m^2 - 1)$, towards $w_\\star$",
    )
    right.axhline(0, color="0.7", linewidth=0.8)
    right.set(xlabel="overlap $m$", ylabel=f"eigenvalues on the sphere, $d = {dim}$")
    right.legend(loc="upper left")
    letter(sphere, "a")
    letter(right, "b")
    return picture


def _draw_sphere(data: "xarray.Dataset", picture: "Figure", ax: Any) -> None:
    """In parallel projection, so that it is round, and with the same scale along all axes."""
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    polar, around = np.meshgrid(data["polar"].values, data["around"].values, indexing="ij")
    norm, colours = Normalize(0, 2), colormaps["viridis"]
    ax.set_proj_type("ortho")
    ax.view_init(*VIEW)
    ax.plot_surface(
        np.sin(polar) * np.cos(around), np.sin(polar) * np.sin(around), np.cos(polar), zorder=1,
        facecolors=colours(norm(data["risk"].values)), rstride=1, cstride=1, linewidth=0, antialiased=False, shade=False,
    )  # fmt: skip
    ax.set(xlim=(-1, 1), ylim=(-1, 1), zlim=(-1, 1))
    ax.set_box_aspect((1, 1, 1), zoom=1.3)
    ax.set_axis_off()
    _name_points(ax)
    bar = picture.colorbar(
        ScalarMappable(norm, colours), ax=ax, shrink=0.7, label="$\\mathcal{R} - \\Delta/2 = 2(1 - m^2)$"
    )
    bar.set_ticks([0, 0.5, 1, 1.5, 2])


def _name_points(ax: Any) -> None:
    """The teacher, its mirror image behind, a start on the equator, and the two kinds of directions there."""
    facing = np.deg2rad(VIEW[1])
    lines: Any = {"color": "black", "linewidth": 1.2, "zorder": 3}
    turn = facing + np.linspace(-0.9, 0.9, 60)
    ax.plot(np.cos(turn), np.sin(turn), 0 * turn, linestyle=":", **lines)
    rise = np.linspace(0, 0.75, 40)
    ax.plot(np.cos(rise) * np.cos(facing), np.cos(rise) * np.sin(facing), np.sin(rise), linestyle="-", **lines)
    end = rise[-1]
    ax.plot(
        [np.cos(end) * np.cos(facing)],
        [np.cos(end) * np.sin(facing)],
        [np.sin(end)],
        "^",
        color="black",
        markersize=5,
        zorder=4,
    )
    ax.plot(
        [np.cos(facing)], [np.sin(facing)], [0], "o", color="white", markeredgecolor="black", markersize=6, zorder=4
    )
    ax.plot([0], [0], [1], "*", color="white", markeredgecolor="black", markersize=9, zorder=4)
    text: Any = {"zorder": 5, "fontsize": 8}
    ax.text(0, 0, 1.18, "$w_\\star$: minimum", ha="center", **text)
    ax.text(0, 0, -1.3, "$-w_\\star$: minimum (behind)", ha="center", **text)
    side = facing + 0.12
    ax.text(np.cos(side), np.sin(side), -0.18, "$w^0$, $m = 0$", ha="center", va="top", **text)
    ax.text(np.cos(facing + 0.65), np.sin(facing + 0.65), -0.1, "flat", ha="center", va="top", **text)
    ax.text(np.cos(facing + 0.07), np.sin(facing + 0.07), 0.3, "negative", ha="left", **text)


def claims(data: "xarray.Dataset") -> list[Claim]:
    return [*judge_sphere(data), *judge_free(data)]


def judge_sphere(data: "xarray.Dataset") -> list[Claim]:
    key, dim = FIGURE.key, int(data.attrs["dim"])
    m, values, slopes = data["overlap"].values, data["eigenvalue"].values, data["slope"].values
    student = np.zeros_like(slopes)
    student[:, 0], student[:, 1] = m, np.sqrt(1 - m**2)
    stated = 4 * m[:, None] * (m[:, None] * student - np.eye(dim)[0])
    spectra = np.sort(
        np.concatenate([np.repeat(4 * m[:, None] ** 2, dim - 2, axis=1), 4 * (2 * m[:, None] ** 2 - 1)], axis=1)
    )
    half = int(np.argmin(np.abs(m - 0.5)))
    where = "tests/papers/test_arnaboldi2023_misprints.py::test_the_hessian_on_the_sphere_has_a_factor_of_two"
    flat = "tests/landscape/test_sphere_landscape.py::test_one_student_on_the_sphere"
    exact: Any = {"tolerance": 1e-9, "evidence": "weights in eight dimensions"}
    return [
        holds(
            key, "the risk on the sphere is 2 (1 - m^2): at m = 1/2", source="(80)", printed=1.5,
            found=float(data["risk"].values[30, 0]), tolerance=1e-12, evidence="weights in three dimensions",
        ),
        holds(key, "the gradient on the sphere is 4 m (m w - w*) (largest difference)", source="(82)", printed=0.0,
              found=np.abs(slopes - stated).max(), **exact),
        holds(key, "the Hessian on the sphere has tangent eigenvalues 4 m^2 and 4 (2 m^2 - 1) (largest difference)", source="(83)",
              printed=0.0, found=np.abs(values - spectra).max(), **exact),
        holds(key, "the negative eigenvalue at m = 0", source="(84)", printed=-4.0, found=values[0, 0], **exact),
        holds(key, "every eigenvalue at the teacher (the one furthest from the print)", source="(85)", printed=4.0,
              found=values[-1, np.argmax(np.abs(values[-1] - 4))], **exact),
        corrected(
            key, "the loss has twice the Hessian of (79): largest tangent eigenvalue of its mean at m = 1/2", source="(79)",
            row="A17", printed=0.5, expected=1.0, found=values[half, -1], tolerance=1e-9, evidence=where,
        ),
        corrected(
            key, f"of the d - 1 directions on the sphere d - 2 are flat at m = 0 (d = {dim})", source="figure 4 caption", row="A18",
            printed=dim - 1, expected=dim - 2, found=float((np.abs(values[0]) < 1e-9).sum()), tolerance=0.0, evidence=flat,
        ),
    ]  # fmt: skip


def judge_free(data: "xarray.Dataset") -> list[Claim]:
    """Appendix H without a sphere, for a teacher of norm one (rho = 1)."""
    key, dim = FIGURE.key, int(data.attrs["dim"])
    risk, values = data["free_risk"].values, data["free_eigenvalue"].values
    test = "tests/papers/test_arnaboldi2023_misprints.py::test_the_euclidean_landscape"
    fixed = [
        ("excess risk at w = 0", "(69)", "A13", 3.0, 1.5, risk[0]),
        ("excess risk of the saddle", "(71)", "A13", 10 / 3, 4 / 3, risk[1]),
        ("least eigenvalue at w = 0", "(68)", "A14", -4.0, -6.0, values[0, 0]),
        ("negative eigenvalue of the saddle", "(70)", "A14", -2.0, -4.0, values[1, 0]),
        ("positive eigenvalue of the saddle", "(70)", "A14", 2.0, 4.0, values[1, -1]),
        ("largest eigenvalue at the teacher", "(72)", "A14", 8.0, 12.0, values[2, -1]),
    ]  # fmt: skip
    right = [
        ("all three are critical points (largest slope)", "appendix H", 0.0, data["free_slope"].values.max()),
        ("the other eigenvalues at w = 0", "(68)", -2.0, values[0, -1]),
        ("zero eigenvalues of the saddle", "(70)", dim - 2, float((np.abs(values[1]) < 1e-9).sum())),
        ("the other eigenvalues at the teacher", "(72)", 4.0, values[2, 0]),
        ("excess risk at the teacher", "(73)", 0.0, risk[2]),
    ]  # fmt: skip
    exact: Any = {"tolerance": 1e-9, "evidence": f"gradient and Hessian at weights in {dim} dimensions"}
    return [
        *(holds(key, text, source=source, printed=printed, found=found, **exact) for text, source, printed, found in right),
        *(
            corrected(
                key, text, source=source, row=row, printed=printed, expected=expected, found=found, tolerance=1e-9, evidence=test
            )
            for text, source, row, printed, expected, found in fixed
        ),
    ]  # fmt: skip


FIGURE = PaperFigure(
    f"{KEY}/4", "Mediocrity at initialisation: the landscape on the sphere", compute, draw, claims, PARAMETERS
)

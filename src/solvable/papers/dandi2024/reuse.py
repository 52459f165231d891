"""Six steps on one batch of 3N samples, beside six steps on fresh ones. Exact in law at N = 5000 without the data matrix, against
the authors' stored runs. The label has a part that is linear in either teacher, so that fresh batches learn both too; `twice` has
one that has none.
"""

from typing import TYPE_CHECKING

import numpy as np

from solvable.dynamics import moments
from solvable.empirical import Empirical
from solvable.levels import run
from solvable.numerics.statistics import standard_error
from solvable.overlaps import start
from solvable.papers.claims import Claim, beyond, holds
from solvable.papers.dandi2024.settings import ANY, CODE, KEY, STORED, STORED_RISK, STORED_RUNS, reused
from solvable.papers.figure import PaperFigure, whole
from solvable.papers.parameters import UNREAD, Parameter, table
from solvable.plot.style import figure, letter
from solvable.results import Trajectory

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

PARAMETERS = table(
    Parameter("dim", UNREAD, 5000, why=CODE, label="N"),
    Parameter("ratio", UNREAD, 3.0, why=CODE, label="samples per dimension"),
    Parameter("step", UNREAD, 0.6, why=CODE + ": 0.2 on the sum over samples", label="step"),
    Parameter("steps", UNREAD, 6, why=CODE, label="steps"),
    Parameter("runs", UNREAD, 400, 24, why="errors below those of the stored runs", label="runs"),
    Parameter("nodes", UNREAD, 2**16, why="errors below those of the stored runs", label="nodes of the risks compared"),
    Parameter("seed", UNREAD, 1, why=ANY),
)
KINDS = ("same batch", "fresh batches")


def compute(quick: bool) -> "xarray.Dataset":
    import xarray

    values = PARAMETERS.values(quick)
    level, found = Empirical(runs=values["runs"], seed=values["seed"]), []
    for fresh in (False, True):
        problem = reused(values["dim"], values["ratio"], values["step"], fresh=fresh)
        first = start(problem, student_overlap=np.eye(2), cross_overlap=np.zeros((2, 2)))
        found.append(whole(run(problem, first, level, times=range(values["steps"] + 1), progress=False)))
    steps = [step for step in STORED_RISK if step <= values["steps"]]
    return xarray.Dataset(
        {
            "fine": (
                ("run", "looked"),
                [[_risk(found[0], i, step, values["nodes"]) for step in steps] for i in range(values["runs"])],
            ),
            "cross": (("kind", "run", "step", "student", "teacher"), [one.cross_overlap for one in found]),
            "risk": (("kind", "run", "step"), [one.risk for one in found]),
            "training": (("kind", "run", "step"), [one.training_loss for one in found]),
        },
        {"kind": list(KINDS), "step": np.arange(values["steps"] + 1), "looked": steps},
        {"dim": values["dim"], "ratio": values["ratio"]},
    )


def _risk(found: Trajectory, number: int, step: int, nodes: int) -> float:
    """The risk of a run at a step by more nodes than runs take, whose error would be that of the comparison."""
    Q, R = found.student_overlap[number, step], found.cross_overlap[number, step]
    covariance = np.block([[Q, R], [R.T, found.teacher_overlap[number]]])
    return moments(covariance, found.problem, nodes=nodes).risk


def _overlap(data: "xarray.Dataset", kind: int, teacher: int) -> tuple[np.ndarray, np.ndarray]:
    """(step,) overlap of the students with a teacher, mean over runs with its standard error. Readouts have opposite signs, so the
    second student has the opposite overlap: half the difference."""
    cross = data["cross"].values[kind, :, :, :, teacher]
    each = 0.5 * (cross[..., 0] - cross[..., 1])
    return each.mean(axis=0), standard_error(each, axis=0)


def draw(data: "xarray.Dataset") -> "Figure":
    picture, (left, right) = figure(1, 2, height=2.7, width=6.6)
    steps = data["step"].values
    for kind, name in enumerate(KINDS):
        for teacher, word in enumerate(("line", "cubic")):
            mean, error = _overlap(data, kind, teacher)
            left.errorbar(
                steps, mean, error, marker="os"[teacher], linestyle=("-", "--")[kind], color=f"C{teacher}", markersize=4,
                markerfacecolor=("auto", "white")[kind] if kind else f"C{teacher}", label=f"{word}, {name}",
            )  # fmt: skip
        for values, colour, word in ((data["risk"], "C2", "risk"), (data["training"], "C3", "training loss")):
            each = values.values[kind]
            right.errorbar(
                steps, each.mean(axis=0), standard_error(each, axis=0), linestyle=("-", "--")[kind], marker=".", color=colour,
                label=f"{word}, {name}",
            )  # fmt: skip
    for (stored, spread), label in zip(STORED.values(), ("stored runs", None), strict=True):
        left.errorbar([steps[-1] + 0.25], [stored], [spread], fmt="k*", markersize=6, label=label)
    right.errorbar(
        [step + 0.12 for step in STORED_RISK], [value for value, _ in STORED_RISK.values()],
        [error for _, error in STORED_RISK.values()], fmt="k*", markersize=6, label="stored runs",
    )  # fmt: skip
    left.axhline(0, color="0.7", linewidth=0.6)
    left.set(xlabel="steps", ylabel="overlap with a teacher", ylim=(-0.28, 0.62))
    right.set(xlabel="steps", ylabel="loss", ylim=(0.15, 0.78))
    for ax, name in ((left, "a"), (right, "b")):
        letter(ax, name)
        ax.legend(loc="upper left" if ax is left else "upper right", ncol=2 if ax is left else 1, fontsize=6)
    left.set_title(f"$N = {data.attrs['dim']}$, $n = {data.attrs['ratio']:g} N$", fontsize=8, loc="right")
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    made = []
    runs = data.sizes["run"]
    cross = data["cross"].values[0, :, -1, 0]
    for teacher, (name, (stored, spread)) in enumerate(STORED.items()):
        found, error = cross[:, teacher].mean(), standard_error(cross[:, teacher], axis=0)
        made.append(
            holds(
                FIGURE.key, f"overlap of the first student with the {name} teacher after six steps", source=STORED_RUNS,
                printed=stored, found=found, error=float(error), tolerance=4 * float(np.hypot(error, spread)),
                evidence=f"{runs} runs: {found:.5f} ± {error:.5f}; 32 stored runs: {stored} ± {spread}",
            )
        )  # fmt: skip
    for i, (step, (stored, spread)) in enumerate(STORED_RISK.items()):
        each = data["fine"].values[:, i]
        error = standard_error(each, axis=0)
        made.append(
            holds(
                FIGURE.key, f"risk after {step} step{'s' * (step > 1)}", source=STORED_RUNS, printed=stored, found=each.mean(),
                error=float(error), tolerance=4 * float(np.hypot(error, spread)),
                evidence=f"{runs} runs: {each.mean():.5f} ± {error:.5f}; 32 stored runs: {stored} ± {spread}",
            )
        )  # fmt: skip
    same, fresh = data["risk"].values[:, :, 1]
    apart = float(np.hypot(standard_error(same, axis=0), standard_error(fresh, axis=0)))
    first = beyond(
        FIGURE.key, "risk after one step on fresh batches is that on the batch that will be reused", expected=same.mean(),
        found=fresh.mean(), error=apart, tolerance=5 * apart, evidence=f"both have seen their samples once; {runs} runs each",
    )  # fmt: skip
    return [*made, first]


FIGURE = PaperFigure(f"{KEY}/reuse", "Reused batches", compute, draw, claims, PARAMETERS)

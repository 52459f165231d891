"""What the figures about erf committees share: their starts and courses, and the scatter of their teachers."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from solvable import theory
from solvable.levels import run
from solvable.macro import Macro
from solvable.overlaps import Overlaps, start
from solvable.papers.figure import whole
from solvable.papers.parameters import UNSAID, Parameter
from solvable.papers.worschech2024.settings import problem
from solvable.problems import Problem
from solvable.results import Trajectory

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TEST = "tests/theory/test_committee.py"
PRINTS = "tests/theory/test_committee_prints.py"
DROP = 0.02  # of the risk: the end of a plateau
SPECTRUM = Parameter("beta", 0.25, 0.25, label="β")
UNSAID_SPECTRUM = Parameter(
    "beta",
    UNSAID,
    0.25,
    why="the inset of figure 18 has Q*(4) = 4.75: 4.67 ± 0.24 over teachers at 0.25, 9.2 at 0.5",
    label="β",
)
RATE = Parameter("eta", 0.1, 0.1, label="η")
SCALE = Parameter("sigma", 0.01, 0.01, label="σ_J")


def setting(M: int, L: int, N: int, *, eta: float, beta: float) -> Problem:
    """With the largest multiple of L as the dimension, so that all eigenvalues have one multiplicity."""
    return problem(M, eta, beta, L, N // L * L)


@dataclass(frozen=True)
class Course:
    """A start, what the equations at small rates make of it, and its exact plateau."""

    problem: Problem
    first: Overlaps
    followed: Trajectory
    place: theory.SymmetricPlateau

    @property
    def risk(self) -> np.ndarray:
        return self.followed.risk[0]

    def overlaps(self, order: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """(time, student, teacher) and (time, student, student) of this order."""
        blocks, weights = self.followed.blocks, self.problem.inputs.eigenvalues**order
        assert blocks is not None
        cross, student = (np.einsum("b,tbij->tij", weights, one[0]) for one in (blocks.cross, blocks.student))
        return cross, student


def follow(one: Problem, seed: int, times: np.ndarray, scale: float) -> Course:
    first = start(one, seed=seed, scale=scale)
    followed = whole(run(one, first, Macro(small_rate=True, rtol=1e-7), times=times, keep_blocks=True))
    return Course(one, first, followed, theory.erf_plateau(one, first).value)


def of_order(one: Problem, blocks: np.ndarray, order: int) -> np.ndarray:
    """Overlaps of this order: sum over blocks of eigenvalue^order times the block's."""
    return np.tensordot(one.inputs.eigenvalues**order, blocks, axes=1)


def crossing(times: np.ndarray, values: np.ndarray, after: float = 0.0) -> float:
    """First time after `after` at which `values` is true; NaN if never."""
    found = np.flatnonzero((times > after) & values)
    return float(times[found[0]]) if found.size else float("nan")


def pairs(one: Problem, count: int, orders: tuple[int, ...]) -> np.ndarray:
    """(teacher, order, pair) overlaps between two teachers."""
    above = np.triu_indices(one.teacher.width, 1)
    drawn = [start(one, seed=seed).block_teacher_overlap for seed in range(count)]
    return np.array([[of_order(one, T, k)[above] for k in orders] for T in drawn])


def scatter(one: Problem, count: int, orders: tuple[int, ...]) -> dict[str, Any]:
    """Over teachers: R* and Q* of these orders, the risk on the plateau, and (15)."""
    rows = []
    for seed in range(count):
        first = start(one, seed=seed)
        place = theory.erf_plateau(one, first).value
        R, Q = place.state.block_cross_overlap, place.state.block_student_overlap
        of_orders = [[of_order(one, blocks, k).mean() for k in orders] for blocks in (R, Q)]
        rows.append((*of_orders, place.risk, theory.uniform_escape_time(one, first).value))
    crosses, students, risks, times = zip(*rows, strict=True)
    return {
        "scatter_cross": (("sample", "order"), list(crosses)), "scatter_student": (("sample", "order"), list(students)),
        "scatter_risk": ("sample", list(risks)), "scatter_tau": ("sample", list(times)),
    }  # fmt: skip


def inset(
    ax: "Axes", place: tuple[float, float, float, float], times: np.ndarray, curves: Any, **options: Any
) -> "Axes":
    """A small picture within a panel."""
    from matplotlib.ticker import MaxNLocator

    small = ax.inset_axes(place)
    small.plot(times, curves, **options)
    small.set_xlim(times[0], times[-1])
    small.set_xticks([500, 1000])
    small.yaxis.set_major_locator(MaxNLocator(2))
    small.tick_params(labelsize=5.5, pad=1.5, length=2)
    return small

"""How fast the overlaps move in a given state: the right-hand side of the equations of motion, as arrays with names."""

from typing import NamedTuple

import numpy as np

from solvable.dynamics.gaussian_moments import NODES
from solvable.dynamics.kernel_choice import system
from solvable.dynamics.kernel_data import pack, unpack, unpack_rest, unpack_scalars
from solvable.dynamics.rows import moving_rows, row_order
from solvable.overlaps import Overlaps, check_start, fitted
from solvable.problems import CASES, Problem, effective
from solvable.problems.spec import KernelSpec


class Derivative(NamedTuple):
    """Derivatives by alpha of what moves, in the shapes of `Overlaps`.

    Parameters
    ----------
    block_student_overlap, block_cross_overlap : ndarray
        (blocks, p, p) and (blocks, p, p*).
    readout : ndarray
        (p,) or (heads, p); zero where the readout is not trained.
    block_teacher_overlap : ndarray or None
        (blocks, p*, p*) where teachers move; None where they do not.
    block_extra_overlap : ndarray or None
        (blocks, extra, p + p* + extra) of further rows with all rows; None where there are none.
    scalars : ndarray
        Of the numbers behind the readout, in the order of `problem.scalars`.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=1000)
    >>> sv.dynamics.derivative(problem, sv.start(problem, seed=0)).cross_overlap.shape
    (2, 1)
    """

    block_student_overlap: np.ndarray
    block_cross_overlap: np.ndarray
    readout: np.ndarray
    block_teacher_overlap: np.ndarray | None = None
    block_extra_overlap: np.ndarray | None = None
    scalars: np.ndarray = np.zeros(0)

    @property
    def student_overlap(self) -> np.ndarray:
        """(p, p) derivative of the student overlaps, summed over the blocks."""
        return self.block_student_overlap.sum(axis=0)

    @property
    def cross_overlap(self) -> np.ndarray:
        """(p, p*) derivative of the cross overlaps, summed over the blocks."""
        return self.block_cross_overlap.sum(axis=0)


def derivative(
    problem: Problem, state: Overlaps, alpha: float = 0.0, *, small_rate: bool = False, nodes: int = NODES
) -> Derivative:
    """How fast overlaps and readout move in `state`, by the equations that `Macro` integrates.

    Parameters
    ----------
    problem : Problem
        What is learned, and how, from fresh samples. Of momentum beta the limit is taken, which has no velocities.
    state : Overlaps
        Where to look: a start, or a state of a run.
    alpha : float
        The time in steps/dim, which only schedules look at.
    small_rate : bool
        Whether to drop the order rate^2, which leaves gradient flow.
    nodes : int
        Points of the averages that have no closed form.

    Returns
    -------
    Derivative
        By alpha; the readout's is zero where it is not trained.

    Examples
    --------
    >>> import solvable as sv
    >>> problem = sv.Problem(
    ...     teacher=sv.Teacher(width=1), student=sv.Student(width=1), training=sv.Training(learning_rate=0.1)
    ... )
    >>> state = sv.start(problem, student_overlap=[[0.5]], cross_overlap=[[0.5]])
    >>> sv.dynamics.derivative(problem, state, small_rate=True).cross_overlap.round(12).tolist()
    [[0.3]]

    Notes
    -----
    dOmega^b/dalpha = A^b Omega^b + (A^b Omega^b)^T + f_b lambda_b eta^2 S / B with A^b = eta lambda_b D + Gamma, and
    da/dalpha = eta_a 2 c <g e>, as in docs/THEORY.md; averaged over classes, tasks and masks where there are any.
    """
    CASES.require(problem, "`derivative`")
    problem = effective(problem)
    state = fitted(problem, state)
    check_start(problem, state)
    now = KernelSpec.of(problem).at(alpha)
    found = system(now, pack(now, state, noise=not small_rate), nodes)
    speed = np.empty_like(found.packed.state)
    found.rhs(0, 0.0, found.packed.state, speed, *found.data())
    teacher, extra = unpack_rest(now, state, speed)
    if extra is not None:
        n, still = state.stacked.shape[1] - len(state.extras), row_order(now)[moving_rows(now) :]
        extra[:, still[still >= n, None] - n, still] = 0.0  # overlaps of rows that do not move
    return Derivative(*unpack(now, speed), teacher, extra, unpack_scalars(now, speed))

"""What the figures of this paper share: its problems, typical starts, and SGD on some of the coordinates."""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from solvable import theory
from solvable.levels import run_batch
from solvable.micro import Micro
from solvable.overlaps import Overlaps, start
from solvable.papers.figure import whole
from solvable.problems import Problem, Spectrum, convention

KEY = "worschech2024"


def problem(M: int, eta: float, beta: float, L: int, N: int | None = None, activation: str = "erf") -> Problem:
    """As many students as teachers."""
    made: Problem = convention(KEY).problem(K=M, M=M, eta=eta, beta=beta, L=L, N=N, activation=activation)
    return made


def linear(eta: float, beta: float, N: int, variance: float, *, finite: bool = False) -> tuple[Problem, Overlaps]:
    """One linear student and teacher, all eigenvalues different, both spread as the dimensions are."""
    made = problem(1, eta, beta, N, N if finite else None, "linear").replace(teacher__overlap="orthonormal")
    return made, start(made, student_overlap=[[variance]], cross_overlap=[[0.0]])


def from_distances(setting: Problem, squares: np.ndarray) -> tuple[Problem, Overlaps]:
    """A start with these squared differences of student and teacher, (dim,) or (blocks,) and of order one: as if the student were
    at zero, because nothing else matters for linear units."""
    made = setting.replace(teacher__overlap="sampled")
    blocks = (squares * setting.inputs.fractions)[:, None, None]
    zero = np.zeros_like(blocks)
    return made, start(made, block_student_overlap=zero, block_cross_overlap=zero, block_teacher_overlap=blocks)


def excess(values: np.ndarray | float, bound: float = 0.0) -> float:
    """How far the largest of these numbers lies above the bound that the paper states for all; zero if none does."""
    return max(0.0, float(np.max(values)) - bound)


class Alone(NamedTuple):
    """The trained coordinates as a problem of their own, the start of each run, and half the error that the others keep."""

    problem: Problem
    starts: list[Overlaps]
    rests: np.ndarray


def trained_alone(
    values: np.ndarray, eta: float, features: int, gaps: np.ndarray, basis: np.ndarray | None = None
) -> Alone:
    """SGD on the first `features` coordinates of Gaussian inputs, from the differences `gaps` (run, dim) of teacher and student.

    The other coordinates act through their field alone. Its mean, given the trained inputs, moves the teacher by S_tt^-1 S_to x
    gaps_o; the rest is label noise, with the Schur complement's variance. In the eigenbasis of S_tt the trained coordinates are a
    problem with `features` inputs, its eigenvalues and clock scaled by features/dim. All runs have the mean noise of all."""
    dim, n = values.size, features
    if basis is None:
        inner, moved, rests = values[:n], gaps[:, :n], gaps[:, n:] ** 2 @ values[n:] / dim
    else:
        S = (basis * values) @ basis.T
        inner, turn = np.linalg.eigh(S[:n, :n])
        shift = np.linalg.solve(S[:n, :n], S[:n, n:])
        moved = (gaps[:, :n] + gaps[:, n:] @ shift.T) @ turn
        rests = np.einsum("ri,ij,rj->r", gaps[:, n:], S[n:, n:] - S[n:, :n] @ shift, gaps[:, n:]) / dim
    spectrum = Spectrum(eigenvalues=tuple(inner * n / dim))
    made = problem(1, eta, 0.0, 1, n, "linear").replace(
        inputs__spectrum=spectrum, training__label_noise=float(rests.mean())
    )
    return Alone(made, [from_distances(made, one**2)[1] for one in moved], rests / 2)


def predicted_alone(alone: Alone, alphas: np.ndarray, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """(run, time) mean loss of SGD on the trained coordinates of `dim` from these starts: exactly, and at small rates."""
    times = alphas * dim / len(alone.problem.inputs.eigenvalues)
    exact = [theory.linear_mean_risk(alone.problem, one, times).value for one in alone.starts]
    small = [theory.linear_risk(alone.problem, one, times, small_rate=True).value for one in alone.starts]
    return np.array(exact) + alone.rests[:, None], np.array(small) + alone.rests[:, None]


def train_some(
    values: np.ndarray,
    eta: float,
    features: int,
    alphas: np.ndarray,
    runs: int,
    seed: int,
    *,
    scale: float = 0.01,
    basis: np.ndarray | None = None,
    pool: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """SGD of linear students on the first `features` coordinates, `runs` at once: risks (run, time), and the first differences of
    teacher and student (run, dim). Gaussian inputs with eigenvalues `values`, turned by `basis` if given; or rows drawn from `pool`
    (in its eigenbasis). The risk is exact for these eigenvalues."""  # fmt: skip
    random, dim = np.random.default_rng(seed), values.size
    gaps = random.standard_normal((runs, dim)) - scale * random.standard_normal((runs, dim))
    if pool is not None:
        return _train_on_rows(values, eta, features, alphas, gaps, random, pool), gaps
    alone = trained_alone(values, eta, features, gaps, basis)
    found = run_batch(alone.problem, alone.starts, Micro(seed=seed), times=alphas * dim / features, progress=False)
    return whole(found).risk + alone.rests[:, None], gaps


def _train_on_rows(
    values: np.ndarray, eta: float, features: int, alphas: np.ndarray, gaps: np.ndarray, random: Generator, pool: np.ndarray
) -> np.ndarray:  # fmt: skip
    """The field of the coordinates that are not trained stays the same for a row, so it is computed once for all rows."""
    dim, runs = values.size, len(gaps)
    trained, others = gaps[:, :features].copy(), pool[:, features:] @ gaps[:, features:].T / dim
    rows, each = np.ascontiguousarray(pool[:, :features]), np.arange(runs)
    rests = 0.5 * (gaps[:, features:] ** 2 @ values[features:]) / dim
    risks, step = np.empty((runs, alphas.size)), 0
    for i, alpha in enumerate(alphas):
        while step < round(alpha * dim):
            chosen = random.integers(0, len(pool), (min(1000, round(alpha * dim) - step), runs))
            for these in chosen:
                x = rows[these]
                error = np.einsum("ri,ri->r", trained, x) / dim + others[these, each]
                trained -= (eta * error)[:, None] * x
            step += len(chosen)
        risks[:, i] = 0.5 * (trained**2 @ values[:features]) / dim + rests
    return risks

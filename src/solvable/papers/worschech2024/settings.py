"""What the figures of this paper share: its problems, typical starts, and SGD on some of the coordinates."""

import numpy as np

from solvable.overlaps import Overlaps, start
from solvable.problems import Problem, convention

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


def slope(times: np.ndarray, values: np.ndarray, begin: float, end: float) -> float:
    """Of a straight line through the logarithms between these times."""
    chosen = (times >= begin * (1 - 1e-9)) & (times <= end * (1 + 1e-9))
    return float(np.polyfit(np.log(times[chosen]), np.log(values[chosen]), 1)[0])


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
    """SGD of linear students on the first `features` coordinates, `runs` at once: risks (run, time), and the first squared
    differences of student and teacher (run, dim). Gaussian inputs with eigenvalues `values`, turned by `basis` if given; or rows
    drawn from `pool` (in its eigenbasis). The risk is exact for these eigenvalues."""  # fmt: skip
    random, dim = np.random.default_rng(seed), values.size
    J, B = scale * random.standard_normal((runs, dim)), random.standard_normal((runs, dim))
    first, root, risks = (J - B) ** 2, np.sqrt(values), np.empty((runs, alphas.size))
    step = 0
    for i, alpha in enumerate(alphas):
        while step < round(alpha * dim):
            if pool is None:
                x = root * random.standard_normal((runs, dim))
                x = x if basis is None else x @ basis.T
            else:
                x = pool[random.integers(0, len(pool), runs)]
            error = np.einsum("ri,ri->r", B - J, x) / dim
            J[:, :features] += eta * error[:, None] * x[:, :features]
            step += 1
        gap = (B - J) if basis is None else (B - J) @ basis
        risks[:, i] = 0.5 * (gap**2 @ values) / dim
    return risks, first

"""Students of a start that are drawn at random, or idealised."""

from typing import NamedTuple

import numpy as np

from solvable.overlaps.fixed_rows import beside, factor, need_dim
from solvable.overlaps.sizes import hearing
from solvable.overlaps.state import InvalidStart
from solvable.overlaps.weights import gram_factor
from solvable.problems import Problem

KINDS = ("gaussian", "orthogonal", "spanning")  # of students


class Law(NamedTuple):
    """How students are drawn: one of `KINDS`, with the sizes that `start` describes."""

    kind: str = "gaussian"
    scale: float = 1.0
    cross: float | None = None

    def check_dim(self, problem: Problem) -> None:
        """Raise InvalidStart where the law needs a finite dim and there is none."""
        if self.kind == "orthogonal" and self.cross is None:
            need_dim(problem, 'students="orthogonal" without the size `cross` of the cross overlaps', ", or cross=0.01")
        if self.kind == "gaussian":
            need_dim(problem, "a sampled start", ', or students="orthogonal" and cross=0.01')

    def draw(
        self, problem: Problem, random: np.random.Generator | None, fixed: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Overlaps of students (blocks, p, p), and with the fixed rows (blocks, p, p* + directions), teachers first."""
        assert random is not None
        _check_scale(problem, self.scale, self.cross)
        self.check_dim(problem)
        if self.kind == "orthogonal":
            return hearing(problem, _orthogonal)(problem, random, self.scale, self.cross, fixed)
        if self.cross is not None:
            who = "Gaussian" if self.kind == "gaussian" else self.kind
            raise InvalidStart(f'cross: given with {who} students, whose overlaps follow; say students="orthogonal"')
        if self.kind == "gaussian":
            return hearing(problem, _gaussian)(problem, random, self.scale, fixed)
        return _spanning(problem, self.scale, fixed)


def _orthogonal(
    problem: Problem, random: np.random.Generator, scale: float, cross: float | None, T: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    if cross is None:
        cross = scale / float(np.sqrt(problem.inputs.dim or 1))
    shape = (problem.inputs.blocks, problem.student.width, T.shape[1])
    drawn = cross * random.standard_normal(shape)
    fractions = problem.inputs.fractions
    longest = (
        np.linalg.norm(drawn, 2, axis=(1, 2)) / np.sqrt(fractions)
    ).max()  # a student's part in the teachers' span
    if longest > scale * (1 + 1e-9):
        raise InvalidStart(
            f"cross: {cross:g} given for students of scale {scale:g}, but overlaps that large need students of scale "
            f"{longest:.3g}; lower cross or raise scale"
        )
    R = drawn @ _roots(T).transpose(0, 2, 1)
    return fractions[:, None, None] * scale**2 * np.eye(problem.student.width), R


def _roots(grams: np.ndarray) -> np.ndarray:
    """(blocks, n, n) F with F F^T = gram: triangular, but for singular ones."""
    try:
        return np.linalg.cholesky(grams + 1e-300 * np.eye(grams.shape[2]))
    except np.linalg.LinAlgError:
        return gram_factor(grams, grams.shape[2], rounding=1e-12)


def _spanning(problem: Problem, scale: float, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Students along the axes of the inputs. Only one block: several would not be spanned equally."""
    dim, width = problem.inputs.dim, problem.student.width
    if dim != width or problem.inputs.blocks > 1 or problem.student.norm != "free":
        raise InvalidStart(
            f"students: 'spanning' needs as many students as inputs, of one eigenvalue and with free norms; there are {width} "
            f"students, and inputs.dim is {dim} in {problem.inputs.blocks} block(s)"
        )
    span = factor(T[0])
    if span.shape[1] > dim:
        raise InvalidStart(
            f'inputs.dim: {dim} dimensions cannot hold {span.shape[1]} independent teachers; say overlap="sampled"'
        )
    R = np.zeros((1, dim, len(span)))
    R[0, : span.shape[1]] = scale * span.T
    return scale**2 * np.eye(dim)[None], R


def _gaussian(
    problem: Problem, random: np.random.Generator, scale: float, T: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Overlaps of Gaussian students given the teachers (and directions)."""
    student, crossing = beside(problem, random, problem.student.width, scale, T)
    if problem.student.norm == "sphere":
        norms = np.sqrt(np.einsum("bkk->k", student))
        student, crossing = student / np.outer(norms, norms), crossing / norms[:, None]
    return student, crossing


def _check_scale(problem: Problem, scale: float, cross: float | None) -> None:
    for name, value in [("scale", scale), ("cross", cross)]:
        if value is not None and not (isinstance(value, int | float | np.number) and 0 <= value <= 1e100):
            raise InvalidStart(f"{name}: {value!r} given, must be a number from 0 to 1e100")
    if problem.student.norm == "sphere" and scale != 1:
        raise InvalidStart(f"scale: {scale} given, must be 1 on the sphere")

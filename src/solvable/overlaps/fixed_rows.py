"""Overlaps of what a start does not choose: teachers and directions of a mixture; and of Gaussian weights beside given ones."""

import numpy as np

from solvable.overlaps.state import InvalidStart
from solvable.problems import Problem


def fixed_overlaps(
    problem: Problem, random: np.random.Generator | None, teachers: np.ndarray | None = None
) -> np.ndarray:
    """How teachers and directions of a mixture overlap with each other.

    Parameters
    ----------
    problem : Problem
        Whose teachers and directions.
    random : Generator or None
        For teachers that are drawn with Gaussian weights of unit variance.
    teachers : ndarray, optional
        (blocks, p*, p*) overlaps of given teachers; left out, each block's share of the problem's overlap.

    Returns
    -------
    ndarray
        (blocks, p* + directions, p* + directions), teachers first.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=100)
    >>> sv.overlaps.fixed_overlaps(problem, None)
    array([[[1.]]])
    """
    fractions, q, mixture = problem.inputs.fractions, problem.teacher.width, problem.mixture
    if mixture is None:
        return _teacher(problem, random) if teachers is None else teachers
    gram = mixture.block_gram(fractions)
    if teachers is None and problem.teacher.overlap == "sampled":
        T, cross = _sampled_teachers(problem, random, gram)
    else:
        T = _teacher(problem, random) if teachers is None else teachers
        cross = mixture.block_teacher_overlap(fractions, q)
    return np.block([[T, cross.transpose(0, 2, 1)], [cross, gram]])


def _sampled_teachers(
    problem: Problem, random: np.random.Generator | None, gram: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Overlaps of Gaussian teachers with each other, and of directions with them."""
    _need_draws(problem, random)
    assert random is not None
    T, cross = beside(problem, random, problem.teacher.width, 1.0, gram)
    return T, cross.transpose(0, 2, 1)


def _need_draws(problem: Problem, random: np.random.Generator | None) -> None:
    if random is None:
        raise InvalidStart("teacher_overlap: is missing; the teacher is sampled, so give its overlaps or a seed")
    need_dim(problem, "a sampled teacher")


def _teacher(problem: Problem, random: np.random.Generator | None) -> np.ndarray:
    """(blocks, p*, p*): each block's share of the given overlap, or a draw of Gaussian weights of unit variance."""
    teacher, fractions = problem.teacher, problem.inputs.fractions
    if teacher.overlap == "sampled":
        _need_draws(problem, random)
        assert random is not None
        sizes = problem.inputs.block_sizes
        rows = [wishart_factor(random, teacher.width, int(size)) for size in sizes]
        return np.array([row @ row.T for row in rows]) / sizes.sum()
    total = np.eye(teacher.width) if teacher.overlap == "orthonormal" else np.array(teacher.overlap)
    return fractions[:, None, None] * total


def beside(
    problem: Problem, random: np.random.Generator, count: int, scale: float, fixed: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The law of overlaps of Gaussian weights given vectors with Gram matrices `fixed` (blocks, n, n): coordinates on their span
    are normal, what is left is a Wishart matrix with so many fewer degrees of freedom."""
    dim, sizes = problem.inputs.dim, problem.inputs.block_sizes
    assert dim is not None
    Q, R = [], []
    for size, gram in zip(sizes, fixed, strict=True):
        span = factor(gram)
        rank = span.shape[1]
        if size < rank:
            raise InvalidStart(
                f"inputs.dim: a block of {size} dimensions cannot hold {rank} independent teachers; "
                f'raise dim or say overlap="sampled"'
            )
        inside = random.standard_normal((count, rank)) * scale / np.sqrt(dim)
        outside = wishart_factor(random, count, int(size) - rank) * scale / np.sqrt(dim)
        Q.append(inside @ inside.T + outside @ outside.T)
        R.append(inside @ span.T)
    return np.array(Q), np.array(R)


def wishart_factor(random: np.random.Generator, width: int, freedom: int) -> np.ndarray:
    """F with F F^T distributed as G G^T, G (width, freedom) standard normal (Bartlett's triangle when it is smaller)."""
    if freedom <= width:
        return random.standard_normal((width, freedom))
    triangle = np.tril(random.standard_normal((width, width)), -1)
    return triangle + np.diag(np.sqrt(random.chisquare(freedom - np.arange(width))))


def factor(gram: np.ndarray) -> np.ndarray:
    """F (q, rank) with F F^T = gram."""
    values, vectors = np.linalg.eigh(gram)
    keep = values > 1e-12 * max(values.max(initial=0.0), 1e-300)
    return vectors[:, keep] * np.sqrt(values[keep])


def need_dim(problem: Problem, what: str, instead: str = "") -> None:
    """Raise InvalidStart at infinite dim; `instead` is what may be written in place of a dim."""
    if problem.inputs.dim is None:
        raise InvalidStart(f"inputs.dim: infinite, but {what} needs a finite one; give a dim, as 10000{instead}")

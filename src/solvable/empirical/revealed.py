"""A Gaussian data matrix that is never drawn: it answers questions, and what nobody has asked stays open.

X (n, N) has independent standard normal entries. Training meets it only in right questions Xy and left questions X^T v, each
chosen from earlier answers. With orthonormal frames U of all right and V of all left questions and the answers A = XU, B = X^T V,

    X = V B^T + (A - V B^T U) U^T + (1 - V V^T) X' (1 - U U^T)

given all answers, with X' fresh and independent of them. So the answer to a new direction u is V (B^T u) + (1 - V V^T) xi with xi
fresh normals, and a left one is answered likewise: every run has exactly the law of a run on a drawn matrix (Lu 2021,
"Householder Dice").

The inputs' side is a `Space`, in which only those directions have coordinates that a weight has a part in. The rest of N
dimensions is a number: a left answer has there a Gaussian part, which is a uniform frame times a triangle (Bartlett), so it adds
directions with that triangle as coordinates.
"""

import numpy as np

from solvable.problems import Problem

RANK = 1e-11  # a question whose part outside the frame is smaller than this share of it lies in the frame


class Space:
    """Directions of the inputs with a coordinate each, and how many dimensions are left beyond them, in every block.

    `block` (capacity,) and `roots` (capacity,) are the block of each coordinate and the root of its eigenvalue; the first `used`
    have a meaning. `left` (blocks,) counts dimensions without coordinates.
    """

    def __init__(self, problem: Problem, columns: np.ndarray, more: int) -> None:
        """`columns` (blocks,) coordinates to begin with, and `more` for which there is to be room in each block."""
        sizes = problem.inputs.block_sizes
        self.left = sizes - columns
        room = int(columns.sum() + np.minimum(self.left, more).sum())
        self.used = int(columns.sum())
        self.block = np.zeros(room, dtype=np.int64)
        self.block[: self.used] = np.repeat(np.arange(sizes.size), columns)
        self._lambda = np.sqrt(problem.inputs.eigenvalues)
        self.roots = self._lambda[self.block]

    @property
    def room(self) -> int:
        """Coordinates that there is room for."""
        return self.block.size

    def grow(self, count: int, random: np.random.Generator) -> np.ndarray:
        """(new, count) coordinates of a Gaussian (dimensions left, count) matrix, on directions of its own in each block."""
        parts = []
        for b in np.flatnonzero(self.left):
            new = min(count, int(self.left[b]))
            part = np.triu(random.standard_normal((new, count)))
            diagonal = np.arange(new)
            part[diagonal, diagonal] = np.sqrt(random.chisquare(self.left[b] - diagonal))
            self.block[self.used : self.used + new] = b
            self.used += new
            self.left[b] -= new
            parts.append(part)
        self.roots = self._lambda[self.block]
        return np.concatenate(parts) if parts else np.zeros((0, count))

    def overlaps(self, first: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """(blocks, len(first), len(rows)) products of rows of coordinates in each block."""
        blocks = self._lambda.size
        if blocks == 1:
            return (first @ rows.T)[None]
        block, width = self.block[: first.shape[1]], first.shape[1]
        if blocks <= width // 4:
            return np.array([first[:, block == b] @ rows[:, block == b].T for b in range(blocks)])
        sums = np.zeros((blocks, len(first), len(rows)))
        np.add.at(sums, block, np.einsum("kc,jc->ckj", first, rows))
        return sums


def residual(frame: np.ndarray, block: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns as frame @ c + E @ R, with E orthonormal and orthogonal to the frame: c, E, R.

    Columns in the frame, and those that depend on each other, add nothing to E. What is left is normalised before it is projected
    once more, so that E is orthogonal to the frame up to rounding however small it was.
    """
    sizes = np.sqrt(np.einsum("ij,ij->j", block, block))
    sizes[sizes == 0] = 1.0
    scaled = block / sizes
    inside = frame.T @ scaled
    scaled -= frame @ inside
    E, upper = np.linalg.qr(scaled)
    turn, values, mixing = np.linalg.svd(upper)
    kept = int((values > RANK).sum())
    E = E @ turn[:, :kept]
    R = values[:kept, None] * mixing[:kept]
    again = frame.T @ E
    E, upper = np.linalg.qr(E - frame @ again)
    return (inside + again @ R) * sizes, E, (upper @ R) * sizes


class Revealed:
    """Rows of a standard Gaussian matrix that are known as far as they have been asked about.

    Parameters
    ----------
    count : int
        Number n of rows.
    space : Space
        Coordinates of the inputs; several matrices may share it.
    right, left : int
        How many columns of questions of each kind there is room for.
    random : Generator
        Where answers come from.
    """

    def __init__(self, count: int, space: Space, right: int, left: int, random: np.random.Generator) -> None:
        right, left = min(right, space.room), min(left, count)
        self.count, self.space, self.random = count, space, random
        self._U, self._A = (np.zeros((size, right), order="F") for size in (space.room, count))
        self._V, self._B = (np.zeros((size, left), order="F") for size in (count, space.room))
        self.asked_right = self.asked_left = 0

    @property
    def frames(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """U, A, V, B: right questions and answers, left questions and answers."""
        k, m, used = self.asked_right, self.asked_left, self.space.used
        return self._U[:used, :k], self._A[:, :k], self._V[:, :m], self._B[:used, :m]

    def right(self, rows: np.ndarray) -> np.ndarray:
        """(n, m) products of the matrix with rows (m, used) of coordinates."""
        U, A, V, B = self.frames
        c, E, R = residual(U, rows.T)
        fresh = self.random.standard_normal((E.shape[1], self.count)).T
        fresh = fresh + V @ (B.T @ E - V.T @ fresh)
        k = self.asked_right
        self.asked_right += E.shape[1]
        self._U[: len(E), k : self.asked_right] = E
        self._A[:, k : self.asked_right] = fresh
        answer: np.ndarray = A @ c + fresh @ R
        return answer

    def left(self, columns: np.ndarray) -> np.ndarray:
        """(m, used) coordinates of products of the transposed matrix with columns (n, m); `used` may have grown."""
        U, A, V, _ = self.frames
        c, E, R = residual(V, columns)
        fresh = self.random.standard_normal((E.shape[1], len(U))).T
        fresh = fresh + U @ (A.T @ E - U.T @ fresh)
        outside = self.space.grow(E.shape[1], self.random)
        k = self.asked_left
        self.asked_left += E.shape[1]
        self._V[:, k : self.asked_left] = E
        self._B[: len(U), k : self.asked_left] = fresh
        self._B[len(U) : self.space.used, k : self.asked_left] = outside
        answer: np.ndarray = (self._B[: self.space.used, : self.asked_left] @ np.concatenate([c, R])).T
        return answer

    def matrix(self, random: np.random.Generator) -> np.ndarray:
        """One matrix (n, used) that gives all answers given so far; what is open is drawn. With dimensions left that have no
        coordinates, these are its columns along those that have."""
        U, A, V, B = self.frames
        fresh = random.standard_normal((self.count, len(U)))
        fresh -= V @ (V.T @ fresh)
        fresh -= (fresh @ U) @ U.T
        drawn: np.ndarray = V @ B.T + (A - V @ (B.T @ U)) @ U.T + fresh
        return drawn

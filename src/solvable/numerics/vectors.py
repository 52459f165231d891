"""Operations on vectors and rows within kernels."""

from solvable.numerics.compiled import compiled


@compiled(strict=True)
def copy(source, target):
    """target[:] = source, without the check of shapes: Numba would compile the text of its error with every kernel."""
    for i in range(target.size):
        target[i] = source[i]


@compiled()
def rows_times(rows, symmetric, count, out):
    """The first rows of one matrix times a symmetric matrix, as products of rows with rows, which lie without gaps."""
    n = symmetric.shape[0]
    for k in range(count):
        for j in range(n):
            total = 0.0
            for i in range(n):
                total += rows[k, i] * symmetric[j, i]
            out[k, j] = total

"""Operations on vectors within kernels."""

from solvable.numerics.compiled import compiled


@compiled(strict=True)
def copy(source, target):
    """target[:] = source, without the check of shapes: Numba would compile the text of its error with every kernel."""
    for i in range(target.size):
        target[i] = source[i]

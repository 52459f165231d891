"""Equations of motion that keep equal units equal to the bit: slopes (or steps) averaged over the orbits of `equal_units.py`.

Behind the numbers of a problem lie, for each entry of the state, the first entry of its orbit, how many there are in it, and a
number of scratch; and last the address of the kernel whose result is averaged.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numba import types
from numba.core.cgutils import unpack_tuple
from numba.extending import intrinsic

from solvable.dynamics.kernel_data import ADVANCE, SYSTEM, Packed
from solvable.numerics.compiled import compiled

SOURCE = Path(__file__).read_text(encoding="utf-8")  # what the intrinsic is, for files of machine code


@intrinsic
def call_at(typingctx, address, segment, times, y, out, data):
    """Call a right-hand side, with `times` = (t,), or a step, (t, h), by its address."""
    declared = (SYSTEM if len(times) == 1 else ADVANCE).args

    def codegen(context, builder, signature, arguments):
        kinds, values = [], []
        for kind, value in zip(signature.args[1:], arguments[1:], strict=True):
            inside = isinstance(kind, types.BaseTuple)
            kinds += list(kind) if inside else [kind]
            values += unpack_tuple(builder, value) if inside else [value]
        cast = [context.cast(builder, *one) for one in zip(values, kinds, declared, strict=True)]
        kind = context.call_conv.get_function_type(types.none, declared)
        function = builder.inttoptr(arguments[0], kind.as_pointer())
        context.call_conv.call_function(builder, function, types.none, declared, cast)
        return context.get_dummy_value()

    return types.void(address, segment, times, y, out, data), codegen


@compiled()
def average_orbits(values, numbers):
    """Replace each entry by the mean of its orbit."""
    n = values.size
    at = numbers.size - 1 - 3 * n
    first, count, total = numbers[at : at + n], numbers[at + n : at + 2 * n], numbers[at + 2 * n : at + 3 * n]
    for i in range(n):
        total[i] = 0.0
    for i in range(n):
        total[int(first[i])] += values[i]
    for i in range(n):
        total[i] = total[i] / count[i]
    for i in range(n):
        values[i] = total[int(first[i])]


@compiled(SYSTEM)
def rhs_of_orbits(segment, t, y, dy, problems, blocks, cases, numbers, work):
    address = int(numbers[numbers.size - 1])
    call_at(address, segment, (t,), y, dy, (problems, blocks, cases, numbers, work))
    average_orbits(dy, numbers)


@compiled(ADVANCE)
def advance_orbits(segment, t, h, y, out, problems, blocks, cases, numbers, work):
    address = int(numbers[numbers.size - 1])
    call_at(address, segment, (t, h), y, out, (problems, blocks, cases, numbers, work))
    average_orbits(out, numbers)


class Equalised:
    """A kernel whose result is averaged over orbits: for Python a function, for compiled code `outer` with the kernel's address."""

    def __init__(self, kernel: Any, outer: Any, numbers: np.ndarray) -> None:
        self.kernel, self.outer, self.numbers = kernel, outer, numbers
        self._numba_type_ = outer._numba_type_

    @property
    def address(self) -> int:
        """Of `outer`; the numbers are told that of the kernel."""
        self.numbers[-1] = self.kernel.address
        return int(self.outer.address)

    def __call__(self, *arguments: Any) -> None:
        """Call the kernel, and average what it writes, the argument before the data."""
        self.kernel(*arguments)
        values = arguments[-6]
        orbits, counts = self.numbers[-3 * values.size - 1 :][: 2 * values.size].reshape(2, -1)
        first = orbits.astype(int)
        values[:] = (np.bincount(first, weights=values, minlength=values.size) / counts)[first]


def parts_of(kernel: Any) -> tuple[Any, ...]:
    """Return the kernels that are called for one that may be averaged over orbits."""
    return (kernel.outer, kernel.kernel) if isinstance(kernel, Equalised) else (kernel,)


def equalised(packed: Packed, orbits: np.ndarray) -> Packed:
    """A packed problem with the orbits of its state."""
    counts = np.bincount(orbits, minlength=orbits.size)
    behind = [orbits, np.maximum(counts, 1), np.zeros(orbits.size + 1)]
    return packed._replace(numbers=np.concatenate([packed.numbers, *behind]))

"""Functions of numbers that are called by the address of their machine code, within compiled code and outside it."""

import ctypes
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import lower_builtin, type_callable

ARGUMENTS = 4
_PROTOTYPE = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_double] * ARGUMENTS)


def call_at(address: int, a: float, b: float, c: float, d: float) -> float:
    """The value of the function of four numbers at an address."""
    return float(_PROTOTYPE(int(address))(a, b, c, d))


@type_callable(call_at)
def _type_of_call(context: Any) -> Any:
    return lambda address, a, b, c, d: types.float64  # noqa: ARG005  (Numba reads the names)


@lower_builtin(call_at, types.int64, *[types.float64] * ARGUMENTS)
def _call(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    kind = ir.FunctionType(ir.DoubleType(), [ir.DoubleType()] * ARGUMENTS)
    return builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])

"""A user's function as machine code: how it is compiled, and how kernels call it by its address.

Kernels that call it are compiled once for all such functions and kept on disk; only the address, a number of this process, is
handed to them.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

import re
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

from numba import float64, njit, types, void
from numba.core.errors import NumbaError
from numba.extending import intrinsic

SOURCE = Path(__file__).read_text(encoding="utf-8")  # what the intrinsic is, for files of machine code
AMPLITUDE = void(float64[::1], float64[::1], float64, float64, float64)  # (F, fields, label, output, size)


def compile_own(function: Callable[..., Any], signature: Any) -> Any:
    """A dispatcher with machine code for the signature alone; raises ValueError with the compiler's words in one line. Beyond the
    ends of arrays it raises IndexError, and changes nothing there."""
    try:
        return njit(signature, error_model="numpy", nogil=True, boundscheck=True)(function)
    except NumbaError as error:
        raise ValueError(_line(str(error))) from None
    except Exception as error:  # what is no function, or cannot be read
        if not isinstance(function, FunctionType):
            raise ValueError(f"{type(function).__name__} given, must be a plain function, as def makes it") from None
        raise ValueError(f"{type(error).__name__}: {error}".splitlines()[0]) from None


def address_of(dispatcher: Any, signature: Any) -> int:
    """Where the machine code is. It stays there as long as the dispatcher lives."""
    found = dispatcher.overloads[tuple(signature.args)]
    return int(found.library.get_pointer_to_function(found.fndesc.llvm_func_name))


def _line(text: str) -> str:
    """What the compiler says is wrong, and in which line of whose code."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if "return_value" in text and "to none" in text:
        return "it returns something; it must change F in place, as F[:] = ... does, and return nothing"
    headings = ("Failed in", "Overload", "There are", "During", "- Resolution", "This error", "[")
    told = next((line for line in lines if not line.startswith(headings)), lines[0])
    place = [re.search(r'File "([^"]+)", line (\d+)', line) for line in lines]
    at = [f"line {found[2]} of {Path(found[1]).name}" for found in place if found]
    marks = [i for i, line in enumerate(lines) if set(line) == {"^"} and i > 0]
    code = f": {lines[marks[-1] - 1]}" if marks else ""
    return f"{told}{f', at {at[-1]}' if at else ''}{code}"


@intrinsic
def call_amplitude(typingctx, address, F, fields, label, output, size):
    """Call the machine code of an amplitude at this address."""

    def codegen(context, builder, signature, arguments):
        kind = context.call_conv.get_function_type(types.none, AMPLITUDE.args)
        function = builder.inttoptr(arguments[0], kind.as_pointer())
        given = [
            context.cast(builder, value, one, wanted)
            for value, one, wanted in zip(arguments[1:], signature.args[1:], AMPLITUDE.args, strict=True)
        ]
        context.call_conv.call_function(builder, function, types.none, AMPLITUDE.args, given)
        return context.get_dummy_value()

    return types.void(address, F, fields, label, output, size), codegen

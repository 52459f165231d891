"""How machine code with its signature is read: by a pickle that makes nothing but what Numba's description of a kernel is made of.

Machine code is trusted because of where it lies (`trusted_files.py`); reading it calls nothing else all the same.
"""

import io
import pickle
from functools import lru_cache
from importlib import import_module
from typing import Any

from llvmlite import ir
from numba.core import types

BUILDERS = {
    ("builtins", "object"),
    ("copyreg", "_reconstructor"),
    ("numba.core.environment", "_rebuild_env"),
    ("numba.core.funcdesc", "PythonFunctionDescriptor"),
    ("numba.core.types.abstract", "_type_reconstructor"),
    ("numba.core.types.npytypes", "_RecordField"),
    ("numba.core.typing.templates", "Signature"),
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        return _admitted(module, name)


@lru_cache
def _admitted(module: str, name: str) -> Any:
    """Return a builder, or a class of types of Numba, LLVM or ours; raise UnpicklingError for everything else."""
    if (module, name) in BUILDERS:
        return getattr(import_module(module), name)
    if module.startswith(("numba.core.types.", "llvmlite.ir.types", "solvable.")):
        value = getattr(import_module(module), name, None)  # a name with dots is none
        if isinstance(value, type) and issubclass(value, types.Type | ir.Type):
            return value
    raise pickle.UnpicklingError(f"{module}.{name} is no part of a kernel")


def load(content: bytes) -> Any:
    """Return the parts of a kernel, as Numba's `_rebuild` takes them."""
    return _Unpickler(io.BytesIO(content)).load()

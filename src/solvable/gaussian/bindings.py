"""The values that a function's names are bound to, so that most changes are excluded in a few microseconds."""

import builtins
import types
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from solvable.gaussian.identity import HIDDEN, PLAIN, package_version, reached

_MISSING = object()
_LARGEST = 100_000  # bytes of an array that is compared


class _Mutable(Exception):
    """A value that may change in place."""


class Bindings:
    """Global names, cells and arrays that functions read, with their values at the time of recording.

    `hold` tells whether all are as they were. It is for functions that read only numbers, texts, arrays, functions and
    installed modules; for others `of` returns None.
    """

    def __init__(self) -> None:
        self._names: list[tuple[dict[str, Any], str, Any]] = []
        self._cells: list[tuple[types.CellType, Any]] = []
        self._codes: dict[int, tuple[types.FunctionType, types.CodeType]] = {}
        self._arrays: dict[int, tuple[np.ndarray, bytes]] = {}

    @classmethod
    def of(cls, functions: Iterable[Callable[..., Any]]) -> "Bindings | None":
        """Record what the functions read now; None where something may change in place."""
        made = cls()
        try:
            for function in functions:
                made._add(function)
        except (_Mutable, ValueError, RecursionError):  # ValueError: an empty cell
            return None
        return made

    def hold(self) -> bool:
        """Tell whether nothing that was recorded has changed."""
        try:
            return (
                all(scope.get(name, _MISSING) is value for scope, name, value in self._names)
                and all(cell.cell_contents is value for cell, value in self._cells)
                and all(function.__code__ is code for function, code in self._codes.values())
                and all(array.tobytes() == content for array, content in self._arrays.values())
            )
        except ValueError:  # a cell has been emptied
            return False

    def _add(self, value: Any) -> None:
        if type(value) is tuple:
            for part in value:
                self._add(part)
        elif isinstance(value, types.FunctionType):
            self._add_function(value)
        elif type(value) is np.ndarray and not value.dtype.hasobject and value.nbytes <= _LARGEST:
            self._arrays[id(value)] = value, value.tobytes()
        elif not _is_constant(value):
            raise _Mutable

    def _add_function(self, function: types.FunctionType) -> None:
        version = package_version(str(function.__globals__.get("__name__")))
        if id(function) in self._codes or (version is not None and "<" not in function.__code__.co_qualname):
            return
        names, imports = reached(function.__code__)
        if vars(function) or function.__defaults__ or function.__kwdefaults__ or imports or names & HIDDEN:
            raise _Mutable
        self._codes[id(function)] = function, function.__code__
        scope = function.__globals__
        for name in names:
            value = scope.get(name, _MISSING)
            self._names.append((scope, name, value))
            self._add(getattr(builtins, name, None) if value is _MISSING else value)
        for cell in function.__closure__ or ():
            self._cells.append((cell, cell.cell_contents))
            self._add(cell.cell_contents)


def _is_constant(value: Any) -> bool:
    """Tell whether a value cannot change in place: numbers, texts, and what installed packages define."""
    if isinstance(value, (*PLAIN, np.generic)):
        return True
    if isinstance(value, types.BuiltinFunctionType):
        return value.__self__ is None or isinstance(value.__self__, types.ModuleType)
    if isinstance(value, np.ufunc):  # those of `np.frompyfunc` hide a function of Python
        return getattr(np, value.__name__, None) is value
    if isinstance(value, types.ModuleType):
        return package_version(value.__name__) is not None
    if isinstance(value, type) or type(value) is type(np.clip):
        return package_version(value.__module__) is not None
    return False

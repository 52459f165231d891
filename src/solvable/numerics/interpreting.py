"""The first curve without waiting for a compiler: kernels as plain Python, for a little while.

A kernel in Python is a hundred times slower than its machine code, which still draws a small curve in a fraction of a second,
where compiling takes ten. So pure kernels that have no machine code yet are interpreted, until this process has spent
`SOLVABLE_PATIENCE` seconds on it (two, unless told otherwise); then they are compiled. Results agree up to rounding, not in
their last bits: `machine_code_only` is for those who keep results and compare bits.
"""

import contextlib
import math
import os
import threading
import time
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from solvable.numerics.lanes_in_python import TWINS

MISSING = object()  # no result


class _Patience:
    """How many seconds of interpreted work this process may still do before it compiles."""

    def __init__(self, seconds: float) -> None:
        self.left, self.over = seconds, seconds <= 0.0
        self.here = threading.local()  # since when this thread interprets
        self._lock = threading.Lock()

    def spend(self, seconds: float) -> None:
        with self._lock:
            self.left -= seconds


def _given() -> float:
    text = os.environ.get("SOLVABLE_PATIENCE", "2")
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"SOLVABLE_PATIENCE: {text!r} given, must be a number of seconds") from None


PATIENCE = _Patience(_given())


class _OutOfPatience(Exception):
    """Raised when interpreting has taken too long: the caller compiles and starts again."""


def machine_code_only() -> None:
    """From now on nothing is interpreted in this process."""
    PATIENCE.over = True


@contextlib.contextmanager
def by_machine_code() -> Iterator[None]:
    """Within it, this thread interprets nothing: what it computes decides over bits that are promised."""
    outer = getattr(PATIENCE.here, "forbidden", False)
    PATIENCE.here.forbidden = True
    try:
        yield
    finally:
        PATIENCE.here.forbidden = outer


def interpret_all() -> None:
    """From now on whatever has no machine code is interpreted, however long it takes; until `machine_code_only`."""
    PATIENCE.left = math.inf


def prepare(*kernels: Any) -> None:
    """Compile what the next call needs before its time is counted, unless all of it is interpreted."""
    if PATIENCE.over or PATIENCE.left < math.inf:
        for kernel in kernels:
            kernel.settle()


def attempt(kernel: Any, arguments: tuple[Any, ...]) -> Any:
    """What a kernel returns if it is interpreted, or MISSING where it should be compiled."""
    begun = getattr(PATIENCE.here, "begun", None)
    if begun is not None:  # called by a kernel that is interpreted
        if PATIENCE.over or time.thread_time() - begun > PATIENCE.left:
            raise _OutOfPatience
        return interpreted(kernel)(*arguments)
    forbidden = PATIENCE.over or PATIENCE.left <= 0.0 or getattr(PATIENCE.here, "forbidden", False)
    if forbidden or kernel.at_hand:
        return MISSING
    PATIENCE.here.begun = begun = time.thread_time()
    try:
        # what Python refuses (a division by zero, say) machine code may go on with: let that decide
        with contextlib.suppress(_OutOfPatience, ArithmeticError, ValueError), np.errstate(all="ignore"):
            return interpreted(kernel)(*arguments)
    finally:
        PATIENCE.spend(time.thread_time() - begun)
        PATIENCE.here.begun = None
    return MISSING


def interpreted(kernel: Any) -> Callable[..., Any]:
    """A kernel as plain Python, and likewise all kernels that it calls by name."""
    with _LOCK:
        return _twin(kernel.py_func)


def rewired(kernel: Any, **others: Callable[..., Any]) -> Any:
    """A kernel as plain Python, with other functions in the place of those that it calls by these names; all others that it calls
    stay compiled."""
    return FunctionType(kernel.py_func.__code__, {**kernel.py_func.__globals__, **others})


def _twin(function: FunctionType) -> Callable[..., Any]:
    names = _names(function.__globals__)
    return FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)


def _names(names: dict[str, Any]) -> dict[str, Any]:
    """The names of a module with plain functions in the place of its kernels, and in the modules of ours that it names."""
    twin = _TWINS.get(id(names))  # of a module, or of one specialised kernel, which live as long as the process
    if twin is None:
        twin = _TWINS[id(names)] = dict(names)
        for name, value in names.items():
            if hasattr(value, "py_func"):
                twin[name] = _twin(value.py_func)
            elif hasattr(value, "_defn"):  # an intrinsic
                twin[name] = TWINS.get(value._defn.__name__, value)
            elif isinstance(value, ModuleType) and value.__name__.startswith("solvable."):
                twin[name] = _Twin(vars(value))
    return twin


class _Twin:
    """Stands for a module: its names are looked up, in interpreted form, when they are asked for."""

    def __init__(self, names: dict[str, Any]) -> None:
        self._real = names

    def __getattr__(self, name: str) -> Any:
        return _names(self._real)[name]


_TWINS: dict[int, dict[str, Any]] = {}
_LOCK = threading.Lock()  # nobody meets a half-filled twin

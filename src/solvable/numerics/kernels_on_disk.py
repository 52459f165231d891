"""Machine code on disk: where it is kept, and how a kernel is told from an older form of itself.

A kernel's file is named by a digest of all that its machine code is made of: its bytecode, the constants and the kernels that
it uses, and theirs. Files of one kind of machine and compiler share a directory of our own in the user's cache:

    <cache>/solvable/kernels-<digest of Python, Numba, CPU>/<kernel>-<digest>.bin

`SOLVABLE_CACHE_DIR` replaces `<cache>/solvable`. Nothing outside that directory is ever written or removed.
"""

import contextlib
import dis
import hashlib
import os
import pickle
import sys
import tempfile
import time
from enum import EnumType
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core import config, types
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

SHIPPED = Path(__file__).parents[1] / "machine_code"  # what an installed wheel may bring
PREFIX, SUFFIX = "kernels-", ".bin"
DIGEST = 32  # bytes
WEEK = 7 * 86400.0
PLAIN = (np.generic, bool, int, float, str, bytes, type, type(None), types.Type)
UNUSED = 8 * WEEK  # after which a kind of machine code, or a kernel of another form, is removed


def cache_directory() -> Path:
    """Of this user, for everything that `solvable` can make again."""
    if chosen := os.environ.get("SOLVABLE_CACHE_DIR"):
        return Path(chosen)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "solvable"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "solvable"


def is_writable() -> bool:
    """Whether machine code can be kept."""
    try:
        cache_directory().mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=cache_directory()):
            return True
    except OSError:
        return False


def kind_of(magic: tuple[Any, ...]) -> str:
    """The name of a directory of machine code, from Numba's description of the machine (system, CPU, its features)."""
    options = [
        getattr(config, name, None) for name in ("OPT", "BOUNDSCHECK", "USING_SVML", "LOOP_VECTORIZE", "SLP_VECTORIZE")
    ]
    told = [sys.implementation.cache_tag, numba.__version__, llvmlite.__version__, *options, *magic]
    return PREFIX + hashlib.sha256(repr(told).encode()).hexdigest()[:16]


class KernelCache(_Cache):
    """The machine code of one kernel, by signature; Numba asks it before it compiles. `missed` is told of what is not there."""

    def __init__(self, kernel: Any, missed: Any) -> None:
        self._kernel, self._missed = kernel, missed

    @property
    def cache_path(self) -> str:
        return str(cache_directory())

    def enable(self) -> None:
        """It always is."""

    def disable(self) -> None:
        """Never: a kernel without machine code of its own takes that of its file."""

    def flush(self) -> None:
        """Files are never stale, for their names say what is in them."""

    def find(self, signature: Any, context: Any) -> Path | None:
        """The file with this machine code: the user's own, made for this very machine, else one that came with a wheel."""
        own, shipped = self._place(signature, context), shipped_for(context.codegen().magic_tuple())
        for path in [own] if shipped is None else [own, shipped / own.name]:
            if path.is_file():
                return path
        return None

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        if _takes_kernels(sig):
            self._missed(self._kernel)
            return None
        target_context.refresh()
        path = self.find(sig, target_context)
        content = None if path is None else _read(path)
        if content is not None:
            with contextlib.suppress(Exception):  # what cannot be loaded, for whatever reason, is compiled again
                return CompileResult._rebuild(target_context, *pickle.loads(content))
        self._missed(self._kernel)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        if _takes_kernels(sig):
            return
        if data.library.has_dynamic_globals:
            raise RuntimeError(
                f"{self._kernel.__name__}: uses what cannot be kept on disk, such as a large global array"
            )
        path = self._place(sig, data.target_context)
        with contextlib.suppress(OSError):  # nowhere to write: compile again next time
            _write(path, dumps(data._reduce()))
            _remove_unused_once(path.parent)

    def _place(self, signature: Any, context: Any) -> Path:
        told = hashlib.sha256(f"{identity(self._kernel)} {signature}".encode()).hexdigest()[:24]
        function = self._kernel.py_func
        name = f"{function.__module__.removeprefix('solvable.')}.{function.__name__}-{told}{SUFFIX}"
        return cache_directory() / kind_of(context.codegen().magic_tuple()) / name


def _takes_kernels(signature: Any) -> bool:
    """Whether kernels are among the arguments: such a kernel is part of whoever calls it, and is kept with that one only."""
    for part in getattr(signature, "args", signature):
        parts: Any = part if isinstance(part, types.BaseTuple) else ()
        if isinstance(part, types.Dispatcher) or _takes_kernels(tuple(parts)):
            return True
    return False


def _read(path: Path) -> bytes | None:
    """What a file holds; None where it cannot be read or is damaged."""
    try:
        content = path.read_bytes()
        if hashlib.sha256(content[DIGEST:]).digest() != content[:DIGEST]:
            return None
        if time.time() - path.stat().st_mtime > WEEK:
            with contextlib.suppress(OSError):  # it is still in use
                os.utime(path)
    except OSError:
        return None
    return content[DIGEST:]


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(hashlib.sha256(content).digest() + content)
        os.chmod(name, 0o644)  # others may share the directory
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


@lru_cache
def _remove_unused_once(current: Path) -> None:
    """Whoever compiles looks after the cache, once in a process."""
    remove_unused(current)


def remove_unused(current: Path) -> None:
    """Remove machine code of ours that nobody has used for long: kernels of former versions, other kinds of machines."""
    oldest = time.time() - UNUSED
    for directory in current.parent.glob(PREFIX + "*"):
        for path in [*directory.glob("*" + SUFFIX), *directory.glob("*.part")]:
            with contextlib.suppress(OSError):
                if path.stat().st_mtime < oldest:
                    path.unlink()
        with contextlib.suppress(OSError):  # only an empty one goes
            directory.rmdir()


@lru_cache
def shipped_for(magic: tuple[Any, ...]) -> Path | None:
    """The directory of machine code that came with this installation, if this machine can run it."""
    if not SHIPPED.is_dir():
        return None
    system, _, features = magic
    able = set(features.split(","))
    for directory in SHIPPED.iterdir():
        with contextlib.suppress(OSError, ValueError):
            made_for = tuple((directory / "machine.txt").read_text(encoding="utf-8").splitlines())
            needs = {feature for feature in made_for[2].split(",") if feature.startswith("+")}
            if made_for[0] == system and needs <= able and directory.name == kind_of(made_for):
                return directory
    return None


def identity(kernel: Any) -> str:
    """A digest of all that a kernel's machine code is made of."""
    known = kernel.__dict__.get("_identity")
    if known is None:
        told = Description()
        last = told.of(kernel)
        known = kernel._identity = hashlib.sha256("\n".join([*told.lines, last]).encode()).hexdigest()
    return known


class Description:
    """Text that tells a kernel from any other: a line for it and for every function that it reaches, each with what its names
    stand for."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._numbers: dict[int, int] = {}  # of functions that have a line
        self._kept: list[Any] = []  # so that no other object gets their place in memory

    def of(self, value: Any) -> str:
        """What a value is, or the number of the line that says so."""
        if hasattr(value, "py_func"):
            return f"kernel {value.made_by} {value.declared} " + self._function(value.py_func)
        if isinstance(value, FunctionType):
            return self._function(value)
        if isinstance(value, np.ndarray):
            return f"array {value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
        if hasattr(value, "_defn"):  # an intrinsic: all of its file, which may hold types and operators too
            return f"intrinsic {value._defn.__qualname__} {sys.modules[value._defn.__module__].SOURCE}"
        if isinstance(value, EnumType):
            members: Any = value.__members__
            return f"enum {value.__qualname__} {[(name, int(member)) for name, member in members.items()]}"
        if isinstance(value, tuple):
            return f"({', '.join(self.of(part) for part in value)})"
        if isinstance(value, ModuleType | BuiltinFunctionType):
            return f"of others {value.__name__}"
        if isinstance(value, PLAIN):
            return f"{type(value).__name__} {value!r}"
        raise TypeError(f"{value!r}: a kernel uses this, and it is not known how to tell it from another")

    def _function(self, function: FunctionType) -> str:
        number = self._numbers.get(id(function))
        if number is None:
            number = self._numbers[id(function)] = len(self._numbers)
            self._kept.append(function)
            code = self._code(function.__code__, function.__doc__, function.__globals__)
            given = [self.of(part) for part in function.__defaults__ or ()]
            closed = [self.of(cell.cell_contents) for cell in function.__closure__ or ()]
            self.lines.append(f"{number}: {function.__module__}.{function.__qualname__} {code} {given} {closed}")
        return f"function {number}"

    def _code(self, code: CodeType, text: str | None, names: dict[str, Any]) -> str:
        constants = [
            self._code(part, None, names) if isinstance(part, CodeType) else f"{type(part).__name__} {part!r}"
            for part in code.co_consts
            if part is not text
        ]
        meant = []
        for step, then in pairwise(dis.get_instructions(code)):
            if step.opname == "LOAD_GLOBAL" and step.argval in names:
                value, name = names[step.argval], step.argval
                if isinstance(value, ModuleType) and value.__name__.startswith("solvable."):
                    value, name = getattr(value, then.argval), f"{name}.{then.argval}"
                meant.append(f"{name} = {self.of(value)}")
        table = code.co_exceptiontable.hex()
        return f"[{code.co_code.hex()} {table} {code.co_varnames} {code.co_names} {constants} {meant}]"

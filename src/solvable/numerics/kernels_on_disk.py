"""Machine code on disk: where it is kept, and how a kernel is told from an older form of itself.

A kernel's file is named by a digest of all that its machine code is made of: its bytecode, the constants and the kernels that
it uses, and theirs. Files of one kind of machine and compiler share a directory of our own in the user's cache:

    <cache>/solvable/kernels-<digest of Python, Numba, CPU>/<kernel>-<digest>.bin

`SOLVABLE_CACHE_DIR` replaces `<cache>/solvable`. Nothing outside that directory is ever written or removed, and nothing in it is
read that others may have written (`trusted_files.py`).
"""

import contextlib
import dis
import hashlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
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
from numba.core.serialize import dumps

from solvable.numerics import trusted_files
from solvable.numerics.file_locks import locked
from solvable.numerics.kernel_pickles import load
from solvable.numerics.linking import kernels_among, names_kernels, rebuilt
from solvable.numerics.trusted_files import MARK, WEEK, Untrusted

SHIPPED = Path(__file__).parents[1] / "machine_code"  # what an installed wheel may bring
PREFIX, SUFFIX, LOCK = "kernels-", ".bin", ".lock"
PLAIN = (np.generic, bool, int, float, str, bytes, type, type(None), types.Type)
FORM = 3  # of the files: inner kernels as code to be linked, with the names of what they call
UNUSED = 8 * WEEK  # after which a kind of machine code, or a kernel of another form, is removed


def cache_directory() -> Path:
    """Return the user's directory for everything that `solvable` can make again. Where it is no absolute path, nothing is kept."""
    if chosen := os.environ.get("SOLVABLE_CACHE_DIR"):
        return Path(os.path.expanduser(chosen))
    home = Path(os.path.expanduser("~"))  # as it stands where there is no home
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "solvable"
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (named if named.is_absolute() else home / ".cache") / "solvable"


def is_writable() -> bool:
    """Whether machine code can be kept."""
    try:
        trusted_files.make_directory(cache_directory())
        with tempfile.TemporaryFile(dir=cache_directory()):
            return True
    except Untrusted as error:
        trusted_files.refuse(error)
    except OSError:
        pass
    return False


def kind_of(magic: tuple[Any, ...]) -> str:
    """Return the name of a directory of machine code, from the form of its files and Numba's description of the machine (system,
    CPU, its features)."""
    options = [
        getattr(config, name, None) for name in ("OPT", "BOUNDSCHECK", "USING_SVML", "LOOP_VECTORIZE", "SLP_VECTORIZE")
    ]
    told = [MARK, FORM, sys.implementation.cache_tag, numba.__version__, llvmlite.__version__, *options, *magic]
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
        """Return the file with this machine code: the user's own, made for this very machine, else one that came with a wheel."""
        return _find(self._name(signature), context)

    @contextlib.contextmanager
    def alone(self, signature: Any, context: Any, wait: Callable[[], None]) -> Iterator[None]:
        """Within it no other process compiles this kernel, as long as all use the same directory. `wait` is called again and again
        while another one does."""
        if names_kernels(signature) or self.find(signature, context) is not None:
            yield
            return
        path = _own(context) / self._name(signature)
        with locked(path.with_suffix(LOCK), path.exists, wait):
            yield

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        if names_kernels(sig):
            self._missed(self._kernel)
            return None
        target_context.refresh()
        name = self._name(sig)
        with contextlib.suppress(Exception):  # what cannot be loaded, for whatever reason, is compiled again
            return rebuilt(target_context, name, lambda file: _parts(file, target_context))
        self._missed(self._kernel)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        if names_kernels(sig):
            return
        if data.library.has_dynamic_globals:
            raise RuntimeError(
                f"{self._kernel.__name__}: uses what cannot be kept on disk, such as a large global array"
            )
        name = self._name(sig)
        path = _own(data.target_context) / name
        with contextlib.suppress(OSError):  # nowhere to write: compile again next time
            trusted_files.write(path, dumps(data._reduce()))
            _remove_unused_once(path.parents[1])

    def file_for(self, signature: Any) -> str | None:
        """Return the name of the file for a signature; None where such a kernel is kept with whoever calls it."""
        return None if names_kernels(signature) else self._name(signature)

    def _name(self, signature: Any) -> str:
        told = hashlib.sha256(f"{identity(self._kernel)} {signature}".encode()).hexdigest()[:24]
        function = self._kernel.py_func
        return f"{function.__module__.removeprefix('solvable.')}.{function.__name__}-{told}{SUFFIX}"


def _own(context: Any) -> Path:
    """Return the user's directory of machine code for this machine."""
    return cache_directory() / kind_of(context.codegen().magic_tuple())


def _find(name: str, context: Any) -> Path | None:
    own, shipped = _own(context) / name, shipped_for(context.codegen().magic_tuple())
    if trusted_files.is_there(own):
        return own
    return shipped / name if shipped is not None and (shipped / name).is_file() else None


def _parts(name: str, context: Any) -> tuple[Any, ...]:
    """Return what a file of this name holds; raise FileNotFoundError where there is none that can be trusted."""
    path = _find(name, context)
    content = None if path is None else _read(path)
    if content is None:
        raise FileNotFoundError(name)
    parts: tuple[Any, ...] = load(content)
    return parts


def _read(path: Path) -> bytes | None:
    """Return what a file holds; None where it is damaged, or others may have written it. What came with the installation is as
    trusted as the Python beside it."""
    if not path.is_relative_to(SHIPPED):
        return trusted_files.read(path)
    with contextlib.suppress(OSError):
        return trusted_files.content_of(path.name, path.read_bytes())
    return None


@lru_cache
def _remove_unused_once(cache: Path) -> None:
    """Whoever compiles looks after the cache, once in a process."""
    trusted_files.remove_unused(cache, PREFIX, (SUFFIX, LOCK), UNUSED)


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
    known: str | None = kernel.__dict__.get("_identity")
    if known is None:
        told = Description()
        last = told.of(kernel)
        known = kernel._identity = hashlib.sha256("\n".join([*told.lines, last]).encode()).hexdigest()
    return known


def symbol_of(kernel: Any, arguments: Any) -> str:
    """Return what tells a kernel's code from all other code of its name and types of arguments, in every process."""
    whole = " ".join(map(identity, (kernel, *kernels_among(arguments))))
    return hashlib.sha256(whole.encode()).hexdigest()[:24]


def reached(kernel: Any) -> tuple[Any, ...]:
    """Return a kernel and all kernels that it calls, directly or not, but for those in branches that a flag switches off."""
    known: tuple[Any, ...] | None = kernel.__dict__.get("_reached")
    if known is None:
        met: dict[Any, None] = {}
        waiting = [kernel]
        while waiting:
            if (next_one := waiting.pop()) not in met:
                met[next_one] = None
                waiting += _called(next_one.py_func)[::-1]
        known = kernel._reached = tuple(met)
    return known


def _called(function: FunctionType) -> list[Any]:
    """Return the kernels that a function names outside branches that begin with `if FLAG` where FLAG is False."""
    names, kernels, dead = function.__globals__, [], 0
    for step, then in pairwise(dis.get_instructions(function)):
        if step.opname != "LOAD_GLOBAL" or step.argval not in names or step.offset < dead:
            continue
        value = names[step.argval]
        if value is False and then.opname.startswith("POP_JUMP") and then.opname.endswith("IF_FALSE"):
            dead = then.argval
        if isinstance(value, ModuleType) and value.__name__.startswith("solvable."):
            value = getattr(value, then.argval, None)
        if hasattr(value, "py_func"):
            kernels.append(value)
    return kernels


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

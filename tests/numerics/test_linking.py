"""Inner kernels are put together with the entries that call them, from memory, from disk, and within functions of users."""

import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from numba import float64, int64

from solvable.numerics import compiled as compiling
from solvable.numerics import linking
from solvable.numerics.compiled import compiled

MODULE = """
import os
from numba import float64, int64
from solvable.numerics.compiled import compiled

@compiled()
def cube(x):
    return x * x * x

@compiled()
def applied(function, x):  # takes a kernel, and so has no file
    return function(x) + cube(x)

@compiled()
def both(x):  # calls what it also hands over
    return applied(cube, x) - cube(x)

@compiled(float64(float64))
def entry(x):
    return both(x)

@compiled(float64(float64))
def other(x):
    return 2.0 * both(x) + entry(x)
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache directory."""
    monkeypatch.setenv("SOLVABLE_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def run(code: str, tmp_path: Path) -> list[str]:
    """Return what a process prints, with the module of kernels beside it."""
    (tmp_path / "toy_kernels.py").write_text(MODULE)
    script = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{code}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_an_entry_is_linked_with_all_that_it_reaches_in_any_order(cache: Path, tmp_path: Path) -> None:
    """A second process makes another entry from the inner kernels on disk, and compiles only what has no file."""
    count = """
import toy_kernels
from solvable.numerics import compiled, kernels_on_disk
made = []
for kernel in vars(toy_kernels).values():
    if isinstance(kernel, compiled.Kernel):
        kernel._cache._missed = lambda kernel: made.append(kernel.__name__)
"""
    assert run(f"{count}print(toy_kernels.entry(2.0), *made)", tmp_path) == ["8.0", "entry", "both", "applied", "cube"]
    files = {path.name.rpartition("-")[0].rpartition(".")[2] for path in cache.glob("*/*.bin")}
    assert files == {"cube", "both", "entry"}
    assert run(f"{count}print(toy_kernels.other(2.0), *made)", tmp_path) == ["24.0", "other"]


def test_an_inner_kernel_has_no_machine_code_of_its_own(cache: Path) -> None:
    inner = compiled()(lambda x: x + 1.0)
    entry = compiled(float64(float64))(lambda x: inner(x))
    assert entry(1.0) == 2.0
    (result,) = inner.overloads.values()
    assert isinstance(result.library, linking.InnerLibrary)
    assert not linking.InnerLibrary.get_pointer_to_function(result.library, "anything")
    assert result.library.codegen is result.library


def test_a_function_of_a_user_calls_an_inner_kernel(cache: Path) -> None:
    square = compiled()(lambda x: x * x)
    fourth = compiled()(lambda x: square(square(x)))
    assert numba.njit(lambda x: fourth(x) + 1.0)(2.0) == 17.0


def test_what_cannot_be_linked_is_refused_before_it_is_called(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a library were left out, the process would end at the first call."""
    inner = compiled()(lambda x: x + 1.0)
    entry = compiled(float64(float64))(lambda x: inner(x))
    monkeypatch.setattr(linking, "reached", lambda libraries, **_: [])
    with pytest.raises(RuntimeError, match="not linked with"):
        entry(1.0)


def test_callers_come_before_what_they_call() -> None:
    class Library(linking.InnerLibrary):
        def __init__(self, *callees: "Library") -> None:
            self._linking_libraries = list(callees)

        def __del__(self) -> None:
            pass

    last = Library()
    middle = Library(last)
    first = Library(last, middle)
    assert linking.reached([last, first]) == [first, middle, last]


def test_bits_are_those_of_a_kernel_in_one_piece(cache: Path) -> None:
    """Sums may be reordered in both alike."""
    norm = compiled()(_norm)
    apart = compiled(float64(float64[::1], int64))(lambda x, count: norm(x, count) + norm(x, 1))
    whole = numba.njit(float64(float64[::1], int64), fastmath=compiling.REORDER, error_model="numpy", _nrt=False)(
        _twice
    )
    x = np.random.default_rng(1).normal(size=1001)
    assert apart(x, 3) == whole(x, 3)


def _norm(x, count):
    total = 0.0
    for i in range(0, x.size, count):
        total += x[i] * x[i]
    return total


def _twice(x, count):
    total = 0.0
    for i in range(0, x.size, count):
        total += x[i] * x[i]
    second = 0.0
    for i in range(0, x.size, 1):
        second += x[i] * x[i]
    return total + second

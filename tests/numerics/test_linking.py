"""Inner kernels are put together with the entries that call them, from memory, from disk, and within functions of users."""

import struct
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from numba import float64, int64

from solvable.numerics import compiled as compiling
from solvable.numerics import kernel_pickles, linking
from solvable.numerics.compiled import compiled
from solvable.numerics.trusted_files import content_of

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

@compiled(float64(float64))
def cubed(x):
    return cube(x) + 1.0

@compiled()
def above(x):
    return both(x) + 1.0

@compiled(float64(float64))
def next_entry(x):
    return above(x)

@compiled(float64(float64))
def last(x):
    return 3.0 * above(x)
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
        def __init__(self, file: str, *callees: "Library") -> None:
            self.file, self._linking_libraries = file, list(callees)

    last = Library("a")
    middle = Library("c", last)
    first = Library("b", last, middle, Library("a"))  # read from disk and made here it is the same
    assert linking.reached([last, first]) == [first, middle, last]


@pytest.mark.skipif(sys.platform != "linux", reason="files are ELF on Linux")
def test_machine_code_does_not_depend_on_what_was_on_disk(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Made at once, from inner kernels on disk, and after others have been compiled, which Numba counts."""
    monkeypatch.syspath_prepend(tmp_path)
    forms = {
        "at once": "toy_kernels.other(2.0)",
        "from disk": "toy_kernels.entry(2.0); toy_kernels.other(2.0)",
        "after others": "numba.njit(lambda x: x + 1)(2.0); toy_kernels.cube(3.0); toy_kernels.other(2.0)",
    }
    made = {}
    for name, code in forms.items():
        run(f"import numba, os; os.environ['SOLVABLE_CACHE_DIR'] += {name!r}; import toy_kernels; {code}", tmp_path)
        (file,) = Path(f"{cache}{name}").glob("*/*.other-*.bin")
        (_, _, (machine, _)), *_ = kernel_pickles.load(content_of(file.name, file.read_bytes()))
        made[name] = file.name, instructions(machine)
    assert any(made["at once"][1])
    assert made["at once"] == made["from disk"] == made["after others"]


def test_files_of_different_processes_fit_together(cache: Path, tmp_path: Path) -> None:
    """One of them is lost and made again by a process that has compiled more before."""
    run("import toy_kernels; toy_kernels.entry(2.0)", tmp_path)
    (lost,) = cache.glob("*/*.cube-*.bin")
    lost.unlink()
    run(
        "import numba, toy_kernels; numba.njit(lambda x: x + 1)(2.0); toy_kernels.applied(toy_kernels.cube, 3.0)",
        tmp_path,
    )
    assert run("import toy_kernels; print(toy_kernels.other(2.0))", tmp_path) == ["24.0"]


def test_two_kernels_of_one_name_have_symbols_of_their_own(cache: Path) -> None:
    """Two of one function have one symbol, and the same machine code."""
    first, second = (compiled()(_one_more(step)) for step in (1.0, 2.0))
    entry = compiled(float64(float64))(lambda x: 10.0 * first(x) + second(x))
    assert entry(0.0) == 12.0
    again = [compiled(float64(float64))(_square) for _ in range(2)]
    assert [kernel(3.0) for kernel in again] == [9.0, 9.0]


def instructions(code: bytes) -> list[bytes]:
    """Return the sections of an ELF file that hold instructions, and nothing of the names of constants."""
    (begin,), (size, count) = struct.unpack_from("<Q", code, 40), struct.unpack_from("<HH", code, 58)
    sections = [struct.unpack_from("<IIQQQQ", code, begin + i * size) for i in range(count)]
    executable = 4
    return [code[at : at + length] for _, _, flags, _, at, length in sections if flags & executable]


def _one_more(step):
    return lambda x: x + step


def _square(x):
    return x * x


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


def test_a_kernel_that_is_compiled_again_fits_those_that_call_it(cache: Path, tmp_path: Path) -> None:
    """Its file may be damaged or removed, and another process makes it in another order."""
    run("import toy_kernels; toy_kernels.entry(2.0)", tmp_path)
    (file,) = cache.glob("*/toy_kernels.cube-*.bin")
    file.write_bytes(b"")
    again = "from solvable.numerics.compiled import compiled; from numba import float64\n"
    again += "print(compiled(float64(float64))(lambda x: x)(1.0), toy_kernels.cubed(2.0))"
    assert run(f"import toy_kernels\n{again}", tmp_path) == ["1.0", "9.0"]
    assert run("import toy_kernels; print(toy_kernels.other(2.0))", tmp_path) == ["24.0"]


NAMESAKES = """
from numba import float64
from solvable.numerics.compiled import compiled

def number(x):
    return 1.0

one = compiled(strict=True)(number)

def number(x):
    return 2.0

two = compiled(strict=True)(number)
first = compiled(float64(float64), strict=True)(lambda x: one(x))
second = compiled(float64(float64), strict=True)(lambda x: two(x))
both = compiled(float64(float64), strict=True)(lambda x: 10.0 * one(x) + two(x))
"""


def test_kernels_of_one_name_that_two_processes_compiled_are_told_apart(cache: Path, tmp_path: Path) -> None:
    """Both are the second kernel that their process compiles; a third process links them."""
    (tmp_path / "namesakes.py").write_text(NAMESAKES)
    told = [run(f"import namesakes; print(namesakes.{name}(0.0))", tmp_path) for name in ("first", "second", "both")]
    assert told == [["1.0"], ["2.0"], ["12.0"]]


def test_a_kernel_whose_callee_was_missing_is_linked_whole(cache: Path, tmp_path: Path) -> None:
    """It is met a second time, by another kernel on disk, after both have been compiled again."""
    run("import toy_kernels; toy_kernels.entry(2.0); toy_kernels.next_entry(2.0)", tmp_path)
    (file,) = cache.glob("*/toy_kernels.cube-*.bin")
    file.unlink()
    assert run("import toy_kernels; print(toy_kernels.other(2.0), toy_kernels.last(2.0))", tmp_path) == ["24.0", "27.0"]

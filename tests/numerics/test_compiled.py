"""What is compiled, when, and where it is kept."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from numba import float64

import solvable as sv
from solvable.gaussian import units
from solvable.numerics import interpreting, kernel_pickles, kernels_on_disk, trusted_files
from solvable.numerics.compiled import compiled
from solvable.numerics.kernels_on_disk import identity, kind_of
from solvable.numerics.trusted_files import MARK, content_of
from solvable.sweeps.engines import work

CURVE = """
import json
import numpy as np
import solvable as sv
problem = sv.Problem(teacher=sv.Teacher(width=2), student=sv.Student(width=3), training=sv.Training(learning_rate=0.1))
start = sv.start(problem, student_overlap=np.eye(3), cross_overlap=0.1 * np.eye(3, 2) + 0.01)
run = sv.run(problem, start, sv.Macro(), times=[1.0, 5.0, 20.0])
print(json.dumps(run.risk[0].tolist()))
"""


def python(code: str, cache: Path, **environment: str) -> subprocess.CompletedProcess:
    settings = {**os.environ, "SOLVABLE_CACHE_DIR": str(cache), **environment}
    return subprocess.run([sys.executable, "-c", code], env=settings, capture_output=True, text=True, check=True)


def kernel_in(source: str, name: str = "f") -> str:
    """The identity of a kernel of a module with this source."""
    module = ModuleType("kernels")
    module.__dict__.update(compiled=compiled, np=np, units=units)
    sys.modules["kernels"] = module
    exec(source, module.__dict__)
    return identity(module.__dict__[name])


def risks() -> np.ndarray:
    """Of `CURVE`, here, by machine code."""
    problem = sv.Problem(
        teacher=sv.Teacher(width=2), student=sv.Student(width=3), training=sv.Training(learning_rate=0.1)
    )
    start = sv.start(problem, student_overlap=np.eye(3), cross_overlap=0.1 * np.eye(3, 2) + 0.01)
    return sv.run(problem, start, sv.Macro(), times=[1.0, 5.0, 20.0]).risk[0]


def test_importing_compiles_and_loads_nothing(tmp_path) -> None:
    code = """
import sys
from solvable import checks, empirical, landscape, macro, meso, micro, theory
from solvable.numerics.compiled import Kernel
ours = [module for name, module in sys.modules.items() if name.startswith("solvable")]
kernels = [value for module in ours for value in vars(module).values() if isinstance(value, Kernel)]
assert len(kernels) > 80, len(kernels)
print(sum(len(kernel.overloads) for kernel in kernels))
"""
    assert python(code, tmp_path / "cache").stdout.strip() == "0"
    assert not (tmp_path / "cache").exists()


def test_a_first_curve_is_interpreted_and_leaves_nothing_behind(tmp_path) -> None:
    told = python(CURVE, tmp_path / "cache", SOLVABLE_PATIENCE="60")
    assert told.stderr == ""
    assert not (tmp_path / "cache").exists()
    assert np.allclose(json.loads(told.stdout), risks(), rtol=1e-10, atol=0)  # a hundredth of the tolerance


@pytest.mark.full
def test_patience_ends_in_the_middle_of_a_curve_and_only_what_it_needs_is_compiled(tmp_path) -> None:
    """Also: lines say so, nobody else's cached kernels are touched, and none of ours are beside the sources."""
    others = tmp_path / "numba"
    (others / "project_1234").mkdir(parents=True)
    (others / "project_1234" / "kernel.f-1.py311.nbi").write_text("machine code of others")
    package = Path(sv.__file__).parent
    told = python(CURVE, tmp_path / "cache", SOLVABLE_PATIENCE="0.02", NUMBA_CACHE_DIR=str(others))
    first, *others_said = told.stderr.splitlines()
    assert re.match(r"solvable: compiling \d+ kernels for this machine, which happens once for each kind", first)
    assert all(re.match(r"compiling: \d+ of \d+ kernels", line) for line in others_said)
    assert np.array_equal(json.loads(told.stdout), risks())
    made = {path.name.rpartition("-")[0].rpartition(".")[0] for path in (tmp_path / "cache").glob("*/*.bin")}
    assert made == {
        "macro.integrators",
        "numerics.dormand_prince",
        "numerics.driving",
        "numerics.vectors",
        "dynamics.equations",
        "dynamics.quadratic_equations",
        "dynamics.closed_moments",
        "dynamics.orbit_averages",
        "gaussian.closed.quadratic",
        "gaussian.closed_forms",
    }
    assert [path.name for path in others.rglob("*.*")] == ["kernel.f-1.py311.nbi"]
    assert not list(package.rglob("*.nb[ic]"))


@pytest.fixture
def patient(monkeypatch) -> None:
    """Kernels may be interpreted, within this test."""
    monkeypatch.setattr(interpreting.PATIENCE, "left", 5.0)
    monkeypatch.setattr(interpreting.PATIENCE, "over", False)


def test_sweeps_interpret_nothing(patient, tmp_path) -> None:
    """A run that was interpreted says so; where a sweep computes, none is."""
    assert "interpreted" not in sv.Macro().settings()
    told = python(CURVE + "print(run.settings['interpreted'])", tmp_path / "cache", SOLVABLE_PATIENCE="60")
    assert told.stdout.splitlines()[-1] == "True"
    work([])
    assert interpreting.PATIENCE.over
    assert interpreting.attempt(_Pure(_double.py_func), (2.0,)) is interpreting.MISSING


@pytest.mark.full
def test_a_limit_of_time_does_not_count_the_compiler(tmp_path) -> None:
    """Whatever is compiled for a run is compiled before its seconds begin."""
    code = CURVE.replace("sv.Macro()", "sv.Macro(seconds=1.0)") + "print(run.success)"
    told = python(code, tmp_path / "cache")
    assert told.stdout.splitlines()[-1] == "True"


def test_what_python_refuses_is_left_to_machine_code(patient) -> None:
    def inverse(x, one=1.0):
        return one / x

    assert interpreting.attempt(_Pure(inverse), (2.0,)) == 0.5
    assert interpreting.attempt(_Pure(inverse), (0.0,)) is interpreting.MISSING


def test_patience_that_is_over_ends_what_is_being_interpreted(patient) -> None:
    inner = _Pure(_double.py_func)

    def outer():
        interpreting.machine_code_only()
        return interpreting.attempt(inner, (2.0,))

    assert interpreting.attempt(_Pure(outer), ()) is interpreting.MISSING


def test_patience_is_a_number(tmp_path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as failed:
        python("import solvable.macro", tmp_path, SOLVABLE_PATIENCE="long")
    assert "SOLVABLE_PATIENCE: 'long' given, must be a number of seconds" in failed.value.stderr


class _Pure:
    at_hand = False

    def __init__(self, function) -> None:
        self.py_func = function


BASE = """
SIZE = 2.0
@compiled()
def g(x):
    return SIZE * x
@compiled()
def f(x):
    return g(x) + 1.0
"""


@pytest.mark.parametrize(
    "changed",
    [
        BASE.replace("+ 1.0", "+ 2.0"),
        BASE.replace("SIZE = 2.0", "SIZE = 3.0"),
        BASE.replace("SIZE * x", "SIZE * x * x"),
        BASE.replace("@compiled()\ndef f", "@compiled(strict=True)\ndef f"),
        BASE.replace("@compiled()\ndef g", "@compiled(inline=True)\ndef g"),
        BASE.replace("SIZE * x", "units.QUADRATIC * x"),
        BASE.replace("SIZE = 2.0", "SIZE = np.float32(2.0)"),
    ],
)
def test_a_kernel_is_told_from_its_older_form(changed) -> None:
    assert kernel_in(changed) != kernel_in(BASE)


REPEATED = """
A, B, C = 1.0, 2.0, 1.0
@compiled()
def g(x):
    return x + A
@compiled()
def f(x):
    return A * x * x + B * x + C + g(x)
"""


@pytest.mark.parametrize(
    "values", ["1.0, 2.0, 2.0", "2.0, 1.0, 1.0", "1.0, 1.0, 2.0", "2.0, 1.0, 2.0", "1.0, 2.0, 3.0"]
)
def test_a_value_that_stands_elsewhere_too_is_told(values) -> None:
    """What a name stands for is told with the name, however often the value occurs."""
    assert kernel_in(REPEATED.replace("1.0, 2.0, 1.0", values)) != kernel_in(REPEATED)


def test_swapped_positions_are_told(monkeypatch) -> None:
    """Planes of scratch are small numbers that occur again and again."""
    from solvable.dynamics import equations

    before = identity(compiled()(equations.rhs.py_func))
    noise, drift = equations.NOISE, equations.DRIFT
    monkeypatch.setattr(equations, "NOISE", drift)
    monkeypatch.setattr(equations, "DRIFT", noise)
    assert identity(compiled()(equations.rhs.py_func)) != before


def test_functions_of_one_factory_are_told(monkeypatch) -> None:
    def made(size):
        @compiled()
        def scaled(x):
            return size * x

        return scaled

    assert identity(made(2.0)) != identity(made(3.0))


def test_words_and_places_do_not_change_a_kernel() -> None:
    told = BASE.replace("def f(x):", 'def f(x):\n    """One more."""').replace(
        "SIZE = 2.0", "\n\n# a size\nSIZE = 2.0\nOTHER = 3"
    )
    assert kernel_in(told) == kernel_in(BASE)


def test_a_constant_of_another_module_is_part_of_a_kernel(monkeypatch) -> None:
    source = BASE.replace("SIZE * x", "units.QUADRATIC * x")
    before = kernel_in(source)
    monkeypatch.setattr(units, "QUADRATIC", 17)
    assert kernel_in(source) != before


def test_the_identity_of_a_kernel_does_not_depend_on_the_process(tmp_path) -> None:
    code = """
from solvable.micro.process import follow
from solvable.numerics.kernels_on_disk import identity
print(identity(follow))
"""
    first, second = (python(code, tmp_path, PYTHONHASHSEED=seed).stdout for seed in ("1", "2"))
    assert first == second


def test_every_kernel_can_be_told(monkeypatch) -> None:
    from solvable.empirical import kernels
    from solvable.meso import leap
    from solvable.micro import full_kernels, process
    from solvable.numerics import dormand_prince, doubling, driving, tsit5

    for module in (kernels, leap, full_kernels, process, doubling, dormand_prince, driving, tsit5):
        found = [value for value in vars(module).values() if hasattr(value, "py_func")]
        assert found
        assert len({identity(kernel) for kernel in found}) == len(found)


ONE = float64(float64)


@compiled(ONE)
def _double(x):
    return 2.0 * x


def keep(cache: Path, monkeypatch) -> Path:
    """Compile a kernel into an empty cache; its file."""
    monkeypatch.setenv("SOLVABLE_CACHE_DIR", str(cache))
    fresh = compiled(ONE)(_double.py_func)
    assert fresh(2.0) == 4.0
    (path,) = cache.glob("*/*.bin")
    return path


def test_a_kernel_is_loaded_and_a_damaged_one_made_again(tmp_path, monkeypatch, capsys) -> None:
    path = keep(tmp_path / "cache", monkeypatch)
    again = compiled(ONE)(_double.py_func)
    assert again(2.0) == 4.0
    assert sum(again.stats.cache_hits.values()) == 1
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))
    third = compiled(ONE)(_double.py_func)
    assert third(2.0) == 4.0
    assert sum(third.stats.cache_misses.values()) == 1
    assert content_of(path.name, path.read_bytes()) is not None


def test_an_inner_kernel_is_called_by_others_and_from_python(tmp_path, monkeypatch) -> None:
    """Compiled twice: without a way in for other kernels, with one for Python."""
    monkeypatch.setenv("SOLVABLE_CACHE_DIR", str(tmp_path))

    @compiled()
    def inner(x):
        return x + 1.0

    @compiled(ONE)
    def outer(x):
        return 2.0 * inner(x)

    assert outer(1.0) == 4.0
    assert inner(1.0) == 2.0
    assert inner.inner
    assert not outer.inner
    assert len(inner.overloads) == len(inner.from_python.overloads) == 1


def test_without_a_place_to_write_everything_still_works(tmp_path, monkeypatch) -> None:
    (tmp_path / "file").write_text("no directory")
    monkeypatch.setenv("SOLVABLE_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert compiled(ONE)(_double.py_func)(2.0) == 4.0


def test_machine_code_that_came_with_the_installation_is_used(tmp_path, monkeypatch) -> None:
    path = keep(tmp_path / "cache", monkeypatch)
    magic = _double.targetctx.codegen().magic_tuple()
    shipped = tmp_path / "machine_code"
    shipped.mkdir()
    (tmp_path / "cache" / path.parent.name).rename(shipped / path.parent.name)
    monkeypatch.setattr(kernels_on_disk, "SHIPPED", shipped)
    kernels_on_disk.shipped_for.cache_clear()
    try:
        (shipped / kind_of(magic) / "machine.txt").write_text("\n".join(magic))
        fresh = compiled(ONE)(_double.py_func)
        assert fresh(2.0) == 4.0
        assert sum(fresh.stats.cache_hits.values()) == 1
        kernels_on_disk.shipped_for.cache_clear()
        other = (magic[0], magic[1], magic[2] + ",+a-feature-of-the-future")
        (shipped / kind_of(other)).mkdir()
        (shipped / kind_of(magic) / "machine.txt").unlink()
        (shipped / kind_of(other) / "machine.txt").write_text("\n".join(other))
        assert kernels_on_disk.shipped_for(magic) is None
    finally:
        kernels_on_disk.shipped_for.cache_clear()


@pytest.mark.slow
def test_warming_up_compiles_every_kernel_with_a_signature(tmp_path) -> None:
    """In its general form, or in one that kinds of runs need."""
    python("from solvable.cli.main import main; main(['warm-up', '--all'])", tmp_path / "cache")
    code = """
import sys
from solvable import checks, empirical, landscape, macro, meso, micro, theory
from solvable.numerics.compiled import Kernel
ours = [module for name, module in sys.modules.items() if name.startswith("solvable")]
kernels = [value for module in ours for value in vars(module).values() if isinstance(value, Kernel)]
functions = [kernel.py_func for kernel in kernels if kernel.declared is not None]
print(*{f"{function.__module__.removeprefix('solvable.')}.{function.__name__}" for function in functions})
"""
    files = list((tmp_path / "cache").glob("*/*.bin"))
    made = {path.name.rpartition("-")[0] for path in files}
    named = python(code, tmp_path / "cache").stdout.split()
    cold = {name for name in named if not any(one == name or one.startswith(f"{name}_") for one in made)}
    assert cold == {"micro.looking.note"}  # which stands beside functions that only Python can call
    for file in files:  # nothing that a kernel is made of is missing from the list of what may be loaded
        content = trusted_files.read(file)
        assert content is not None
        assert kernel_pickles.load(content)


def test_warming_up_minds_no_file_of_the_directory_it_is_in(tmp_path) -> None:
    (tmp_path / "solvable.py").write_text("raise SystemExit('a file of the user')")
    code = "from solvable.runfiles.warming import start; one = start('limit'); one.process.wait(); print(one.failure())"
    words = [sys.executable, "-P", "-c", code]
    told = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "None", told


def test_a_cache_that_cannot_be_written_is_told(tmp_path) -> None:
    """By the line about compiling, and by warming up, which would be in vain."""
    (tmp_path / "file").write_text("no directory")
    cache = tmp_path / "file" / "cache"
    code = "from solvable.numerics import compiled as c; c._NOTICE.unshown = 0; c.compiled('float64(float64)')(lambda x: x)(1.0)"
    assert "happens again each time, because nothing can be kept in" in python(code, cache).stderr
    words = [sys.executable, "-m", "solvable.cli.main", "warm-up"]
    told = subprocess.run(
        words, env={**os.environ, "SOLVABLE_CACHE_DIR": str(cache)}, capture_output=True, text=True, check=False
    )
    assert told.returncode == 2
    assert told.stderr == f"solvable: warm-up: machine code cannot be kept in {cache}; set SOLVABLE_CACHE_DIR\n"


def test_a_compiler_that_is_switched_off_is_told(tmp_path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as failed:
        python("from solvable.micro.process import follow; follow.settle()", tmp_path, NUMBA_DISABLE_JIT="1")
    assert failed.value.stderr.splitlines()[-1].startswith("ValueError: NUMBA_DISABLE_JIT: is set")


def test_what_decides_over_bits_is_not_interpreted(patient) -> None:
    with interpreting.by_machine_code():
        assert interpreting.attempt(_Pure(_double.py_func), (2.0,)) is interpreting.MISSING
    assert interpreting.attempt(_Pure(_double.py_func), (2.0,)) == 4.0


def test_compiling_removes_kernels_of_former_versions(tmp_path, monkeypatch) -> None:
    """Also where the directory was there before."""
    former = keep(tmp_path / "cache", monkeypatch).with_name("former.bin")
    former.write_bytes(MARK + b"machine code of a former version")
    os.utime(former, (0, 0))
    kernels_on_disk._remove_unused_once.cache_clear()
    next(former.parent.glob("*double*")).unlink()
    assert compiled(ONE)(_double.py_func)(2.0) == 4.0
    assert not former.exists()

"""Which function it is: told from others by code, closures and all that it reaches, the same in every process."""

import functools
import os
import subprocess
import sys
import threading
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from scipy.special import erf

import solvable as sv
from solvable.gaussian.identity import Unreadable, code_of

LOCK = threading.Lock()
MINE = types.ModuleType("mine")


def made(source: str, **scope: Any) -> Callable[[Any], Any]:
    """The function f of a source of its own."""
    names: dict[str, Any] = {"np": np, "__name__": "__main__", **scope}
    exec(compile(source, scope.get("file", "one.py"), "exec"), names)
    function: Callable[[Any], Any] = names["f"]
    return function


BASE = "def f(z):\n    return np.sin(z) + 3"
SAME = [
    BASE,
    "\n\n# a comment\ndef f(z):\n    # another\n    return np.sin(z) + 3\n",
    "def f(z):\n    'A docstring.'\n    return np.sin(z) + 3",
]
OTHERS = [
    "def f(z):\n    return np.sin(z) + 4",
    "def f(z):\n    return np.sin(z) + 3.0",
    "def f(z):\n    return np.cos(z) + 3",
    "def f(z):\n    return np.sin(z) - 3",
    "def f(z, a=3):\n    return np.sin(z) + a",
    "def f(z, a=4):\n    return np.sin(z) + a",
    "def f(z, *, a=4):\n    return np.sin(z) + a",
    "k = 3\ndef f(z):\n    return np.sin(z) + k",
    "k = 4\ndef f(z):\n    return np.sin(z) + k",
    "def g(z):\n    return z + 3\ndef f(z):\n    return g(np.sin(z))",
    "def g(z):\n    return z + 4\ndef f(z):\n    return g(np.sin(z))",
    "def h(z):\n    return z + 4\ndef g(z):\n    return h(z)\ndef f(z):\n    return g(np.sin(z))",
    "def h(z):\n    return z + 5\ndef g(z):\n    return h(z)\ndef f(z):\n    return g(np.sin(z))",
    "def g(k):\n    return lambda z: np.sin(z) + k\nf = g(3)",
    "def g(k):\n    return lambda z: np.sin(z) + k\nf = g(4)",
    "def f(z):\n    return [np.sin(x) + 3 for x in z]",
    "def f(z):\n    return [np.sin(x) + 4 for x in z]",
    "t = np.arange(3.0)\ndef f(z):\n    return z + t",
    "t = np.arange(3.0)[::-1]\ndef f(z):\n    return z + t",
    "class C:\n    a = 1\n    def __call__(self, z):\n        return z + self.a\nf = C()",
    "class C:\n    a = 2\n    def __call__(self, z):\n        return z + self.a\nf = C()",
    "class C:\n    a = 2\n    def __call__(self, z):\n        return z - self.a\nf = C()",
    "class C:\n    def __init__(self, a):\n        self.a = a\n    def call(self, z):\n        return z - self.a\nf = C(1).call",
    "class C:\n    def __init__(self, a):\n        self.a = a\n    def call(self, z):\n        return z - self.a\nf = C(2).call",
    "def f(z):\n    from scipy.special import erf\n    return erf(z)",
    "def f(z):\n    from scipy.special import erfc\n    return erfc(z)",
    "def f(z):\n    return z in {'a', 'b', 'c', 'd'}",
    "def f(z):\n    return f(z - 1) if z > 0 else 1",
    "def f(z):\n    return f(z - 1) if z > 0 else 2",
]


def test_what_is_written_is_told_apart_and_where_is_not() -> None:
    assert len({code_of(made(source)) for source in SAME}) == 1
    assert len({code_of(made(source)) for source in [BASE, *OTHERS]}) == 1 + len(OTHERS)


def plus(a: float, z: Any) -> Any:
    return z + a


@numba.njit
def compiled(z: float) -> float:
    return z + 1.0


@numba.njit(fastmath=True)
def compiled_fast(z: float) -> float:
    return z + 1.0


def test_callables_of_all_kinds() -> None:
    kinds = [
        functools.partial(plus, 1.0), functools.partial(plus, 2.0), np.tanh, np.sin, erf, np.clip, compiled, compiled_fast,
        np.poly1d([1, 2]), np.poly1d([1, 3]), np.vectorize(plus), np.polynomial.Polynomial([1, 2]), np.arange(3).__add__,
        np.arange(4).__add__, functools.lru_cache(plus), sv.Activation("x", np.sin, np.cos).function,
    ]  # fmt: skip
    found = [code_of(kind) for kind in kinds]
    assert found[-1] == found[3]
    assert len(set(found)) == len(kinds) - 1
    assert code_of(functools.partial(plus, 1.0)) == found[0]
    assert code_of(numba.njit(compiled.py_func)) == found[6]


class Clipped:
    """Called like the function that it wraps, up to a bound of its own."""

    def __init__(self, function: Callable[[Any], Any], bound: float) -> None:
        functools.update_wrapper(self, function)
        self.function, self.bound = function, bound
        self.py_func = function

    def __call__(self, z: Any) -> Any:
        return np.clip(self.function(z), -self.bound, self.bound)


class Shifted(functools.partial):  # type: ignore[type-arg]
    shift = 0.0

    def __call__(self, z: Any) -> Any:
        return super().__call__(z) + self.shift


class Further(Shifted):
    shift = 1.0


METACLASS = "class M(type):\n    def __pos__(c):\n        return k\nclass C(metaclass=M):\n    pass"


@pytest.mark.parametrize(
    "make",
    [
        lambda k: Clipped(np.sin, k),
        lambda k: Clipped(compiled.py_func, k),
        lambda k: with_attribute(made("def f(z):\n    return f.k * z"), k),
        lambda k: with_attribute(functools.lru_cache(made("def f(z):\n    return z")), k),
        lambda k: with_attribute(functools.partial(plus, 1.0), k),
        lambda k: (Shifted if k < 2 else Further)(plus, 1.0),
        lambda k: made("def f(z):\n    return t['a'] * z", t=np.array([(1.0, 2.0)], [(n, float) for n in ("ab", "ba")[k < 2]])),
        lambda k: made(f"{METACLASS}\ndef f(z):\n    return +C * z", k=k),
    ],
)  # fmt: skip
def test_state_beside_the_code_is_read(make: Callable[[float], Any]) -> None:
    assert code_of(make(1.0)) == code_of(make(1.0)) != code_of(make(2.0))


def with_attribute(function: Any, k: float) -> Any:
    function.k = k
    return function


REACHED = [
    "L = [m]\ndef a(z):\n    return L[0].A * z\ndef b(z):\n    return L[0].B * z\ndef f(z):\n    return a(z) + b(z)",
    "def which():\n    return m\ndef f(z):\n    return which().B * z",
    "B = 'B'\ndef f(z):\n    return getattr(m, B) * z",
    "class C:\n    def __init__(self):\n        self.m = m\n    def __call__(self, z):\n        return self.m.B * z\nf = C()",
    "import operator\ng = operator.attrgetter('B')\ndef f(z):\n    return g(m) * z",
    "def step(z):\n    return m.B * z\nm.step = step\ndel step\ndef f(z):\n    return m.step(z)",
    "def f(z, n=m):\n    from functools import reduce\n    return reduce(lambda a, b: a * b.B, [n], z)",
]


@pytest.mark.parametrize("source", REACHED)
def test_modules_are_followed_wherever_they_are_held(source: str) -> None:
    def found(value: float) -> str:
        module = types.ModuleType("mine")
        module.A, module.B = 1.0, value  # type: ignore[attr-defined]
        return code_of(made(source, m=module))

    assert found(1.0) == found(1.0) != found(2.0)


def test_functions_that_differ_between_all_nodes_are_told_apart() -> None:
    """Wiggles that vanish on the nodes, of a size that an attribute has."""

    def wiggling(size: float) -> sv.Activation:
        def f(z: Any) -> Any:
            return z + f.size * np.sin(16 * np.pi * z) ** 2 * np.exp(-(z**2))

        def slope(z: Any) -> Any:
            wave, bell = np.sin(16 * np.pi * z), np.exp(-(z**2))
            return 1 + f.size * bell * (16 * np.pi * np.sin(32 * np.pi * z) - 2 * z * wave**2)

        f.size = size  # type: ignore[attr-defined]
        return sv.Activation("wiggling", f, slope)

    one, two = wiggling(0.0), wiggling(0.02)
    assert one.fingerprint == two.fingerprint
    assert one.function(np.array([1 / 32])) != two.function(np.array([1 / 32]))
    assert one == wiggling(0.0) != two
    assert one.identity != two.identity


def test_own_modules_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    found = []
    for i, text in enumerate(["k = 1\ndef g(z):\n    return z + k\n", "k = 2\ndef g(z):\n    return z + k\n"]):
        (tmp_path / f"own_module_{i}.py").write_text(text)
        module = __import__(f"own_module_{i}")
        module.__name__ = "own_module"
        found += [code_of(made("def f(z):\n    return own.g(z)", own=module)), code_of(module.g)]
    assert len(set(found)) == 4


def test_what_hides_its_code_is_refused() -> None:
    for function, message in [
        (np.frompyfunc(plus, 2, 1), "hides its code"),
        (lambda z: (LOCK, z), "lock, whose state cannot be read"),
        (lambda z: eval("z"), r"uses eval\(\), by which it may reach anything"),
        (lambda z: vars(MINE)["a"] * z, "reaches the module mine in a way that cannot be followed"),
    ]:
        with pytest.raises(Unreadable, match=message):
            code_of(function)


def test_the_same_in_every_process(tmp_path: Path) -> None:
    """Whatever the seed of Python's hashes and the name of the file."""
    text = "\n".join(
        ["import numpy as np", "k = {'a', 'b', 'c'}", OTHERS[18], "g = f", OTHERS[20], "h = f", OTHERS[26], "e = f",
         "from solvable.gaussian.identity import code_of", "print(code_of(e, g, h, lambda z: (z, k)))"]
    )  # fmt: skip
    found = set()
    for seed in range(3):
        (tmp_path / f"file{seed}.py").write_text("# a line more\n" * seed + text)
        environment = os.environ | {"PYTHONHASHSEED": str(seed)}
        words = [sys.executable, str(tmp_path / f"file{seed}.py")]
        done = subprocess.run(words, capture_output=True, text=True, env=environment, check=True)
        found.add(done.stdout)
    assert len(found) == 1
    assert len(found.pop().strip()) == 64


def cube(power: Callable[[np.ndarray], np.ndarray], version: str | int | None = None) -> sv.problems.Target:
    return sv.problems.Target("cube", 1, power, version=version)


def labelled(target: sv.problems.Target) -> sv.Problem:
    return sv.Problem(
        teacher=sv.Teacher(width=1, target=target),
        student=sv.Student(width=2, activation="erf"),
        training=sv.Training(learning_rate=0.1),
    )


def test_functions_that_agree_where_one_looks_are_not_equal() -> None:
    free, clipped = cube(lambda z: z[:, 0] ** 3), cube(lambda z: np.clip(z[:, 0], -3, 3) ** 3)
    assert free.fingerprint == clipped.fingerprint
    assert free != clipped
    assert free == cube(lambda z: z[:, 0] ** 3)
    assert labelled(free) != labelled(clipped)
    assert labelled(free).hash != labelled(clipped).hash
    assert labelled(free).likeness == labelled(clipped).likeness  # from which streams follow
    slope, flat = (lambda z: 3 * z**2), (lambda z: 3 * np.clip(z, -7, 7) ** 2 * (np.abs(z) < 7))
    assert sv.Activation("c", lambda z: z**3, slope) != sv.Activation("c", lambda z: np.clip(z, -7, 7) ** 3, flat)


def test_versions_in_place_of_code() -> None:
    hidden = np.frompyfunc(lambda z: float(z) ** 3, 1, 1)
    functions = [lambda z: hidden(z[:, 0]).astype(float) for _ in range(2)]
    one, two = (cube(function) for function in functions)
    assert one != two  # nobody can tell
    assert one == cube(functions[0])
    assert "hides its code" in str(one.obstacle)
    assert labelled(one).hash != labelled(two).hash
    assert cube(functions[0], "1") == cube(functions[1], "1") != cube(functions[1], "2")
    assert labelled(cube(functions[0], 1)).hash == labelled(cube(functions[1], 1)).hash
    assert cube(functions[0], "1") != cube(lambda z: np.clip(z[:, 0], -3, 3) ** 3, "1")  # a version that was not raised
    for wrong in (True, "", 1.5):
        with pytest.raises(ValueError, match=r"version: .* given, must be a text or a whole number"):
            cube(functions[0], wrong)  # type: ignore[arg-type]


def test_what_a_function_uses_may_not_change() -> None:
    scope = {"np": np, "k": 1.0, "__name__": "__main__"}
    exec("def f(z):\n    return k * z[:, 0]", scope)
    target = cube(scope["f"])  # type: ignore[arg-type]
    target.check_unchanged()
    scope["k"] = 2.0
    with pytest.raises(ValueError, match="'cube': has changed since it was made"):
        target.check_unchanged()

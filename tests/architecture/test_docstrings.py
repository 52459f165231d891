"""Every public name is documented in numpydoc form, and its examples run."""

import doctest
import enum
import inspect
import re
import typing
from collections.abc import Iterator
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import solvable as sv

SOURCES = Path(sv.__file__).parent
INSIDE = {"cli", "numerics", "papers", "runfiles", "web"}  # rooms that scripts do not call
ROOMS = sorted(path.parent.name for path in SOURCES.glob("*/__init__.py") if path.parent.name not in INSIDE)
# objects that users hold and call: their methods have all sections, those of other classes at least a sentence
HELD = {"Overlaps", "Problem", "Store", "Sweep", "Swept", "Trajectory"}
SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.M)


class Public(typing.NamedTuple):
    """A public class or function with its docstring; `owner` is the class of a method."""

    path: str
    value: Any
    owner: type | None = None

    @property
    def text(self) -> str:
        own = vars(self.value).get("__doc__") if inspect.isclass(self.value) else self.value.__doc__
        generated = inspect.isclass(self.value) and (own or "").startswith(f"{self.value.__name__}(")
        return "" if generated else inspect.cleandoc(own or "")

    @property
    def sections(self) -> dict[str, str]:
        parts = SECTION.split(self.text)
        return dict(zip(parts[1::2], parts[2::2], strict=True))

    @property
    def documented(self) -> set[str]:
        """Names in the sections of parameters and attributes."""
        lines = "".join(self.sections.get(name, "") for name in ("Parameters", "Attributes")).splitlines()
        heads = [line.partition(" : ")[0] for line in lines if line and not line.startswith(" ")]
        return {name.strip().lstrip("*") for head in heads for name in head.split(",")}

    @property
    def parameters(self) -> set[str]:
        if inspect.isclass(self.value) and issubclass(self.value, Exception | enum.Enum):
            return set()
        if inspect.isclass(self.value) and getattr(self.value, "_is_protocol", False):
            return set()
        names = list(inspect.signature(self.value).parameters)
        if self.owner is not None and not isinstance(vars(self.owner)[self.value.__name__], staticmethod):
            names = names[1:]
        return {name for name in names if not name.startswith("_")}


def exported(room: str) -> Iterator[Public]:
    module = import_module(f"solvable.{room}")
    for name in getattr(module, "__all__", ()):
        value = getattr(module, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            yield Public(f"{room}.{name}", value)


def members(public: Public) -> Iterator[tuple[str, Any, bool]]:
    """Name, function and whether it is a property, of what a class defines itself."""
    for name, value in vars(public.value).items() if inspect.isclass(public.value) else ():
        inner = getattr(value, "__func__", getattr(value, "fget", getattr(value, "func", value)))
        if inspect.isfunction(inner) and not name.startswith("_") and name not in _fields(public.value):
            yield name, inner, isinstance(value, property | cached_property)


def _fields(kind: type) -> set[str]:
    return set(getattr(kind, "__dataclass_fields__", ()))


def methods(public: Public) -> Iterator[Public]:
    for name, function, is_property in members(public):
        if not is_property:
            yield Public(f"{public.path}.{name}", function, public.value)


def described() -> Iterator[Public]:
    for room in ROOMS:
        for public in exported(room):
            yield public
            if public.value.__name__ in HELD:
                yield from methods(public)


def wrongs(public: Public) -> list[str]:
    """What a docstring lacks."""
    if not public.text:
        return ["a docstring"]
    found = [] if re.match(r"[^\n]+(\n\n|$)", public.text) else ["a first sentence on a line of its own"]
    if public.documented != public.parameters:
        found.append(f"exactly these parameters: {sorted(public.parameters)}, not {sorted(public.documented)}")
    annotation = inspect.signature(public.value).return_annotation if inspect.isfunction(public.value) else None
    if annotation not in (None, "None") and "Returns" not in public.sections:
        found.append("Returns")
    if ">>> " not in public.sections.get("Examples", "") and not (
        inspect.isclass(public.value) and issubclass(public.value, Exception)
    ):
        found.append("Examples")
    return found


@pytest.mark.parametrize("public", list(described()), ids=lambda public: public.path)
def test_a_public_name_is_documented(public: Public) -> None:
    assert wrongs(public) == []


def test_every_public_method_says_what_it_is() -> None:
    silent = [f"{public.path}.{name}" for room in ROOMS for public in exported(room)
              for name, function, _ in members(public) if not function.__doc__]  # fmt: skip
    assert silent == []


def test_the_rule_would_catch_what_is_missing() -> None:
    def bare(x: int) -> int:
        return x

    def half(x: int) -> int:
        """A sentence.

        Parameters
        ----------
        y : int
            Another name.
        """
        return x

    assert wrongs(Public("bare", bare)) == ["a docstring"]
    assert [wrong.split(":")[0] for wrong in wrongs(Public("half", half))] == [
        "exactly these parameters", "Returns", "Examples",
    ]  # fmt: skip


def test_no_example_is_left_out() -> None:
    """Examples in other docstrings than those of public names would not run."""
    public = {one.value: one for room in ROOMS for found in exported(room) for one in (found, *methods(found))}
    written = sum(path.read_text(encoding="utf-8").count(">>> ") for path in SOURCES.rglob("*.py"))
    assert sum(one.text.count(">>> ") for one in public.values()) == written


@pytest.mark.parametrize("room", ROOMS)
def test_examples_run(room: str, tmp_path, monkeypatch) -> None:
    """Those of methods continue the example of their class."""
    import matplotlib
    from matplotlib import pyplot

    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    finder, said = doctest.DocTestParser(), []
    count = 0
    for public in exported(room):
        names = {"np": np, "sv": sv}
        for one in (public, *methods(public)):
            test = finder.get_doctest(one.text, names, one.path, None, None)
            test.globs = names  # not a copy: methods go on from here
            runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE)
            count += runner.run(test, out=said.append, clear_globs=False).attempted
    pyplot.close("all")
    assert "".join(said) == ""
    assert count > 0

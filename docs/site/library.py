"""The pages of the library: one for each room, with all its public names."""

import sys
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Any

import solvable

TOGETHER = {"levels": ("levels", "macro", "micro", "meso", "empirical_macro")}  # rooms that share a page
MANY = 30  # a page with more names has a section for each module that defines some


def write_library(rooms: tuple[str, ...], site: Path) -> None:
    """A page for each room, in `site`/api; `api.rst` lists them."""
    place = site / "api"
    place.mkdir(exist_ok=True)
    for room in rooms:
        lines = [line for one in TOGETHER.get(room, (room,)) for line in _room(one, is_first=one == room)]
        (place / f"{room}.rst").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _room(room: str, is_first: bool) -> list[str]:
    module = import_module(f"solvable.{room}")
    names = [name for name in module.__all__ if not _is_elsewhere(room, name, getattr(module, name))]
    names.sort(key=lambda name: _order(module, name))
    lines = [*_heading(f"solvable.{room}", "=" if is_first else "-"), f".. automodule:: solvable.{room}", ""]
    if len(names) <= MANY:
        return [*lines, *(line for name in names for line in _entry(room, name, getattr(module, name)))]

    def home(name: str) -> str:
        return getattr(module, name).__module__

    for source, group in groupby(sorted(names, key=home), key=home):
        lines += _heading(_topic(source), "-")
        lines += [line for name in group for line in _entry(room, name, getattr(module, name))]
    return lines


def _is_elsewhere(room: str, name: str, value: Any) -> bool:
    """Constants, and what the room only passes on from another that has it in its own list."""
    home = getattr(value, "__module__", "").split(".")[1:2]
    return not callable(value) or (
        home not in ([], [room]) and name in getattr(import_module(f"solvable.{home[0]}"), "__all__", ())
    )


def _order(module: Any, name: str) -> tuple[bool, bool]:
    """First what most scripts need, then functions, then other classes."""
    value = getattr(module, name)
    return name not in solvable.__all__ or getattr(solvable, name) is not value, isinstance(value, type)


def _entry(room: str, name: str, value: Any) -> list[str]:
    if not isinstance(value, type):
        return [f".. autofunction:: solvable.{room}.{name}", ""]
    fields = [*getattr(value, "__dataclass_fields__", ()), *getattr(value, "_fields", ())]  # the class tells of them
    return [
        f".. autoclass:: solvable.{room}.{name}",
        "   :members:",
        "   :inherited-members: BaseModel, BaseException, Enum, int, tuple",
        f"   :exclude-members: {', '.join(['model_config', 'model_post_init', *fields])}",
        "",
    ]


def _topic(source: str) -> str:
    """What the first sentence of a module is about, up to its colon."""
    text = " ".join((sys.modules[source].__doc__ or source).split())
    topic = text.split(". ")[0].split(":")[0].rstrip(".")
    return topic[:1].upper() + topic[1:]


def _heading(text: str, mark: str) -> list[str]:
    return [text, mark * len(text), ""]

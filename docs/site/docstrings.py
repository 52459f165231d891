"""Docstrings as Sphinx reads them: their text is plain, but for `names`, examples and formulas that stand apart."""

import inspect
import re
from functools import cache
from typing import Any

from formulas import DESCRIBED, described

import solvable

TYPED = ("Parameters", "Attributes", "Returns")
FIELDS = (*TYPED, "Yields", "Raises")
QUOTED = re.compile(r"`+([^`]+)`+")
ESCAPED = re.compile(r"[\\*|]|_(?!\w)")
CLASS = re.compile(r"\b[A-Z]\w+\b")


def marked_up(lines: list[str], own: set[str], room: str) -> list[str]:
    """The lines of a docstring of `room` with escapes where they are no markup, and links at names.

    Napoleon reads the sections after this. `own` has the names that belong to the thing itself, such as its parameters; they
    link to nothing.
    """
    done: list[str] = []
    section, is_example, is_formula = "", False, False
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        if line.strip() and re.fullmatch(r"-{3,}", after):
            section = line.strip()
        is_apart = line.startswith("  ") and section not in FIELDS and not is_example
        if is_apart and not is_formula and not (done and done[-1].strip()):
            done += [".. code-block:: text", ""]
            is_formula = True
        is_formula = is_formula and (is_apart or not line.strip())
        is_example = bool(line.strip()) and (is_example or line.lstrip().startswith(">>> "))
        if is_example or is_formula:
            done.append(line)
        elif section in TYPED and line[:1].strip() and line != section:
            name, colon, kinds = line.rpartition(" : ")
            kinds = CLASS.sub(lambda found: _reference(found[0], set(), room, found[0]), kinds)
            done.append(_escaped(name, own, room) + colon + kinds)
        else:
            done.append(_escaped(line, own, room))
    return done


def own_names(thing: Any, path: str) -> set[str]:
    """Parameters of a function; of a class or a member of one, all that the class has."""
    holder = solvable
    for word in path.split(".")[1:-1]:
        holder = getattr(holder, word, None)
    classes = [one for one in (thing, holder) if inspect.isclass(one)]
    try:
        parameters = set(inspect.signature(thing).parameters)
    except (TypeError, ValueError):
        parameters = set()
    return parameters.union(*(dir(one) for one in classes), *(getattr(one, "__annotations__", ()) for one in classes))


def _escaped(line: str, own: set[str], room: str) -> str:
    words = QUOTED.split(line)  # every second one stood between backticks
    for i, word in enumerate(words):
        words[i] = _reference(word, own, room, f"``{word}``") if i % 2 else ESCAPED.sub(r"\\\g<0>", word)
    return "".join(words)


def _reference(word: str, own: set[str], room: str, otherwise: str) -> str:
    target = None if word in own else _target(word.removeprefix("sv."), room)
    return f":py:obj:`{word} <{target}>`" if target else otherwise


@cache
def _target(word: str, room: str) -> str | None:
    """Where the library's pages describe a name: of top level, of the room, or given with its room; a class may be of any room."""
    if not re.fullmatch(r"[A-Za-z]\w*(\.\w+)*", word):
        return None
    rooms = (room, *DESCRIBED) if word[0].isupper() else (room,)
    paths = [f"solvable.{word}", *(f"solvable.{one}.{word}" for one in rooms)]
    return next((name for path in paths if (name := described(path))), None)

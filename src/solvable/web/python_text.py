"""A run as Python in the README's own style: the constructors, with what differs from their defaults."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel

import solvable
from solvable.problems import Problem

SHORT = 100  # characters of a line


def problem_text(problem: Problem) -> str:
    """`problem = sv.Problem(...)`, a line for each part."""
    parts = _given(problem)
    return "\n".join(["problem = sv.Problem(", *(f"    {name}={value}," for name, value in parts.items()), ")"])


def changes_text(problem: Problem, other: Problem) -> list[str]:
    """The arguments of `problem.replace(...)` that make it the other one."""
    found: list[str] = []
    for name in Problem.model_fields:
        mine, theirs = getattr(problem, name), getattr(other, name)
        if mine == theirs:
            continue
        if isinstance(mine, BaseModel) and isinstance(theirs, BaseModel):
            pairs = ((field, getattr(mine, field), getattr(theirs, field)) for field in type(mine).model_fields)
            found += [f"{name}__{field}={text(new)}" for field, old, new in pairs if old != new]
        else:
            found.append(f"{name}={text(theirs)}")
    return found


def text(value: Any) -> str:
    """A value as one writes it; what is in `sv` by its name there."""
    if isinstance(value, BaseModel):
        name = type(value).__name__
        home = "sv" if name in solvable.__all__ else "sv.problems"
        return f"{home}.{name}({', '.join(f'{field}={inner}' for field, inner in _given(value).items())})"
    if isinstance(value, bool) or value is None:
        return repr(value)
    if isinstance(value, int):
        return f"{value:_}" if value >= 10_000 and value % 1000 == 0 else str(value)
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, tuple | list):
        inner = ", ".join(map(text, value))
        return f"({inner}{',' * (len(value) == 1)})" if isinstance(value, tuple) else f"[{inner}]"
    return repr(value)


def _given(model: BaseModel) -> dict[str, str]:
    """The fields that differ from their defaults; `kind`, which tells models apart in files, is their name here."""
    fields = type(model).model_fields
    found = {}
    for name, field in fields.items():
        value = getattr(model, name)
        usual = (
            1 if name == "batch" else field.get_default(call_default_factory=True) if not field.is_required() else ...
        )
        if name != "kind" and value != usual:
            found[name] = text(value)
    return found


def call(name: str, *given: str, depth: int = 0, **named: Any) -> str:
    """A call as one writes it, on several lines where it is long; None is left out."""
    parts = [*given, *(f"{key}={text(value)}" for key, value in named.items() if value is not None)]
    whole, edge = f"{name}({', '.join(parts)})", "    " * depth
    if len(whole) <= SHORT:
        return whole
    return "\n".join([f"{name}(", *(f"{edge}    {part}," for part in parts), f"{edge})"])

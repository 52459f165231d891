"""What the values of an axis are called: numbers and text as they are, whole classes and tasks by what tells them apart."""

from collections.abc import Iterator, Sequence
from typing import Any

from solvable.problems.model import Model


def label_of(value: Any) -> Any:
    """A number or text, or what a value shows of itself."""
    if isinstance(value, int) and abs(value) >= 2**63:  # beyond what coordinates can hold
        return str(value)
    if isinstance(value, dict):
        return " ".join([str(value.get("name", "")), *(f"{k}={v}" for k, v in value.items() if k != "name")]).strip()
    return value if isinstance(value, bool | int | float | str) else str(value)


def labels_of(name: str, values: Sequence[Any]) -> list[Any]:
    """Of the values of a name."""
    if name not in ("mixture", "tasks"):
        return [label_of(value) for value in values]
    content = [dict(_leaves(value)) for value in values]
    chosen: list[str] = []
    groups = 1
    while groups < len(values):
        rest = [one for one in dict.fromkeys(key for each in content for key in each) if one not in chosen]
        counts = {one: len({_told(each, [*chosen, one]) for each in content}) for one in rest}
        best = max(counts, key=counts.__getitem__, default=None)  # of several that tell as much the first
        if best is None or counts[best] == groups:
            return [label_of(value) for value in values]
        chosen, groups = [*chosen, best], counts[best]
    return [_told(each, chosen) for each in content] if chosen else [name]


def _told(content: dict[str, Any], names: list[str]) -> str:
    return ", ".join(f"{name} = {content.get(name, 'none')}" for name in names)


def _leaves(value: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted names and plain values of all that is inside."""
    if isinstance(value, Model):
        value = {name: getattr(value, name) for name in type(value).model_fields}
    if isinstance(value, list | tuple):
        value = {str(i): part for i, part in enumerate(value)}
    if not isinstance(value, dict):
        yield before, f"{value:.6g}" if isinstance(value, float) else value
        return
    for name, part in value.items():
        if part is not None:
            yield from _leaves(part, f"{before}.{name}" if before else str(name))

"""Which of many parameters `make test` takes; the others are left to `make test-full`."""

from collections.abc import Iterable
from typing import Any

import pytest


def first(values: Iterable[Any], count: int = 1) -> list[Any]:
    """Return the parameters, of which all but the first `count` are marked `full`."""
    return [value if i < count else _full(value) for i, value in enumerate(values)]


def only(values: Iterable[Any], *quick: Any) -> list[Any]:
    """Return the parameters, of which all but those named are marked `full`."""
    values = list(values)
    assert [value for value in quick if value not in values] == []
    return [value if value in quick else _full(value) for value in values]


def _full(value: Any) -> Any:
    if isinstance(value, type(pytest.param())):
        return value._replace(marks=(*value.marks, pytest.mark.full))
    return pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.full)

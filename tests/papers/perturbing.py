"""What becomes of claims when the data that they look at are other data."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

SHARE = 0.05
Change = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def scaled(data: Any) -> Iterator[Any]:
    """The data with every number scaled by a factor of its own, within five per cent, so that ratios and slopes change too;
    counts moved by one or two, yes and no swapped."""
    yield from _changed(data, _scaled)


def scrambled(data: Any) -> Iterator[Any]:
    """The data with values far from what they were: in other orders, moved by more than their size, unknown where they were
    known and the other way round."""
    for change in (_reversed, _shuffled, _moved, _turned):
        yield from _changed(data, change)


def unmoved(claims: Callable[[Any], list[Any]], first: list[Any], others: Iterator[Any]) -> list[str]:
    """The claims that find the same in all of these data."""
    left = {one.claim: one.found for one in first}
    for data in others:
        try:
            with np.errstate(all="ignore"):
                found = {one.claim: one.found for one in claims(data)}
        except Exception:  # data that make no sense may make no claim
            continue
        left = {name: value for name, value in left.items() if found.get(name, np.nan) == value}
        if not left:
            break
    return list(left)


def _changed(data: Any, change: Change) -> Iterator[Any]:
    """All variables at once, then one at a time, for claims that cannot make sense of the former."""
    for names in (list(data.data_vars), *([name] for name in data.data_vars)):
        random = np.random.default_rng(7)
        yield data.assign({name: (data[name].dims, change(data[name].values, random)) for name in names}).assign_attrs(
            {name: float(change(np.array(value), random)) for name, value in data.attrs.items() if type(value) is float}
        )


def _scaled(values: np.ndarray, random: np.random.Generator) -> np.ndarray:
    if np.issubdtype(values.dtype, np.inexact):
        return values * (1 + random.uniform(-SHARE, SHARE, values.shape))
    return _moved(values, random)


def _reversed(values: np.ndarray, random: np.random.Generator) -> np.ndarray:
    return np.flip(values)


def _shuffled(values: np.ndarray, random: np.random.Generator) -> np.ndarray:
    return random.permutation(values.ravel()).reshape(values.shape)


def _moved(values: np.ndarray, random: np.random.Generator) -> np.ndarray:
    if values.dtype == bool:
        return ~values
    if np.issubdtype(values.dtype, np.integer):
        return values + random.integers(1, 3, values.shape).astype(values.dtype)
    if np.issubdtype(values.dtype, np.inexact):
        return values + np.nanmax(np.abs(values), initial=1e-300) * random.normal(size=values.shape)
    return values


def _turned(values: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Known where it was unknown; every seventh unknown where all were known."""
    if not np.issubdtype(values.dtype, np.inexact):
        return _moved(values, random)
    unknown = ~np.isfinite(values)
    holes = unknown if unknown.any() else np.arange(values.size).reshape(values.shape) % 7 == 0
    return np.where(unknown, 1.0, np.where(holes, np.nan, values))

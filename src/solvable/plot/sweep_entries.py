"""What is drawn of an array that a sweep kept: its entries, each at the last output that a run has it."""

from typing import Any

import numpy as np

from solvable.plot.sweep_labels import name_of

REPEATED = ("run", "instance")  # dimensions that are averaged over
MOST = 6  # entries in one picture
LAST = "last output"


def entries(data: Any, quantity: str) -> tuple[Any, list[str]]:
    """The dataset with the entries of a kept array as quantities of their own, and their names: "forgetting.0" is that of the
    first task. Entries without any value are left out. A quantity with one number for each run is as it is."""
    base, _, place = quantity.partition(".")
    if quantity == "success" or base not in data.data_vars:
        return data, [quantity]
    values, within = data[base], {*data["done"].dims, *REPEATED}
    name, at_last = name_of(data, base), "time" in values.dims
    if at_last:
        values = _last(values)
    inner = [str(dim) for dim in values.dims if dim not in within]
    if not inner and not at_last:
        return data, [quantity]
    made = {}
    for indices in np.ndindex(*(values.sizes[dim] for dim in inner)):
        key = ".".join([base, *map(str, indices)])
        part = values.isel(dict(zip(inner, indices, strict=True)))
        if (place and key != quantity) or not bool(part.notnull().any()):
            continue
        which = [f"{dim.rstrip('_')} {i + 1}" for dim, i in zip(inner, indices, strict=True)]
        named = {"long_name": ", ".join([name, *which, LAST]), "entry": ", ".join(which)}
        made[key] = part.assign_attrs(named)
    if not made:
        raise ValueError(f"quantity: {quantity!r} given, which has no values; must be {base} or an entry of it")
    if len(made) > MOST:
        raise ValueError(f"quantity: {base!r} has {len(made)} entries, give one of them, as {next(iter(made))!r}")
    return data.assign(made), list(made)


def entry(data: Any, quantity: str) -> tuple[Any, str]:
    """The same of a quantity that must be a single one."""
    data, found = entries(data, quantity)
    if len(found) > 1:
        raise ValueError(f"quantity: {quantity!r} has several entries, give one of {', '.join(found)}")
    return data, found[0]


def _last(values: Any) -> Any:
    """The last values in time that are numbers."""
    numbers = values.transpose(..., "time").values
    good = np.isfinite(numbers)
    last = numbers.shape[-1] - 1 - np.argmax(good[..., ::-1], axis=-1)
    picked = np.take_along_axis(numbers, last[..., None], axis=-1)[..., 0]
    return values.isel(time=-1, drop=True).copy(data=np.where(good.any(axis=-1), picked, np.nan))

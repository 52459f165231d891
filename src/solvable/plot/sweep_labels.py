"""What the axes, quantities and values of a sweep are called in its pictures, and where values lie."""

import re
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SUCCESS = "share of runs that get there"
ROOM = 10  # letters of the names along an axis; longer ones are slanted
PLAIN = ("training", "inputs", "start", "level", "run", "recovery")  # tables whose fields are known by themselves
SCHEDULE = re.compile(r"times=\(([^)]*)\) rates=\(([^)]*)\)(?: shape='(\w+)')?")  # as a schedule shows itself


def positions_along(data: Any, dim: str, ax: "Axes", which: str) -> np.ndarray:
    """Where the values of an axis are drawn; labels the axis, and makes it logarithmic where they are spaced so."""
    values = data[dim].values
    (ax.set_xlabel if which == "x" else ax.set_ylabel)(title_of(data, dim))
    if values.dtype.kind not in "iuf":
        places: np.ndarray = np.arange(len(values))
        names = [short(value) for value in values]
        slanted: dict[str, Any] = {"rotation": 25, "ha": "right", "rotation_mode": "anchor", "fontsize": 7}
        long = which == "x" and max(map(len, names)) > ROOM
        (ax.set_xticks if which == "x" else ax.set_yticks)(places, names, **(slanted if long else {}))
        return places
    if len(values) > 2 and values.min() > 0 and values.max() / values.min() >= 8:
        steps = np.diff(np.log(values))
        if steps.std() < 0.2 * abs(steps.mean()):
            (ax.set_xscale if which == "x" else ax.set_yscale)("log")
    is_short = values.max() < 100 * values.min()  # decades would have few labels of their own
    if len(values) <= (12 if values.dtype.kind in "iu" else 8 if is_short else 0):
        (ax.set_xticks if which == "x" else ax.set_yticks)(values, [f"{value:g}" for value in values])
        (ax.xaxis if which == "x" else ax.yaxis).set_ticks([], minor=True)
    return values


def place_of(part: Any, dims: list[str]) -> str:
    return ", ".join(f"{title_of(part, dim)} {short(part[dim].values[()])}" for dim in dims)


def title_of(data: Any, dim: str) -> str:
    """What an axis is called: the field, with whose it is."""
    words = str(data[dim].attrs.get("field", dim)).replace("_", " ").split(".")
    if words[0] == "tasks" and words[1:2] and words[1].isdecimal():
        words[:2] = [f"task {int(words[1]) + 1}"]
    return " ".join(words[1:] if len(words) > 1 and words[0] in PLAIN else words)


def edges_of(places: np.ndarray, scale: str) -> np.ndarray:
    """Where the cells around these places begin and end: in the middle between neighbours, on a logarithmic axis in its scale."""
    at = np.log(places) if scale == "log" else np.asarray(places, dtype=float)
    if len(at) == 1:
        at = np.array([at[0] - 0.5, at[0] + 0.5])
    else:
        middle = 0.5 * (at[1:] + at[:-1])
        at = np.concatenate([[2 * at[0] - middle[0]], middle, [2 * at[-1] - middle[-1]]])
    return np.exp(at) if scale == "log" else at


def name_of(data: Any, quantity: str) -> str:
    if quantity == "success":
        return SUCCESS
    return str(data[quantity].attrs.get("long_name", quantity.replace("_", " ")))


def short(value: Any) -> str:
    """A schedule by its values and, behind each but the first, the time from which on it holds."""
    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    found = SCHEDULE.fullmatch(str(value))
    if found is None:
        return str(value)
    times, rates = ([f"{float(part):.4g}" for part in text.split(",") if part.strip()] for text in found.groups()[:2])
    steps = [rates[0], *(f"{rate} ({time})" for rate, time in zip(rates[1:], times[1:], strict=True))]
    return (" to " if found[3] == "linear" else ", ").join(steps)

"""The look of the library's figures, inside a `with`."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHEET = Path(__file__).with_name("solvable.mplstyle")
WIDTH = 7.0  # inches: two columns


def style() -> AbstractContextManager[None]:
    import matplotlib.style

    context: AbstractContextManager[None] = matplotlib.style.context(str(SHEET))
    return context


def figure(
    rows: int = 1, columns: int = 1, *, height: float = 2.6, width: float = WIDTH, **options: Any
) -> "tuple[Figure, Any]":
    """A figure without a window and its array of axes; call it inside `with style():`."""
    from matplotlib.figure import Figure

    made = Figure(figsize=(width, height * rows), layout="constrained")
    return made, made.subplots(rows, columns, **options)


def axes(ax: "Axes | None") -> "Axes":
    if ax is not None:
        return ax
    from matplotlib import pyplot

    made: Axes = pyplot.subplots(layout="constrained")[1]
    return made


def letter(ax: "Axes", text: str) -> None:
    """Name a panel."""
    ax.set_title(text, loc="left", fontweight="bold")

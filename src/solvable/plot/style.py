"""The look of the library's figures: of pictures that it begins, and inside a `with`."""

import inspect
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar
from weakref import WeakSet

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHEET = Path(__file__).with_name("solvable.mplstyle")
WIDTH = 7.0  # inches: two columns
Given = ParamSpec("Given")
Drawn = TypeVar("Drawn")
_ours: "WeakSet[Axes]" = WeakSet()  # panels of pictures that were begun in this look
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))  # beside the colours, for print without them


def style() -> AbstractContextManager[None]:
    """The look of the library's own figures, inside a `with`.

    Returns
    -------
    context manager
        Sets matplotlib's parameters on entry and restores them on exit.

    Examples
    --------
    >>> with sv.plot.style():
    ...     picture, axes = sv.plot.figure(columns=2)
    """
    return _style()


@contextmanager
def _style() -> Iterator[None]:
    """Figures made inside keep the look, whenever they are drawn. A notebook begins to show figures when it meets the first one,
    and notes that in the settings: that stays."""
    import matplotlib.style

    is_interactive, before = matplotlib.is_interactive(), _open_figures()
    try:
        with matplotlib.style.context(str(SHEET)):
            try:
                yield
            finally:
                is_interactive = matplotlib.is_interactive()
                for one in _open_figures():
                    _settle([] if one in before else one.axes)
    finally:
        matplotlib.interactive(is_interactive)


def _open_figures() -> "list[Figure]":
    """Those that pyplot has, where someone uses it; asking pyplot itself would change its current figure."""
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    return [] if helpers is None else [one.canvas.figure for one in helpers.Gcf.get_all_fig_managers()]


def figure(
    rows: int = 1, columns: int = 1, *, height: float = 2.6, width: float = WIDTH, **options: Any
) -> "tuple[Figure, Any]":
    """A figure without a window, with its axes; call it inside `with style():`.

    Parameters
    ----------
    rows, columns : int
        How many panels.
    height, width : float
        Inches: of one row, and of the whole figure.
    **options
        Passed on to matplotlib's `subplots`.

    Returns
    -------
    Figure, Axes or ndarray of Axes
        The figure and its panels.

    Examples
    --------
    >>> picture, axes = sv.plot.figure(columns=2)
    >>> axes.shape
    (2,)
    """
    from matplotlib.figure import Figure

    made = Figure(figsize=(width, height * rows), layout="constrained")
    return made, made.subplots(rows, columns, **options)


def in_style(draw: Callable[Given, Drawn]) -> Callable[Given, Drawn]:
    """A function that draws in the library's look where it begins a picture, or goes on with one that was begun so. Into
    panels of the caller's own it draws with the caller's settings."""
    signature = inspect.signature(draw)

    @wraps(draw)
    def drawn(*args: Given.args, **options: Given.kwargs) -> Drawn:
        ax = signature.bind_partial(*args, **options).arguments.get("ax")
        if ax is not None and ax not in _ours:
            return draw(*args, **options)
        with style():
            found: Any = draw(*args, **options)
            _settle(found.axes if hasattr(found, "subplots") else [found])
        return found

    return drawn


def _settle(panels: "list[Axes]") -> None:
    """Make numbers of colours the colours, which matplotlib would look up in its settings only when it draws. Looking at all
    artists makes the first ticks, whose look those that come later copy."""
    from matplotlib.colors import to_hex
    from matplotlib.lines import Line2D
    from matplotlib.text import Text

    for ax in panels:
        _ours.add(ax)
        for one in ax.findobj(lambda artist: isinstance(artist, Line2D | Text)):
            for name in ("color", "markerfacecolor", "markeredgecolor") if isinstance(one, Line2D) else ("color",):
                value = getattr(one, f"get_{name}")()
                if isinstance(value, str) and re.fullmatch(r"C\d+", value):
                    getattr(one, f"set_{name}")(to_hex(value))


def axes(ax: "Axes | None") -> "Axes":
    if ax is not None:
        return ax
    from matplotlib import pyplot

    made: Axes = pyplot.subplots(layout="constrained")[1]
    return made


def stroke(i: int) -> dict[str, Any]:
    """Colour and line style of the i-th curve, for `ax.plot(x, y, **stroke(i))`. The style sheet cycles through colours alone, so
    that the runs of one kind, which share a colour, share a line style too."""
    return {"color": f"C{i}", "linestyle": DASHES[i % len(DASHES)]}


def letter(ax: "Axes", text: str) -> None:
    """Name a panel."""
    ax.set_title(text, loc="left", fontweight="bold")


def legend_above(picture: "Figure", handles: Any, columns: int) -> None:
    """One legend for all panels, over them. The layout's own place for legends outside the panels leaves an empty strip."""
    box = picture.legend(handles=handles, loc="upper center", ncols=columns, fontsize=7, borderaxespad=0.2)
    free = 1 - box.get_window_extent().height / picture.bbox.height
    picture.set_layout_engine("constrained", rect=(0, 0, 1, free))


def footnote(picture: "Figure", text: str) -> None:
    """Small text under everything else, in lines as wide as the picture; formulas between dollars are not broken."""
    if not text:
        return
    import re
    import textwrap

    joined = re.sub(r"\$[^$]*\$", lambda found: found[0].replace(" ", "\N{NO-BREAK SPACE}"), text)
    width = int(24 * picture.get_figwidth())
    lines = textwrap.wrap(joined, width, break_long_words=False, break_on_hyphens=False)
    said = "\n".join(lines).replace("\N{NO-BREAK SPACE}", " ")
    picture.text(1.0, -0.01, said, fontsize=6, color="0.45", ha="right", va="top")

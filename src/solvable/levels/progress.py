"""Shows the progress of a run, on terminals, in notebooks and in logs."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

Report = Callable[[float, float], None]  # steps done, steps in all
UNSHOWN_SECONDS = 1.0  # seconds without a bar
LINES = 10.0  # seconds between lines in a log


def silent(done: float, total: float) -> None:
    """Nobody is looking."""


@contextmanager
def meter(show: bool | None, unit: str = "steps", *, plain: bool = False) -> Iterator[Report]:
    """Progress with the speed and the time left: a bar on a terminal, an output that changes and then goes in a notebook, and with
    `plain` a line now and then in a log. None: only where someone is looking (a terminal, a notebook, or a log)."""
    notebook, terminal = in_notebook(), sys.stderr.isatty()
    if show is False or (show is None and not (terminal or notebook or plain)):
        yield silent
        return
    shown = _Cell(unit) if notebook else _Bar(unit) if terminal or not plain else _Lines(unit)
    try:
        yield shown.report
    finally:
        shown.close()


def in_notebook() -> bool:
    """Whether the kernel of a notebook runs this."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


class _Lines:
    """Progress as lines of text, for logs."""

    def __init__(self, unit: str) -> None:
        self.began = self.last = time.monotonic()
        self.unit = unit

    def report(self, done: float, total: float) -> None:
        now = time.monotonic()
        if now - self.last >= LINES:
            self.last = now
            print(_words(done, total, now - self.began, self.unit), file=sys.stderr, flush=True)

    def close(self) -> None:
        """Lines stay."""


class _Cell:
    """Progress as an output of a notebook's cell: it changes in place, and nothing of it is left in the file."""

    def __init__(self, unit: str) -> None:
        self.began = self.last = time.monotonic()
        self.unit = unit
        self.shown: Any = None

    def report(self, done: float, total: float) -> None:
        now = time.monotonic()
        if now - self.last < UNSHOWN_SECONDS:
            return
        self.last = now
        words = _words(done, total, now - self.began, self.unit)
        bar = f"<progress value='{done:g}' max='{total:g}'></progress> {words}"
        self._show({"text/plain": words, "text/html": bar})

    def _show(self, content: dict[str, str]) -> None:
        if self.shown is None:
            self.shown = import_module("IPython.display").display(content, raw=True, display_id=True)
        else:
            self.shown.update(content, raw=True)

    def close(self) -> None:
        if self.shown is not None:
            self._show({"text/plain": "", "text/html": ""})


class _Bar:
    """Progress as a bar, for terminals."""

    def __init__(self, unit: str) -> None:
        self.began = time.monotonic()
        self.unit = unit
        self.shown: Any = None
        self.task: Any = None

    def report(self, done: float, total: float) -> None:
        if self.shown is None:
            if time.monotonic() - self.began < UNSHOWN_SECONDS:
                return
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

            columns = (BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[speed]}"), TimeRemainingColumn())
            self.shown = Progress(*columns, console=Console(stderr=True), transient=True)
            self.task = self.shown.add_task("", total=total, speed="")
            self.shown.start()
        speed = done / (time.monotonic() - self.began)
        self.shown.update(self.task, completed=done, total=total, speed=f"{_rounded(speed)} {self.unit}/s")

    def close(self) -> None:
        if self.shown is not None:
            self.shown.stop()


def _words(done: float, total: float, seconds: float, unit: str) -> str:
    speed = done / seconds
    left = f", {clock((total - done) / speed)} left" if speed > 0 else ""
    return f"{done:,.0f} of {total:,.0f} {unit}, {_rounded(speed)} {unit}/s{left}"


def clock(seconds: float) -> str:
    """A length of time, short: 12 s, 4 min, 3 h, 2 d."""
    for unit, size in (("d", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.2g} s"


def _rounded(number: float) -> str:
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number:.3g}"

"""Shows the progress of a run, on terminals, in notebooks and in logs."""

import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

Report = Callable[[float, float], None]  # steps done, steps in all
Words = Callable[[float, float, float], str]  # of steps done, steps in all, and seconds since it began
UNSHOWN_SECONDS = 1.0  # seconds without a bar
LINES = 10.0  # seconds between lines in a log


def silent(done: float, total: float) -> None:
    """Nobody is looking."""


@contextmanager
def meter(show: bool | None, unit: str = "steps", *, plain: bool = False) -> Iterator[Report]:
    """Progress with the speed and the time left: a bar on a terminal, an output that changes and then goes in a notebook, and with
    `plain` a line now and then in a log. None: only where someone is looking (a terminal, a notebook, or a log)."""
    if show is False or (show is None and not (is_terminal() or in_notebook() or plain)):
        yield silent
        return
    shown = display(lambda done, total, seconds: _words(done, total, seconds, unit), plain=plain)
    try:
        yield shown.report
    finally:
        shown.close()


def display(words: Words, *, plain: bool, unshown: float | None = None) -> "_Display":
    """Return what shows progress where this runs, in these words, once `unshown` seconds have passed (UNSHOWN_SECONDS if None)."""
    kind = _Cell if in_notebook() else _Bar if is_terminal() or not plain else _Lines
    return kind(words, UNSHOWN_SECONDS if unshown is None else unshown)


def is_terminal() -> bool:
    """Tell whether messages go to a terminal."""
    return sys.stderr.isatty()


def in_notebook() -> bool:
    """Whether the kernel of a notebook runs this."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


class _Display(ABC):
    """Base of the ways to show progress: `report` may be called as often as one likes, `close` once."""

    def __init__(self, words: Words, unshown: float) -> None:
        self.words, self.unshown = words, unshown
        self.began = self.last = time.monotonic()

    @abstractmethod
    def report(self, done: float, total: float) -> None:
        """Show how far it is, unless that was shown a moment ago."""

    def close(self) -> None:  # noqa: B027  (most have nothing to remove)
        """Remove what was shown; lines in logs stay."""

    def _is_due(self, seconds: float) -> bool:
        """Tell whether so many seconds have passed since this last was true."""
        now = time.monotonic()
        if now - self.last < seconds:
            return False
        self.last = now
        return True

    def _text(self, done: float, total: float) -> str:
        return self.words(done, total, time.monotonic() - self.began)


class _Lines(_Display):
    """Progress as lines of text, for logs."""

    def report(self, done: float, total: float) -> None:
        if self._is_due(LINES):
            print(self._text(done, total), file=sys.stderr, flush=True)


class _Cell(_Display):
    """Progress as an output of a notebook's cell: it changes in place, and nothing of it is left in the file."""

    shown: Any = None

    def report(self, done: float, total: float) -> None:
        if self._is_due(self.unshown):
            words = self._text(done, total)
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


class _Bar(_Display):
    """Progress as a bar, for terminals."""

    line: Any = None

    def report(self, done: float, total: float) -> None:
        if self.line is None:
            if time.monotonic() - self.began < self.unshown:
                return
            self.line = SCREEN.add()
        SCREEN.update(self.line, done, total, self._text(done, total))

    def close(self) -> None:
        if self.line is not None:
            SCREEN.remove(self.line)


class _Screen:
    """The bars that this process shows on its terminal, one below the other: two on one terminal must know of each other."""

    def __init__(self) -> None:
        self._shown: Any = None
        self._lines: set[Any] = set()
        self._lock = threading.Lock()

    def add(self) -> Any:
        """Return a new line."""
        with self._lock:
            if self._shown is None:
                from rich.console import Console
                from rich.progress import BarColumn, Progress, TextColumn

                columns = BarColumn(), TextColumn("{task.description}", markup=False)
                console = Console(stderr=True)
                self._shown = Progress(*columns, console=console, transient=True, refresh_per_second=4)
                self._shown.start()
            line = self._shown.add_task("", total=None)
            self._lines.add(line)
            return line

    def update(self, line: Any, done: float, total: float, words: str) -> None:
        """Change what a line says."""
        with self._lock:
            if line in self._lines:
                self._shown.update(line, completed=done, total=total, description=words)

    def remove(self, line: Any) -> None:
        """Take a line away; the last one gives the terminal back."""
        with self._lock:
            self._lines.discard(line)
            if self._lines:
                self._shown.remove_task(line)
            elif self._shown is not None:
                shown, self._shown = self._shown, None
                shown.stop()


SCREEN = _Screen()


def _words(done: float, total: float, seconds: float, unit: str) -> str:
    far = f"{done:,.0f} of {total:,.0f} {unit}"
    speed = done / seconds if seconds > 0 else 0.0
    return f"{far}, {_rounded(speed)} {unit}/s, {clock((total - done) / speed)} left" if speed > 0 else far


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

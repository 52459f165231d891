"""Shows the progress of a run, on terminals and in logs."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Report = Callable[[float, float], None]  # steps done, steps in all
UNSHOWN_SECONDS = 1.0  # seconds without a bar
LINES = 10.0  # seconds between lines in a log


def silent(done: float, total: float) -> None:
    """Nobody is looking."""


@contextmanager
def meter(show: bool | None, unit: str = "steps", *, plain: bool = False) -> Iterator[Report]:
    """Progress on the standard error, with the speed and the time left: a bar on a terminal, one line that changes in a notebook,
    and with `plain` a line now and then in a log. None: only where someone is looking (a terminal, a notebook, or a log)."""
    notebook, terminal = "ipykernel" in sys.modules, sys.stderr.isatty()
    if show is False or (show is None and not (terminal or notebook or plain)):
        yield silent
        return
    shown = _Bar(unit) if terminal or not (notebook or plain) else _Lines(unit, notebook)
    try:
        yield shown.report
    finally:
        shown.close()


class _Lines:
    """Progress as lines of text, for logs."""

    def __init__(self, unit: str, one: bool) -> None:
        self.began = self.last = time.monotonic()
        self.unit, self.one, self.wrote = unit, one, False

    def report(self, done: float, total: float) -> None:
        now = time.monotonic()
        if now - self.last < (UNSHOWN_SECONDS if self.one else LINES):
            return
        self.last, self.wrote = now, True
        speed = done / (now - self.began)
        left = f", {clock((total - done) / speed)} left" if speed > 0 else ""
        text = f"{done:.0f} of {total:.0f} {self.unit}, {_rounded(speed)} {self.unit}/s{left}"
        print(f"\r{text:70}" if self.one else text, end="" if self.one else "\n", file=sys.stderr, flush=True)

    def close(self) -> None:
        if self.one and self.wrote:
            print(file=sys.stderr, flush=True)


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

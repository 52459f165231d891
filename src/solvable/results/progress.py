"""How far a run is, where someone is looking."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Report = Callable[[float, float], None]  # steps done, steps in all
PATIENCE = 1.0  # seconds without a bar


def silent(done: float, total: float) -> None:
    """Nobody is looking."""


@contextmanager
def meter(show: bool | None) -> Iterator[Report]:
    """A bar with steps per second and the time left, on the standard error; None: only if that is a terminal."""
    if show is False or (show is None and not sys.stderr.isatty()):
        yield silent
        return
    bar = _Bar()
    try:
        yield bar.report
    finally:
        bar.close()


class _Bar:
    def __init__(self) -> None:
        self.began = time.monotonic()
        self.shown: Any = None
        self.task: Any = None

    def report(self, done: float, total: float) -> None:
        if self.shown is None:
            if time.monotonic() - self.began < PATIENCE:
                return
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

            columns = (BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[speed]}"), TimeRemainingColumn())
            self.shown = Progress(*columns, console=Console(stderr=True), transient=True)
            self.task = self.shown.add_task("", total=total, speed="")
            self.shown.start()
        speed = done / (time.monotonic() - self.began)
        self.shown.update(self.task, completed=done, total=total, speed=f"{_rounded(speed)} steps/s")

    def close(self) -> None:
        if self.shown is not None:
            self.shown.stop()


def _rounded(number: float) -> str:
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number:.3g}"

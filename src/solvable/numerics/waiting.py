"""What is shown to whoever waits for the compiler: after two seconds how many kernels are ready, and how many are still to be made.

A stretch of compiling lasts from the first kernel that is compiled until all entries that are known to be needed are ready, or
nothing has been compiled for a while. How much work it is follows from counts: an entry and all kernels that it reaches are
translated one by one, and then optimised together. Levels tell the entries of a run before the first one is compiled (`expect`).
"""

import atexit
import contextlib
import math
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from solvable.numerics import linking
from solvable.numerics.kernels_on_disk import cache_directory, is_writable, reached
from solvable.numerics.progress import display, in_notebook

UNSHOWN = 2.0  # seconds of compiling of which nothing is said
PAUSE = 0.5  # seconds without compiling, after which a stretch is over
REFRESH = 0.25  # seconds between looks at the counts
CLEARING = 1.0  # seconds that a terminal may take to remove a bar


class Named(Exception):
    """Raised in place of a run that is only to name its entries."""


class Count(NamedTuple):
    """How far a stretch of compiling is: kernels that are ready, of how many, and steps of work done, of how many."""

    ready: int
    kernels: int
    done: int
    total: int

    @property
    def words(self) -> str:
        """Say it in words."""
        return f"{self.ready} of {self.kernels} kernels"


class Work:
    """The entries of a stretch of compiling, each with the kernels that it reaches and that were missing when it was added."""

    def __init__(self) -> None:
        self._missing: dict[Any, frozenset[Any]] = {}

    def add(self, entries: Iterable[Any]) -> None:
        """Add entries that are not ready. What belongs to other entries with machine code on disk is as good as ready."""
        for entry in entries:
            if entry in self._missing or entry.at_hand:
                continue
            parts = reached(entry)
            there = {part for other in parts if other is not entry and other.at_hand for part in reached(other)}
            missing = frozenset(part for part in parts if not part.overloads and part not in there)
            self._missing = {**self._missing, entry: missing | {entry}}  # another thread may be counting

    @property
    def is_done(self) -> bool:
        return all(entry.overloads for entry in self._missing)

    def count(self) -> Count:
        """Return how far it is, by what is ready now."""
        work = self._missing
        finished = [missing for entry, missing in work.items() if entry.overloads]
        kernels = frozenset().union(*work.values())
        covered = frozenset().union(*finished)
        ready = sum(kernel in covered or bool(kernel.overloads) for kernel in kernels)
        optimised, to_optimise = (sum(map(len, sets)) for sets in (finished, work.values()))
        return Count(ready, len(kernels), ready + optimised, len(kernels) + to_optimise)


class _Stretch:
    """Kernels that are compiled in a row, and the thread that shows how far that is."""

    def __init__(self, notice: "Notice", entries: tuple[Any, ...]) -> None:
        self.work, self.over = Work(), threading.Event()
        self.work.add(entries)
        self.idle_since = math.inf  # while something is being compiled
        self._notice = notice
        self._thread = threading.Thread(target=self._watch, name="solvable-compiling", daemon=True)
        self._thread.start()

    @property
    def goes_on(self) -> bool:
        return self._thread.is_alive() and not self.over.is_set() and not self._is_idle

    @property
    def _is_idle(self) -> bool:
        return time.monotonic() - self.idle_since > PAUSE

    def end(self) -> None:
        """Remove what is shown, before others write."""
        self.over.set()
        self._thread.join(CLEARING)

    def _watch(self) -> None:
        if self.over.wait(self._notice.unshown) or self._is_idle:
            return
        with contextlib.suppress(OSError, ValueError):  # nobody listens any more
            shown = self._notice.show(self.work.count())
            try:
                while not self._is_idle:
                    count = self.work.count()
                    shown.report(count, self._notice.words(count))
                    if self.over.wait(REFRESH):
                        return
            finally:
                shown.close()


class Notice:
    """Shows that somebody waits for the compiler; used by whoever holds the compiler's lock.

    `show` makes what is shown from the first count; `listener` is told of each kernel before it is compiled.
    """

    def __init__(self) -> None:
        self.wanted, self.unshown = True, UNSHOWN
        self.show: Callable[[Count], _Seen | _Told] = self._shown
        self.awaited = ""  # the kernel that another process compiles, while this one waits for it
        self._said = False
        self._depth, self._outermost = 0, None
        self.always: tuple[Any, ...] = ()  # entries that are expected whatever runs
        self.named: tuple[Any, ...] | None = None  # entries of a run that is only to name them
        self._expected: tuple[Any, ...] = ()
        self._stretch: _Stretch | None = None

    def expect(self, entries: tuple[Any, ...]) -> None:
        """Note which entries will be needed, so that their kernels count from the beginning."""
        if self.named is not None:
            self.named = entries
            raise Named
        self._expected = self.always + entries
        if self._stretch is not None and self._stretch.goes_on:
            self._stretch.work.add(entries)

    @contextlib.contextmanager
    def around(self, kernel: Any) -> Iterator[None]:
        """Surround a compilation, which may begin others."""
        if self._depth == 0:
            self._outermost = kernel
        self._depth += 1
        failed = True
        try:
            yield
            failed = False
        finally:
            self._depth -= 1
            if self._depth == 0 and self._stretch is not None:
                self._stretch.idle_since = time.monotonic()
                if failed or self._stretch.work.is_done:
                    self.end()

    def give(self) -> None:
        """Begin a stretch, or go on with it, before a kernel is compiled or another process is waited for."""
        if not self.wanted:
            return
        if self._stretch is None or not self._stretch.goes_on:
            self._stretch = _Stretch(self, (self._outermost, *self._expected))
            atexit.register(self.end)
        else:
            self._stretch.work.add([self._outermost])
        self._stretch.idle_since = math.inf

    def end(self) -> None:
        """End what is shown."""
        atexit.unregister(self.end)
        if self._stretch is not None:
            self._stretch.end()
            self._stretch = None

    def reset(self, *, wanted: bool) -> None:
        """Choose whether anything is shown; what was said before may be said again."""
        self.wanted, self._said = wanted, False

    def words(self, count: Count) -> str:
        """Say how far it is and, where that takes long, with what."""
        optimised = linking.OPTIMISED[-1:]
        now = f", another process compiles {self.awaited}" if self.awaited else ""
        return count.words + (f", optimising {optimised[0]}" if optimised and not now else now)

    def tell(self, write: Callable[[Count, str], None]) -> None:
        """From now on, and at once, tell `write` how far it is, in counts and words, and show nothing."""
        self.unshown, self.show = 0.0, lambda _: _Told(write)

    def now(self) -> str:
        """Say how far it is; "" where nothing is compiled."""
        stretch = self._stretch
        return self.words(stretch.work.count()) if stretch is not None and stretch.goes_on else ""

    def _shown(self, first: Count) -> "_Seen":
        if not in_notebook():  # where a line would stay in the file
            print(_again(first) if self._said else _first(first), file=sys.stderr, flush=True)
            self._said = True
        return _Seen()


class _Seen:
    """The bar, cell or lines of a stretch of compiling."""

    def __init__(self) -> None:
        self._words = ""
        self._display = display(lambda *_: self._words, plain=True, unshown=0.0)

    def report(self, count: Count, words: str) -> None:
        self._words = f"compiling: {words}"
        self._display.report(count.done, count.total)

    def close(self) -> None:
        self._display.close()


class _Told:
    """Progress for another process, which shows it."""

    def __init__(self, write: Callable[[Count, str], None]) -> None:
        self.report = write

    def close(self) -> None:
        """What was told stays."""


def _first(count: Count) -> str:
    often = (
        f"once for each kind of problem (kept in {cache_directory()}; `solvable warm-up --all` does it beforehand)"
        if is_writable()
        else f"again each time, because nothing can be kept in {cache_directory()} (SOLVABLE_CACHE_DIR names the place)"
    )
    return f"solvable: compiling {count.kernels} kernels for this machine, which happens {often}"


def _again(count: Count) -> str:
    return f"solvable: compiling {count.kernels} more kernels"

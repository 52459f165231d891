"""Hands tasks to an engine and stores what comes back: sizes of chunks, dead workers, clean ends."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator

from solvable.sweeps.engines import CHUNK_SECONDS, Chunk, Engine, Outcome, PointTask, failure
from solvable.sweeps.protocol import RecordStore

LONGEST_CHUNK = 256
MOST_WAITING = 20_000
FLUSH_SECONDS = 0.5  # between writes
REFRESH_SECONDS = 5.0  # between looks at what others have written
PULSE = 0.1
DEATHS = 2  # of a worker that had nothing but one task, after which the task is given up
DIED = "its worker died, every time it was tried (killed, or out of memory)"


class Driver:
    """Runs an engine until all tasks are settled.

    `stored(keys)` is called when the records of these tasks are on the disk; `report(settled, skipped)` with how many
    tasks are settled, here or by others, and how many points there was nothing to do for, now and then.
    """

    def __init__(
        self,
        engine: Engine,
        store: RecordStore,
        stored: Callable[[list[bytes]], None],
        report: Callable[[int, int], None],
    ) -> None:
        self.engine, self.store, self.stored, self.report = engine, store, stored, report
        self.settled = self.skipped = 0
        self._coming: Iterator[PointTask | None] | None = None  # None when there are no more
        self._waiting: deque[PointTask] = deque()
        self._suspects: deque[PointTask] = (
            deque()
        )  # given to a worker that died; each is tried alone, beside the others
        self._deaths: dict[bytes, int] = {}
        self._flying: dict[int, bool] = {}  # chunks by identity, and whether alone
        self._unsettled: set[bytes] = set()  # tasks taken and not yet on the disk
        self._buffer: list[tuple[PointTask, bytes]] = []
        self._size = 1
        self._flushed = self._refreshed = time.monotonic()

    def run(self, tasks: Iterable[PointTask | None]) -> None:
        """Until all tasks are settled; they are taken as they are needed, None where a point needs none. Whatever ends it, what has
        come back is written and nothing is left running."""
        self._coming = iter(tasks)
        try:
            while self._coming is not None or self._waiting or self._suspects or self._flying:
                self._fetch()
                self._feed()
                outcomes = self.engine.finished(PULSE) if self._flying else []
                for outcome in outcomes:
                    self._take(outcome)
                for outcome in outcomes:
                    if outcome.error is not None:
                        raise outcome.error
                if time.monotonic() - self._flushed > FLUSH_SECONDS:
                    self._flush()
                self.report(self.settled, self.skipped)
        finally:
            try:
                self._flush()
            finally:
                self.engine.close()
        self.report(self.settled, self.skipped)

    def _fetch(self) -> None:
        """As many tasks as are soon needed, for a short time: what has come back is written in between."""
        width = self.engine.width
        enough, until = max(4 * width, min(4 * width * self._size, MOST_WAITING)), time.monotonic() + PULSE
        while self._coming is not None and len(self._waiting) < enough and time.monotonic() < until:
            try:
                task = next(self._coming)
            except StopIteration:
                self._coming = None
                return
            if task is None or task.key in self._unsettled:
                self.skipped += 1
            else:
                self._unsettled.add(task.key)
                self._waiting.append(task)

    def _feed(self) -> None:
        if self._suspects and True not in self._flying.values():
            self._send((self._suspects.popleft(),), alone=True)
        width = self.engine.width
        depth = 1 if width == 1 else 2 * width
        while self._waiting and sum(not alone for alone in self._flying.values()) < depth:
            fair = -(-len(self._waiting) // (2 * width))  # the last ones are shared out
            chunk = tuple(self._waiting.popleft() for _ in range(min(self._size, fair)))
            chunk = self._without_those_there(chunk)
            if chunk:
                self._send(chunk)

    def _send(self, chunk: Chunk, *, alone: bool = False) -> None:
        self._flying[id(chunk)] = alone
        self.engine.submit(chunk, alone=alone)

    def _without_those_there(self, chunk: Chunk) -> Chunk:
        """Others may write into the store too."""
        if time.monotonic() - self._refreshed > REFRESH_SECONDS:
            self.store.refresh()
            self._refreshed = time.monotonic()
        left = tuple(task for task in chunk if not self.store.has(task.key))
        self.settled += len(chunk) - len(left)
        self._unsettled -= {task.key for task in chunk} - {task.key for task in left}
        return left

    def _take(self, outcome: Outcome) -> None:
        alone = self._flying.pop(id(outcome.chunk))
        if outcome.records is not None:
            done = len(outcome.records)
            self._buffer += zip(outcome.chunk, outcome.records, strict=False)
            self._waiting.extendleft(reversed(outcome.chunk[done:]))  # there was no time for these
            each = outcome.seconds / done
            self._size = max(1, min(LONGEST_CHUNK, 2 * self._size, int(CHUNK_SECONDS / max(each, 1e-9))))
        elif outcome.error is None:
            for task in outcome.chunk:  # among others it may be innocent
                self._blame(task, alone=alone, is_certain=outcome.final and len(outcome.chunk) == 1)

    def _blame(self, task: PointTask, *, alone: bool, is_certain: bool) -> None:
        self._deaths[task.key] = self._deaths.get(task.key, 0) + alone
        if is_certain or self._deaths[task.key] >= DEATHS:
            self._buffer.append((task, failure(task, DIED)))
        else:
            self._suspects.append(task)

    def _flush(self) -> None:
        self._flushed = time.monotonic()
        if not self._buffer:
            return
        batch = self._buffer
        self.store.add([record for _, record in batch])
        self._buffer = []
        self.settled += len(batch)
        self._unsettled -= {task.key for task, _ in batch}
        self.stored([task.key for task, _ in batch])

"""Hand tasks to an engine and keep what comes back: chunks that grow to a good length, workers that die, clean ends."""

import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from solvable.sweeps.engines import Chunk, Engine, Outcome, Task, failure
from solvable.sweeps.store import Records

CHUNK_SECONDS = 0.25  # of work in a chunk, so that little is lost and little is said
LONGEST_CHUNK = 256
FLUSH_SECONDS = 0.5  # between writes
REFRESH_SECONDS = 5.0  # between looks at what others have written
PULSE = 0.1
DEATHS = 2  # of a worker with one task, after which the task is given up


@dataclass
class Tally:
    """Of one drive: points written, and among them those that failed; points that others wrote meanwhile."""

    written: int = 0
    failed: int = 0
    elsewhere: int = 0

    @property
    def settled(self) -> int:
        return self.written + self.elsewhere


class Driver:
    """`stored(keys)` is called when the records of these tasks are on the disk."""

    def __init__(
        self,
        engine: Engine,
        store: Records,
        stored: Callable[[list[bytes]], None],
        report: Callable[[Tally], None],
    ) -> None:
        self.engine, self.store, self.stored, self.report = engine, store, stored, report
        self.tally = Tally()
        self._waiting: deque[Task] = deque()
        self._suspects: deque[Task] = deque()  # in flight when a worker died; each is tried alone
        self._deaths: dict[bytes, int] = {}
        self._flying: list[Chunk] = []
        self._buffer: list[tuple[Task, bytes]] = []
        self._size = 1
        self._flushed = self._refreshed = time.monotonic()

    def run(self, tasks: Iterable[Task]) -> Tally:
        """Until all tasks are settled. Whatever ends it, what has come back is written and nothing is left running."""
        self._waiting.extend(tasks)
        try:
            while self._waiting or self._suspects or self._flying:
                self._feed()
                for outcome in self.engine.finished(PULSE):
                    self._take(outcome)
                if time.monotonic() - self._flushed > FLUSH_SECONDS:
                    self._flush()
                self.report(self.tally)
        finally:
            try:
                self._flush()
            finally:
                self.engine.close()
        self.report(self.tally)
        return self.tally

    def _feed(self) -> None:
        if self._suspects:
            if not self._flying:
                self._send((self._suspects.popleft(),))
            return
        while self._waiting and len(self._flying) < self._depth:
            fair = -(-len(self._waiting) // (2 * self.engine.width))  # the last ones are shared out
            chunk = tuple(self._waiting.popleft() for _ in range(min(self._size, fair)))
            chunk = self._without_those_there(chunk)
            if chunk:
                self._send(chunk)

    @property
    def _depth(self) -> int:
        return 1 if self.engine.width == 1 else 2 * self.engine.width

    def _send(self, chunk: Chunk) -> None:
        self._flying.append(chunk)
        self.engine.submit(chunk)

    def _without_those_there(self, chunk: Chunk) -> Chunk:
        """Others may write into the store too."""
        if time.monotonic() - self._refreshed > REFRESH_SECONDS:
            self.store.refresh()
            self._refreshed = time.monotonic()
        there = [task for task in chunk if self.store.has(task.key)]
        self.tally.elsewhere += len(there)
        return chunk if not there else tuple(task for task in chunk if not self.store.has(task.key))

    def _take(self, outcome: Outcome) -> None:
        self._flying.remove(outcome.chunk)
        if outcome.records is not None:
            self._buffer += zip(outcome.chunk, outcome.records, strict=True)
            each = outcome.seconds / len(outcome.chunk)
            self._size = max(1, min(LONGEST_CHUNK, 2 * self._size, int(CHUNK_SECONDS / max(each, 1e-9))))
            return
        for task in outcome.chunk:
            alone = len(outcome.chunk) == 1
            self._deaths[task.key] = self._deaths.get(task.key, 0) + 1
            if alone and (outcome.final or self._deaths[task.key] >= DEATHS):
                message = "its worker died, every time it was tried (killed, or out of memory)"
                self._buffer.append((task, failure(task, message)))
            else:
                self._suspects.append(task)

    def _flush(self) -> None:
        self._flushed = time.monotonic()
        if not self._buffer:
            return
        batch = self._buffer
        self.store.add([record for _, record in batch])
        self._buffer = []
        self.tally.written += len(batch)
        self.tally.failed += sum(record[: len(task.key)] != task.key for task, record in batch)
        self.stored([task.key for task, _ in batch])

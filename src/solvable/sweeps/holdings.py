"""The segments of a store as one process knows them: what they hold and where, reading from them, writing new ones."""

import errno
import os
import time
from collections.abc import Iterable, Iterator, Set
from contextlib import suppress
from pathlib import Path

from solvable.results.files import UNLIKE
from solvable.sweeps import segments
from solvable.sweeps.index import Index, Table
from solvable.sweeps.records import Damaged, check
from solvable.sweeps.segments import SUFFIX, Place

OPEN = 32  # segments
GONE = (errno.ENOENT, errno.ESTALE)


class Holdings:
    """The segments of the store in a directory, as they were when this process last looked."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.segments = directory / "segments"
        self.known: dict[str, Table] = {}  # what each segment holds
        self.index = Index(self.known)
        self.sizes: dict[str, int] = {}
        self.own: list[str] = []  # segments that this process wrote
        self.broken: dict[str, os.stat_result] = {}  # segments without a readable index, as they were then
        self._open: dict[str, segments.SegmentReader] = {}

    def refresh(self) -> None:
        """See what other processes have written since."""
        there = {entry.name for entry in os.scandir(self.segments)}
        self.forget(self.known.keys() - there)  # compacted by another process
        self.broken = {name: was for name, was in self.broken.items() if name in there and self._is_same(name, was)}
        for name in there - self.known.keys() - self.broken.keys():
            if name.endswith(SUFFIX):
                self._take(name)

    def _is_same(self, name: str, was: os.stat_result) -> bool:
        """Whether a segment is still the file that it was: another process may have mended it."""
        with suppress(OSError):
            now = (self.segments / name).stat()
            return (now.st_ino, now.st_size, now.st_mtime_ns) == (was.st_ino, was.st_size, was.st_mtime_ns)
        return False

    def _take(self, name: str) -> None:
        path = self.segments / name
        try:
            found = path.stat()
            try:
                self._learn(name, found.st_size, segments.read_index(path))
            except Damaged:
                self.broken[name] = found
        except OSError as error:
            if error.errno not in GONE:  # compacted between listing and reading
                raise

    def _learn(self, name: str, size: int, held: dict[bytes, Place]) -> None:
        self.sizes[name] = size
        if name not in self.known:
            self.known[name] = Table(name, held)
            self.index.learn(held)

    def forget(self, names: Set[str]) -> None:
        """Segments that are no longer there."""
        if not names & self.known.keys():
            return
        for name in names & self.known.keys():
            self._open.pop(name, None)
            del self.sizes[name]
            del self.known[name]
        self.index = Index(self.known)

    def write(self, records: Iterable[bytes]) -> str:
        """One segment of these records; its name."""
        built = segments.build(_checked(records))
        segments.write(self.segments, built)
        self._open.pop(built.name, None)  # it may have been a damaged file of this name
        self.broken.pop(built.name, None)
        self._learn(built.name, len(built.content), built.places)
        self.own.append(built.name)
        return built.name

    def write_checked(self, records: Iterable[bytes]) -> str:
        """Write and read back, before what the records were taken from may go."""
        name = self.write(records)
        if segments.inspect(self.segments / name) is not None:
            self.forget({name})
            raise OSError(errno.EIO, UNLIKE, str(self.segments / name))
        return name

    def encoded(self, key: bytes) -> bytes:
        """The record under a key, unchecked."""
        for attempt in range(5):
            place = self.index[key]
            try:
                return self._reader(place.segment).record(place)
            except OSError as error:  # gone: compacted by another process meanwhile
                gone = error
                self._open.pop(place.segment, None)
                time.sleep(0.05 * attempt)
                self.refresh()
        raise gone

    def _reader(self, name: str) -> segments.SegmentReader:
        """The segments read last stay open: records are read in the order of the grid, from few segments."""
        if name not in self._open:
            while len(self._open) >= OPEN:
                del self._open[next(iter(self._open))]
            self._open[name] = segments.SegmentReader(self.segments / name)
        return self._open[name]

    def close(self, name: str) -> None:
        """Open a segment anew when it is read next: another process may have mended it."""
        self._open.pop(name, None)


def _checked(records: Iterable[bytes]) -> Iterator[bytes]:
    """What is damaged must not be sealed into a sound segment."""
    for record in records:
        check(record)
        yield record

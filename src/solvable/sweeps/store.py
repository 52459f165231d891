"""Records on disk, for any number of processes at once.

Records come in segments that are written whole and never changed, so nothing is locked and nothing can be half written. Two
processes may write the same record: then it is there twice, with equal bytes. Compaction writes a large segment before it
removes the small ones it was made of.
"""

import json
import os
import time
from collections.abc import Iterable, Iterator, Set
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Protocol

from solvable.results.files import write_bytes
from solvable.sweeps import segments
from solvable.sweeps.records import Damaged, Record, check, decode, key_of
from solvable.sweeps.segments import SUFFIX, Place

FORMAT = 1
SMALL = 4 << 20  # bytes of segments that compaction joins
LARGE = 64 << 20  # bytes it joins them to
OPEN = 32  # segments
MANY = 64  # small segments at which it does so by itself
STALE = 86400.0  # seconds after which a file that was never finished is removed


class Damage(NamedTuple):
    """A damaged segment, and how many of its records are lost and kept."""

    segment: str
    lost: int
    kept: int

    def __str__(self) -> str:
        return f"{self.segment}: damaged; records lost: {self.lost}, kept: {self.kept}"


class Records(Protocol):
    """What sweeps ask of a store."""

    def refresh(self) -> None: ...
    def add(self, records: Iterable[bytes]) -> None: ...
    def read(self, key: bytes) -> Record: ...
    def has(self, key: bytes) -> bool: ...
    def keys(self) -> Iterator[bytes]: ...


class Status(NamedTuple):
    """Of a sweep."""

    points: int
    done: int
    failed: int

    @property
    def missing(self) -> int:
        return self.points - self.done - self.failed


def failure_key(key: bytes) -> bytes:
    """Under which a point that could not be computed is kept, so that a later success does not meet it."""
    return key_of(["failure", key.hex()])


def status_of(store: Records, keys: list[bytes]) -> Status:
    done = [store.has(key) for key in keys]
    failed = sum(not there and store.has(failure_key(key)) for key, there in zip(keys, done, strict=True))
    return Status(len(keys), sum(done), failed)


class Memory:
    """Records of this process alone, gone with it."""

    def __init__(self) -> None:
        self._records: dict[bytes, bytes] = {}

    def refresh(self) -> None:
        """Nobody else writes here."""

    def add(self, records: Iterable[bytes]) -> None:
        self._records |= {check(record): record for record in records}

    def read(self, key: bytes) -> Record:
        return decode(self._records[key])

    def has(self, key: bytes) -> bool:
        return key in self._records

    def keys(self) -> Iterator[bytes]:
        return iter(list(self._records))


class Store:
    """The records in a directory. `create=False` refuses a directory that is not a store yet."""

    def __init__(self, directory: str | Path, *, create: bool = True) -> None:
        self.directory = Path(directory)
        self._segments = self.directory / "segments"
        mark = self.directory / "store.json"
        if not mark.is_file():
            if not create:
                raise FileNotFoundError(2, "Not a store of sweeps", str(self.directory))
            if self.directory.exists() and any(self.directory.iterdir()) and not self._segments.is_dir():
                raise ValueError(f"{self.directory}: holds other files, must be a store or an empty or new directory")
            self._segments.mkdir(parents=True, exist_ok=True)
            write_bytes(mark, (json.dumps({"format": FORMAT}) + "\n").encode())
        self._check_format(mark)
        self._index: dict[bytes, Place] = {}
        self._sizes: dict[str, int] = {}  # of the segments that are in the index
        self._open: dict[str, segments.Reader] = {}
        self._broken: set[str] = set()  # segments without a readable index
        self.refresh()

    def _check_format(self, mark: Path) -> None:
        try:
            found = json.loads(mark.read_text(encoding="utf-8"))["format"]
        except (ValueError, KeyError, TypeError):
            raise ValueError(f"{mark}: is damaged; write {json.dumps({'format': FORMAT})} into it") from None
        if found != FORMAT:
            raise ValueError(f"{self.directory}: a store of format {found}, this version reads {FORMAT}")

    def refresh(self) -> None:
        """See what other processes have written."""
        there = {entry.name: entry for entry in os.scandir(self._segments)}
        self._forget(self._sizes.keys() - there.keys())  # compacted by another process
        self._broken &= there.keys()
        for name, entry in there.items():
            if name.endswith(SUFFIX) and name not in self._sizes and name not in self._broken:
                self._take(name, entry)
            elif name.endswith(".part"):
                with suppress(OSError):
                    if time.time() - entry.stat().st_mtime > STALE:
                        os.unlink(entry.path)

    def _forget(self, names: Set[str]) -> None:
        if names:
            for name in names & self._open.keys():
                del self._open[name]
            self._sizes = {name: size for name, size in self._sizes.items() if name not in names}
            self._index = {key: place for key, place in self._index.items() if place.segment not in names}

    def _take(self, name: str, entry: "os.DirEntry[str]") -> None:
        try:
            index = segments.read_index(self._segments / name)
            self._sizes[name] = entry.stat().st_size
            self._index |= index
        except FileNotFoundError:  # compacted between listing and reading
            pass
        except Damaged:
            self._broken.add(name)

    def _set_aside(self, name: str, good: list[bytes]) -> None:
        """Write what is sound in a damaged segment anew, and move it out of the way."""
        self._forget({name})
        self._broken.discard(name)
        if good:
            self._write(good)
        aside = self.directory / "damaged"
        aside.mkdir(exist_ok=True)
        with suppress(FileNotFoundError):  # another process did it
            os.replace(self._segments / name, aside / name)

    def _write(self, records: Iterable[bytes]) -> str:
        name, places = segments.write(self._segments, records)
        self._sizes[name] = (self._segments / name).stat().st_size
        self._index |= places
        return name

    def add(self, records: Iterable[bytes]) -> None:
        """When this returns, the records are on the disk."""
        self._write(records)
        if sum(size < SMALL for size in self._sizes.values()) >= MANY:
            self.compact()

    def has(self, key: bytes) -> bool:
        return key in self._index

    def keys(self) -> Iterator[bytes]:
        return iter(list(self._index))

    def __len__(self) -> int:
        return len(self._index)

    def read(self, key: bytes) -> Record:
        """KeyError where there is none, Damaged where it is not what was written."""
        try:
            return decode(self._bytes(key))
        except Damaged as error:
            path = self._segments / self._index[key].segment
            raise Damaged(f"{path}: {error}; `solvable store verify --repair` sets it aside") from None

    def _bytes(self, key: bytes) -> bytes:
        for _ in range(5):
            place = self._index[key]
            try:
                return self._reader(place.segment).record(place)
            except OSError as error:  # gone: compacted by another process meanwhile
                gone = error
                self.refresh()
        raise gone

    def _reader(self, name: str) -> segments.Reader:
        """The segments read last stay open: records are read in the order of the grid, from few segments."""
        if name not in self._open:
            while len(self._open) >= OPEN:
                del self._open[next(iter(self._open))]
            self._open[name] = segments.Reader(self._segments / name)
        return self._open[name]

    def verify(self, keys: Iterable[bytes] | None = None, *, repair: bool = False) -> list[Damage]:
        """Read every segment (or those that hold `keys`) whole. With `repair`, set damaged ones aside, keeping their good records:
        what is lost is then missing, and a sweep computes it again."""
        self.refresh()
        names = set(self._sizes) if keys is None else {self._index[key].segment for key in keys if key in self._index}
        found = []
        for name in sorted(names | self._broken):
            try:
                salvage = segments.inspect(self._segments / name)
            except FileNotFoundError:
                continue
            if salvage is not None:
                found.append(Damage(name, salvage.lost, len(salvage.good)))
                if repair:
                    self._set_aside(name, salvage.good)
        return found

    def compact(self) -> int:
        """Join small segments; how many were."""
        small = sorted(name for name, size in self._sizes.items() if size < SMALL)
        group: list[str] = []
        total = removed = 0
        for name in [*small, None]:
            if name is not None:
                group.append(name)
                total += self._sizes[name]
            if len(group) > 1 and (total > LARGE or name is None):
                removed += self._join(group)
            if total > LARGE:
                group, total = [], 0
        return removed

    def _join(self, names: list[str]) -> int:
        chosen = set(names)
        keys = [key for key, place in self._index.items() if place.segment in chosen]
        records = []
        for key in keys:
            record = self._bytes(key)
            try:
                check(record)
            except Damaged:  # left where it is, for `verify`
                chosen.discard(self._index[key].segment)
                continue
            records.append(record)
        old = chosen - {self._write(records)}
        for name in old:
            with suppress(FileNotFoundError):
                os.unlink(self._segments / name)
        self._forget(old)
        return len(old)

"""The store of a sweep's results: records on disk, for any number of processes at once.

Records come in segments that are written whole and never changed, so there are no locks and no half-written records. If
two processes write the same record, it is there twice, and the segment whose name is smaller counts. Compaction removes
a segment only when every record in it is in another one, on the disk and checked.
"""

import errno
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from solvable.problems.foreign import one_line, parse_json, read_text
from solvable.results.files import UNLIKE, make_directory, move, remove_unfinished, write_bytes
from solvable.sweeps import segments
from solvable.sweeps.index import Index, Table
from solvable.sweeps.records import Damaged, Record, check, decode
from solvable.sweeps.segments import SUFFIX, Place

FORMAT = 1
SMALL = 4 << 20  # bytes of segments that compaction joins
LARGE = 64 << 20  # bytes it joins them to
OPEN = 32  # segments
MANY = 64  # small segments of its own at which a process joins them
STALE = 86400.0  # seconds after which a file that was never finished is removed
GONE = (errno.ENOENT, errno.ESTALE)


class Damage(NamedTuple):
    """A damaged segment of a store, and how many of its records are lost and kept."""

    segment: str
    lost: int
    kept: int

    def __str__(self) -> str:
        return f"{self.segment}: damaged; records lost: {self.lost}, kept: {self.kept}"


def _checked(records: Iterable[bytes]) -> Iterator[bytes]:
    """What is damaged must not be sealed into a sound segment."""
    for record in records:
        check(record)
        yield record


class Store:
    """Results of sweeps in a directory, which any number of processes may use at once.

    Parameters
    ----------
    directory : str or Path
        A store, or a new or empty directory.
    create : bool
        Whether to make a store where there is none; otherwise that is an error.

    Examples
    --------
    The examples of the methods below continue this one.

    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=1000)
    >>> swept = sv.sweep(problem, {"training.learning_rate": [0.1, 0.2]}, until=5, store="my.store", workers=0)
    >>> store = sv.sweeps.Store("my.store", create=False)
    >>> len(store)  # two results, and a list of all points
    3
    """

    def __init__(self, directory: str | Path, *, create: bool = True) -> None:
        self.directory = Path(directory)
        self._segments = self.directory / "segments"
        self._aside = self.directory / "damaged"
        mark = self.directory / "store.json"
        if not mark.is_file():
            if not create:
                what = "Not a store of sweeps" if self.directory.exists() else "No such directory"
                raise FileNotFoundError(2, what, str(self.directory))
            if self.directory.exists() and any(self.directory.iterdir()) and not self._segments.is_dir():
                raise ValueError(f"{self.directory}: holds other files, must be a store or an empty or new directory")
            make_directory(self._segments)
            write_bytes(mark, (json.dumps({"format": FORMAT}) + "\n").encode())
        self._check_format(mark)
        self._known: dict[str, Table] = {}  # what each segment holds
        self._index = Index(self._known)
        self._sizes: dict[str, int] = {}
        self._own: list[str] = []  # segments that this process wrote
        self._open: dict[str, segments.Reader] = {}
        self._broken: dict[str, os.stat_result] = {}  # segments without a readable index, as they were then
        self.refresh()
        for directory in (self.directory, self._segments, self._aside):
            remove_unfinished(directory, STALE)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.directory,)

    def __deepcopy__(self, memo: Any) -> "Store":  # records never change: a copied dataset reads the same
        return self

    def _check_format(self, mark: Path) -> None:
        try:
            found = parse_json(read_text(mark))["format"]
        except (ValueError, KeyError, TypeError):
            raise ValueError(f"{mark}: is damaged; write {json.dumps({'format': FORMAT})} into it") from None
        if found != FORMAT:
            raise ValueError(f"{self.directory}: a store of format {one_line(found)}, this version reads {FORMAT}")

    def refresh(self) -> None:
        """See what other processes have written since.

        Examples
        --------
        >>> store.refresh()
        """
        there = {entry.name for entry in os.scandir(self._segments)}
        self._forget(self._known.keys() - there)  # compacted by another process
        self._broken = {name: was for name, was in self._broken.items() if name in there and self._is_same(name, was)}
        for name in there - self._known.keys() - self._broken.keys():
            if name.endswith(SUFFIX):
                self._take(name)

    def _is_same(self, name: str, was: os.stat_result) -> bool:
        """Whether a segment is still the file that it was: another process may have mended it."""
        with suppress(OSError):
            now = (self._segments / name).stat()
            return (now.st_ino, now.st_size, now.st_mtime_ns) == (was.st_ino, was.st_size, was.st_mtime_ns)
        return False

    def _take(self, name: str) -> None:
        path = self._segments / name
        try:
            found = path.stat()
            try:
                self._learn(name, found.st_size, segments.read_index(path))
            except Damaged:
                self._broken[name] = found
        except OSError as error:
            if error.errno not in GONE:  # compacted between listing and reading
                raise

    def _learn(self, name: str, size: int, held: dict[bytes, Place]) -> None:
        self._sizes[name] = size
        if name not in self._known:
            self._known[name] = Table(name, held)
            self._index.learn(held)

    def _forget(self, names: Set[str]) -> None:
        if not names & self._known.keys():
            return
        for name in names & self._known.keys():
            self._open.pop(name, None)
            del self._sizes[name]
            del self._known[name]
        self._index = Index(self._known)

    def _write(self, records: Iterable[bytes]) -> str:
        built = segments.build(_checked(records))
        segments.write(self._segments, built)
        self._open.pop(built.name, None)  # it may have been a damaged file of this name
        self._broken.pop(built.name, None)
        self._learn(built.name, len(built.content), built.places)
        self._own.append(built.name)
        return built.name

    def _write_checked(self, records: Iterable[bytes]) -> str:
        """Write and read back, before what the records were taken from may go."""
        name = self._write(records)
        if segments.inspect(self._segments / name) is not None:
            self._forget({name})
            raise OSError(errno.EIO, UNLIKE, str(self._segments / name))
        return name

    def add(self, records: Iterable[bytes]) -> None:
        """Write records; when this returns they are on the disk.

        Parameters
        ----------
        records : iterable of bytes
            Records as `sweeps.records.encode` makes them.

        Examples
        --------
        >>> key = next(store.keys())
        >>> sv.sweeps.Store("copy.store").add([store.encoded(key)])
        """
        self._write(records)
        own = [name for name in self._own if self._sizes.get(name, SMALL) < SMALL]
        if len(own) >= MANY:
            with suppress(OSError):  # the records are safe; others may join them
                self._join(own)

    def has(self, key: bytes) -> bool:
        """Whether there is a record under a key.

        Parameters
        ----------
        key : bytes
            Hash of all that the result depends on.

        Returns
        -------
        bool
            Whether it is there.

        Examples
        --------
        >>> store.has(key), store.has(bytes(32))
        (True, False)
        """
        return key in self._index

    def keys(self) -> Iterator[bytes]:
        """The keys of all records.

        Returns
        -------
        iterator of bytes
            In no particular order.

        Examples
        --------
        >>> len(list(store.keys()))
        3
        """
        return iter(list(self._index))

    def __len__(self) -> int:
        return len(self._index)

    def read(self, key: bytes) -> Record:
        """The record under a key.

        Parameters
        ----------
        key : bytes
            Hash of all that the result depends on.

        Returns
        -------
        Record
            Its arrays with what they are about.

        Raises
        ------
        KeyError
            If there is none.
        Damaged
            If it is not what was written.

        Examples
        --------
        >>> store.read(key).key == key
        True
        """
        try:
            return decode(self.encoded(key), key)
        except Damaged:
            self._open.pop(self._index[key].segment, None)  # another process may have mended it since we opened it
        try:
            return decode(self.encoded(key), key)
        except Damaged as error:
            path = self._segments / self._index[key].segment
            remedy = f"`solvable store verify --repair --store {self.directory}` sets it aside and keeps the others"
            raise Damaged(f"{path}: {error}; {remedy}") from None

    def encoded(self, key: bytes) -> bytes:
        """The bytes of the record under a key.

        Parameters
        ----------
        key : bytes
            Hash of all that the result depends on.

        Returns
        -------
        bytes
            The record as it is stored, unchecked.

        Examples
        --------
        >>> isinstance(store.encoded(key), bytes)
        True
        """
        for attempt in range(5):
            place = self._index[key]
            try:
                return self._reader(place.segment).record(place)
            except OSError as error:  # gone: compacted by another process meanwhile
                gone = error
                self._open.pop(place.segment, None)
                time.sleep(0.05 * attempt)
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
        """Read all records and find damaged ones.

        Parameters
        ----------
        keys : iterable of bytes, optional
            Only the segments that hold these; left out, all.
        repair : bool
            Whether to set damaged segments aside and keep their good records. What is lost is then missing, and a sweep
            computes it again.

        Returns
        -------
        list of Damage
            One for each damaged segment.

        Examples
        --------
        >>> store.verify()
        []
        """
        self.refresh()
        names = set(self._known) if keys is None else {self._index[key].segment for key in keys if key in self._index}
        found = []
        for name in sorted(names | self._broken.keys()):
            try:
                salvage = segments.inspect(self._segments / name)
            except FileNotFoundError:
                continue
            if salvage is not None:
                if repair:
                    self._set_aside(name, salvage.good)
                found.append(Damage(name, salvage.lost, len(salvage.good)))
        return found

    def supersede(self, keys: set[bytes], is_old: Callable[[bytes], bool]) -> int:
        """Set old results aside, so that they are computed again.

        The segments that hold them move to `replaced/`; what else they hold is written anew and read back first. Any
        number of processes may do the same at once, while others write new results under these keys.

        Parameters
        ----------
        keys : set of bytes
            Which results are looked at.
        is_old : callable
            is_old(record) of its bytes: whether it is to go.

        Returns
        -------
        int
            How many results were set aside.

        Examples
        --------
        >>> store.supersede({key}, lambda record: False)
        0
        """
        gone: set[bytes] = set()
        is_settled = False
        while not is_settled:
            self.refresh()
            is_settled = True
            for name in sorted(self._known):
                if not keys.isdisjoint(self._known[name].keys()):
                    try:
                        gone |= self._replace(name, keys, is_old)
                    except FileNotFoundError:  # joined or replaced by another process meanwhile: where are they now?
                        is_settled = False
        return len(gone)

    def _replace(self, name: str, keys: set[bytes], is_old: Callable[[bytes], bool]) -> set[bytes]:
        path = self._segments / name
        salvage = segments.inspect(path)
        held = segments.read_all(path) if salvage is None else {check(record): record for record in salvage.good}
        old = {key for key in keys & held.keys() if is_old(held[key])}
        if not old:
            return old
        kept = [record for key, record in held.items() if key not in old]
        if kept:
            self._write_checked(kept)
        replaced = self.directory / "replaced"
        make_directory(replaced)
        move(path, replaced / name)
        self._forget({name})
        return old

    def _set_aside(self, name: str, good: list[bytes]) -> None:
        """Write what is sound in a damaged segment anew and read it back; then move the damaged one out of the way. Where nothing
        is lost, the new one bears the same name and takes its place."""
        make_directory(self._aside)
        damaged, aside = self._segments / name, self._aside / name
        with suppress(FileNotFoundError):  # another process did it
            if good and segments.build(good).name == name:
                write_bytes(aside, damaged.read_bytes())
                self._write_checked(good)
                return
            if good:
                self._write_checked(good)
            move(damaged, aside)
            if segments.inspect(aside) is None:  # another process had mended it
                move(aside, damaged)
        self._broken.pop(name, None)
        self._forget({name})
        self.refresh()

    def compact(self) -> int:
        """Join small segments into larger ones.

        Returns
        -------
        int
            How many segments were joined.

        Examples
        --------
        >>> store.compact()
        2
        """
        self.refresh()
        small = sorted(name for name, size in self._sizes.items() if size < SMALL)
        joined, group, total = 0, list[str](), 0
        for name in small:
            group.append(name)
            total += self._sizes[name]
            if total > LARGE:
                joined, group, total = joined + self._join(group), [], 0
        return joined + self._join(group)

    def _join(self, names: list[str]) -> int:
        """One segment of all records of several, which then go; damaged ones stay for `verify`."""
        records: dict[bytes, bytes] = {}
        whole = []
        for name in names:
            try:
                if segments.inspect(self._segments / name) is None:
                    records |= segments.read_all(self._segments / name)
                    whole.append(name)
            except FileNotFoundError:
                continue
        if len(whole) < 2:
            return 0
        try:
            made = self._write_checked(records[key] for key in sorted(records))
        except FileNotFoundError:  # joined by another process already: it may have the others too
            return 0
        old = set(whole) - {made}
        for name in old:
            with suppress(FileNotFoundError):
                os.unlink(self._segments / name)
        self._forget(old)
        self._own = [name for name in self._own if name not in old]
        return len(old)

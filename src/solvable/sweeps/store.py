"""The store of a sweep's results: records on disk, for any number of processes at once.

Records come in segments that are written whole and never changed, so there are no locks and no half-written records. If
two processes write the same record, it is there twice, and the segment whose name is smaller counts. Compaction removes
a segment only when every record in it is in another one, on the disk and checked.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from solvable.problems.foreign import one_line, parse_json, read_text
from solvable.results.files import make_directory, remove_unfinished, write_bytes
from solvable.sweeps import upkeep
from solvable.sweeps.holdings import Holdings
from solvable.sweeps.records import Damaged, Record, decode
from solvable.sweeps.upkeep import DAMAGED, Damage

FORMAT = 1
STALE = 86400.0  # seconds after which a file that was never finished is removed


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
        self._held = Holdings(self.directory)
        mark = self.directory / "store.json"
        if not mark.is_file():
            if not create:
                what = "Not a store of sweeps" if self.directory.exists() else "No such directory"
                raise FileNotFoundError(2, what, str(self.directory))
            if self.directory.exists() and any(self.directory.iterdir()) and not self._held.segments.is_dir():
                raise ValueError(f"{self.directory}: holds other files, must be a store or an empty or new directory")
            make_directory(self._held.segments)
            write_bytes(mark, (json.dumps({"format": FORMAT}) + "\n").encode())
        self._check_format(mark)
        self.refresh()
        for directory in (self.directory, self._held.segments, self.directory / DAMAGED):
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
        self._held.refresh()

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
        self._held.write(records)
        upkeep.join_own(self._held)

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
        return key in self._held.index

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
        return iter(list(self._held.index))

    def __len__(self) -> int:
        return len(self._held.index)

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
            self._held.close(self._held.index[key].segment)  # another process may have mended it since we opened it
        try:
            return decode(self.encoded(key), key)
        except Damaged as error:
            path = self._held.segments / self._held.index[key].segment
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
        return self._held.encoded(key)

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
        return upkeep.verify(self._held, keys, repair=repair)

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
        return upkeep.supersede(self._held, keys, is_old)

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
        return upkeep.compact(self._held)

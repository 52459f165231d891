"""Index of a store: where each record is, in about sixty bytes a record (dictionaries take four hundred)."""

from collections.abc import Iterator, Mapping

import numpy as np

from solvable.sweeps.records import KEY
from solvable.sweeps.segments import Place

HEAD = 8  # bytes of a key, its last, by which records are sorted
RECENT = 20_000  # records that are not sorted in yet, at least
BLOCK = 1 << 14


class Table:
    """Places of the records of one segment."""

    def __init__(self, name: str, held: Mapping[bytes, Place]) -> None:
        self.name = name
        self._keys = b"".join(held)
        self._spans = np.array([(place.offset, place.length) for place in held.values()], dtype=np.int64).reshape(-1, 2)

    def __len__(self) -> int:
        return len(self._spans)

    def key(self, row: int) -> bytes:
        return self._keys[KEY * row : KEY * (row + 1)]

    def keys(self) -> Iterator[bytes]:
        return (self.key(row) for row in range(len(self)))

    def place(self, row: int) -> Place:
        offset, length = self._spans[row].tolist()
        return Place(self.name, offset, length)

    @property
    def heads(self) -> np.ndarray:
        found = np.frombuffer(self._keys, dtype=">u8").reshape(len(self), KEY // HEAD)[:, -1]
        return found.astype(np.uint64)


class Index(Mapping[bytes, Place]):
    """Places of all records of a store, from its tables; make it anew when a table goes.

    Where several tables hold a record, the one whose name is smallest counts.
    """

    def __init__(self, tables: dict[str, Table]) -> None:
        self._tables = tables
        self._sort()

    def _sort(self) -> None:
        self._recent: dict[bytes, Place] = {}
        self._names = sorted(self._tables)
        tables = [self._tables[name] for name in self._names]
        sizes = [len(table) for table in tables]
        heads = np.concatenate([np.empty(0, np.uint64), *(table.heads for table in tables)])
        order = np.argsort(heads, kind="stable")  # of equal ones the smallest name first
        self._heads = heads[order]
        self._table = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)[order]
        self._row = np.concatenate([np.empty(0, np.int32), *(np.arange(size, dtype=np.int32) for size in sizes)])[order]

    def learn(self, held: Mapping[bytes, Place]) -> None:
        """Of a table that has come."""
        for key, place in held.items():
            if key not in self._recent or place.segment < self._recent[key].segment:
                self._recent[key] = place
        if len(self._recent) > max(RECENT, len(self._heads) // 4):
            self._sort()

    def _sorted(self, key: bytes) -> Place | None:
        head = np.uint64(int.from_bytes(key[-HEAD:], "big"))
        at = int(self._heads.searchsorted(head))
        while at < len(self._heads) and self._heads[at] == head:
            table = self._tables[self._names[self._table[at]]]
            if table.key(int(self._row[at])) == key:
                return table.place(int(self._row[at]))
            at += 1
        return None

    def __contains__(self, key: object) -> bool:
        return isinstance(key, bytes) and (key in self._recent or self._sorted(key) is not None)

    def __getitem__(self, key: bytes) -> Place:
        places = [place for place in (self._recent.get(key), self._sorted(key)) if place is not None]
        if not places:
            raise KeyError(key)
        return min(places)

    def __iter__(self) -> Iterator[bytes]:
        yield from self._recent
        group, head = set[bytes](), -1
        for begin in range(0, len(self._heads), BLOCK):
            rows = slice(begin, begin + BLOCK)
            found = (self._heads[rows].tolist(), self._table[rows].tolist(), self._row[rows].tolist())
            for here, table, row in zip(*found, strict=True):
                key = self._tables[self._names[table]].key(row)
                group = group if here == head else set()
                if key not in group and key not in self._recent:
                    yield key
                group.add(key)
                head = here

    def __len__(self) -> int:
        return sum(1 for _ in self)

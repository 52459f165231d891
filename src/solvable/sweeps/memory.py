"""A store that is gone when the process ends."""

from collections.abc import Iterable, Iterator
from typing import Any

from solvable.sweeps.records import Record, check, decode


class Memory:
    """A store in memory, for this process alone."""

    def __init__(self) -> None:
        self._records: dict[bytes, bytes] = {}

    def refresh(self) -> None:
        """Nobody else writes here."""

    def add(self, records: Iterable[bytes]) -> None:
        self._records |= {check(record): record for record in records}

    def has(self, key: bytes) -> bool:
        return key in self._records

    def keys(self) -> Iterator[bytes]:
        return iter(list(self._records))

    def encoded(self, key: bytes) -> bytes:
        return self._records[key]

    def read(self, key: bytes) -> Record:
        return decode(self._records[key])

    def __deepcopy__(self, memo: Any) -> "Memory":  # records never change: a copied dataset reads the same
        return self

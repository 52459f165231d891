"""Which version of the code made a stored result. Results of other code are kept and reported; they can be computed again."""

import json
from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from solvable.numerics.sources import CHANGED, computing_code
from solvable.results.storage import versions
from solvable.sweeps.points import Points
from solvable.sweeps.protocol import RecordStore
from solvable.sweeps.records import HEAD, LENGTH, Damaged, check
from solvable.sweeps.status import failure_key
from solvable.sweeps.store import Store
from solvable.sweeps.upkeep import Damage

STALE = ("keep", "recompute")
Tell = Callable[[Any], None]  # hears of Damage and of Stale


class Maker(NamedTuple):
    """What made a result: the version of this package, and the digest of the code that computed ("" where none was noted)."""

    version: str
    code: str


class Stale(NamedTuple):
    """A report on results of other code: how many, of how many that were looked at, and its versions."""

    other: int
    found: int
    versions: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.other} of {self.found} results were made by other code than this (solvable {', '.join(self.versions)})"


def making() -> dict[str, str]:
    """What must agree where results come together."""
    return _versions() | {"code": computing_code()}


_versions = lru_cache(versions)


def maker_of(content: bytes) -> Maker:
    """From an encoded record."""
    first, second = (int.from_bytes(content[at : at + LENGTH], "little") for at in (HEAD, HEAD + LENGTH))
    begin = HEAD + 2 * LENGTH + first
    about = content[begin : begin + second]
    at = about.rfind(b'"made_by": ')
    return _maker(about[at + 11 : -1]) if at >= 0 else Maker("?", "")


@lru_cache(maxsize=256)
def _maker(text: bytes) -> Maker:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):  # a record that no sweep wrote
        return Maker("?", "")
    return Maker(str(found.get("solvable", "?")), str(found.get("code", "")))


def is_other(maker: Maker) -> bool:
    """Unknown code is other code, even than itself."""
    return not maker.code or maker.code != computing_code()


def is_of_other_code(content: bytes) -> bool:
    """An encoded record."""
    return is_other(maker_of(content))


def stale_of(makers: Counter[Maker]) -> Stale:
    others = {maker: count for maker, count in makers.items() if is_other(maker)}
    return Stale(sum(others.values()), sum(makers.values()), tuple(sorted({maker.version for maker in others})))


def makers_of(store: RecordStore, keys: Iterable[bytes]) -> Counter[Maker]:
    """Of the results that are there; damaged ones are passed over."""
    found: Counter[Maker] = Counter()
    for key in keys:
        if store.has(key):
            try:
                content = store.encoded(key)
                check(content)
            except (Damaged, KeyError):
                continue
            found[maker_of(content)] += 1
    return found


class StoredResults:
    """The results of a sweep that are in a store, with the code that made them. Damaged ones are set aside and computed
    again.
    """

    def __init__(self, store: RecordStore, points: Points, tell: Tell) -> None:
        self.store, self.points, self.tell = store, points, tell
        self.makers: Counter[Maker] = Counter()
        self._sound = bytearray(points.grid.size)  # cells whose result was read
        self._told = 0
        self._mend([])  # what has no readable index

    def look(self, *, recompute: bool = False) -> None:
        """At those of all points that are made, which are not read again. With `recompute`, at those of all points, and what other
        code made is set aside."""
        if recompute and not computing_code():
            raise ValueError(f"stale: 'recompute' given, but {CHANGED}")
        old = set()
        for number in self.points.numbers(made=not recompute):
            content = self.sound(self._key(number))
            if content is not None and recompute and is_of_other_code(content):
                old.add(self._key(number))
            elif content is not None:
                self._note(number, content)
        if old and isinstance(self.store, Store):
            self._mend(old)  # whose neighbours may be damaged
            self.store.supersede(old, is_of_other_code)

    def is_there(self, number: int) -> bool:
        """The result of the point in a cell."""
        if not self._sound[number]:
            content = self.sound(self._key(number))
            if content is not None:
                self._note(number, content)
        return bool(self._sound[number])

    def is_hopeless(self, number: int) -> bool:
        """Whether it would fail again."""
        key = failure_key(self._key(number))
        return self.sound(key) is not None and bool(self.store.read(key).about.get("final", True))

    def sound(self, key: bytes) -> bytes | None:
        """An encoded record, if it is there and every byte as written."""
        for _ in range(2):  # where one copy is damaged there may be another
            if not self.store.has(key):
                return None
            try:
                content = self.store.encoded(key)
                check(content)
            except Damaged:
                self._mend([key])
            else:
                return content
        return None

    def tell_stale(self) -> None:
        """Once, and again if there are more."""
        stale = stale_of(self.makers)
        if stale.other > self._told:
            self._told = stale.other
            self.tell(stale)

    def _key(self, number: int) -> bytes:
        key = self.points.key(number)
        assert key is not None
        return key

    def _note(self, number: int, content: bytes) -> None:
        self._sound[number] = True
        self.makers[maker_of(content)] += 1

    def _mend(self, keys: Iterable[bytes]) -> None:
        if isinstance(self.store, Store):
            for damage in self.store.verify(keys, repair=True):
                self.tell(damage)


def damage_or_stale(notice: Damage | Stale) -> str:
    """In words, for whoever sweeps."""
    if isinstance(notice, Stale):
        return f"{notice}; they are kept, stale='recompute' computes them again"
    return f"{notice}; set aside, and computed again by sweeps that need it"

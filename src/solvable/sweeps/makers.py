"""Which code made a result. Results of other code are kept, and told; they can be computed again."""

import json
from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from solvable.numerics.sources import computing_code
from solvable.results.storage import versions
from solvable.sweeps.records import HEAD, LENGTH, Damaged, check
from solvable.sweeps.store import Damage, Records, Store, failure_key

STALE = ("keep", "recompute")
Tell = Callable[[Any], None]  # hears of Damage and of Stale


class Maker(NamedTuple):
    """The version of this package, and the digest of the code that computed ("" where none was noted)."""

    version: str
    code: str


class Stale(NamedTuple):
    """How many results other code made, of how many that were looked at, and its versions."""

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
    found = json.loads(text)
    return Maker(str(found.get("solvable", "?")), str(found.get("code", "")))


def stale_of(makers: Counter[Maker]) -> Stale:
    others = {maker: count for maker, count in makers.items() if maker.code != computing_code()}
    return Stale(sum(others.values()), sum(makers.values()), tuple(sorted({maker.version for maker in others})))


def makers_of(store: Records, keys: Iterable[bytes]) -> Counter[Maker]:
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


class Upkeep:
    """Looks at results that are there, one at a time: damaged ones are set aside, so that they are computed again; of the others it
    notes who made them."""

    def __init__(self, store: Records, tell: Tell) -> None:
        self.store, self.tell = store, tell
        self.makers: Counter[Maker] = Counter()
        self._told = 0
        self._mend([])  # what has no readable index

    def is_there(self, key: bytes) -> bool:
        content = self.sound(key)
        if content is not None:
            self.makers[maker_of(content)] += 1
        return content is not None

    def is_hopeless(self, key: bytes) -> bool:
        """Whether it would fail again."""
        content = self.sound(failure_key(key))
        return content is not None and bool(self.store.read(failure_key(key)).about.get("final", True))

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

    def _mend(self, keys: list[bytes]) -> None:
        if isinstance(self.store, Store):
            for damage in self.store.verify(keys, repair=True):
                self.tell(damage)

    def tell_stale(self) -> None:
        """Once, and again if there are more."""
        stale = stale_of(self.makers)
        if stale.other > self._told:
            self._told = stale.other
            self.tell(stale)

    def set_aside_stale(self, keys: Iterable[bytes]) -> int:
        """All results of other code among these, out of the way."""
        old = {key for key in keys if self._is_stale(key)}
        return self.store.supersede(old) if isinstance(self.store, Store) and old else 0

    def _is_stale(self, key: bytes) -> bool:
        content = self.sound(key)
        return content is not None and maker_of(content).code != computing_code()


def damage_or_stale(notice: Damage | Stale) -> str:
    """In words, for whoever sweeps."""
    if isinstance(notice, Stale):
        return f"{notice}; they are kept, stale='recompute' computes them again"
    return f"{notice}; set aside, and computed again by sweeps that need it"

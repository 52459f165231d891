"""Upkeep of a store: damaged segments are found and set aside, old results replaced, small segments joined.

A file goes only when all that is sound and wanted of it is in another one, on the disk and read back. Any number of processes
may do this at once.
"""

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import NamedTuple

from solvable.results.files import make_directory, move, write_bytes
from solvable.sweeps import segments
from solvable.sweeps.holdings import Holdings
from solvable.sweeps.records import check

SMALL = 4 << 20  # bytes of segments that compaction joins
LARGE = 64 << 20  # bytes it joins them to
MANY = 64  # small segments of its own at which a process joins them
DAMAGED = "damaged"
REPLACED = "replaced"


class Damage(NamedTuple):
    """A damaged segment of a store, and how many of its records are lost and kept."""

    segment: str
    lost: int
    kept: int

    def __str__(self) -> str:
        return f"{self.segment}: damaged; records lost: {self.lost}, kept: {self.kept}"


def verify(held: Holdings, keys: Iterable[bytes] | None, *, repair: bool) -> list[Damage]:
    """Damaged segments, of those that hold these keys or of all, and of those without a readable index."""
    held.refresh()
    names = set(held.known) if keys is None else {held.index[key].segment for key in keys if key in held.index}
    found = []
    for name in sorted(names | held.broken.keys()):
        try:
            salvage = segments.inspect(held.segments / name)
        except FileNotFoundError:
            continue
        if salvage is not None:
            if repair:
                _set_aside(held, name, salvage.good)
            found.append(Damage(name, salvage.lost, len(salvage.good)))
    return found


def _set_aside(held: Holdings, name: str, good: list[bytes]) -> None:
    """Write what is sound in a damaged segment anew and read it back; then move the damaged one out of the way. Where nothing
    is lost, the new one bears the same name and takes its place."""
    make_directory(held.directory / DAMAGED)
    damaged, aside = held.segments / name, held.directory / DAMAGED / name
    with suppress(FileNotFoundError):  # another process did it
        if good and segments.build(good).name == name:
            write_bytes(aside, damaged.read_bytes())
            held.write_checked(good)
            return
        if good:
            held.write_checked(good)
        move(damaged, aside)
        if segments.inspect(aside) is None:  # another process had mended it
            move(aside, damaged)
    held.broken.pop(name, None)
    held.forget({name})
    held.refresh()


def supersede(held: Holdings, keys: set[bytes], is_old: Callable[[bytes], bool]) -> int:
    """Set old results under these keys aside; how many."""
    gone: set[bytes] = set()
    is_settled = False
    while not is_settled:
        held.refresh()
        is_settled = True
        for name in sorted(held.known):
            if not keys.isdisjoint(held.known[name].keys()):
                try:
                    gone |= _replace(held, name, keys, is_old)
                except FileNotFoundError:  # joined or replaced by another process meanwhile: where are they now?
                    is_settled = False
    return len(gone)


def _replace(held: Holdings, name: str, keys: set[bytes], is_old: Callable[[bytes], bool]) -> set[bytes]:
    path = held.segments / name
    salvage = segments.inspect(path)
    records = segments.read_all(path) if salvage is None else {check(record): record for record in salvage.good}
    old = {key for key in keys & records.keys() if is_old(records[key])}
    if not old:
        return old
    kept = [record for key, record in records.items() if key not in old]
    if kept:
        held.write_checked(kept)
    make_directory(held.directory / REPLACED)
    move(path, held.directory / REPLACED / name)
    held.forget({name})
    return old


def compact(held: Holdings) -> int:
    """Join small segments into larger ones; how many went."""
    held.refresh()
    small = sorted(name for name, size in held.sizes.items() if size < SMALL)
    joined, group, total = 0, list[str](), 0
    for name in small:
        group.append(name)
        total += held.sizes[name]
        if total > LARGE:
            joined, group, total = joined + join(held, group), [], 0
    return joined + join(held, group)


def join_own(held: Holdings) -> None:
    """Once this process has written many small segments."""
    own = [name for name in held.own if held.sizes.get(name, SMALL) < SMALL]
    if len(own) >= MANY:
        with suppress(OSError):  # the records are safe; others may join them
            join(held, own)


def join(held: Holdings, names: list[str]) -> int:
    """One segment of all records of several, which then go; damaged ones stay for `verify`."""
    records: dict[bytes, bytes] = {}
    whole = []
    for name in names:
        try:
            if segments.inspect(held.segments / name) is None:
                records |= segments.read_all(held.segments / name)
                whole.append(name)
        except FileNotFoundError:
            continue
    if len(whole) < 2:
        return 0
    try:
        made = held.write_checked(records[key] for key in sorted(records))
    except FileNotFoundError:  # joined by another process already: it may have the others too
        return 0
    old = set(whole) - {made}
    for name in old:
        with suppress(FileNotFoundError):
            os.unlink(held.segments / name)
    held.forget(old)
    held.own = [name for name in held.own if name not in old]
    return len(old)

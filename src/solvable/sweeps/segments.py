"""Many records in one file that is written once. The file is named by the hash of its content.

magic | record | record | ... | index: (key, offset, length) of each | offset of the index (8) | sha256 of index and offset (32)
"""

import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from solvable.results.files import sync, write_bytes
from solvable.sweeps.records import DIGEST, HEAD, KEY, LENGTH, Damaged, decode, next_record

MAGIC = b"solvable records, format 1\n"
SUFFIX = ".seg"
ENTRY = KEY + 2 * LENGTH
FOOT = LENGTH + DIGEST


class Place(NamedTuple):
    """Place of a record: segment, offset and length."""

    segment: str
    offset: int
    length: int


class Salvage(NamedTuple):
    """What is left of a damaged segment: its sound records in order, and how many are lost (at least, where the index is
    lost too).
    """

    good: list[bytes]
    lost: int


class Built(NamedTuple):
    """A segment in memory, before it is written."""

    name: str
    content: bytes
    places: dict[bytes, Place]


def build(records: Iterable[bytes]) -> Built:
    parts, entries, offset = [MAGIC], [], len(MAGIC)
    for record in records:
        parts.append(record)
        entries.append((record[:KEY], offset, len(record)))
        offset += len(record)
    index = b"".join(key + at.to_bytes(LENGTH, "little") + size.to_bytes(LENGTH, "little") for key, at, size in entries)
    index += offset.to_bytes(LENGTH, "little")
    content = b"".join([*parts, index, hashlib.sha256(index).digest()])
    name = _name_of(content)
    return Built(name, content, {key: Place(name, at, size) for key, at, size in entries})


def _name_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32] + SUFFIX


def write(directory: Path, built: Built) -> None:
    """When this returns, the segment is on the disk. A file that bears its name is replaced, unless it has the same bytes."""
    path = directory / built.name
    if holds(path, built.content):
        sync(directory)  # who wrote it may not have come to this
    else:
        write_bytes(path, built.content)


def holds(path: Path, content: bytes) -> bool:
    """Whether a file has exactly these bytes."""
    try:
        return path.stat().st_size == len(content) and path.read_bytes() == content
    except FileNotFoundError:
        return False


def read_index(path: Path) -> dict[bytes, Place]:
    """Where the records are, from the end of the file alone."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size < len(MAGIC) + FOOT:
            raise Damaged(f"{path.name}: too short")
        file.seek(size - FOOT)
        foot = file.read(FOOT)
        begin = _number(foot[:LENGTH])
        if not len(MAGIC) <= begin <= size - FOOT or (size - FOOT - begin) % ENTRY:
            raise Damaged(f"{path.name}: its index is damaged")
        file.seek(begin)
        table = file.read(size - FOOT - begin)
    places = _entries(path.name, table)
    inside = all(len(MAGIC) <= one.offset and one.offset + one.length <= begin for one in places.values())
    if not inside or hashlib.sha256(table + foot[:LENGTH]).digest() != foot[LENGTH:]:
        raise Damaged(f"{path.name}: its index is damaged")
    return places


def _entries(name: str, table: bytes) -> dict[bytes, Place]:
    rows = (table[i : i + ENTRY] for i in range(0, len(table), ENTRY))
    return {row[:KEY]: Place(name, _number(row[KEY:-LENGTH]), _number(row[-LENGTH:])) for row in rows}


def _number(part: bytes) -> int:
    return int.from_bytes(part, "little")


def read_all(path: Path) -> dict[bytes, bytes]:
    """All records of a sound segment."""
    content = path.read_bytes()
    return {key: content[at : at + size] for key, (_, at, size) in read_index(path).items()}


class SegmentReader:
    """An open segment. (It is read, not mapped into memory: a mapped file that another machine removes would kill the
    process.)
    """

    def __init__(self, path: Path) -> None:
        self._handle = os.open(path, os.O_RDONLY)

    def record(self, place: Place) -> bytes:
        return os.pread(self._handle, place.length, place.offset)

    def __del__(self) -> None:
        if hasattr(self, "_handle"):
            os.close(self._handle)


def inspect(path: Path) -> Salvage | None:
    """None for a sound segment, whose every record is one; else what can be saved."""
    content = path.read_bytes()
    try:
        places = read_index(path)
    except Damaged:
        places = None
    if places is not None and _name_of(content) == path.name and _are_sound(content, places):
        return None
    good = list(_sound_records(content))
    if build(good).name == path.name:  # the damage is not in the records
        return Salvage(good, 0)
    return Salvage(good, 1 if places is None else max(len(places) - len(good), 0))


def _are_sound(content: bytes, places: dict[bytes, Place]) -> bool:
    """A file that is as it was written may hold what was no record even then."""
    return all(_is_sound(content[at : at + size], key) for key, (_, at, size) in places.items())


def _sound_records(content: bytes) -> Iterator[bytes]:
    """All sound records, wherever they begin: bytes may have been lost or added before them."""
    at = 0
    while (at := next_record(content, at)) >= 0:
        end = at + HEAD + _number(content[at + KEY : at + HEAD]) + DIGEST
        if end <= len(content) and _is_sound(content[at:end]):
            yield content[at:end]
            at = end
        else:
            at += 1


def _is_sound(record: bytes, key: bytes | None = None) -> bool:
    try:
        decode(record, key)
    except Damaged:
        return False
    return True

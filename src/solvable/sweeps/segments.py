"""Many records in one file that is written once. The file is named by the hash of its content.

magic | record | record | ... | index: (key, offset, length) of each | offset of the index (8) | sha256 of index and offset (32)
"""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from solvable.results.files import write_bytes
from solvable.sweeps.records import DIGEST, HEAD, KEY, LENGTH, Damaged, check

MAGIC = b"solvable records, format 1\n"
SUFFIX = ".seg"
ENTRY = KEY + 2 * LENGTH
FOOT = LENGTH + DIGEST


class Place(NamedTuple):
    """Where a record is."""

    segment: str
    offset: int
    length: int


class Salvage(NamedTuple):
    """The sound records of a damaged segment, and how many are lost (at least: where the index is lost too, those behind the
    first damaged record are not seen)."""

    good: list[bytes]
    lost: int


def write(directory: Path, records: Iterable[bytes]) -> tuple[str, int, dict[bytes, Place]]:
    """Write encoded records as one segment; when this returns they are on the disk. Its name and size, and where they are."""
    parts, entries, offset = [MAGIC], [], len(MAGIC)
    for record in records:
        parts.append(record)
        entries.append((record[:KEY], offset, len(record)))
        offset += len(record)
    index = b"".join(key + at.to_bytes(LENGTH, "little") + size.to_bytes(LENGTH, "little") for key, at, size in entries)
    index += offset.to_bytes(LENGTH, "little")
    content = b"".join([*parts, index, hashlib.sha256(index).digest()])
    name = hashlib.sha256(content).hexdigest()[:32] + SUFFIX
    if not (directory / name).exists():
        write_bytes(directory / name, content)
    return name, len(content), {key: Place(name, at, size) for key, at, size in entries}


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
    if hashlib.sha256(table + foot[:LENGTH]).digest() != foot[LENGTH:]:
        raise Damaged(f"{path.name}: its index is damaged")
    return _entries(path.name, table)


def _entries(name: str, table: bytes) -> dict[bytes, Place]:
    rows = (table[i : i + ENTRY] for i in range(0, len(table), ENTRY))
    return {row[:KEY]: Place(name, _number(row[KEY:-LENGTH]), _number(row[-LENGTH:])) for row in rows}


def _number(part: bytes) -> int:
    return int.from_bytes(part, "little")


def read_all(path: Path) -> dict[bytes, bytes]:
    """All records of a sound segment."""
    content = path.read_bytes()
    return {key: content[at : at + size] for key, (_, at, size) in read_index(path).items()}


class Reader:
    """A segment that is open; never copied, see `Store`. (Not mapped into memory: a file that another machine removes would then
    kill the process.)"""

    def __init__(self, path: Path) -> None:
        self._handle = os.open(path, os.O_RDONLY)

    def record(self, place: Place) -> bytes:
        return os.pread(self._handle, place.length, place.offset)

    def __del__(self) -> None:
        if hasattr(self, "_handle"):
            os.close(self._handle)


def inspect(path: Path) -> Salvage | None:
    """None for a sound segment; else what can be saved, by the index where that is sound and from record to record where not."""
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest()[:32] + SUFFIX == path.name:
        return None
    try:
        spans = [(place.offset, place.offset + place.length) for place in read_index(path).values()]
    except Damaged:
        return _walk(content)
    good = [content[begin:end] for begin, end in spans if _is_sound(content[begin:end])]
    return Salvage(good, len(spans) - len(good))


def _is_sound(record: bytes) -> bool:
    try:
        check(record)
    except Damaged:
        return False
    return True


def _walk(content: bytes) -> Salvage:
    """Records one after the other, by their own lengths, as far as they are sound."""
    good, at = [], len(MAGIC)
    while at + HEAD + DIGEST <= len(content):
        end = at + HEAD + _number(content[at + KEY : at + HEAD]) + DIGEST
        if not _is_sound(content[at:end]):
            break
        good.append(content[at:end])
        at = end
    rest = content[at:]  # the index of all records, a little damaged, if they were all sound
    if good and len(rest) == len(good) * ENTRY + FOOT:
        return Salvage(good, int(_number(rest[-FOOT:-DIGEST]) != at and rest[:KEY] != good[0][:KEY]))
    return Salvage(good, 1)

"""The result of one point as bytes: labelled arrays and what they are about, with a checksum. Nothing is pickled.

    key (32) | length of the body (8) | body | sha256 of all before (32)
    body = length of the layout (8) | length of the rest of the header (8) | layout | header | the arrays' bytes
    layout = [name, dimensions, type, shape] of each array, as JSON; header = what the arrays are about, as JSON

Everything is little-endian. Equal results of one kind of machine have equal bytes: no time, host or path is in them.
"""

import hashlib
import json
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from solvable.problems.foreign import parse_json

KEY, LENGTH, DIGEST = 32, 8, 32
HEAD = KEY + LENGTH
MANIFEST = b"sweep:  "  # how the keys of sweeps themselves begin
_LAYOUT = b"\0\0\0\0["  # how a layout begins, after the last bytes of the lengths before it
KINDS = "biufU"  # of arrays: truth values, numbers and text


class Damaged(ValueError):
    """A record or file of a store that is not what was written."""


class Labelled(NamedTuple):
    """An array with the names of its dimensions."""

    dims: tuple[str, ...]
    values: np.ndarray


@dataclass(frozen=True)
class Record:
    """The result of one point: `about` is plain JSON, and labelled arrays.

    A point that could not be computed has no arrays and says why in `failure`.
    """

    key: bytes
    about: dict[str, Any]
    arrays: Mapping[str, Labelled] = field(default_factory=dict)

    @property
    def failure(self) -> str | None:
        return self.about.get("failure")


def key_of(content: Any) -> bytes:
    """The hash of plain content, the same on every machine."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, allow_nan=False).encode()).digest()


def encode(record: Record) -> bytes:
    layout: list[Any] = []
    parts = []
    for name, (dims, values) in sorted(record.arrays.items()):
        array = np.ascontiguousarray(values)
        if array.dtype.kind not in KINDS:
            raise TypeError(f"{name}: arrays of {array.dtype} cannot be stored")
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
        layout.append([name, list(dims), array.dtype.str, list(np.shape(values))])
        parts.append(array.tobytes())
    texts = [json.dumps(layout).encode(), json.dumps(record.about, sort_keys=True).encode()]
    body = b"".join([*(len(text).to_bytes(LENGTH, "little") for text in texts), *texts, *parts])
    sealed = record.key + len(body).to_bytes(LENGTH, "little") + body
    return sealed + hashlib.sha256(sealed).digest()


def check(content: bytes) -> bytes:
    """The key of an encoded record; raises Damaged unless every byte is as written."""
    if len(content) < HEAD + DIGEST or hashlib.sha256(content[:-DIGEST]).digest() != content[-DIGEST:]:
        raise Damaged("a record's checksum does not fit its content")
    return bytes(content[:KEY])


def next_record(content: bytes, at: int) -> int:
    """Where a record may begin, from `at` on; -1 if nowhere. Every layout is a list, behind a length below 2^32."""
    bracket = content.find(_LAYOUT, at + HEAD + 2 * LENGTH - len(_LAYOUT) + 1)
    return bracket if bracket < 0 else bracket + len(_LAYOUT) - 1 - HEAD - 2 * LENGTH


class Field(NamedTuple):
    """Place, type and shape of an array within a record's bytes."""

    dims: tuple[str, ...]
    dtype: np.dtype
    shape: tuple[int, ...]
    offset: int
    size: int

    def values(self, content: bytes) -> np.ndarray:
        array = np.frombuffer(content, self.dtype, math.prod(self.shape), self.offset).reshape(self.shape)
        if self.dtype.kind == "U":
            letters = np.frombuffer(content, "<u4", self.size // 4, self.offset)
            if letters.max(initial=0) > sys.maxunicode:
                raise Damaged("a record's text is damaged")
        return array.astype(self.dtype.newbyteorder("="), copy=False)


def fields(content: bytes) -> dict[str, Field]:
    """The arrays of an encoded record, unread and unchecked. Many records have the same ones: they are parsed once."""
    layout, _, begin = _parts(content)
    try:
        found, end = _parse(layout, begin)
    except (ValueError, TypeError):
        raise Damaged("a record's header is damaged") from None
    if end != len(content) - DIGEST:
        raise Damaged("a record's arrays are not as long as its header says")
    return found


def _parts(content: bytes) -> tuple[bytes, bytes, int]:
    """Layout and header, still as text, and where the arrays begin."""
    first, second = (int.from_bytes(content[at : at + LENGTH], "little") for at in (HEAD, HEAD + LENGTH))
    begin = HEAD + 2 * LENGTH
    return content[begin : begin + first], content[begin + first : begin + first + second], begin + first + second


@lru_cache(maxsize=1024)
def _parse(layout: bytes, offset: int) -> tuple[dict[str, Field], int]:
    """The arrays, and where the last one ends."""
    found = {}
    for name, dims, kind, shape in parse_json(layout):
        dtype = np.dtype(kind) if isinstance(kind, str) and kind[:1] in ("<", "|") else np.dtype(object)
        plain = all(isinstance(dim, str) for dim in (name, *dims)) and all(type(size) is int for size in shape)
        if not plain or dtype.kind not in KINDS or len(dims) != len(shape) or min(shape, default=0) < 0:
            raise ValueError(f"{name}: not an array that is stored")
        size = math.prod(shape) * dtype.itemsize
        found[name] = Field(tuple(dims), dtype, tuple(shape), offset, size)
        offset += size
    return found, offset


def decode(content: bytes, wanted: bytes | None = None) -> Record:
    """The record; Damaged where it is not what was written, or another than the one wanted."""
    key = check(content)
    if wanted is not None and key != wanted:
        raise Damaged("a record bears another key than its place in the index")
    arrays = {name: Labelled(field.dims, field.values(content)) for name, field in fields(content).items()}
    try:
        about = parse_json(_parts(content)[1])
    except ValueError as error:
        raise Damaged(f"a record's header is damaged ({error})") from None
    if not isinstance(about, dict):
        raise Damaged("a record's header is damaged (no table)")
    return Record(key, about, arrays)

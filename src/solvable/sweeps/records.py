"""The result of one point as bytes: labelled arrays and what they are about, with a checksum. Nothing is pickled.

    key (32) | length of the body (8) | body | sha256 of all before (32)
    body = length of the header (8) | header as JSON | the arrays' bytes, one after the other

Everything is little-endian. Equal results have equal bytes: no time, host or path is in them.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

KEY, LENGTH, DIGEST = 32, 8, 32
HEAD = KEY + LENGTH
MANIFEST = b"sweep:  "  # how the keys of sweeps themselves begin
KINDS = "biufU"  # of arrays: truth values, numbers and text


class Damaged(ValueError):
    """Bytes that are not what was written."""


class Labelled(NamedTuple):
    dims: tuple[str, ...]
    values: np.ndarray


@dataclass(frozen=True)
class Record:
    """`about` is plain JSON. A point that could not be computed has no arrays and says why in `failure`."""

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
    header: dict[str, Any] = {"about": record.about, "arrays": []}
    parts = []
    for name, (dims, values) in sorted(record.arrays.items()):
        array = np.ascontiguousarray(values)
        if array.dtype.kind not in KINDS:
            raise TypeError(f"{name}: arrays of {array.dtype} cannot be stored")
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
        header["arrays"].append([name, list(dims), array.dtype.str, list(np.shape(values))])
        parts.append(array.tobytes())
    text = json.dumps(header, sort_keys=True).encode()
    body = b"".join([len(text).to_bytes(LENGTH, "little"), text, *parts])
    sealed = record.key + len(body).to_bytes(LENGTH, "little") + body
    return sealed + hashlib.sha256(sealed).digest()


def check(content: bytes | memoryview) -> bytes:
    """The key of an encoded record; raises Damaged unless every byte is as written."""
    if len(content) < HEAD + DIGEST or hashlib.sha256(content[:-DIGEST]).digest() != content[-DIGEST:]:
        raise Damaged("a record's checksum does not fit its content")
    return bytes(content[:KEY])


def decode(content: bytes | memoryview) -> Record:
    key = check(content)
    body = content[HEAD:-DIGEST]
    end = LENGTH + int.from_bytes(body[:LENGTH], "little")
    header = json.loads(bytes(body[LENGTH:end]))
    arrays = {}
    for name, dims, kind, shape in header["arrays"]:
        dtype = np.dtype(kind)
        count = int(np.prod(shape, dtype=np.int64))
        values = np.frombuffer(body, dtype, count, end).reshape(shape)
        arrays[name] = Labelled(tuple(dims), values.astype(dtype.newbyteorder("="), copy=False))
        end += count * dtype.itemsize
    return Record(key, header["about"], arrays)

"""NetCDF files of ours as HDF5 holds them: what may be in them, how much memory they may ask for, and a checksum over all of it.

Only plain variables at the top are read: nothing that points to other files (external links, virtual and external datasets), no
groups, no filters but the usual ones. The checksum is over every variable and attribute, not over the bytes of the file, so that
copying or compressing a file with other tools keeps it.
"""

import hashlib
import json
import math
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np

from solvable.problems.foreign import INFLATED, Refused, check_inflation, one_line

if TYPE_CHECKING:
    import h5py

CHECKSUM = "checksum"
BOOKKEEPING = {
    "CLASS", "NAME", "REFERENCE_LIST", "DIMENSION_LIST", "_Netcdf4Dimid", "_Netcdf4Coordinates", "_NCProperties",
    "_nc3_strict", CHECKSUM,
}  # fmt: skip
HEAP = b"GCOL\x01"
BLOCK = 1 << 20  # bytes that are searched at once
FILTERS = {1: "deflate", 2: "shuffle", 3: "fletcher32", 4: "szip"}


class Content(NamedTuple):
    """What a NetCDF file holds; `sealed` says whether it has a checksum, which has then been verified."""

    arrays: dict[str, np.ndarray]
    attributes: dict[str, Any]
    sealed: bool


def seal(path: str | Path) -> None:
    """Write the checksum of all that a file holds into it."""
    import h5py

    with h5py.File(path, "r+") as file:
        file.attrs[CHECKSUM] = _checksum(file, _arrays(file, os.path.getsize(path)))


def read(path: str | Path) -> Content:
    """All variables and attributes of a file. ValueError, in one line, for what is no such file, was changed since it was written,
    points elsewhere or would take too much memory."""
    import h5py

    if not Path(path).is_file():
        raise FileNotFoundError(2, "No such file", str(path))
    try:
        _check_heaps(Path(path))
        with h5py.File(path, "r") as file:
            if file.id.get_create_plist().get_sizes() != (8, 8):
                raise Refused("counts in other than 64 bits")
            arrays = _arrays(file, os.path.getsize(path))
            attributes = dict(_attributes(file))
            sealed = CHECKSUM in file.attrs
            if sealed and file.attrs[CHECKSUM] != _checksum(file, arrays):
                raise Refused("was changed since it was written: its checksum does not fit")
    except Refused as error:
        raise ValueError(f"{path}: {error}") from None
    except Exception as error:  # what a damaged file makes HDF5 raise is of many kinds
        cause = one_line(error.args[0] if error.args else type(error).__name__)
        raise ValueError(f"{path}: not a readable NetCDF file ({cause})") from None
    return Content(arrays, attributes, sealed)


def _check_heaps(path: Path) -> None:
    """Text lies in heaps, through which HDF5 steps by the sizes that it finds there. They have no checksum of their own, and where
    a size is zero or leads out of the heap it would step forever."""
    size = path.stat().st_size
    with path.open("rb") as file:
        for begin in list(_places(file, HEAP)):
            file.seek(begin + 8)
            end = begin + int.from_bytes(file.read(8), "little")
            if end > size:
                continue  # which HDF5 finds out
            file.seek(begin)
            heap, at = file.read(end - begin), 16
            while at + 16 <= len(heap):
                index, length = struct.unpack_from("<H6xQ", heap, at)
                step = 16 + (length + 7) // 8 * 8 if index else length  # what is free counts its own head
                if step == 0 or at + step > len(heap):
                    raise Refused("its text is damaged")
                at += step


def _places(file: BinaryIO, pattern: bytes) -> Iterator[int]:
    """Where a few bytes are in a file."""
    before, begin = b"", 0
    while part := file.read(BLOCK):
        block = before + part
        found = block.find(pattern)
        while found >= 0:
            yield begin + found
            found = block.find(pattern, found + 1)
        before = block[1 - len(pattern) :]
        begin += len(block) - len(before)


def _arrays(file: "h5py.File", size: int) -> dict[str, np.ndarray]:
    """All variables, once it is known what they are and how much memory they take."""
    import h5py

    for name in file:
        if not isinstance(file.get(name, getlink=True), h5py.HardLink):
            raise Refused(one_line(f"{name} is a link to somewhere else, which is not followed"))
    variables = {str(name): file[name] for name in file}
    inflated = 0
    for name, variable in variables.items():
        _check_variable(name, variable)
        chunk = variable.chunks or ()
        inflated += max(math.prod(variable.shape), math.prod(chunk) if chunk else 0) * variable.dtype.itemsize
    try:
        check_inflation(inflated, size)
        return {name: _values(variable, size) for name, variable in variables.items()}
    except MemoryError:
        raise Refused(f"needs {inflated} bytes of memory, more than there is") from None


def _check_variable(name: str, variable: Any) -> None:
    import h5py

    if not isinstance(variable, h5py.Dataset) or variable.shape is None:
        raise Refused(one_line(f"{name} is not a variable"))
    if variable.is_virtual or variable.external:
        raise Refused(one_line(f"{name} points to another file, which is not followed"))
    if variable.dtype.kind not in "iufb" and h5py.check_string_dtype(variable.dtype) is None:
        raise Refused(one_line(f"{name} holds {variable.dtype}, must be numbers or text"))
    made = variable.id.get_create_plist()
    for i in range(made.get_nfilters()):
        if made.get_filter(i)[0] not in FILTERS:
            raise Refused(one_line(f"{name} has a filter of an unknown kind"))


def _values(variable: Any, size: int) -> np.ndarray:
    if variable.dtype.kind in "iufb":
        values: np.ndarray = variable[...]
        truth = values.dtype == np.int8 and variable.attrs.get("dtype") == "bool"  # as xarray writes it
        return values.astype(bool if truth else values.dtype.newbyteorder("="), copy=False)
    texts = np.empty(math.prod(variable.shape), dtype=object)
    if len(variable.shape) > 1:
        raise Refused(one_line(f"{variable.name[1:]} is text in {len(variable.shape)} dimensions"))
    step, letters = max(1, INFLATED // size), 0  # no text is longer than the file, but many may be the same
    for begin in range(0, len(texts), step):
        part = np.atleast_1d(variable.asstr()[begin : begin + step] if variable.shape else variable.asstr()[()])
        letters += sum(map(len, part.tolist()))
        check_inflation(letters, size)
        texts[begin : begin + step] = part
    return texts.reshape(variable.shape)


def _attributes(holder: Any) -> Iterator[tuple[str, Any]]:
    """In the order of their names, numbers and text as Python has them."""
    for name in sorted(set(holder.attrs) - BOOKKEEPING):
        value = holder.attrs[name]
        if isinstance(value, bytes):
            value = value.decode()
        if isinstance(value, np.ndarray | np.generic):
            value = value.tolist()
            value = value[0] if isinstance(value, list) and len(value) == 1 else value
        yield name, value


def _checksum(file: "h5py.File", arrays: dict[str, np.ndarray]) -> str:
    digest = hashlib.sha256()

    def add(*parts: bytes) -> None:
        for part in parts:
            digest.update(len(part).to_bytes(8, "little"))
            digest.update(part)

    add(json.dumps(dict(_attributes(file)), default=str).encode())
    for name in sorted(arrays):
        values, variable = arrays[name], file[name]
        dims = [[str(scale.name) for scale in dim.values()] for dim in variable.dims]
        add(json.dumps([name, dims, values.shape, dict(_attributes(variable))], default=str).encode())
        if values.dtype.kind == "O":
            add(b"text", *(text.encode("utf-8", "surrogateescape") for text in values.ravel().tolist()))
        else:
            little = np.ascontiguousarray(values).astype(values.dtype.newbyteorder("<"), copy=False)
            add(little.dtype.str.encode(), little.tobytes())
    return digest.hexdigest()

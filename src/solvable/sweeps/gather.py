"""All results of a sweep as one labelled dataset, read from the store when they are looked at; and as files."""

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray
from xarray.backends import BackendArray
from xarray.core import indexing

from solvable.results.files import write_whole
from solvable.sweeps.records import KEY, MANIFEST, Record
from solvable.sweeps.store import Records, failure_key

ENDINGS = (".nc", ".parquet", ".csv")
SLAB = 1 << 16  # rows of a table that are in memory at once


@dataclass(frozen=True)
class Shape:
    """Of a variable, over all its records: dimensions within a point, the largest size of each, and a type with room for gaps."""

    dims: tuple[str, ...]
    sizes: tuple[int, ...]
    dtype: np.dtype

    def join(self, other: "Shape", name: str) -> "Shape":
        if self.dims != other.dims:
            raise ValueError(f"{name}: has dimensions {self.dims} in one record and {other.dims} in another")
        sizes = tuple(max(pair) for pair in zip(self.sizes, other.sizes, strict=True))
        return Shape(self.dims, sizes, np.promote_types(self.dtype, other.dtype))


class Cells(BackendArray):
    """A variable over the grid. Cells without a result, and what a smaller result leaves open, are NaN (text: empty)."""

    def __init__(self, store: Records, keys: np.ndarray, name: str, shape: Shape) -> None:
        self._store, self._keys, self._name, self._inner = store, keys, name, shape.sizes
        self.shape = (*keys.shape[:-1], *shape.sizes)
        self.dtype = shape.dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self._read)

    def _read(self, key: tuple[Any, ...]) -> np.ndarray:
        outer = self._keys.ndim - 1
        chosen = [np.arange(size)[one] for size, one in zip(self.shape, key, strict=True)]
        keys = self._keys[np.ix_(*(np.atleast_1d(one) for one in chosen[:outer]))]
        flat = keys.reshape(-1, KEY)
        sizes = [one.size for one in chosen[outer:] if one.ndim]
        gap = "" if self.dtype.kind == "U" else np.nan
        result = np.full((len(flat), *sizes), gap, dtype=self.dtype)
        room = np.empty(self._inner, dtype=self.dtype)
        for i, cell in enumerate(flat):
            name = cell.tobytes()
            if not self._store.has(name):
                continue
            found = self._store.read(name).arrays.get(self._name)
            if found is None:
                continue
            room[...] = gap
            room[tuple(slice(size) for size in found.values.shape)] = found.values
            part = room
            for axis in reversed(range(room.ndim)):
                part = np.take(part, chosen[outer + axis], axis=axis)
            result[i] = part
        grid = [one.size for one in chosen[:outer] if one.ndim]
        return result.reshape((*grid, *sizes))


def dataset(store: Records, manifest: Record) -> xarray.Dataset:
    """One dimension for each axis, then those within a point. `done` tells which points are there, `failure` why others are not."""
    axes = manifest.about["axes"]
    shape = tuple(len(axis["values"][0]) for axis in axes)
    dims = [axis["dim"] for axis in axes]
    keys = manifest.arrays["keys"].values.reshape(*shape, KEY)
    flat = keys.reshape(-1, KEY)
    names = [cell.tobytes() if cell.any() else None for cell in flat]
    done = np.array([name is not None and store.has(name) for name in names]).reshape(shape)
    variables: dict[str, Any] = {"done": (dims, done), "failure": (dims, _failures(store, names).reshape(shape))}
    shapes = _shapes(store, [name for name, there in zip(names, done.flat, strict=True) if there and name is not None])
    coordinates = {
        name: (axis["dim"], np.array(values), {"field": field})
        for axis in axes
        for name, field, values in zip(axis["names"], axis["fields"], axis["values"], strict=True)
    }
    for name, one in shapes.items():
        lazy = indexing.LazilyIndexedArray(Cells(store, keys, name, one))
        variables[name] = xarray.Variable((*dims, *one.dims), lazy)
    made = xarray.Dataset(variables, coordinates, {"title": manifest.about["title"], "sweep": manifest.key.hex()})
    return _with_time(made, tuple(dims))


def _failures(store: Records, names: list[bytes | None]) -> np.ndarray:
    texts = [""] * len(names)
    for i, name in enumerate(names):
        if name is not None and not store.has(name) and store.has(failure_key(name)):
            texts[i] = store.read(failure_key(name)).failure or ""
    return np.array(texts)


def _shapes(store: Records, keys: list[bytes]) -> dict[str, Shape]:
    shapes: dict[str, Shape] = {}
    for key in keys:
        for name, (dims, values) in store.read(key).arrays.items():
            dtype = values.dtype if values.dtype.kind in "fU" else np.dtype(float)
            one = Shape(dims, values.shape, dtype)
            shapes[name] = shapes[name].join(one, name) if name in shapes else one
    return shapes


def _with_time(data: xarray.Dataset, dims: tuple[str, ...]) -> xarray.Dataset:
    """Times that all points share become the coordinate of their dimension; else they stay a variable, `clock`."""
    if "time" not in data.variables:
        return data
    times, done = data["time"].values, data["done"].values
    rows = times.reshape(-1, times.shape[-1])[done.ravel()]
    data = data.drop_vars("time")
    if len(rows) and (rows == rows[0]).all():
        return data.assign_coords(time=rows[0])
    return data.assign_coords(clock=((*dims, "time"), times))


def sweeps_in(store: Records) -> list[Record]:
    """The manifests of all sweeps in a store."""
    found = [store.read(key) for key in store.keys() if key.startswith(MANIFEST)]  # noqa: SIM118
    return sorted(found, key=lambda record: (record.about["title"], record.key))


def keys_in(manifest: Record) -> list[bytes]:
    """Of the points of a sweep."""
    return [cell.tobytes() for cell in manifest.arrays["keys"].values if cell.any()]


def export(data: xarray.Dataset, path: str | Path) -> Path:
    """Write a dataset as .nc (all of it), or as .csv or .parquet: a table with a row for each point, run and time, without
    matrices. A part is in memory at a time."""
    path = Path(path)
    if path.suffix not in ENDINGS:
        raise ValueError(f"{path}: must end in {', '.join(ENDINGS)}")
    writers: dict[str, Callable[[str], None]] = {
        ".nc": lambda temporary: _write_netcdf(data, temporary),
        ".csv": lambda temporary: _write_csv(data, temporary),
        ".parquet": lambda temporary: _write_parquet(data, temporary),
    }
    return write_whole(path, writers[path.suffix])


def _write_netcdf(data: xarray.Dataset, path: str) -> None:
    import h5netcdf
    import h5py

    with h5netcdf.File(path, "w") as file:
        file.attrs.update(data.attrs)
        file.dimensions = dict(data.sizes)
        for name, variable in data.variables.items():
            dtype = {"U": h5py.string_dtype(), "b": np.dtype(np.int8)}.get(variable.dtype.kind, variable.dtype)
            made = file.create_variable(name, variable.dims, dtype)
            made.attrs.update(variable.attrs)
            for part in _slabs(variable):
                made[part] = variable[part].values.astype(object if variable.dtype.kind == "U" else dtype)


def _slabs(variable: xarray.Variable) -> Iterator[Any]:
    """Parts along the first dimension, each small enough for memory."""
    if variable.ndim == 0:
        yield ...
        return
    step = max(1, SLAB * variable.sizes[variable.dims[0]] // max(1, variable.size))
    for begin in range(0, variable.shape[0], step):
        yield slice(begin, begin + step)


def _tables(data: xarray.Dataset) -> Iterator[Any]:
    """Data frames, one after the other: tidy, with a row for each point (that is done), run or instance, and time."""
    inner = [dim for dim in ("run", "instance", "time") if dim in data.dims]
    outer = [str(dim) for dim in data["done"].dims]
    table = data.drop_vars([name for name in data.data_vars if not set(data[name].dims) <= {*outer, *inner}])
    table = table.drop_dims([dim for dim in table.dims if dim not in (*outer, *inner)])
    rows = int(np.prod([table.sizes[dim] for dim in (*outer, *inner)]))
    step = max(1, SLAB * table.sizes[outer[0]] // max(1, rows))
    for begin in range(0, table.sizes[outer[0]], step):
        part = table.isel({outer[0]: slice(begin, begin + step)}).load()
        frame = part.to_dataframe(dim_order=[*outer, *inner]).reset_index()
        real = frame["done"]  # without the rows that only fill a box
        if "ending" in frame:
            real &= frame["ending"] != ""
        for name in {"fewest", "clock"} & {*frame.columns}:
            real &= frame[name].notna()
        yield frame[real].drop(columns=["done", "failure"])


def _write_csv(data: xarray.Dataset, path: str) -> None:
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        for i, frame in enumerate(_tables(data)):
            if i == 0:
                writer.writerow(frame.columns)
            writer.writerows(frame.itertuples(index=False, name=None))


def _write_parquet(data: xarray.Dataset, path: str) -> None:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ValueError("parquet: needs pyarrow; install solvable[parquet]") from None
    writer = None
    try:
        for frame in _tables(data):
            table = pyarrow.Table.from_pandas(frame, preserve_index=False)
            writer = writer or parquet.ParquetWriter(path, table.schema)
            writer.write_table(table.cast(writer.schema))
    finally:
        if writer is not None:
            writer.close()

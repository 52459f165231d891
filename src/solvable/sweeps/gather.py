"""All results of a sweep as one labelled dataset, read from the store when they are looked at; and as files."""

import csv
import json
import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray
from xarray.backends import BackendArray
from xarray.core import indexing

from solvable.numerics.installing import missing
from solvable.results.files import write_whole
from solvable.results.quantities import OBSERVABLES
from solvable.sweeps.makers import Maker, maker_of
from solvable.sweeps.protocol import RecordStore
from solvable.sweeps.records import KEY, MANIFEST, Damaged, Record, check, fields
from solvable.sweeps.status import failure_key

ENDINGS = (".nc", ".parquet", ".csv")
SLAB = 1 << 18  # numbers that are in memory at once where files are written
COLUMNS = 100  # entries of an array that a table has columns for
INNER = ("run", "instance", "time")  # dimensions of tables, beside the axes


@dataclass(frozen=True)
class Shape:
    """Shape of a variable over all its records: dimensions within a point, the largest size of each, and a type with room
    for gaps.
    """

    dims: tuple[str, ...]
    sizes: tuple[int, ...]
    dtype: np.dtype

    def join(self, other: "Shape", name: str) -> "Shape":
        if self.dims != other.dims:
            raise ValueError(f"{name}: has dimensions {self.dims} in one record and {other.dims} in another")
        sizes = tuple(max(pair) for pair in zip(self.sizes, other.sizes, strict=True))
        return Shape(self.dims, sizes, np.promote_types(self.dtype, other.dtype))


class Cells(BackendArray):
    """A variable over the grid as an array that reads its cells from the store when they are indexed.

    Cells without a result, and what a smaller result leaves open, are NaN (text: empty). `keys` has zeros where there
    was no result when the dataset was made: it does not change while it is looked at.
    """

    def __init__(self, store: RecordStore, keys: np.ndarray, name: str, shape: Shape) -> None:
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
            found = self._values(cell.tobytes()) if cell.any() else None
            if found is None:
                continue
            room[...] = gap
            room[tuple(slice(size) for size in found.shape)] = found
            part = room
            for axis in reversed(range(room.ndim)):
                part = np.take(part, chosen[outer + axis], axis=axis)
            result[i] = part
        grid = [one.size for one in chosen[:outer] if one.ndim]
        return result.reshape((*grid, *sizes))

    def _values(self, key: bytes) -> np.ndarray | None:
        try:
            content = self._store.encoded(key)
            if check(content) != key:
                raise Damaged("a record bears another key than its place in the index")
            field = fields(content).get(self._name)
            return None if field is None else field.values(content)
        except (Damaged, KeyError) as error:
            _warn(error)
            return None


def _warn(error: Exception) -> None:
    warnings.warn(f"a result is damaged and left out ({error}); the sweep computes it again", stacklevel=2)


def dataset(store: RecordStore, manifest: Record) -> xarray.Dataset:
    """One dimension for each axis, then those within a point. `done` tells which points are there, `failure` why others are not."""
    check_manifest(manifest)
    axes = manifest.about["axes"]
    shape = tuple(len(axis["values"][0]) for axis in axes)
    dims = [axis["dim"] for axis in axes]
    flat = manifest.arrays["keys"].values.copy()
    names = [cell.tobytes() if cell.any() else None for cell in flat]
    shapes, times, done, makers = _scan(store, names)
    flat[~done] = 0
    keys = flat.reshape(*shape, KEY)
    variables: dict[str, Any] = {
        "done": (dims, done.reshape(shape)),
        "failure": (dims, _failures(store, names, done).reshape(shape)),
    }
    coordinates: dict[str, Any] = {
        name: (axis["dim"], np.array(values), {"field": field})
        for axis in axes
        for name, field, values in zip(axis["names"], axis["fields"], axis["values"], strict=True)
    }
    for name, one in shapes.items():
        lazy = indexing.LazilyIndexedArray(Cells(store, keys, name, one))
        made = xarray.Variable((*dims, *one.dims), lazy, _labels(name, manifest))
        if name != "time":
            variables[name] = made
        elif times is None:  # every point has its own
            coordinates["at_time"] = made
    if times is not None:
        coordinates["time"] = ("time", times, _labels("time", manifest))
    attributes = {
        "title": manifest.about["title"],
        "sweep": manifest.key.hex(),
        "problem": json.dumps(manifest.about["problem"]),
        "first_point": json.dumps(manifest.about["first"]),
        "made_by": json.dumps([maker._asdict() | {"results": count} for maker, count in sorted(makers.items())]),
    }
    return xarray.Dataset(variables, coordinates, attributes)


def _labels(name: str, manifest: Record) -> dict[str, str]:
    """What a variable is called, with its unit."""
    run = manifest.about["first"].get("run", {})
    clock = run.get("clock", "time")
    unit = "α" if clock == "alpha" else clock
    stop = run.get("stop")
    names = {name: row.label for name, row in OBSERVABLES.items() if row.label and row.axes == "run time"} | {
        "time": "α = steps / dim" if clock == "alpha" else clock,
        "exit_time": f"{'time to half the first risk' if stop is None else 'time to the threshold'}, {unit}",
        "end_time": f"time at the end, {unit}",
        "start_risk": "first risk",
        "end_risk": "risk at the end",
        "nfev": "evaluations",
        "end_training_loss": "training loss at the end",
        "end_risk_error": "error of the risk at the end",
        "end_training_loss_error": "error of the training loss at the end",
        "end_gap": "gap at the end",
        "best_risk": "least risk on the way",
        "best_time": f"time of the least risk, {unit}",
        "interpolation_time": f"time to a thousandth of the training loss, {unit}",
        "fewest": "fewest samples that determine the teacher",
    }
    return {"long_name": names[name]} if name in names else {}


def _scan(
    store: RecordStore, names: list[bytes | None]
) -> tuple[dict[str, Shape], np.ndarray | None, np.ndarray, Counter[Maker]]:
    """The variables of all results; the output times, if all have the same; which results there are, and who made them."""
    makers: Counter[Maker] = Counter()
    shapes: dict[tuple[str, tuple[int, ...], str], Shape] = {}
    joined: dict[str, Shape] = {}
    first: tuple[bytes, np.ndarray] | None = None
    same = True
    done = np.array([name is not None and store.has(name) for name in names], dtype=bool)
    for i in np.flatnonzero(done):
        key = names[i]
        assert key is not None
        try:
            content = store.encoded(key)
            found = fields(content)
        except (Damaged, KeyError) as error:
            _warn(error)
            done[i] = False
            continue
        makers[maker_of(content)] += 1
        for name, field in found.items():
            kind = (name, field.shape, field.dtype.str)
            if kind not in shapes:
                dtype = field.dtype.newbyteorder("=") if field.dtype.kind in "fU" else np.dtype(float)
                shapes[kind] = Shape(field.dims, field.shape, dtype)
                joined[name] = joined[name].join(shapes[kind], name) if name in joined else shapes[kind]
        if same and "time" in found:
            field = found["time"]
            raw = content[field.offset : field.offset + field.size]
            first = first or (raw, field.values(content))
            same = raw == first[0]
    return joined, first[1] if same and first is not None else None, done, makers


def _failures(store: RecordStore, names: list[bytes | None], done: np.ndarray) -> np.ndarray:
    texts = np.full(len(names), "", dtype=object)
    for i in np.flatnonzero(~done):
        name = names[i]
        if name is not None and store.has(failure_key(name)):
            try:
                texts[i] = store.read(failure_key(name)).failure or ""
            except Damaged as error:
                _warn(error)
    return texts


def check_manifest(manifest: Record) -> None:
    """Damaged, unless a record describes a sweep: its checksum tells that it is as written, not by whom."""
    about, keys = manifest.about, manifest.arrays.get("keys")
    try:
        axes = about["axes"]
        plain = isinstance(about["title"], str) and isinstance(about["first"].get("run", {}), dict)
        for axis in axes:
            lists = (axis["names"], axis["fields"], axis["values"])
            plain &= isinstance(axis["dim"], str) and all(
                isinstance(one, list | tuple) for one in (*lists, *axis["values"])
            )
            plain &= len({len(one) for one in lists}) == 1 and len({len(one) for one in axis["values"]}) == 1
            plain &= all(isinstance(name, str) for name in (*axis["names"], *axis["fields"]))
            plain &= not any(isinstance(value, list | dict) for values in axis["values"] for value in values)
        points = math.prod(len(axis["values"][0]) for axis in axes)
        plain &= "problem" in about and keys is not None and keys.values.shape == (points, KEY)
        plain = plain and keys is not None and keys.values.dtype == np.uint8
    except (KeyError, TypeError, AttributeError, IndexError):
        plain = False
    if not plain:
        raise Damaged(f"sweep {manifest.key.hex()[16:28]}: its record does not describe a sweep")


def keys_in(manifest: Record) -> Iterator[bytes]:
    """Of the points of a sweep."""
    return (key for cell in manifest.arrays["keys"].values if any(key := cell.tobytes()))


def sweeps_in(store: RecordStore) -> list[Record]:
    """The manifests of all sweeps in a store."""
    found = [store.read(key) for key in store.keys() if key.startswith(MANIFEST)]  # noqa: SIM118
    for one in found:
        check_manifest(one)
    return sorted(found, key=lambda record: (record.about["title"], record.key))


def export(data: xarray.Dataset, path: str | Path) -> Path:
    """Write a dataset as .nc (all of it), or as .csv or .parquet: a table with a row for each point, run and time. The columns of
    the axes are called as the fields; an array with further axes has a column for each entry, as forgetting.0, unless those are
    too many (`left_out`). A part is in memory at a time."""
    path = Path(path)
    writers: dict[str, Callable[[str], None]] = {
        ".nc": lambda temporary: _write_netcdf(data, temporary),
        ".csv": lambda temporary: _write_csv(data, temporary),
        ".parquet": lambda temporary: _write_parquet(data, temporary),
    }
    if path.suffix not in writers:
        raise ValueError(f"{path}: must end in {', '.join(ENDINGS)}")
    if not bool((data["done"] | (data["failure"] != "")).any()):
        raise ValueError("gather: no point of the sweep is there yet")
    return write_whole(path, writers[path.suffix])


def _write_netcdf(data: xarray.Dataset, path: str) -> None:
    import h5netcdf
    import h5py

    with h5netcdf.File(path, "w") as file:
        aside = [str(name) for name in data.coords if name not in data.dims]
        file.attrs.update(data.attrs | ({"coordinates": " ".join(aside)} if aside else {}))
        file.dimensions = dict(data.sizes)
        for name, variable in data.variables.items():
            text = variable.dtype.kind in "UO"
            truth = variable.dtype.kind == "b"
            dtype = h5py.string_dtype() if text else np.dtype(np.int8) if truth else variable.dtype
            made = file.create_variable(name, variable.dims, dtype)
            made.attrs.update(variable.attrs | ({"dtype": "bool"} if truth else {}))
            for part in _blocks(variable.shape):
                made[part] = variable[part].values.astype(object if text else dtype)


def _blocks(shape: tuple[int, ...], each: int = 1) -> Iterator[Any]:
    """Slices that cover an array whose entries count as `each`, of at most SLAB numbers (or one entry, if that is more)."""
    if not shape:
        yield ...
        return
    sizes, room = [1] * len(shape), SLAB // each
    for axis in reversed(range(len(shape))):
        sizes[axis] = max(1, min(shape[axis], room))
        room //= sizes[axis]
    starts = [range(0, size, step) for size, step in zip(shape, sizes, strict=True)]
    for corner in np.ndindex(*(len(one) for one in starts)):
        begins = [one[i] for one, i in zip(starts, corner, strict=True)]
        yield tuple(slice(begin, begin + step) for begin, step in zip(begins, sizes, strict=True))


def _further(data: xarray.Dataset, name: str) -> list[str]:
    """Axes of an array that rows of a table do not have."""
    return [str(dim) for dim in data[name].dims if dim not in (*data["done"].dims, *INNER)]


def left_out(data: xarray.Dataset, path: str | Path) -> list[str]:
    """Names of the arrays that a file of this kind does not hold, because they have too many entries for columns."""
    if Path(path).suffix == ".nc":
        return []
    counts = {name: math.prod([data.sizes[dim] for dim in _further(data, name)]) for name in map(str, data.data_vars)}
    return [name for name, count in counts.items() if count > COLUMNS]


def _in_columns(data: xarray.Dataset) -> xarray.Dataset:
    """With a variable for each entry in the place of arrays with further axes."""
    found = {}
    large = left_out(data, "table.csv")
    for name in map(str, data.data_vars):
        further = _further(data, name)
        for place in np.ndindex(*(data.sizes[dim] for dim in further)) if name not in large else ():
            found[".".join([name, *map(str, place)])] = data[name].isel(dict(zip(further, place, strict=True)))
    return xarray.Dataset(found, {name: data.coords[name] for name in data.coords}, data.attrs)


def _tables(data: xarray.Dataset) -> Iterator[Any]:
    """Data frames, one after the other: a row for each point, run or instance, and time; one for a point that failed."""
    data = _in_columns(data)
    inner = [dim for dim in INNER if dim in data.dims]
    outer = [str(dim) for dim in data["done"].dims]
    table = data
    each = int(np.prod([table.sizes[dim] for dim in inner], dtype=np.int64))
    fields = {name: table[name].attrs.get("field", name) for name in table.coords}
    order = [*(name for name in table.coords if name not in inner), *inner, *table.data_vars]
    for part in _blocks(data["done"].shape, each):
        block = table.isel(dict(zip(outer, part, strict=True))).load()
        frame = block.to_dataframe(dim_order=[*outer, *inner]).reset_index()
        real = frame["done"].copy()  # without the rows that only fill a box
        if "ending" in frame:
            real &= frame["ending"] != ""
        for name in {"fewest", "at_time"} & {*frame.columns}:
            real &= frame[name].notna()
        first = np.arange(len(frame)) % each == 0
        real |= (frame["failure"] != "") & first
        frame = frame[real][[name for name in order if name in frame.columns and name != "done"]]
        if "at_time" in frame:
            frame = frame.drop(columns="time", errors="ignore").rename(columns={"at_time": "time"})
        yield frame.rename(columns=fields)


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
        raise missing("parquet", "pyarrow", "parquet") from None
    kinds = {"i": pyarrow.int64(), "u": pyarrow.int64(), "f": pyarrow.float64(), "b": pyarrow.bool_()}
    writer = None
    try:
        for frame in _tables(data):
            types = [(name, kinds.get(frame[name].dtype.kind, pyarrow.string())) for name in frame.columns]
            schema = pyarrow.schema(types) if writer is None else writer.schema
            writer = writer or parquet.ParquetWriter(path, schema)
            writer.write_table(pyarrow.Table.from_pandas(frame, schema=schema, preserve_index=False))
    finally:
        if writer is not None:
            writer.close()

"""Inputs that come as rows: an array, a file or an iterator, with the covariance measured from them."""

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from solvable.numerics.memory import FLOAT, check_memory
from solvable.numerics.threads import interruptible, raise_if_abandoned
from solvable.problems.foreign import check_inflation, one_line
from solvable.problems.inputs import SMALLEST, Inputs, Spectrum
from solvable.problems.nearest import not_one_of
from solvable.problems.powerlaw import PowerLawFit, fit_power_law

ORDERS = ("given", "shuffled", "drawn")
CHUNK = 2**21  # numbers read at once


@dataclass(frozen=True, eq=False)
class Data:
    """Inputs that come as rows (samples, dim).

    Parameters
    ----------
    source : array, str, Path or iterator
        An array, a .npy file (read as it is needed, so it may be larger than memory), a .npz file, or an iterator of
        rows or of stacks of rows.
    order : str
        "given", "shuffled" anew for each run, or "drawn" with replacement, which never ends.
    prepare : bool
        Whether rows are centred and scaled to a mean squared norm of dim. Rows of an iterator, which is seen only once,
        are taken as they are.
    like : Data, optional
        Other data, whose mean and scale are used instead.
    array : str, optional
        Name of the array in a .npz file with several.

    Examples
    --------
    >>> data = sv.Data(np.random.default_rng(0).normal(size=(100, 5)))
    >>> data.dim, data.eigenvalues.shape
    (5, (5,))
    """

    source: Any
    order: Literal["given", "shuffled", "drawn"] = "given"
    prepare: bool = True
    like: "Data | None" = None
    array: str | None = None

    def __post_init__(self) -> None:
        if self.order not in ORDERS:
            raise ValueError(f"order: {not_one_of(self.order, ORDERS)}")
        if self.array is not None and not str(self.source).endswith(".npz"):
            raise ValueError(f"array: {self.array!r} given, but only an .npz file has names")
        if self.like is not None and not isinstance(self.like, Data):
            raise ValueError(f"like: {type(self.like).__name__} given, must be Data")
        if self.rows is None:
            if not hasattr(self.source, "__next__"):
                raise ValueError(
                    f"data: {type(self.source).__name__} given, must be an array, a file or an iterator of rows"
                )
            if self.order != "given":
                raise ValueError(f"order: {self.order!r} given, but an iterator has only the order it comes in")
            return
        if self.rows.ndim != 2 or self.rows.dtype.kind not in "fiub" or not self.rows.size:
            raise ValueError(
                f"data: shape {self.rows.shape} of {self.rows.dtype} given, must be numbers (samples, dim)"
            )
        if len(self.rows) < 2:
            raise ValueError("data: one row given, must be at least two")
        if self.like is not None and self.like.dim != self.dim:
            raise ValueError(f"like: has rows of {self.like.dim} numbers, the data of {self.dim}")

    @cached_property
    def rows(self) -> np.ndarray | None:
        """(samples, dim), or None for an iterator."""
        if isinstance(self.source, str | Path):
            return _read(Path(self.source), self.array)
        if hasattr(self.source, "__next__"):
            return None
        try:
            rows: np.ndarray = np.asanyarray(self.source)
        except ValueError:
            raise ValueError("data: must be an array (samples, dim), got rows of different lengths") from None
        return rows if rows.ndim else None

    @property
    def dim(self) -> int | None:
        """Numbers in a row; None for an iterator that is not `like` anything."""
        if self.rows is not None:
            return int(self.rows.shape[1])
        return None if self.like is None else self.like.dim

    @cached_property
    def measured(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean (dim,) and covariance (dim, dim) of the rows as they are, in one pass."""
        if self.rows is None:
            raise ValueError("data: an iterator is seen only once; measure other data and say like=...")
        return _measured(self.rows)

    @cached_property
    def preparation(self) -> tuple[np.ndarray | None, float]:
        """Mean that is taken off, and factor that follows."""
        if self.like is not None:
            return self.like.preparation
        if self.rows is None or not self.prepare:
            return None, 1.0
        mean, covariance = self.measured
        variance = float(np.trace(covariance)) / len(mean)
        if variance <= 0:
            raise ValueError("data: all rows are equal")
        return mean, variance**-0.5

    def prepared(self, rows: np.ndarray) -> np.ndarray:
        """Rows as learning sees them: centred and scaled."""
        mean, factor = self.preparation
        part = np.asarray(rows, dtype=float)
        if not np.isfinite(part).all():
            raise ValueError("data: a row is not finite")
        if mean is not None and len(part):
            part = part - mean
            part *= factor
        return part

    @cached_property
    def _eigen(self) -> tuple[np.ndarray, np.ndarray]:
        if self.like is not None:
            return self.like._eigen
        values, vectors = interruptible(np.linalg.eigh)(self.measured[1])
        return np.maximum(values[::-1], 0.0) * self.preparation[1] ** 2, vectors[:, ::-1]

    @property
    def eigenvalues(self) -> np.ndarray:
        """(dim,) of the covariance of the prepared rows, largest first."""
        return self._eigen[0]

    @property
    def basis(self) -> np.ndarray:
        """(dim, dim) eigenvectors as columns."""
        return self._eigen[1]

    @property
    def inputs(self) -> Inputs:
        """Gaussian inputs of the same covariance: what theory and the deterministic limit take in place of the data."""
        seen = np.where(self.eigenvalues < SMALLEST, 0.0, self.eigenvalues)
        return Inputs(dim=len(seen), spectrum=Spectrum(eigenvalues=tuple(seen.tolist())))

    def power_law(self, first: int | None = None, last: int | None = None, *, weighted: bool = True) -> PowerLawFit:
        """The power law of the eigenvalues between the ranks `first` and `last`: every decade of ranks counts alike, or, not
        `weighted`, every eigenvalue (`problems.powerlaw`)."""
        return fit_power_law(self.eigenvalues, first, last, weighted=weighted)

    @cached_property
    def fingerprint(self) -> str:
        """What results depend on: the rows' shape, type and bytes; iterators have none."""
        if self.rows is None:
            return "iterator"
        like = None if self.like is None else self.like.fingerprint
        digest = hashlib.sha256(f"{self.rows.shape}{self.rows.dtype}{self.order}{self.prepare}{like}".encode())
        step = max(1, CHUNK // self.rows.shape[1])
        for i in range(0, len(self.rows), step):
            digest.update(np.ascontiguousarray(self.rows[i : i + step]).tobytes())
        return digest.hexdigest()

    def __getstate__(self) -> dict[str, Any]:
        """Another process reads a file itself: its rows do not travel."""
        state = dict(self.__dict__)
        if isinstance(self.source, str | Path):
            state.pop("rows", None)
            state["source"] = Path(self.source).absolute()
        return state

    def __repr__(self) -> str:
        what = "an iterator" if self.rows is None else f"{len(self.rows)} rows"
        return f"Data({what} of {self.dim or '?'} numbers, order={self.order!r})"

    def reader(self, seed: np.random.SeedSequence, dim: int | None = None) -> "Reader":
        """Rows for one run, of `dim` numbers each."""
        return Reader(self, seed, dim)


# Not a method of Data: until Python 3.12 a thread that asks for a cached property waits for the one in whose body another is.
@interruptible
def _measured(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of rows, in one pass."""
    dim = int(rows.shape[1])
    check_memory("data", f"the covariance of {dim} numbers in a row and its eigenvectors", 6 * FLOAT * dim**2)
    shift = np.nan_to_num(np.asarray(rows[0], dtype=float))  # any point near the rows: sums then cancel less
    total, square = np.zeros(dim), np.zeros((dim, dim))
    step = max(1, CHUNK // dim)
    with np.errstate(over="ignore", invalid="ignore"):  # numbers too large are told at the end
        for i in range(0, len(rows), step):
            raise_if_abandoned()
            part = np.asarray(rows[i : i + step], dtype=float)
            if not np.isfinite(part).all():
                raise ValueError(f"data: not finite between rows {i} and {i + len(part)}")
            part = part - shift
            total += part.sum(axis=0)
            square += part.T @ part
        mean = total / len(rows)
        covariance = square / len(rows) - np.outer(mean, mean)
        if not np.isfinite(covariance).all() or not np.isfinite(np.trace(covariance)):
            raise ValueError("data: numbers too large to square")
    return shift + mean, covariance


class Reader:
    """Rows for one run, a few at a time."""

    def __init__(self, data: Data, seed: np.random.SeedSequence, dim: int | None = None) -> None:
        dim = dim or data.dim
        data.preparation  # noqa: B018  (measure, and find mistakes, before the first row is needed)
        self._data, self._random, self._at = data, np.random.default_rng(seed), 0
        self._order = self._random.permutation(len(data.rows)) if data.order == "shuffled" else None  # type: ignore[arg-type]
        self._stacks: Iterator[np.ndarray] = iter(()) if data.rows is not None else _stacks(data.source, dim)
        self._left = np.empty((0, dim or 0))

    def take(self, count: int) -> np.ndarray:
        """(up to count, dim); fewer when the rows run out."""
        return self._data.prepared(self._next(count))

    def _next(self, count: int) -> np.ndarray:
        rows = self._data.rows
        if rows is None:
            return self._from_stacks(count)
        if self._data.order == "drawn":
            return rows[self._random.integers(0, len(rows), count)]
        begin, self._at = self._at, min(self._at + count, len(rows))
        return rows[begin : self._at] if self._order is None else rows[self._order[begin : self._at]]

    def _from_stacks(self, count: int) -> np.ndarray:
        parts, missing = [], count
        while missing > 0:
            if not len(self._left):
                stack = next(self._stacks, None)
                if stack is None:
                    break
                self._left = stack
            parts.append(self._left[:missing])
            self._left = self._left[missing:]
            missing -= len(parts[-1])
        return np.concatenate(parts) if parts else self._left


def _stacks(source: Iterator[Any], dim: int | None) -> Iterator[np.ndarray]:
    for item in source:
        try:
            stack = np.atleast_2d(np.asarray(item, dtype=float))
        except (TypeError, ValueError):
            raise ValueError(f"data: the iterator gave {type(item).__name__}, must be rows of numbers") from None
        if stack.ndim != 2:
            raise ValueError(f"data: the iterator gave shape {stack.shape}, must be (dim,) or (samples, dim)")
        if dim is not None and stack.shape[1] != dim:
            raise ValueError(f"data: the iterator gave rows of {stack.shape[1]} numbers, must be {dim}")
        dim = stack.shape[1]
        yield stack


def _read(path: Path, name: str | None) -> np.ndarray:
    if path.suffix not in (".npy", ".npz"):
        raise ValueError(f"data: {path} given, must end in .npy or .npz")
    if not path.is_file():
        raise FileNotFoundError(2, "No such file", str(path))
    try:
        return np.lib.format.open_memmap(path, mode="r") if path.suffix == ".npy" else _read_archive(path, name)
    except _NoSuchArray as error:
        raise ValueError(str(error)) from None
    except Exception as error:  # what a damaged file makes NumPy raise is of many kinds
        line = one_line(str(error).split("\n")[0] or type(error).__name__)
        raise ValueError(f"data: {path} is not a readable {path.suffix} file of numbers ({line})") from None


class _NoSuchArray(Exception):
    pass


def _read_archive(path: Path, name: str | None) -> np.ndarray:
    with path.open("rb") as file, np.lib.npyio.NpzFile(file, allow_pickle=False) as archive:
        names = one_line(", ".join(archive.files[:100])) or "nothing"
        if name is None and len(archive.files) != 1:
            raise _NoSuchArray(f"array: is missing; {path} holds {names}")
        if name is not None and name not in archive.files:
            raise _NoSuchArray(f"array: {name!r} given, {path} holds {names}")
        chosen = name or archive.files[0]
        assert archive.zip is not None
        with archive.zip.open(f"{chosen}.npy" if f"{chosen}.npy" in archive.zip.namelist() else chosen) as stream:
            return _read_array(stream, archive.zip.getinfo(stream.name).file_size, path.stat().st_size)


def _read_array(stream: Any, inflated: int, size: int) -> np.ndarray:
    """An array of an archive, whose header must ask for as many bytes as there are."""
    check_inflation(inflated, size)
    version = np.lib.format.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"an array in format {version}, must be (1, 0) or (2, 0)")
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read_header(stream)
    if dtype.hasobject:
        raise ValueError("Object arrays are not read")
    if any(one < 0 for one in shape) or math.prod(shape) * dtype.itemsize != inflated - stream.tell():
        raise ValueError(f"holds {inflated - stream.tell()} bytes, not an array of shape {shape} of {dtype}")
    content = bytearray(inflated - stream.tell())
    room = memoryview(content)
    while read := stream.readinto(room):
        room = room[read:]
    if room:
        raise ValueError("ends early")
    return np.frombuffer(content, dtype).reshape(shape, order="F" if fortran else "C")

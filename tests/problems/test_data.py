"""Rows from arrays, files and iterators: what is measured, how they are prepared and ordered, and how mistakes are told."""

import gc
import zipfile
from pathlib import Path

import numpy as np
import pytest

import solvable as sv
from seeds import seed
from solvable.problems import data as module
from solvable.problems.data import Data

SEED = np.random.SeedSequence(5)


def rows(samples: int = 300, dim: int = 4, seed: int = 0) -> np.ndarray:
    """Correlated, off centre, of different sizes."""
    rng = np.random.default_rng(seed)
    return 3 + rng.normal(size=(samples, dim)) @ rng.normal(size=(dim, dim)) * 2


def taken(data: Data, *counts: int, seed: np.random.SeedSequence = SEED) -> np.ndarray:
    reader = data.reader(seed)
    return np.concatenate([reader.take(count) for count in counts])


def prepared(X: np.ndarray) -> np.ndarray:
    centred = X - X.mean(axis=0)
    return centred / np.sqrt((centred**2).sum(axis=1).mean() / X.shape[1])


def files(X: np.ndarray, folder: Path) -> dict[str, Data]:
    np.save(folder / "a.npy", X)
    np.save(folder / "fortran.npy", np.asfortranarray(X))
    np.savez(folder / "one.npz", X)
    np.savez_compressed(folder / "two.npz", train=X, test=-X)
    return {
        "array": Data(X),
        "list": Data(X.tolist()),
        "npy": Data(folder / "a.npy"),
        "npy by name": Data(str(folder / "a.npy")),
        "npy by columns": Data(folder / "fortran.npy"),
        "npz": Data(folder / "one.npz"),
        "npz of two": Data(folder / "two.npz", array="train"),
    }


def test_every_source_gives_the_same_rows(tmp_path: Path) -> None:
    X = rows()
    for name, data in files(X, tmp_path).items():
        assert data.dim == 4, name
        assert np.array_equal(data.rows, X), name
        assert taken(data, 300) == pytest.approx(taken(Data(X), 300), rel=1e-12), (
            name
        )  # sums by columns round otherwise
        assert data.fingerprint == Data(X).fingerprint, name
    other = Data(tmp_path / "two.npz", array="test")
    assert other.measured[0] == pytest.approx(-X.mean(axis=0))


def test_npy_files_are_not_read_as_a_whole(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", rows())
    mapped = Data(tmp_path / "a.npy").rows
    assert isinstance(mapped, np.memmap)
    assert mapped.mode == "r"


@pytest.mark.parametrize("kind", [np.float32, np.int16, np.uint8, bool, ">f8"])
def test_rows_of_other_numbers(kind) -> None:
    X = (rows() * 5).clip(0, 200).astype(kind)
    drawn = taken(Data(X), 300)
    assert drawn.dtype == np.float64
    assert drawn == pytest.approx(prepared(X.astype(float)), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("chunk", [1, 28, 2**21])
def test_measured_is_numpys(chunk: int, monkeypatch) -> None:
    """However many rows are read at once, also far from the origin."""
    monkeypatch.setattr(module, "CHUNK", chunk)
    X = rows() + 1e6  # a naive second moment would lose 12 digits; 1e-9 allows for the rounding of X itself
    mean, covariance = Data(X).measured
    assert mean == pytest.approx(X.mean(axis=0), rel=1e-15)
    assert covariance == pytest.approx(np.cov(X.T, bias=True), rel=1e-9)
    assert Data(X).fingerprint == Data(X.copy()).fingerprint


def test_eigenvalues_and_basis() -> None:
    X = rows()
    for data, Y in [(Data(X), prepared(X)), (Data(X, prepare=False), X)]:
        covariance, values, basis = np.cov(Y.T, bias=True), data.eigenvalues, data.basis
        assert values == pytest.approx(np.linalg.eigvalsh(covariance)[::-1], rel=1e-10)
        assert (np.diff(values) < 0).all()
        assert basis.T @ basis == pytest.approx(np.eye(4), abs=1e-12)
        assert basis @ np.diag(values) @ basis.T == pytest.approx(covariance, rel=1e-10)
    assert Data(X).eigenvalues.sum() == pytest.approx(4, rel=1e-12)


def test_directions_without_variance_have_eigenvalue_zero() -> None:
    X = np.hstack([rows(), rows()[:, :2] * 3])
    assert Data(X).eigenvalues[-2:] == pytest.approx([0, 0], abs=1e-12)
    assert (Data(X).eigenvalues >= 0).all()


def test_prepared_rows_are_centred_and_have_mean_squared_norm_dim() -> None:
    X = rows()
    drawn = taken(Data(X), 300)
    assert drawn.mean(axis=0) == pytest.approx(np.zeros(4), abs=1e-13)
    assert (drawn**2).sum(axis=1).mean() == pytest.approx(4, rel=1e-13)
    assert drawn == pytest.approx(prepared(X), rel=1e-10)
    assert taken(Data(X, prepare=False), 300).tolist() == X.tolist()


def test_the_source_stays_as_it_was() -> None:
    X = rows()
    before = X.copy()
    for order in module.ORDERS:
        taken(Data(X, order=order), 10, 20)
    assert X.tolist() == before.tolist()


def test_like_other_data() -> None:
    train, test = rows(), rows(50, seed=1)
    known = Data(train)
    mean, covariance = train.mean(axis=0), np.cov(train.T, bias=True)
    expected = (test - mean) * (np.trace(covariance) / 4) ** -0.5
    for data in (Data(test, like=known), Data(iter(test), like=known), Data(iter([test[:20], test[20:]]), like=known)):
        assert data.dim == 4
        assert data.eigenvalues.tolist() == known.eigenvalues.tolist()
        assert data.basis.tolist() == known.basis.tolist()
        assert data.inputs == known.inputs
        assert taken(data, 50) == pytest.approx(expected, rel=1e-12)
    assert taken(Data(test, like=Data(train, prepare=False)), 50).tolist() == test.tolist()


def test_inputs_have_the_measured_eigenvalues() -> None:
    data = Data(rows())
    assert isinstance(data.inputs, sv.Inputs)
    assert data.inputs.dim == 4
    assert data.inputs.eigenvalues.tolist() == data.eigenvalues.tolist()
    assert data.inputs.block_sizes.tolist() == [1] * 4
    assert data.inputs.eigenvalues @ data.inputs.fractions == pytest.approx(1)


@pytest.mark.parametrize("order", module.ORDERS)
def test_order_follows_from_the_seed(order: str) -> None:
    data = Data(rows(), order=order)
    first = taken(data, 300)
    assert taken(data, 300).tolist() == first.tolist()
    assert taken(data, 1, 2, 3, 7, 287).tolist() == first.tolist()  # however many are taken at once
    assert taken(Data(rows(), order=order), *[60] * 5).tolist() == first.tolist()
    other = taken(data, 300, seed=np.random.SeedSequence(6))
    assert (other.tolist() == first.tolist()) == (order == "given")


def test_given_and_shuffled_rows_come_once() -> None:
    X = rows()
    given, shuffled = (Data(X, order=order, prepare=False).reader(SEED) for order in ("given", "shuffled"))
    assert given.take(300).tolist() == X.tolist()
    mixed = np.concatenate([shuffled.take(200), shuffled.take(200)])
    assert mixed.tolist() != X.tolist()
    assert sorted(mixed.tolist()) == sorted(X.tolist())
    for reader in (given, shuffled):
        assert reader.take(5).shape == (0, 4)


@pytest.mark.statistical
def test_drawn_rows_come_back_and_never_end() -> None:
    X = np.arange(40.0).reshape(10, 4)
    drawn = taken(Data(X, order="drawn", prepare=False), *[1000] * 10, seed=np.random.SeedSequence(seed(5)))
    counts = np.bincount((drawn[:, 0] / 4).astype(int), minlength=10)
    k, error = 5, np.sqrt(10_000 * 0.1 * 0.9)
    assert np.abs(counts - 1000).max() < k * error
    assert (drawn - drawn[:, :1] == np.arange(4)).all()  # whole rows


@pytest.mark.parametrize("stacks", [None, [300], [1, 2, 0, 97, 200]])
def test_iterators_of_rows_and_of_stacks(stacks) -> None:
    X = rows()
    source = iter(X) if stacks is None else iter(np.split(X, np.cumsum(stacks)[:-1]))
    data = Data(source)
    assert data.rows is None
    assert data.dim is None
    assert data.fingerprint == "iterator"
    reader = data.reader(SEED)
    parts = [reader.take(count) for count in (1, 7, 150, 200, 10)]
    assert [len(part) for part in parts] == [1, 7, 150, 142, 0]  # fewer when they run out
    assert np.concatenate(parts[:-1]).tolist() == X.tolist()  # taken as they are


def test_iterators_are_asked_for_no_more_than_is_taken() -> None:
    asked = []

    def endless():
        while True:
            asked.append(1)
            yield [1.0, 2.0]

    assert taken(Data(endless()), 3, 4).shape == (7, 2)
    assert len(asked) == 7


def test_fingerprint_knows_what_results_depend_on() -> None:
    X = rows()
    changed = X.copy()
    changed[17, 2] += 1e-9
    different = [
        *[Data(X), Data(changed), Data(X.astype(np.float32)), Data(X[:-1]), Data(X.reshape(-1, 2)), Data(X[::-1])],
        *[Data(X, order="shuffled"), Data(X, order="drawn"), Data(X, prepare=False)],
    ]
    assert len({data.fingerprint for data in different}) == len(different)
    assert Data(X[::2]).fingerprint == Data(X[::2].copy()).fingerprint  # the layout in memory does not matter


def test_fingerprint_knows_the_data_that_rows_are_treated_like() -> None:
    X = rows()
    likes = [None, Data(rows(seed=1)), Data(rows(seed=2))]
    assert len({Data(X, like=like).fingerprint for like in likes}) == 3


def told(make, message: str, kind: type[Exception] = ValueError) -> None:
    with pytest.raises(kind, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Data(rows(), order="random"), "^order: 'random' given, must be one of given, shuffled, drawn$"),
        (lambda: Data(None), "^data: NoneType given, must be an array, a file or an iterator of rows$"),
        (lambda: Data({1: 2}), "^data: dict given, must be an array, a file or an iterator of rows$"),
        (lambda: Data(3.5), "^data: float given, must be an array, a file or an iterator of rows$"),
        (lambda: Data([[1, 2], [3]]), r"^data: must be an array \(samples, dim\), got rows of different lengths$"),
        (lambda: Data([["a", "b"]] * 2), r"^data: shape \(2, 2\) of <U1 given, must be numbers \(samples, dim\)$"),
        (lambda: Data([[1, None]] * 2), r"^data: shape \(2, 2\) of object given, must be numbers"),
        (lambda: Data(np.ones((3, 2)) * 1j), r"^data: shape \(3, 2\) of complex128 given, must be numbers"),
        (lambda: Data(np.ones((0, 3))), r"^data: shape \(0, 3\) of float64 given, must be numbers"),
        (lambda: Data(np.ones((3, 0))), r"^data: shape \(3, 0\) of float64 given, must be numbers"),
        (lambda: Data(np.ones((1, 3))), "^data: one row given, must be at least two$"),
        (lambda: Data(np.ones((5, 3))).eigenvalues, "^data: all rows are equal$"),
        (lambda: Data(np.full((70, 3), 0.1)).reader(SEED), "^data: all rows are equal$"),
        (lambda: Data(np.full((5, 3), np.nan)).measured, "^data: not finite between rows 0 and 5$"),
        (lambda: Data(iter(rows()), order="shuffled"), "^order: 'shuffled' given, but an iterator has only the order"),
        (lambda: Data(iter(rows()), order="drawn"), "^order: 'drawn' given, but an iterator has only the order"),
        (lambda: Data(iter(rows())).measured, "^data: an iterator is seen only once; measure other data and say like="),
        (lambda: Data(iter(rows())).inputs, "^data: an iterator is seen only once"),
        (lambda: taken(Data(iter([[1, 2], [3]])), 2), "^data: the iterator gave rows of 1 numbers, must be 2$"),
        (
            lambda: taken(Data(iter([np.ones((2, 2)), np.ones((4, 3))])), 6),
            "^data: the iterator gave rows of 3 numbers, must be 2$",
        ),
        (lambda: taken(Data(iter([[1, np.inf]])), 1), "^data: a row is not finite$"),
        (lambda: Data(np.ones((5, 3)), prepare=False).inputs, "^eigenvalues: must not be negative and not all zero"),
    ],
)
def test_mistakes_are_told_in_one_line(make, message: str) -> None:
    told(make, message)


def test_rows_that_are_not_finite_are_found(monkeypatch) -> None:
    monkeypatch.setattr(module, "CHUNK", 40)  # ten rows at once
    for bad in (np.nan, np.inf, -np.inf):
        X = rows()
        X[123, 2] = bad
        told(lambda X=X: Data(X).measured, "^data: not finite between rows 120 and 130$")


def test_mistakes_in_files(tmp_path: Path) -> None:
    files(rows(), tmp_path)
    a, two = (tmp_path / "a.npy").read_bytes(), tmp_path / "two.npz"
    told(lambda: Data(tmp_path / "b.npy"), "No such file: .*b.npy", FileNotFoundError)
    told(lambda: Data(str(tmp_path / "b.npz")), "No such file: .*b.npz", FileNotFoundError)
    told(lambda: Data(tmp_path), r"^data: .* given, must end in \.npy or \.npz$")
    told(lambda: Data("rows.csv"), r"^data: rows\.csv given, must end in \.npy or \.npz$")
    told(lambda: Data(two), r"^array: is missing; .*two\.npz holds train, test$")
    told(lambda: Data(two, array="valid"), r"^array: 'valid' given, .*two\.npz holds train, test$")
    for content in (b"", b"1,2,3\n4,5,6\n", a[:50], a[:-8]):
        (tmp_path / "bad.npy").write_bytes(content)
        told(lambda: Data(tmp_path / "bad.npy"), r"^data: .*bad\.npy is not a readable \.npy file of numbers \(.+\)$")
    for content in (b"", b"1,2,3\n4,5,6\n"):
        (tmp_path / "bad.npz").write_bytes(content)
        told(lambda: Data(tmp_path / "bad.npz"), r"^data: .*bad\.npz is not a readable \.npz file of numbers \(.+\)$")


def test_arrays_in_files_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.ones((3, 2, 2)))
    told(lambda: Data(path), r"^data: shape \(3, 2, 2\) of float64 given, must be numbers \(samples, dim\)$")
    np.save(path, np.array([["a", "b"]]))
    told(lambda: Data(path), r"^data: shape \(1, 2\) of <U1 given, must be numbers")
    np.save(path, np.ones((1, 2)))
    told(lambda: Data(path), "^data: one row given")
    objects = np.array([[1, None], [2, 3]], dtype=object)  # would be unpickled, which may run any code
    np.save(path, objects)
    told(lambda: Data(path), r"^data: .*a\.npy is not a readable \.npy file of numbers \(.*objects")
    np.savez(tmp_path / "a.npz", objects)
    told(lambda: Data(tmp_path / "a.npz"), r"^data: .*a\.npz is not a readable \.npz file of numbers \(Object arrays")


def flipped(path: Path, at: int) -> bytes:
    content = bytearray(path.read_bytes())
    for i in range(at, at + 30):
        content[i] ^= 255
    return bytes(content)


def archive(path: Path, content: str) -> None:
    with zipfile.ZipFile(path, "w") as zipped:
        zipped.writestr("notes.txt", content)


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("cut.npz", lambda path: path.write_bytes((path.parent / "two.npz").read_bytes()[:-100])),
        ("crc.npz", lambda path: path.write_bytes(flipped(path.parent / "one.npz", 400))),
        ("deflate.npz", lambda path: path.write_bytes(flipped(path.parent / "packed.npz", 60))),
        ("array.npz", lambda path: path.write_bytes((path.parent / "a.npy").read_bytes())),
        ("notes.npz", lambda path: archive(path, "no numbers")),
        ("zip.npy", lambda path: path.write_bytes((path.parent / "two.npz").read_bytes())),
        ("header.npy", lambda path: path.write_bytes((path.parent / "a.npy").read_bytes().replace(b"}", b" ", 1))),
    ],
)
def test_spoilt_files_are_told_in_one_line(name: str, spoil, tmp_path: Path) -> None:
    files(rows(), tmp_path)
    np.savez_compressed(tmp_path / "packed.npz", rows())
    spoil(tmp_path / name)
    told(lambda: Data(tmp_path / name), rf"^data: .*{name} is not a readable \.np[yz] file of numbers \(.+\)$")
    gc.collect()  # a file left open would be told here


@pytest.mark.parametrize("shape", [(5,), (5, 2, 2)])
def test_arrays_of_other_shapes_are_told_by_their_shape(shape) -> None:
    for source in (np.ones(shape), np.ones(shape).tolist()):
        told(lambda source=source: Data(source), r"^data: shape \(5,.*\) of float64 given, must be numbers")


@pytest.mark.parametrize("item", [["a", "b"], [[1, 2], [3]], {1: 2}, np.ones((2, 2, 2))])
def test_iterators_that_give_no_rows(item) -> None:
    told(lambda: taken(Data(iter([item])), 1), "^data: the iterator gave (?!.*None)")


def test_infinite_rows_among_the_first() -> None:
    X = rows()
    X[3, 1] = np.inf
    told(lambda: Data(X).measured, "^data: not finite between rows 0 and 300$")


@pytest.mark.parametrize("options", [{"prepare": False}, {"like": Data(rows(seed=1))}])
def test_rows_that_are_not_measured_are_checked_too(options) -> None:
    X = rows()
    X[3, 1] = np.nan
    told(lambda: taken(Data(X, **options), 300), "^data: .*not finite")


def test_like_must_be_data_of_the_same_dim() -> None:
    known = Data(rows())
    told(lambda: Data(rows(dim=3), like=known), "^like: .*4.* 3|^like: .*3.* 4")
    told(lambda: taken(Data(iter(rows(dim=3)), like=known), 1), "^data: the iterator gave .*3.* 4")
    told(lambda: Data(rows(), like=rows()), "^like: ndarray given, must be Data$")


def test_nothing_left_of_an_iterator_has_the_width_of_its_rows() -> None:
    reader = Data(iter(rows())).reader(SEED)
    reader.take(300)
    assert reader.take(1).shape == (0, 4)


def test_array_is_a_name_in_an_npz_file(tmp_path: Path) -> None:
    """Given elsewhere it is a mistake, and is not passed over in silence."""
    np.save(tmp_path / "a.npy", rows())
    for source in (rows(), tmp_path / "a.npy", iter(rows())):
        told(lambda source=source: Data(source, array="train"), "^array: 'train' given")

"""Thousands of spoilt files of every kind that we read: each is read as it is, or refused in one line; nothing else happens."""

import copy
import hashlib
import json
import shutil
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import tomli_w

import solvable as sv
from solvable.cli.main import main
from solvable.problems import InvalidProblem
from solvable.problems.problem import read_tables
from solvable.results import netcdf
from solvable.sweeps import Store, segments, sweep
from solvable.sweeps.files import read as read_sweep
from solvable.sweeps.gather import dataset, sweeps_in

GOOD: dict[str, Any] = {
    "teacher": {"width": 2, "activation": "erf", "readout": "sqrt", "overlap": [[1.0, 0.0], [0.0, 1.0]]},
    "student": {"width": 2, "activation": {"coefficients": [0.0, 1.0, 0.5]}, "readout": [0.5, 0.25]},
    "inputs": {"dim": 40, "spectrum": {"eigenvalues": [2.0, 0.5], "weights": [0.25, 0.75]}},
    "training": {"learning_rate": {"times": [0, 5], "rates": [0.1, 0.2]}, "batch": 2, "label_noise": 0.1},
    "start": {"seed": 0, "scale": 0.1},
    "run": {"until": 0.5},
    "vary": {"training": {"weight_decay": {"from": 0.0, "to": 0.1, "count": 3}}},
}
DEEP: Any = []
for _ in range(300):
    DEEP = [DEEP]
NONSENSE = [
    -1, 0, 2.5, 1e308, 10**30, -(10**400), True, "", "x", "a\nb\x1b[2J", "\ud800", "x" * 5000, [], {}, [[]], [[1, 2], [3]],
    {"a\n": 1}, [None], list(range(300)), DEEP, "__import__('os')", {"kind": "power-law"}, float("nan"), float("inf"),
]  # fmt: skip
Dice = np.random.Generator


def any_of(dice: Dice, options: Any) -> Any:
    return copy.deepcopy(options[dice.integers(len(options))])


def spoilt_bytes(content: bytes, dice: Dice) -> bytes:
    """Some bytes flipped, set, added, removed or moved, or the file cut off."""
    changed = bytearray(content)
    for _ in range(dice.choice([1, 1, 2, 8])):
        at = int(dice.integers(len(changed) + 1))
        size = int(dice.choice([1, 1, 4, 8, 100]))
        kind = dice.integers(6)
        if kind == 0 and at < len(changed):
            changed[at] ^= 1 << int(dice.integers(8))
        elif kind == 1:
            changed[at : at + size] = bytes([any_of(dice, [0, 1, 127, 255])]) * size
        elif kind == 2:
            changed[at:at] = dice.bytes(size)
        elif kind == 3:
            del changed[at : at + size]
        elif kind == 4:
            other = int(dice.integers(len(changed) + 1))
            changed[at : at + size] = changed[other : other + size]
        elif dice.random() < 0.3:
            del changed[at:]
    return bytes(changed)


def spoilt_tables(tables: Any, dice: Dice) -> Any:
    """Some values replaced, removed, renamed or wrapped, at any depth."""
    whole = {"": copy.deepcopy(tables)}
    for _ in range(dice.integers(1, 4)):
        holder, key = any_of_places(whole, dice)
        kind = dice.integers(5)
        if kind == 0 and key != "":
            holder.pop(key)
        elif kind == 1 and isinstance(holder, dict) and key != "":
            holder[any_of(dice, ["", "\n", "width", "a.b", key + "X"])] = holder.pop(key)
        elif kind == 2:
            holder[key] = any_of(dice, [[holder[key]], {"x": holder[key]}, [holder[key]] * 3])
        else:
            holder[key] = any_of(dice, NONSENSE)
    return whole[""]


def any_of_places(whole: Any, dice: Dice) -> tuple[Any, Any]:
    places, waiting = [], [whole]
    while waiting and len(places) < 1000:
        holder = waiting.pop()
        for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
            places.append((holder, key))
            if isinstance(holder[key], dict | list):
                waiting.append(holder[key])
    return places[dice.integers(len(places))]


def spoilt_json(content: bytes, dice: Dice) -> bytes:
    if dice.random() < 0.3:
        return spoilt_bytes(content, dice)
    return json.dumps(spoilt_tables(GOOD, dice)).encode()


def spoilt_toml(content: bytes, dice: Dice) -> bytes:
    if dice.random() < 0.3:
        return spoilt_bytes(content, dice)
    try:
        return tomli_w.dumps(spoilt_tables(GOOD, dice)).encode()
    except (TypeError, ValueError, AttributeError, RecursionError):  # what TOML cannot say
        return spoilt_bytes(content, dice)


def spoil_netcdf(path: Path, dice: Dice) -> None:
    """Half of them behind the back of HDF5; the others by it, and with a checksum that fits."""
    if dice.random() < 0.5:
        path.write_bytes(spoilt_bytes(path.read_bytes(), dice))
        return
    with h5py.File(path, "r+") as file:
        name = any_of(dice, list(file))
        attribute = any_of(dice, [one for one in file.attrs if one not in netcdf.BOOKKEEPING])
        kind = dice.integers(6)
        if kind == 0:
            del file[name]
        elif kind == 1:
            del file.attrs[attribute]
        elif kind == 2:
            file.attrs[attribute] = any_of(dice, ["", "[" * 3000, "null", "{}", "5", 5, -1.5, "a\nb", '["risk"]'])
        elif kind == 3:
            text = file.attrs["problem"]
            file.attrs["problem"] = json.dumps(spoilt_tables(json.loads(text), dice))
        else:
            del file[name]
            shape = any_of(dice, [(), (0,), (1,), (3,), (1, 3), (2, 2, 2, 2), (1 << 40,)])
            file.create_dataset(name, shape=shape, dtype=any_of(dice, ["f8", "f4", "i8", "c16", "S3", "V4", "u1"]))
    with suppress(ValueError, RuntimeError):  # not of what we do not read ourselves
        netcdf.seal(path)


def spoil_store(path: Path, dice: Dice) -> None:
    """Bytes of the mark or of a segment; or the header of a record, with checksums that fit."""
    found = sorted((path / "segments").glob("*.seg"))
    if dice.random() < 0.5:
        file = any_of(dice, [path / "store.json", *found, *found, *found])
        file.write_bytes(spoilt_bytes(file.read_bytes(), dice))
        return
    records = [list(segments.read_all(one).values()) for one in found]
    chosen = dice.integers(len(records))
    at = dice.integers(len(records[chosen]))
    records[chosen][at] = forged(records[chosen][at], dice)
    found[chosen].unlink()
    segments.write(path / "segments", segments.build(records[chosen]))


def forged(record: bytes, dice: Dice) -> bytes:
    """Another layout or header, with a checksum that fits."""
    sizes = [int.from_bytes(record[at : at + 8], "little") for at in (40, 48)]
    texts = [record[56 : 56 + sizes[0]], record[56 + sizes[0] : 56 + sum(sizes)]]
    which = dice.integers(2)
    texts[which] = json.dumps(spoilt_tables(json.loads(texts[which]), dice)).encode()
    body = b"".join(len(text).to_bytes(8, "little") for text in texts) + b"".join(texts) + record[56 + sum(sizes) : -32]
    content = record[:32] + len(body).to_bytes(8, "little") + body
    return content + hashlib.sha256(content).digest()


def read_problem(path: Path) -> None:
    tables = read_tables(path)
    parse = sv.Problem.from_json if path.suffix == ".json" else sv.Problem.from_toml
    try:
        parse(path.read_text(encoding="utf-8"))  # the tables of runs are no fields of a problem
    except InvalidProblem:
        assert isinstance(tables, dict)
    sv.Problem.load(path)


def read_store(path: Path) -> None:
    store = Store(path, create=False)
    for key in store.keys():  # noqa: SIM118
        try:
            store.read(key)
        except ValueError as error:
            one_clear_line(error)
    kept = sum(damage.kept for damage in store.verify(repair=True))
    assert len(Store(path)) >= min(kept, 1)
    for manifest in sweeps_in(store):
        dataset(store, manifest).load()


def one_clear_line(error: ValueError) -> None:
    lines = error.problems if isinstance(error, InvalidProblem) else [str(error)]
    assert lines
    for line in lines:
        assert line
        assert line.isprintable(), repr(line)
        assert len(line) < 600


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("originals")
    (place / "a.json").write_text(json.dumps(GOOD))
    (place / "a.toml").write_text(tomli_w.dumps(GOOD))
    problem = sv.Problem(
        teacher=sv.Teacher(width=1),
        student=sv.Student(width=1),
        inputs=sv.Inputs(dim=100),
        training=sv.Training(learning_rate=0.01),
    )
    sv.run(problem, sv.start(problem, seed=0), sv.Macro(), times=[0.0, 0.1, 0.2]).save(place / "a.nc")
    rows = np.random.default_rng(0).standard_normal((20, 3))
    np.save(place / "a.npy", rows)
    np.savez_compressed(place / "a.npz", rows)
    np.savez(place / "b.npz", rows)
    sweep(problem, {"training.learning_rate": [0.01, 0.02]}, until=0.2, store=place / "a.store", workers=0)
    return place


def by_bytes(spoil: Callable[[bytes, Dice], bytes]) -> Callable[[Path, Dice], None]:
    return lambda path, dice: (path.write_bytes(spoil(path.read_bytes(), dice)), None)[1]


KINDS: list[tuple[str, Callable[[Path, Dice], None], Callable[[Path], Any], list[list[str]]]] = [
    ("a.json", by_bytes(spoilt_json), read_problem, [["run", "-n", "{}"], ["sweep", "{}", "--shard", "x"]]),
    ("a.toml", by_bytes(spoilt_toml), read_problem, [["run", "-n", "{}"], ["landscape", "{}"]]),
    ("a.json", by_bytes(spoilt_json), read_sweep, []),
    ("a.nc", spoil_netcdf, sv.Trajectory.load, []),
    ("a.npy", by_bytes(spoilt_bytes), sv.Data, [["spectrum", "{}", "--json"]]),
    ("a.npz", by_bytes(spoilt_bytes), sv.Data, [["spectrum", "{}", "--json"]]),
    ("b.npz", by_bytes(spoilt_bytes), sv.Data, []),
    ("a.store", spoil_store, read_store, [["store", "status", "--store", "{}"], ["store", "verify", "--store", "{}"]]),
]


@pytest.mark.parametrize(("count", "seed"), [(300, 0), pytest.param(10_000, 1, marks=pytest.mark.slow)])
def test_spoilt_files(
    count: int, seed: int, originals: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told, dice = dict.fromkeys(range(len(KINDS)), 0), np.random.default_rng(seed)
    for i in range(count):
        name, spoil, read, commands = KINDS[i % len(KINDS)]
        path = tmp_path / name
        if path.is_dir():
            shutil.rmtree(path)
        (shutil.copytree if (originals / name).is_dir() else shutil.copy)(originals / name, path)
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", UserWarning
            )  # damaged results that are left out, and files without a checksum
            spoil(path, dice)
            for words in commands if i % 10 < len(commands) else []:
                code = main([word.format(path) for word in words])
                lines = capsys.readouterr().err.splitlines()
                assert code in (0, 1, 2)
                assert code != 2 or lines
                assert all(line.startswith("solvable: ") and len(line) < 400 for line in lines)
            try:
                read(path)
            except ValueError as error:
                one_clear_line(error)
                told[i % len(KINDS)] += 1
    *files, store = told.values()
    assert min(files) > 0.1 * count / len(KINDS), told
    assert store > 0  # most damage to a store is warned of: what is sound in it is read

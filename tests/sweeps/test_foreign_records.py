"""Records and stores that someone else wrote: a checksum that fits tells that nothing changed, not that it makes sense."""

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from light import PROBLEM, Light

from solvable.cli.main import main
from solvable.sweeps import Damaged, Store, execute, plan, segments
from solvable.sweeps.gather import sweeps_in
from solvable.sweeps.records import Labelled, Record, decode, encode, key_of

KEY = key_of("a")


def forged(layout: Any, about: Any, arrays: bytes = b"", key: bytes = KEY) -> bytes:
    texts = [part if isinstance(part, bytes) else json.dumps(part).encode() for part in (layout, about)]
    body = b"".join([*(len(text).to_bytes(8, "little") for text in texts), *texts, arrays])
    content = key + len(body).to_bytes(8, "little") + body
    return content + hashlib.sha256(content).digest()


@pytest.mark.parametrize(
    "content",
    [
        forged(b"[" * 100_000, {}),
        forged([], b"[" * 100_000),
        forged([], b'{"a":' * 500 + b"1" + b"}" * 500),
        forged([], [1]),
        forged([], b"{"),
        forged([], b"\xff\xfe"),
        forged({"a": 1}, {}),
        forged(5, {}),
        forged([["x"]], {}),
        forged([["x", ["t"], "<f8", [-1]]], {}, bytes(8)),
        forged([["x", ["t", "s"], "<f8", [-2, -4]]], {}, bytes(64)),
        forged([["x", ["t"], "<f8", [1 << 62]]], {}, bytes(8)),
        forged([["x", ["t"], "<f8", [3]]], {}, bytes(8)),
        forged([["x", ["t"], "<f8", [1]]], {}, bytes(80)),
        forged([["x", ["t"], "<f8", [1.0]]], {}, bytes(8)),
        forged([["x", ["t"], "<f8", [True]]], {}, bytes(8)),
        forged([["x", ["t"], "|O", [1]]], {}, bytes(8)),
        forged([["x", ["t"], "<V8", [1]]], {}, bytes(8)),
        forged([["x", ["t"], "(1000000,1000000)<f8", [1]]], {}, bytes(8)),
        forged([["x", ["t"], "<f8,<f8", [1]]], {}, bytes(16)),
        forged([["x", ["t"], "nonsense", [1]]], {}, bytes(8)),
        forged([["x", ["t"], ">f8", [1]]], {}, bytes(8)),
        forged([["x", ["t"], 3, [1]]], {}, bytes(8)),
        forged([["x", ["t"], "<U2", [1]]], {}, b"\xff" * 8),
        forged([["x", "t", "<f8", [1, 1]]], {}, bytes(8)),
        forged([["x", [1], "<f8", [1]]], {}, bytes(8)),
        forged([[None, ["t"], "<f8", [1]]], {}, bytes(8)),
        KEY + bytes(40),
        KEY,
        b"",
    ],
)
def test_records_that_are_none(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(Damaged) as caught:
        decode(content)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400
    if len(content) < 72:
        return
    neighbour = encode(Record(key_of("b"), {}))
    built = segments.build([content, neighbour])
    store = Store(tmp_path / "store")
    segments.write(tmp_path / "store" / "segments", built)
    store.refresh()
    with pytest.raises(Damaged, match=r"verify --repair --store .* sets it aside and keeps the others"):
        store.read(KEY)
    assert store.verify(repair=True) == [(built.name, 1, 1)]
    assert not store.has(KEY)
    assert store.encoded(key_of("b")) == neighbour
    assert not store.verify()
    assert (tmp_path / "store" / "damaged" / built.name).read_bytes() == built.content


def test_what_is_damaged_is_not_written(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    with pytest.raises(Damaged, match="checksum"):
        store.add([KEY + bytes(40)])
    assert not list((tmp_path / "store" / "segments").iterdir())


def test_records_that_are_some() -> None:
    arrays = {
        "text": Labelled(("run",), np.array(["a", "bé", ""])),
        "one": Labelled((), np.array("x")),
        "none": Labelled(("run", "time"), np.ones((0, 3))),
        "truth": Labelled(("run",), np.array([True, False])),
    }
    found = decode(encode(Record(KEY, {"a": [[1]]}, arrays)), KEY)
    for name, (dims, values) in arrays.items():
        assert found.arrays[name].dims == dims
        assert np.array_equal(found.arrays[name].values, values)


@pytest.mark.parametrize(
    "change",
    [
        lambda about: about.clear(),
        lambda about: about.pop("title"),
        lambda about: about.update(title=3),
        lambda about: about.update(axes=3),
        lambda about: about.update(axes=[3]),
        lambda about: about.update(axes=[]),
        lambda about: about["axes"][0].pop("dim"),
        lambda about: about["axes"][0].update(values=[]),
        lambda about: about["axes"][0].update(values=[[1, 2, 3, 4]]),
        lambda about: about["axes"][0].update(names=[]),
        lambda about: about["axes"][0].update(names=[[1]]),
        lambda about: about["axes"][0].update(values=[[1, {}, 3]]),
        lambda about: about.update(first=3),
        lambda about: about.update(first={"run": 3}),
        lambda about: about.pop("problem"),
    ],
)
def test_sweeps_that_are_none(change: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = plan(PROBLEM, Light(), {"light.number": range(3)}).manifest
    about = json.loads(json.dumps(manifest.about))
    change(about)
    Store(tmp_path / "store").add([encode(Record(manifest.key, about, manifest.arrays))])
    with pytest.raises(Damaged, match="does not describe a sweep"):
        sweeps_in(Store(tmp_path / "store"))
    for words in (["status"], ["gather", "--output", str(tmp_path / "all.csv")]):
        assert main(["store", *words, "--store", str(tmp_path / "store")]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert "does not describe a sweep" in line


def test_a_result_under_another_key_is_left_out(tmp_path: Path) -> None:
    """A result whose checksum fits, in the place of another."""
    swept = execute(plan(PROBLEM, Light(), {"light.number": range(2)}), tmp_path / "store", workers=0)
    store: Any = swept.store
    one, two = (point.key for point in swept.sweep.points)
    store._held.index = {**store._held.index, one: store._held.index[two]}
    with pytest.warns(UserWarning, match="another key"):
        values = swept.data["curve"].values
    assert np.isnan(values[0]).all()
    assert np.isfinite(values[1]).all()


@pytest.mark.parametrize("text", ["[" * 100_000, "", "5", "[]", '{"format": [1]}', '{"format": "a\\nb"}', "\udcff"])
def test_marks_that_are_none(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Store(tmp_path / "store")
    (tmp_path / "store" / "store.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ValueError, match=r"is damaged|a store of format"):
        Store(tmp_path / "store")
    assert main(["store", "status", "--store", str(tmp_path / "store")]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1

"""Repair and compaction lose no sound record, wherever the damage is and whoever writes badly."""

import errno
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from gate import first

sys.path.insert(0, str(Path(__file__).parent))
from light import PROBLEM, Light, rates
from test_faults import contents, flip, record

from solvable.cli.main import main
from solvable.sweeps import Store, execute, plan, segments
from solvable.sweeps.makers import maker_of
from solvable.sweeps.records import Damaged, Record, decode, encode, key_of

RECORDS = [encode(record(0, 2)), *(encode(Record(key_of(number), {"number": number})) for number in (1, 2))]
KEYS = [key_of(number) for number in range(3)]


@pytest.fixture(autouse=True)
def quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of small stores; whether they are brought to the disk is tested elsewhere."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


def segment(store: Path) -> Path:
    (path,) = (store / "segments").glob("*.seg")
    return path


def sound(store: Path) -> bytes:
    Store(store).add(RECORDS)
    return segment(store).read_bytes()


def mended(store: Path, damaged: bytes) -> tuple[Any, dict[bytes, bytes]]:
    """What `verify(repair=True)` says of a store with one damaged segment, and what can be read afterwards by anyone."""
    path = segment(store)
    whole = path.read_bytes()
    path.write_bytes(damaged)
    opened = Store(store)
    found = opened.verify(repair=True)
    after = contents(store)
    assert contents(opened) == after
    for key, content in after.items():
        assert decode(content, key).key == key
        assert opened.read(key).key == key
    assert not opened.verify()
    if found:
        assert (store / "damaged" / path.name).read_bytes() == damaged  # nothing is thrown away
    for left in (*(store / "segments").iterdir(), *store.glob("damaged/*")):
        left.unlink()
    path.write_bytes(whole)
    return found, after


def spans() -> list[tuple[int, int]]:
    begins = [len(segments.MAGIC)]
    for one in RECORDS:
        begins.append(begins[-1] + len(one))
    return list(pairwise(begins))


def flipped(whole: bytes) -> Iterator[tuple[bytes, set[int]]]:
    for at in range(len(whole)):
        changed = bytes([whole[at] ^ 1 << at % 8])
        yield whole[:at] + changed + whole[at + 1 :], {i for i, (a, b) in enumerate(spans()) if a <= at < b}


def cut(whole: bytes) -> Iterator[tuple[bytes, set[int]]]:
    for size in range(len(whole)):
        yield whole[:size], {i for i, (_, b) in enumerate(spans()) if size < b}


def missing(whole: bytes) -> Iterator[tuple[bytes, set[int]]]:
    for at in range(len(whole)):
        yield whole[:at] + whole[at + 1 :], {i for i, (a, b) in enumerate(spans()) if a <= at < b}


def added(whole: bytes) -> Iterator[tuple[bytes, set[int]]]:
    for at in range(len(whole) + 1):
        yield whole[:at] + b"\xa5" + whole[at:], {i for i, (a, b) in enumerate(spans()) if a < at < b}
    for more in (1, 39, 40, 48, 5000):
        yield whole + bytes(more), set()


@pytest.mark.parametrize("damages", first([flipped, cut, missing, added]))
def test_every_record_that_is_not_hit_is_kept(damages: Callable[[bytes], Any], tmp_path: Path) -> None:
    """At all positions of a byte flipped, missing or added, and of a cut: those that are hit are lost, and no others."""
    whole = sound(tmp_path / "store")
    count = 0
    for damaged, hit in damages(whole):
        if damaged == whole:
            continue
        (damage,), after = mended(tmp_path / "store", damaged)
        kept = {key for i, key in enumerate(KEYS) if i not in hit}
        assert set(after) == kept
        assert all(after[KEYS[i]] == RECORDS[i] for i in range(3) if i not in hit)
        assert damage.kept == len(kept)
        assert damage.lost == 0 if not hit else 1 <= damage.lost <= len(hit)
        count += 1
    assert count > 500


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: flip(path, 5),  # the first words
        lambda path: flip(path, path.stat().st_size - 100),  # the index
        lambda path: flip(path, path.stat().st_size - 10),  # its checksum
        lambda path: path.write_bytes(path.read_bytes() + b"x"),
        lambda path: path.write_bytes(path.read_bytes()[:-1]),
    ],
)
def test_results_of_all_sweeps_outlive_a_repair(
    spoil: Callable[[Path], Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two sweeps in one segment; one of them meets the damage and mends it, by itself or by the command."""
    file, store = tmp_path / "rates.toml", tmp_path / "store"
    file.write_text(rates(6))
    words = ["sweep", str(file), "--store", str(store), "--workers", "0"]
    assert main(words) == 0
    execute(plan(PROBLEM, Light(), {"light.number": range(5)}), store, workers=0)
    assert main(["store", "compact", "--store", str(store)]) == 0
    before = contents(store)
    assert len(before) == 13
    shutil.copytree(store, tmp_path / "second")
    spoil(segment(store))
    capsys.readouterr()
    assert main(["store", "verify", "--repair", "--store", str(store)]) == 0
    told = capsys.readouterr().out
    assert "lost: 0, kept: 13" in told
    assert "13 records" in told
    assert contents(store) == before
    spoil(segment(tmp_path / "second"))
    assert main([*words[:3], str(tmp_path / "second"), "--workers", "0"]) == 0
    assert contents(tmp_path / "second") == before


def test_a_store_that_is_open_sees_what_another_mended(tmp_path: Path) -> None:
    whole = sound(tmp_path / "store")
    path = segment(tmp_path / "store")
    path.write_bytes(whole[:-1])
    other = Store(tmp_path / "store")
    assert len(other) == 0
    Store(tmp_path / "store").verify(repair=True)
    other.refresh()
    assert contents(other) == dict(zip(KEYS, RECORDS, strict=True))


def test_a_file_that_is_open_may_be_replaced_by_a_sound_one(tmp_path: Path) -> None:
    whole = sound(tmp_path / "store")
    path = segment(tmp_path / "store")
    flip(path, len(segments.MAGIC) + 50)
    other = Store(tmp_path / "store")
    with pytest.raises(Damaged, match="verify --repair"):
        other.read(KEYS[0])
    assert other.read(KEYS[1]).about == {"number": 1}  # it is open now
    Store(tmp_path / "store").add(RECORDS)
    assert path.read_bytes() == whole
    assert other.read(KEYS[0]).about == {"number": 0}


def test_a_file_of_the_same_name_is_not_trusted(tmp_path: Path) -> None:
    """The same records again, while a damaged file bears the name: it is replaced."""
    for damage in (lambda path: flip(path, 300), lambda path: path.write_bytes(path.read_bytes()[:-1])):
        store = tmp_path / "store"
        sound(store)
        opened = Store(store)
        damage(segment(store))
        for writer in (opened, Store(store)):
            writer.add(RECORDS)
            assert contents(writer) == contents(store) == dict(zip(KEYS, RECORDS, strict=True))
            assert writer.read(KEYS[0]).about == {"number": 0}
        assert not Store(store).verify()
        shutil.rmtree(store)


def wrong_bytes(real: Any) -> Any:
    def write(handle: int, content: Any) -> int:
        spoilt = bytearray(content)
        spoilt[len(spoilt) // 2] ^= 1
        return int(real(handle, bytes(spoilt)))

    return write


def wrong_file(real: Any) -> Any:
    def replace(source: Any, target: Any) -> None:
        if str(target).endswith(".seg") and "damaged" not in str(target):
            flip(Path(source), Path(source).stat().st_size // 2)
        real(source, target)

    return replace


@pytest.mark.parametrize(("name", "spoil"), [("write", wrong_bytes), ("replace", wrong_file)])
def test_what_reads_back_otherwise_replaces_nothing(
    name: str, spoil: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A disk that writes other bytes, or spoils them later: compaction and repair end with an error and remove nothing."""
    store = Store(tmp_path / "store")
    for one in RECORDS:
        store.add([one])
    before = {path.name: path.read_bytes() for path in store._held.segments.iterdir()}
    with monkeypatch.context() as patch:
        patch.setattr(os, name, spoil(getattr(os, name)))
        with pytest.raises(OSError, match="Reads back otherwise") as caught:
            store.compact()
        assert caught.value.errno == errno.EIO
        assert main(["store", "compact", "--store", str(tmp_path / "store")]) == 2
        assert "Reads back otherwise" in capsys.readouterr().err
    after = {path.name: path.read_bytes() for path in store._held.segments.iterdir()}
    assert before.items() <= after.items()
    assert name == "replace" or before == after  # bytes that are wrong at once do not get a name
    assert contents(store) == dict(zip(KEYS, RECORDS, strict=True))
    assert store.read(KEYS[1]).about == {"number": 1}
    store.verify(repair=True)  # a spoilt file that got its name goes
    assert contents(tmp_path / "store") == dict(zip(KEYS, RECORDS, strict=True))
    assert store.compact() >= 3
    path = segment(tmp_path / "store")
    flip(path, len(segments.MAGIC) + 10)
    damaged = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(os, name, spoil(getattr(os, name)))
        with pytest.raises(OSError, match="Reads back otherwise"):
            Store(tmp_path / "store").verify(repair=True)
    assert path.read_bytes() == damaged
    Store(tmp_path / "store").verify(repair=True)
    assert len(contents(tmp_path / "store")) == 2


def test_a_segment_mended_meanwhile_is_put_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process writes the sound segment again just before the damaged one would be moved away."""
    whole = sound(tmp_path / "store")
    path = segment(tmp_path / "store")
    flip(path, len(segments.MAGIC) + 10)
    store, real = Store(tmp_path / "store"), segments.write

    def write(*arguments: Any) -> None:
        real(*arguments)
        path.write_bytes(whole)

    monkeypatch.setattr(segments, "write", write)
    store.verify(repair=True)
    assert contents(store) == contents(tmp_path / "store") == dict(zip(KEYS, RECORDS, strict=True))


def test_an_index_may_not_point_elsewhere(tmp_path: Path) -> None:
    """Checksums are no secret: an index with a fitting one may still name places outside the file, or other records."""
    store = Store(tmp_path / "store")
    built = segments.build(RECORDS)
    huge = RECORDS[0][:32] + (27).to_bytes(8, "little") + (1 << 62).to_bytes(8, "little")
    swapped = KEYS[1] + (27).to_bytes(8, "little") + len(RECORDS[0]).to_bytes(8, "little")
    for row, match in ((huge, None), (swapped, "another key")):
        body = built.content[: -(3 * segments.ENTRY + segments.FOOT)]
        index = row + len(body).to_bytes(8, "little")
        content = body + index + segments.hashlib.sha256(index).digest()
        path = store._held.segments / (segments.hashlib.sha256(content).hexdigest()[:32] + ".seg")
        path.write_bytes(content)
        opened = Store(tmp_path / "store")
        if match is None:
            assert len(opened) == 0
        else:
            with pytest.raises(Damaged, match=match):
                opened.read(KEYS[1])
        path.unlink()


def made_by(number: int, code: str) -> bytes:
    return encode(Record(key_of(number), {"made_by": {"code": code, "solvable": "0"}}, record(number).arrays))


def is_old(content: bytes) -> bool:
    return maker_of(content).code == "old"


def test_a_damaged_neighbour_of_old_results_is_not_kept(tmp_path: Path) -> None:
    """Written anew it would be a sound segment with a damaged record, which nothing mends."""
    Store(tmp_path / "store").add([made_by(number, "old") for number in range(3)])
    path = segment(tmp_path / "store")
    flip(path, segments.read_index(path)[key_of(1)].offset + 150)
    store = Store(tmp_path / "store")
    assert store.supersede({key_of(0)}, is_old) == 1
    assert [store.has(key_of(number)) for number in range(3)] == [False, False, True]
    assert not store.verify()
    assert list((tmp_path / "store" / "replaced").iterdir())


def test_a_process_that_comes_later_leaves_new_results(tmp_path: Path) -> None:
    """Both find the same old results; the first has computed one of them again when the second sets them aside."""
    first = Store(tmp_path / "store")
    first.add([made_by(0, "old"), made_by(1, "old"), made_by(2, "new")])
    second, keys = Store(tmp_path / "store"), {key_of(number) for number in range(3)}
    assert first.supersede(keys, is_old) == 2
    first.add([made_by(0, "new")])
    assert second.supersede(keys, is_old) == 0
    assert contents(tmp_path / "store") == {key_of(0): made_by(0, "new"), key_of(2): made_by(2, "new")}


@pytest.mark.parametrize("others", ["compact", "supersede"])
def test_files_that_go_while_old_results_are_set_aside(
    others: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process joins the segments, or replaces them too, between a look at the directory and one into them."""
    Store(tmp_path / "store").add([made_by(0, "old"), made_by(1, "new")])
    Store(tmp_path / "store").add([made_by(2, "old")])
    store, other, real = Store(tmp_path / "store"), Store(tmp_path / "store"), segments.inspect
    keys = {key_of(number) for number in range(3)}

    def meanwhile(path: Path) -> Any:
        monkeypatch.setattr(segments, "inspect", real)
        other.compact() if others == "compact" else other.supersede(keys, is_old)
        return real(path)

    monkeypatch.setattr(segments, "inspect", meanwhile)
    assert store.supersede(keys, is_old) == (2 if others == "compact" else 0)
    assert contents(store) == contents(tmp_path / "store") == {key_of(1): made_by(1, "new")}

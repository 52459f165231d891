"""Disks that fail, fill up and flip bits; processes that die; sweeps that meet in one store."""

import errno
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gate import first

sys.path.insert(0, str(Path(__file__).parent))
from light import PROBLEM, Light, rates

import solvable.sweeps.drive
import solvable.sweeps.engines
from solvable.cli.main import main
from solvable.sweeps import Damaged, Store, Sweep, execute, plan, segments, upkeep
from solvable.sweeps.engines import PointTask
from solvable.sweeps.records import Labelled, Record, encode, key_of

HERE = Path(__file__).parent


def light(points: int, **settings: Any) -> Sweep:
    return plan(PROBLEM, Light(**settings), {"light.number": range(points)})


def contents(store: Store | Path) -> dict[bytes, bytes]:
    opened = Store(store, create=False) if isinstance(store, Path) else store
    return {key: opened.encoded(key) for key in opened.keys()}  # noqa: SIM118


@pytest.mark.parametrize("name", ["open", "write", "fsync", "replace", "mkdir"])
def test_every_call_to_the_disk_may_fail(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The n-th call fails, for every n: a clean error, and the next run gives the same as one without failures."""
    monkeypatch.setattr(solvable.sweeps.drive, "FLUSH_SECONDS", 0.0)
    planned = light(6)
    execute(planned, tmp_path / "whole", workers=0)
    real, calls, fails_at = getattr(os, name), 0, 0

    def failing(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == fails_at:
            raise OSError(errno.EIO, "Input/output error")
        return real(*arguments, **options)

    for fails_at in range(1, 200):
        store, calls = tmp_path / f"{fails_at}", 0
        with monkeypatch.context() as patch:
            patch.setattr(os, name, failing)
            try:
                execute(planned, store, workers=0)
                ended = True
            except OSError as error:
                ended = error.errno != errno.EIO
        if not ended:
            assert not (store / "store.json").is_file() or not Store(store, create=False).verify()
            execute(planned, store, workers=0)
        assert contents(store) == contents(tmp_path / "whole")
        assert not list(store.rglob("*.part"))
        if ended:
            break
    assert fails_at > (2 if name == "mkdir" else 5)  # several calls were made to fail


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    mount = tmp_path / "disk"
    mount.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=500k", "none", str(mount)], capture_output=True).returncode:
        pytest.skip("may not mount file systems here")
    yield mount
    subprocess.run(["umount", str(mount)], check=True)


def test_full_and_read_only_disks(
    small_disk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(solvable.sweeps.drive, "FLUSH_SECONDS", 0.02)
    file, store = tmp_path / "rates.toml", small_disk / "store"
    file.write_text(rates(300))
    words = ["sweep", str(file), "--store", str(store), "--workers", "0"]
    assert main(words) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "No space left on device" in line
    there = len(Store(store, create=False))
    assert there > 50
    assert not Store(store, create=False).verify()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    assert main(words) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "Read-only file system" in line
    assert main(["store", "status", "--store", str(store)]) == 0  # one may look
    subprocess.run(["mount", "-o", "remount,rw,size=16m", str(small_disk)], check=True)
    assert main(words) == 0
    assert "300 of 300 points" in capsys.readouterr().out


def record(number: int, size: int = 30) -> Record:
    values = np.random.default_rng(number).standard_normal(size)
    return Record(key_of(number), {"number": number}, {"values": Labelled(("time",), values)})


def flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1 << random.Random(at).randrange(8)
    path.write_bytes(content)


def test_a_thousand_flipped_bytes_are_a_thousand_found(tmp_path: Path) -> None:
    store, dice = Store(tmp_path / "store"), random.Random(0)
    for group in range(10):
        store.add([encode(record(number)) for number in range(100 * group, 100 * group + 100)])
    for place in list(store._held.index.values()):
        flip(store._held.segments / place.segment, place.offset + dice.randrange(place.length))
    found = store.verify()
    assert sum(damage.lost for damage in found) == 1000
    assert sum(damage.kept for damage in found) == 0
    with pytest.raises(Damaged, match="solvable store verify --repair --store"):
        store.read(key_of(3))
    store.verify(repair=True)
    assert len(store) == 0
    assert len(list((tmp_path / "store" / "damaged").iterdir())) == 10


def test_any_byte_of_a_file_may_flip(tmp_path: Path) -> None:
    """Also in the index, the lengths and the first words: it is found, and no other record is lost."""
    store = Store(tmp_path / "store")
    store.add([encode(record(number, 2)) for number in range(3)])
    (path,) = store._held.segments.iterdir()
    sound = path.read_bytes()
    for at in range(len(sound)):
        flip(path, at)
        opened = Store(tmp_path / "store")
        (damage,) = opened.verify()
        assert damage.kept >= 2
        assert damage.kept + damage.lost == 3
        path.write_bytes(sound)
    for size in range(len(sound)):  # and it may be cut off
        path.write_bytes(sound[:size])
        (damage,) = Store(tmp_path / "store").verify()
        assert damage.lost >= 1 or damage.kept == 3
        path.write_bytes(sound)


def test_damaged_points_are_computed_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, store = tmp_path / "rates.toml", tmp_path / "store"
    file.write_text(rates(20))
    words = ["sweep", str(file), "--store", str(store), "--workers", "0"]
    assert main(words) == 0
    before = contents(store)
    opened = Store(store)
    place = max(opened._held.index.values())
    flip(opened._held.segments / place.segment, place.offset + place.length // 2)
    assert main(["store", "verify", "--store", str(store)]) == 1
    assert "records lost: 1" in capsys.readouterr().out
    assert main(words) == 0
    told = capsys.readouterr()
    assert "damaged" in told.err
    assert "compute it again" in told.err
    assert "20 of 20" in told.out
    assert contents(store) == before
    assert main(["store", "verify", "--store", str(store)]) == 0


def test_a_task_that_kills_its_worker_is_marked_and_the_rest_goes_on(tmp_path: Path) -> None:
    log = tmp_path / "log"
    swept = execute(light(40, deadly=(7, 23), wrong=(11,), log=str(log)), tmp_path / "store", workers=2)
    assert swept.status == (40, 37, 3)
    failures = swept.data["failure"].values
    assert list(np.flatnonzero(failures != "")) == [7, 11, 23]
    assert "worker died" in failures[7]
    assert failures[11] == "11 is a bad number"
    tries = [line.split()[1] for line in log.read_text().splitlines()]
    assert {tries.count("7"), tries.count("23")} <= {2, 3}  # twice alone, perhaps once among others
    again = execute(light(40, log=str(log)), tmp_path / "store", workers=2)
    assert again.status.failed == 3  # they are not tried again by themselves
    mended = execute(light(40), tmp_path / "store", workers=2, retry=True)
    assert mended.status == (40, 40, 0)
    assert mended.data["failure"].values.tolist() == [""] * 40


def test_one_worker_compiles_and_the_others_wait(tmp_path: Path) -> None:
    code, log = tmp_path / "code", tmp_path / "log"
    swept = execute(light(12, code=str(code), log=str(log), seconds=0.3), tmp_path / "store", workers=3)
    assert swept.status == (12, 12, 0)
    assert len(code.read_text().split()) == 1
    assert len({line.split()[0] for line in log.read_text().splitlines()}) > 1


@pytest.mark.parametrize(
    ("notes", "age", "is_over"),
    [(0, 60, False), (0, 130, True), (1, 5, False), (1, 15, True), (2, 60, False), (2, 130, True)],
)
def test_how_long_the_others_wait_for_the_first(notes: int, age: float, is_over: bool) -> None:
    """Ten seconds after it began, if nothing is compiled; two minutes after the last kernel, or while it starts."""
    pioneer = solvable.sweeps.engines._Pioneer()
    Path(pioneer._notes).write_bytes(b"." * notes)
    os.utime(pioneer._notes, (time.time() - age,) * 2)
    pioneer.look()
    assert pioneer.is_over == is_over
    pioneer.end()
    assert not os.path.exists(pioneer._notes)


def test_a_long_first_task_does_not_keep_the_others_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solvable.sweeps.engines, "NO_COMPILER", 0.1)
    (point,) = light(1, seconds=100.0).points
    engine = solvable.sweeps.engines.Processes(3)
    try:
        engine.submit((PointTask(point.key, point.problem, point.measure),))
        assert engine.width == 1
        wait_for(lambda: engine.width == 3)
        assert not engine.finished(0.0)
    finally:
        engine.close()


def process(words: list[str], **options: Any) -> "subprocess.Popen[bytes]":
    paths = [str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.Popen([sys.executable, *words], cwd=HERE, env=environment, start_new_session=True, **options)


def wait_for(condition: Callable[[], Any], seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "nothing happened"
        time.sleep(0.02)


def stop(*processes: "subprocess.Popen[bytes]") -> None:
    for one in processes:
        if one.poll() is None:
            os.killpg(one.pid, signal.SIGKILL)
        one.wait()


def test_two_sweeps_and_shards_meet_in_one_store(tmp_path: Path) -> None:
    store, log = tmp_path / "store", tmp_path / "log"
    words = [str(HERE / "lives.py"), str(store), str(log), "150", "0.005", "0"]
    both = [process(words) for _ in range(2)]
    assert [one.wait() for one in both] == [0, 0]
    execute(light(150), tmp_path / "whole", workers=0)
    assert contents(store) == contents(tmp_path / "whole")
    assert len(contents(store)) == 151  # with the sweep itself
    for i, done in ((3, 51), (1, 101), (2, 151)):
        execute(light(150), tmp_path / "shards", workers=0, shard=(i, 3))
        assert len(contents(tmp_path / "shards")) == done
    assert contents(tmp_path / "shards") == contents(tmp_path / "whole")


def test_compaction_beside_a_reader(tmp_path: Path) -> None:
    writer = Store(tmp_path / "store")
    for number in range(50):
        writer.add([encode(record(number))])
    reader = Store(tmp_path / "store")
    assert len(list(writer._held.segments.iterdir())) == 50
    assert writer.compact() == 50
    assert len(list(writer._held.segments.iterdir())) == 1
    assert [reader.read(key_of(number)).about["number"] for number in range(50)] == list(range(50))
    for number in range(50, 300):  # by itself, when there are many
        writer.add([encode(record(number))])
    assert len(list(writer._held.segments.iterdir())) < 70
    assert len(Store(tmp_path / "store")) == 300


def test_two_compactors_with_different_views(tmp_path: Path) -> None:
    """A record that is there twice survives, whichever copy each of them knows."""
    first = Store(tmp_path / "store")
    first.add([encode(record(number)) for number in (0, 1)])
    first.add([encode(record(number)) for number in (1, 2)])
    first.add([encode(record(3))])
    second = Store(tmp_path / "store")
    names = sorted(first._held.known)
    assert upkeep.join(first._held, names[:2]) == 2
    assert upkeep.join(second._held, names[1:]) in (0, 2)
    for store in (first, second, Store(tmp_path / "store")):
        store.refresh()
        assert [store.read(key_of(number)).about["number"] for number in range(4)] == [0, 1, 2, 3]


@pytest.mark.parametrize("which", [0, 1])
def test_compaction_keeps_the_sound_copy(which: int, tmp_path: Path) -> None:
    """Whichever of two copies is damaged, and whatever else there is to join."""
    store = Store(tmp_path / "store")
    store.add([encode(record(number)) for number in (0, 1)])
    store.add([encode(record(number)) for number in (1, 2)])
    place = segments.read_index(store._held.segments / sorted(store._held.known)[which])[key_of(1)]
    store.add([encode(record(3))])
    flip(store._held.segments / place.segment, place.offset + place.length // 2)
    assert store.compact() == 2
    store.verify(repair=True)
    assert sorted(store.read(key).about["number"] for key in store.keys()) == [0, 1, 2, 3]  # noqa: SIM118
    assert not store.verify()


def test_many_processes_compact_at_once(tmp_path: Path) -> None:
    Store(tmp_path / "store")
    both = [process([str(HERE / "crowd.py"), str(tmp_path / "store"), str(i)]) for i in range(3)]
    assert [one.wait() for one in both] == [0, 0, 0]
    store = Store(tmp_path / "store")
    assert not store.verify()
    assert sorted(store.read(key).about["number"] for key in store.keys()) == list(range(200))  # noqa: SIM118


def test_slow_points_after_fast_ones_are_stored_as_they_come(tmp_path: Path) -> None:
    """Chunks have grown when the slow ones come; none waits for the rest of its chunk."""
    stored: list[float] = []
    planned = plan(
        PROBLEM, Light(), {"light.number": range(420)},
        derive={"light.seconds": lambda at: 0.0 if at["light.number"] < 400 else 0.3},
    )  # fmt: skip
    execute(planned, tmp_path / "store", workers=0, stored=lambda keys: stored.append(time.monotonic()))
    assert len(stored) > 6
    assert max(np.diff(stored)) < 3.0


@pytest.mark.parametrize("number", first([signal.SIGINT, signal.SIGTERM]))
def test_asked_to_end(number: int, tmp_path: Path) -> None:
    file, store = tmp_path / "rates.toml", tmp_path / "store"
    file.write_text(rates(20000))
    words = [sys.executable, "-m", "solvable.cli.main", "sweep", str(file), "--store", str(store), "--workers", "1"]
    running = subprocess.Popen(words, stderr=subprocess.PIPE, start_new_session=True, preexec_fn=restore_signals)
    try:
        wait_for(lambda: len(list(store.glob("segments/*.seg"))) > 2)
        running.send_signal(number)
        told = running.communicate(timeout=30)[1].decode()
    finally:
        stop(running)
    assert running.returncode == 130
    assert "of 20000 points are stored; the same command continues" in told
    assert "Traceback" not in told
    assert not Store(store).verify()


def restore_signals() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.full
def test_dask_with_a_worker_killed(tmp_path: Path) -> None:
    """Two real worker processes; one is killed in the middle, a third joins. Not a bit differs."""
    pytest.importorskip("distributed")
    address = tmp_path / "scheduler.json"
    quiet: dict[str, Any] = {"stderr": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
    scheduler = process(
        ["-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
         "--scheduler-file", str(address)],
        **quiet,
    )  # fmt: skip
    workers: list[subprocess.Popen[bytes]] = []
    sweep = None
    try:
        wait_for(address.exists)

        def worker() -> "subprocess.Popen[bytes]":
            words = ["-m", "distributed.cli.dask_worker", "--scheduler-file", str(address), "--nthreads", "1"]
            return process([*words, "--no-nanny", "--no-dashboard", "--local-directory", str(tmp_path)], **quiet)

        workers += [worker(), worker()]
        sweep = process([str(HERE / "cluster.py"), str(tmp_path / "store"), str(address), "400", "0.01"])
        wait_for(lambda: len(list((tmp_path / "store").glob("segments/*.seg"))) > 1)
        stop(workers[0])
        workers.append(worker())
        assert sweep.wait(timeout=120) == 0
    finally:
        stop(*workers, scheduler, *([sweep] if sweep else []))
    execute(light(400), tmp_path / "whole", workers=0)
    assert contents(tmp_path / "store") == contents(tmp_path / "whole")


def test_what_cannot_travel_is_said(tmp_path: Path) -> None:
    planned = plan(PROBLEM, Light(), {"light.number": range(3)}, derive={"light.log": lambda at: Unsendable()})
    with pytest.raises(ValueError, match="workers: a point cannot be sent to one"):
        execute(planned, tmp_path / "store", workers=1)
    assert not Store(tmp_path / "store").verify()


class Unsendable(str):
    def __reduce__(self) -> Any:
        raise TypeError("stays here")


def test_a_manifest_is_mended(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    execute(light(3), store, workers=0)
    place = store._held.index[light(3).manifest.key]
    flip(store._held.segments / place.segment, place.offset + place.length // 2)
    with pytest.warns(UserWarning, match="damaged"):
        swept = execute(light(3), tmp_path / "store", workers=0)
    assert swept.status == (3, 3, 0)
    assert not Store(tmp_path / "store").verify()


def test_a_dataset_leaves_out_what_is_damaged(tmp_path: Path) -> None:
    swept = execute(light(3), tmp_path / "store", workers=0)
    place = swept.store._held.index[swept.sweep.points[1].key]  # type: ignore[attr-defined]
    flip(tmp_path / "store" / "segments" / place.segment, place.offset + place.length - 40)
    with pytest.warns(UserWarning, match="left out"):
        values = swept.data["curve"].values
    assert np.isnan(values).all(axis=1).tolist() == [False, True, False]


def test_failures_that_may_pass_are_tried_again(tmp_path: Path) -> None:
    planned = plan(
        PROBLEM,
        Light(),
        {"light.number": range(3)},
        derive={"light.seconds": lambda at: "x" if at["light.number"] == 1 else 0.0},
    )
    assert execute(planned, tmp_path / "store", workers=0).status == (3, 2, 1)
    assert execute(light(3), tmp_path / "store", workers=0).status == (3, 3, 0)


def test_no_cluster(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="does not exist"):
        execute(light(2), tmp_path / "store", cluster="nothere.json")

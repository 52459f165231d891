"""What is said to be on the disk has been brought there, in the right order; and what killed writers leave is cleaned away.

A shim notes every call that matters. The rules by which a log is judged are those of POSIX: content is on the disk after fsync of
the file, a name after fsync of the directory that holds it.
"""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from light import PROBLEM
from test_faults import flip, record

import solvable as sv
from solvable.results import files
from solvable.sweeps import Store
from solvable.sweeps.records import encode


class Disk:
    """Notes what is asked of the system; forgets the sync number `drop`, which it does not do."""

    def __init__(self, patch: pytest.MonkeyPatch, drop: int | None = None) -> None:
        self.events: list[tuple[str, ...]] = []
        self.syncs = 0
        self._drop = drop
        for name in ("fsync", "replace", "mkdir", "write", "unlink"):
            patch.setattr(os, name, getattr(self, name)(getattr(os, name)))

    def note(self, *event: str) -> None:
        self.events.append(event)

    def fsync(self, real: Any) -> Any:
        def fsync(handle: int) -> None:
            self.syncs += 1
            if self.syncs - 1 != self._drop:
                self.note("sync", os.path.realpath(f"/proc/self/fd/{handle}"))
            real(handle)

        return fsync

    def replace(self, real: Any) -> Any:
        def replace(source: Any, target: Any) -> None:
            self.note("replace", os.path.abspath(source), os.path.abspath(target))
            real(source, target)

        return replace

    def mkdir(self, real: Any) -> Any:
        def mkdir(path: Any, *options: Any, **named: Any) -> None:
            real(path, *options, **named)
            self.note("mkdir", os.path.abspath(path))

        return mkdir

    def write(self, real: Any) -> Any:
        def write(handle: int, content: Any) -> int:
            self.note("write", os.path.realpath(f"/proc/self/fd/{handle}"))
            return int(real(handle, content))

        return write

    def unlink(self, real: Any) -> Any:
        def unlink(path: Any, **named: Any) -> None:
            real(path, **named)
            self.note("unlink", os.path.abspath(path))

        return unlink


def mistakes(events: list[tuple[str, ...]]) -> list[str]:
    """What a crash could undo although it was relied upon: by a rename, by the removal of a file, or by the caller at the end."""
    found: list[str] = []
    unsynced: set[str] = set()  # content
    unnamed: dict[str, str] = {}  # directory: what was done in it
    for event, *paths in [*events, ("end", "the end")]:
        if event == "sync":
            unsynced.discard(paths[0])
            unnamed.pop(paths[0], None)
        if event == "write":
            unsynced.add(paths[0])
        if event in ("replace", "end") or (event == "unlink" and not paths[0].endswith(".part")):
            found += [f"{what} is not on the disk before {event} of {paths[0]}" for what in unnamed.values()]
        if event == "replace":
            if paths[0].endswith(".part") and ("sync", paths[0]) not in events[: events.index((event, *paths))]:
                found.append(f"{paths[0]} was never synced")
            if paths[0] in unsynced:
                found.append(f"{paths[0]} is renamed before it is synced")
            unnamed |= {os.path.dirname(path): f"{event} to {paths[1]}" for path in paths}
        if event == "mkdir":
            unnamed[os.path.dirname(paths[0])] = f"{event} of {paths[0]}"
    return found


def new_store(place: Path) -> None:
    Store(place / "above" / "store").add([encode(record(0))])


def more_records(place: Path) -> None:
    Store(place / "old").add([encode(record(5))])


def compaction(place: Path) -> None:
    assert Store(place / "old").compact() == 2


def repair(place: Path) -> None:
    (path, *_) = sorted((place / "old" / "segments").iterdir())
    flip(path, 40)
    (damage,) = Store(place / "old").verify(repair=True)
    assert (damage.lost, damage.kept) == (1, 1)


def repair_in_place(place: Path) -> None:
    (path, *_) = sorted((place / "old" / "segments").iterdir())
    flip(path, 5)
    (damage,) = Store(place / "old").verify(repair=True)
    assert (damage.lost, damage.kept) == (0, 2)


def trajectory(place: Path) -> None:
    followed().save(place / "run.nc")


def directories(place: Path) -> None:
    files.make_directory(place / "a" / "b" / "c")


@cache
def followed() -> sv.Trajectory:
    return sv.run(PROBLEM, sv.start(PROBLEM, seed=0), sv.Macro(), until=1)


@pytest.mark.parametrize("act", [new_store, more_records, compaction, repair, repair_in_place, trajectory, directories])
def test_everything_is_on_the_disk_before_it_is_relied_upon(act: Callable[[Path], None], tmp_path: Path) -> None:
    """And no sync is for nothing: without any one of them the rules are broken, so a sync that goes missing is noticed here."""

    def log(drop: int | None) -> Disk:
        place = tmp_path / f"{drop}"
        place.mkdir()
        old = Store(place / "old")
        for numbers in ((1, 2), (3, 4)):
            old.add([encode(record(number)) for number in numbers])
        with pytest.MonkeyPatch.context() as patch:
            disk = Disk(patch, drop)
            act(place)
        return disk

    whole = log(None)
    assert mistakes(whole.events) == []
    assert whole.syncs >= 2
    for drop in range(whole.syncs):
        assert mistakes(log(drop).events), f"sync {drop} of {whole.syncs} may go missing"


def test_a_segment_that_is_there_already_is_brought_to_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its writer may have been killed between the rename and the sync of the directory."""
    Store(tmp_path / "store").add([encode(record(0))])
    disk = Disk(monkeypatch)
    Store(tmp_path / "store").add([encode(record(0))])
    assert disk.events == [("sync", str(tmp_path / "store" / "segments"))]


def test_a_store_half_made_is_made_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process made the directories and was killed before they were on the disk."""
    (tmp_path / "store" / "segments").mkdir(parents=True)
    disk = Disk(monkeypatch)
    Store(tmp_path / "store")
    assert disk.events[0] == ("sync", str(tmp_path / "store"))


def left(directory: Path, host: str, process: int, hours: float) -> Path:
    """A file that was last written so long ago, by the clock of the file system."""
    path = directory / f".{host}~{process}~abc.part"
    path.write_bytes(b"half")
    then = path.stat().st_mtime - 3600 * hours
    os.utime(path, (then, then))
    return path


def dead() -> int:
    """The number of a process that was."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    return ended.pid


@pytest.mark.parametrize("shift", [0.0, -1e6, 1e6])
def test_what_killed_writers_leave_goes_by_age(shift: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock of this machine does not matter, nor does the age of a file whose writer lives."""
    store, here, gone = tmp_path / "store", socket.gethostname(), dead()
    Store(store)
    (store / "damaged").mkdir()
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + shift)
    for directory in (store, store / "segments", store / "damaged"):
        stale = [left(directory, here, gone, 25.0), left(directory, "elsewhere", os.getpid(), 25.0)]
        old = directory / ".tmpabc.part"  # as names were before
        old.write_bytes(b"")
        os.utime(old, (1e9, 1e9))
        kept = [
            left(directory, here, os.getpid(), 1000.0),
            left(directory, "elsewhere", gone, 23.0),
        ]
        Store(store)
        assert not any(path.exists() for path in (*stale, old))
        assert all(path.exists() for path in kept)
        assert len(list(directory.glob(".*"))) == len({*kept})


def test_a_writer_names_itself(tmp_path: Path) -> None:
    seen: list[str] = []
    files.write_whole(tmp_path / "a", lambda path: seen.append(os.path.basename(path)))
    found = files.UNFINISHED.fullmatch(seen[0])
    assert found is not None
    assert (found["host"], int(found["process"])) == (socket.gethostname(), os.getpid())

"""Two processes never compile the same kernel at once: one does, the other takes its file."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from solvable.numerics import file_locks
from solvable.numerics.file_locks import locked
from solvable.numerics.trusted_files import MARK


def never() -> bool:
    return False


def nobody_waits() -> None:
    raise AssertionError("the lock was free")


def test_a_lock_is_a_file_while_it_is_held(tmp_path) -> None:
    path = tmp_path / "kernels" / "one.lock"
    with locked(path, never, nobody_waits):
        assert path.read_bytes() == MARK
        assert path.stat().st_mode & 0o077 == 0
    assert not path.exists()
    with pytest.raises(KeyError), locked(path, never, nobody_waits):
        raise KeyError
    assert not path.exists()


def test_one_goes_in_at_a_time(tmp_path) -> None:
    """Eight at once, also while the file is removed and made again."""
    path, inside, most, waited = tmp_path / "one.lock", [0], [0], []

    def work() -> None:
        for _ in range(20):
            with locked(path, never, lambda: (waited.append(1), time.sleep(0.0005))):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                time.sleep(0.0005)
                inside[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1]
    assert waited


def test_whoever_needs_it_no_more_does_not_wait_on(tmp_path, monkeypatch) -> None:
    path, waited = tmp_path / "one.lock", []
    with locked(path, never, nobody_waits):
        with locked(path, lambda: len(waited) == 3, lambda: waited.append(1)):
            assert len(waited) == 3
        assert path.exists()  # it was not theirs
        monkeypatch.setattr(file_locks, "LONGEST", 0.05)
        with locked(path, never, lambda: time.sleep(0.01)):
            assert path.exists()


def test_an_owner_that_is_killed_leaves_no_lock(tmp_path) -> None:
    path = tmp_path / "one.lock"
    code = f"""
import fcntl, time
file = open({str(path)!r}, "w")
fcntl.flock(file, fcntl.LOCK_EX)
print("locked", flush=True)
time.sleep(60)
"""
    owner = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    assert owner.stdout.readline() == "locked\n"
    waited = []

    def wait() -> None:
        if not waited:
            os.kill(owner.pid, signal.SIGKILL)
        waited.append(1)
        time.sleep(0.01)

    with locked(path, never, wait):
        assert waited
    owner.communicate()


def test_the_lock_of_a_file_that_is_gone_is_none(tmp_path, monkeypatch) -> None:
    """Its owner has removed it between opening and locking: others lock a new one."""
    import fcntl

    path, real, waited = tmp_path / "one.lock", fcntl.flock, []

    def flock(handle: int, how: int) -> None:
        if not waited:
            path.unlink()
        real(handle, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    with locked(path, never, lambda: waited.append(1)):
        assert path.exists()
    assert waited == [1]


def test_where_there_are_no_locks_nobody_waits(tmp_path, monkeypatch) -> None:
    import fcntl

    def refuse(*_) -> None:
        raise OSError(37, "No locks available")

    (tmp_path / "file").write_text("no directory")
    with locked(tmp_path / "file" / "one.lock", never, nobody_waits):
        pass
    monkeypatch.setattr(fcntl, "flock", refuse)
    with (
        locked(tmp_path / "one.lock", never, nobody_waits),
        locked(tmp_path / "one.lock", never, nobody_waits),
    ):
        pass
    assert not (tmp_path / "one.lock").exists()


KERNELS = """
from solvable.numerics.compiled import compiled

@compiled()
def shared(x):
    for _ in range(3):
        x = x * x + 1.0
    return x

@compiled("float64(float64)")
def first(x):
    return shared(x) + 1.0

@compiled("float64(float64)")
def second(x):
    return shared(x) - first(x)
"""
BOTH = """
import json, os, sys, time
import kernels
from solvable.numerics import compiled
compiled.announce(False)
waits = []
before = compiled._wait
compiled._wait = lambda kernel: (waits.append(kernel.__name__), before(kernel))
compile_ = kernels.shared._compiler.compile
kernels.shared._compiler.compile = lambda *given: (time.sleep(0.3), compile_(*given))[1]  # so that the other one comes
print("ready", flush=True)
sys.stdin.readline()
value = kernels.second(1.0) if sys.argv[1] == "second" else kernels.first(1.0)
made = {name: sum(getattr(kernels, name).stats.cache_misses.values()) for name in ("shared", "first", "second")}
print(json.dumps([value, made, sorted(set(waits))]))
"""


def test_two_processes_compile_each_kernel_once(tmp_path) -> None:
    """One needs an entry that the other compiles, and an inner kernel of both."""
    (tmp_path / "kernels.py").write_text(KERNELS)
    settings = {**os.environ, "SOLVABLE_CACHE_DIR": str(tmp_path / "cache"), "SOLVABLE_PATIENCE": "0"}
    settings["PYTHONPATH"] = os.pathsep.join([str(tmp_path), settings.get("PYTHONPATH", "")])
    running = [
        subprocess.Popen(
            [sys.executable, "-c", BOTH, name],
            env=settings, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for name in ("first", "second")
    ]  # fmt: skip
    for process in running:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in running:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    told = [json.loads(process.communicate()[0]) for process in running]
    assert [value for value, *_ in told] == [27.0, -1.0]
    assert {name: sum(made[name] for _, made, _ in told) for name in told[0][1]} == {
        "shared": 1,
        "first": 1,
        "second": 1,
    }
    assert any(waits for *_, waits in told)
    assert [path.suffix for path in Path(tmp_path / "cache").glob("*/*")] == [".bin"] * 3

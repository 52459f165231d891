"""Whatever ends a sweep, nothing that was stored is lost or computed again, and the results are the same to the bit."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from gate import first

sys.path.insert(0, str(Path(__file__).parent))
from light import PROBLEM, Light

from solvable.sweeps import Store, execute, plan

HERE = Path(__file__).parent


def begin(store: Path, log: Path, points: int, seconds: float, workers: int) -> "subprocess.Popen[bytes]":
    words = [sys.executable, str(HERE / "lives.py"), str(store), str(log), str(points), str(seconds), str(workers)]
    return subprocess.Popen(words, start_new_session=True, cwd=HERE)


def lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines() if Path(path).exists() else []


def all_records(store: Path) -> dict[bytes, bytes]:
    opened = Store(store, create=False)
    return {key: opened.encoded(key) for key in opened.keys()}  # noqa: SIM118


def killed_over_and_over(tmp_path: Path, kills: int, workers: int) -> None:
    store, log, dice, points = tmp_path / "store", tmp_path / "log", random.Random(workers), 100 * kills
    computed: Counter[str] = Counter()
    stored: set[str] = set()
    for life in range(kills + 1):
        # slow enough that the kills fall into the middle, then fast to the end
        process = begin(store, log, points, 0.02 if life < kills else 0.0, workers)
        if life < kills:
            until = time.monotonic() + 60
            while len(lines(f"{log}.stored")) == len(stored) and time.monotonic() < until:
                time.sleep(0.005)  # every life gets somewhere
            time.sleep(dice.uniform(0.0, 0.3))
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        now = Counter(line.split()[1] for line in lines(f"{log}.computed"))
        again = [number for number in stored if now[number] > computed[number]]
        assert not again, f"stored and computed again: {again}"
        computed, stored = now, set(lines(f"{log}.stored"))
        opened = Store(store, create=False)
        assert len(opened) > len(stored)  # with the sweep itself
        assert not opened.verify()
    assert lines(f"{log}.ended") == ["ended"]
    whole = tmp_path / "whole"
    execute(plan(PROBLEM, Light(), {"light.number": range(points)}), whole, workers=0, progress=False)
    assert all_records(store) == all_records(whole)


@pytest.mark.parametrize(("workers", "times"), first([(0, 2), (0, 10), (2, 10)]))
def test_killed_some_times(tmp_path: Path, workers: int, times: int) -> None:
    killed_over_and_over(tmp_path, times, workers)


@pytest.mark.slow
@pytest.mark.parametrize(("workers", "times"), [(0, 100), (2, 200)])
def test_killed_hundreds_of_times(tmp_path: Path, workers: int, times: int) -> None:
    killed_over_and_over(tmp_path, times, workers)

"""What a sweep costs beside the runs themselves, and what its store costs beside a file for each point. With a number as argument:
what a grid of so many points costs that compute nothing."""

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from common import interleaved, report

import solvable as sv
from solvable.sweeps import Store, execute, plan
from solvable.sweeps.engines import PointTask, work
from solvable.sweeps.measures import Run
from solvable.sweeps.records import Labelled
from solvable.sweeps.sweep import run_measure

POINTS = 300
LARGE = 30_000


@dataclass(frozen=True)
class Nothing:
    """A measure that computes nothing."""

    number: int = 0

    parts = ("nothing",)

    def look(self, name: str) -> Any:
        return getattr(self, name.partition(".")[2])

    def vary(self, changes: Mapping[str, Any]) -> "Nothing":
        return replace(self, **{name.partition(".")[2]: value for name, value in changes.items()})

    def settle(self, problem: sv.Problem) -> "Nothing":  # noqa: ARG002
        return self

    def content(self, problem: sv.Problem) -> dict[str, Any]:
        return {"kind": "nothing", "number": self.number, "problem": problem.hash}

    def compute(self, problem: sv.Problem) -> dict[str, Labelled]:
        return {"rate": Labelled((), np.array(problem.training.learning_rate))}


def large(points: int) -> None:
    """Begun, and then begun again with everything there, each in a process of its own."""
    store = Path(tempfile.mkdtemp()) / "store"
    print(f"\n{points} points that compute nothing, here")
    for what in ("all to do", "all there"):
        words = [sys.executable, __file__, str(points), str(store)]
        told = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        print(f"  {what}: {told.strip()}")


def once(points: int, store: str) -> None:
    begin, cpu, first = time.perf_counter(), time.process_time(), list[float]()
    problem = sv.problems.convention("bocchi2026").problem(p=6, p_star=3, eta=0.1)
    numbers = min(points, 1000)
    vary = {"training.learning_rate": np.linspace(0.05, 0.15, points // numbers), "nothing.number": range(numbers)}
    planned = plan(problem, Nothing(), vary)
    execute(planned, store, workers=0, progress=False, stored=lambda _: first.append(time.perf_counter() - begin))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    early = f"the first stored after {first[0]:.1f} s, " if first else ""
    print(f"{early}{time.process_time() - cpu:.1f} s of CPU in all, at most {peak:.0f} MB of memory")


def main() -> None:
    problem = sv.problems.convention("bocchi2026").problem(p=6, p_star=3, eta=0.1)
    rates = np.linspace(0.05, 0.15, POINTS)
    measure: Run = run_measure(
        sv.Macro(rtol=1e-6), {"seed": 0, "students": "orthogonal", "cross": 0.01}, 1, 50.0, None, None, None, ("risk",)
    )
    planned = plan(problem, measure, {"training.learning_rate": rates})
    start = sv.start(problem, seed=0, students="orthogonal", cross=0.01)
    directory = Path(tempfile.mkdtemp())
    numbers = iter(range(10**6))

    def loop() -> None:
        for rate in rates:
            sv.run(problem.replace(training__learning_rate=float(rate)), start, sv.Macro(rtol=1e-6), 50.0)

    def swept() -> None:
        execute(planned, directory / f"{next(numbers)}", workers=0, progress=False)

    times = interleaved({"a plain loop over run": loop, "a sweep with a store on disk, here": swept}, repeats=3)
    report(f"{POINTS} points (quadratic 6/3, alpha = 50, rtol 1e-6), CPU", times, "a sweep with a store on disk, here")
    gap = (times["a sweep with a store on disk, here"] - times["a plain loop over run"]) / POINTS
    print(f"  overhead per point: {1e3 * gap:.2f} ms of CPU")
    for workers in (1, 2):
        begin = time.perf_counter()
        execute(planned, directory / f"{next(numbers)}", workers=workers, progress=False)
        print(f"  with {workers} worker processes, their start included: {time.perf_counter() - begin:.2f} s")

    records = work(tuple(PointTask(point.key, point.problem, point.measure) for point in planned.points))[0]
    risk = np.random.default_rng(0).standard_normal((1, 201))

    def segments() -> None:
        store = Store(directory / f"{next(numbers)}")
        for i in range(0, POINTS, 50):
            store.add(records[i : i + 50])

    def archives() -> None:
        place = directory / f"{next(numbers)}"
        place.mkdir()
        for i in range(POINTS):
            np.savez(place / f"{i}.npz", risk=risk, exit_time=risk[:, 0], end_time=risk[:, 0])

    times = interleaved(
        {"our store, on the disk and checked": segments, "np.savez, one file each, not synced": archives}, repeats=3
    )
    report(f"{POINTS} records", times, "our store, on the disk and checked")
    full = Store(directory / f"{next(numbers)}")
    full.add(records)
    keys = list(full.keys())
    begin = time.process_time()
    for key in keys:
        full.read(key)
    print(f"  reading with checksum: {1e6 * (time.process_time() - begin) / POINTS:.0f} microseconds a record")
    large(LARGE)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        once(int(sys.argv[1]), sys.argv[2])
    elif len(sys.argv) == 2:
        large(int(sys.argv[1]))
    else:
        main()

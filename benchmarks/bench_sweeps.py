"""What a sweep costs beside the runs themselves, and what its store costs beside a file for each point."""

import tempfile
import time
from pathlib import Path

import numpy as np
from common import interleaved, report

import solvable as sv
from solvable.sweeps import Store, plan
from solvable.sweeps.engines import Task, work
from solvable.sweeps.measures import Run
from solvable.sweeps.sweep import execute, run_measure

POINTS = 300


def main() -> None:
    problem = sv.convention("bocchi2026").problem(p=6, p_star=3, eta=0.1)
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

    records = work(tuple(Task(point.key, point.problem, point.measure) for point in planned.points))[0]
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


if __name__ == "__main__":
    main()

"""Plain problems in two versions of the sources: what features cost where they are off.

`python benchmarks/versions.py OTHER/src [rounds]`. Each round starts a process for the other version, for this one and for this one
again, in random order; what is told is the median over rounds of the ratio of CPU times. The ratio of this version to itself says
how far numbers can be trusted. The other version needs `sv.run`, `sv.Macro`, `sv.Micro` and `sv.Meso`, no more; runs are short, so
that what Python does around kernels counts.
"""

import json
import os
import random
import statistics
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

HERE = Path(__file__).parent.parent / "src"
REPEATS = 7


def contestants():
    import solvable as sv

    def made(unit, p, q, **training):
        problem = sv.Problem(
            teacher=sv.Teacher(width=q, activation=unit), student=sv.Student(width=p, activation=unit),
            inputs=sv.Inputs(dim=10**4), training=sv.Training(learning_rate=0.05, **training),
        )  # fmt: skip
        return problem, sv.start(problem, seed=0)

    def repeated(count, *arguments, **words):
        for _ in range(count):
            sv.run(*arguments, **words)

    def each(cases, *arguments, **words):
        for problem, start in cases:
            sv.run(problem, start, *arguments, **words)

    calls = {}
    for unit in ("linear", "quadratic", "erf"):
        few, many = made(unit, 4, 2), made(unit, 6, 3)
        steps = {"times": [20_000], "clock": "steps", "progress": False}
        calls[f"Macro, 40 short runs, {unit}"] = partial(repeated, 40, *few, sv.Macro(), until=100)
        calls[f"Macro, 400 runs of one step, {unit}"] = partial(repeated, 400, *many, sv.Macro(), until=1e-6)
        calls[f"Macro, wide, {unit}"] = partial(repeated, 1, *made(unit, 16, 8), sv.Macro(rtol=1e-10), until=200)
        calls[f"Micro, {unit}"] = partial(repeated, 1, *many, sv.Micro(runs=8, threads=1), **steps)
        calls[f"Meso, {unit}"] = partial(repeated, 1, *many, sv.Meso(runs=32, threads=1), until=20, progress=False)
    fresh = [made("quadratic", 6, 3, label_noise=0.01 * i) for i in range(200)]
    calls["Macro, 200 problems, one step"] = partial(each, fresh, sv.Macro(), until=1e-6)
    batch = made("quadratic", 6, 3, batch=5)
    few_steps = {"times": [5000], "clock": "steps", "progress": False}
    calls["Micro, batches of 5"] = partial(repeated, 1, *batch, sv.Micro(runs=8, threads=1), **few_steps)
    return calls


def measure() -> None:
    """Print the CPU seconds of the fastest repeat of each contestant."""
    best = {}
    calls = contestants()
    for name, call in [*calls.items()] * (REPEATS + 1):
        begin = time.process_time()
        call()
        best.setdefault(name, []).append(time.process_time() - begin)
    print(json.dumps({name: min(seconds[1:]) for name, seconds in best.items()}))  # the first is for warming up


def timed(source: Path) -> dict[str, float]:
    """What `measure` finds with these sources."""
    words = {**os.environ, "PYTHONPATH": str(source), "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, __file__], env=words, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def compare(other: Path, rounds: int) -> None:
    sources, found = {"other": other, "this": HERE, "again": HERE}, {}
    for _ in range(rounds):
        for name in random.sample(list(sources), len(sources)):
            found.setdefault(name, []).append(timed(sources[name]))
    print(f"CPU time, medians over {rounds} rounds{'this/other':>24s}{'this/itself':>14s}")
    for name in found["this"][0]:
        ratios = [
            statistics.median(one[name] / two[name] for one, two in zip(found[top], found[bottom], strict=True))
            for top, bottom in (("this", "other"), ("again", "this"))
        ]
        print(f"  {name:45s}{ratios[0]:14.3f}{ratios[1]:14.3f}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        compare(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 9)
    else:
        measure()

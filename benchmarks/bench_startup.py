"""What it costs to begin, in CPU time of fresh processes and all that they start.

With machine code at hand: beside a bare interpreter. With nothing cached anywhere: in units of a process that compiles two small
functions with Numba, which is measured beside each; the numbers to reach stand in the last column. `warm-up --all` takes minutes:
it is measured with `--all` only, and `--only WORD` measures the rows whose names contain the word.
"""

import os
import re
import resource
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from pathlib import Path

ROOT = Path(__file__).parents[1]
UNIT = """
import numba
import numpy as np

@numba.njit
def product(a, b):
    c = np.zeros((4, 4))
    for i in range(4):
        for j in range(4):
            for k in range(4):
                c[i, j] += a[i, k] * b[k, j]
    return c

@numba.njit
def largest(n):
    x, most = np.empty((7, n)), -np.inf
    for j in range(n):
        for i in range(7):
            x[i, j] = np.sin(i * j) + np.exp(-i * j)
    for j in range(n):
        total = 0.0
        for i in range(7):
            total += x[i, j]
        most = max(most, total)
    return most

product(np.eye(4), np.eye(4)), largest(10)
"""
PROBLEM = """
import numpy as np
import solvable as sv
problem = sv.Problem(
    teacher=sv.Teacher(width=3), student=sv.Student(width=6), inputs=sv.Inputs(dim=1000),
    training=sv.Training(learning_rate=0.1),
)
UNITS = lambda name: {"student__activation": name, "teacher__activation": name}
"""
FOLLOW = """
sv.run(problem, sv.start(problem, seed=0, students="orthogonal", cross=0.01), LEVEL, until=UNTIL)
"""


def curve(level: str, until: int, changes: str = "") -> list[str]:
    """A first curve, not drawn."""
    changed = f"problem = problem.replace({changes})" if changes else ""
    return ["-c", PROBLEM + changed + FOLLOW.replace("LEVEL", f"sv.{level}").replace("UNTIL", str(until))]


def block(heading: str) -> str:
    """The Python of a section of the README."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(rf"^## {heading}$.*?^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert found, heading
    return "import matplotlib; matplotlib.use('Agg')\n" + found[1]


ERF = "**UNITS('erf')"
SPECTRUM = "inputs={'dim': 1600, 'spectrum': {'beta': 0.5, 'distinct': 16}}"
CLASSES = "mixture={'probabilities': (0.5, 0.5), 'means': ((1.0,), (-1.0,)), 'labels': (1.0, -1.0)}"
TEN_LINES = block("Ten lines")
DEMO = ["-m", "solvable.cli.main", "figure", "bocchi2026/1", "--quick", "--output", "figures"]
WARM = {
    "bare interpreter": ["-c", "pass"],
    "import solvable": ["-c", "import solvable"],
    "solvable --help": ["-m", "solvable.cli.main", "--help"],
    "import numba alone": ["-c", "import numba"],
    "first trajectory": curve("Macro()", 300),
    "make demo's figure": DEMO,
}
COLD: dict[
    str, tuple[list[list[str]], float]
] = {  # commands of which the last counts, and the number of units to reach
    "Macro, quadratic": ([curve("Macro()", 300)], 1.0),
    "Macro, erf, 16 eigenvalues": ([curve("Macro()", 40, f"{SPECTRUM}, {ERF}")], 1.5),
    "Macro, tanh": ([curve("Macro()", 40, "**UNITS('tanh')")], 3.0),
    "Micro, quadratic": ([curve("Micro(runs=8)", 5)], 5.0),
    "Micro, erf": ([curve("Micro(runs=8)", 5, ERF)], 6.0),
    "Micro, momentum": ([curve("Micro(runs=8)", 5, "training__momentum={'beta': 0.9}")], 8.0),
    "Micro, classes": ([curve("Micro(runs=8)", 5, CLASSES)], 8.0),
    "Meso": ([curve("Meso(runs=8)", 5)], 8.0),
    "README's ten lines": ([["-c", TEN_LINES]], 6.0),
    '"What if", after them': ([["-c", TEN_LINES], ["-c", TEN_LINES.partition("start =")[0] + block("What if")]], 6.0),
    "make demo, once installed": ([DEMO], 10.0),
}
EVERYTHING = {"warm-up --all": ([["-m", "solvable.cli.main", "warm-up", "--all"]], float("nan"))}


def cpu(arguments: list[str], directory: str | None = None, **environment: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    settings = {**os.environ, "OPENBLAS_NUM_THREADS": "1", **environment}
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True, env=settings, cwd=directory)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def cold(commands: list[list[str]]) -> float:
    """Seconds of the last command, where the others have filled an empty cache."""
    with tempfile.TemporaryDirectory() as empty:
        return [cpu(command, empty, SOLVABLE_CACHE_DIR=empty + "/cache") for command in commands][-1]


def warm(rows: dict[str, list[str]]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        best = dict.fromkeys(rows, float("inf"))
        for arguments in rows.values():
            cpu(arguments, directory, SOLVABLE_PATIENCE="0")
        for _ in range(5):
            for name, arguments in rows.items():
                best[name] = min(best[name], cpu(arguments, directory, SOLVABLE_PATIENCE="0"))
    print("\nStart-up, CPU seconds with machine code at hand")
    for name, seconds in best.items():
        print(f"  {name:32s} {seconds:6.2f} s   {seconds / best['bare interpreter']:6.1f} x bare interpreter")


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="warm-up --all too, which takes minutes")
    parser.add_argument(
        "--only", default="", help="only rows whose names contain this; nothing with machine code at hand"
    )
    options = parser.parse_args()
    if not options.only:
        warm(WARM)
    print(
        "\nThe first time on a machine, CPU seconds with nothing cached; a unit is one small compilation by Numba",
        flush=True,
    )
    for name, (commands, goal) in (COLD | (EVERYTHING if options.all else {})).items():
        if options.only in name:
            before, seconds, after = cpu(["-c", UNIT]), cold(commands), cpu(["-c", UNIT])
            unit = (before + after) / 2
            aim = f"   to reach: {goal:4.1f}" if goal == goal else ""
            print(f"  {name:28s} {seconds:6.2f} s   {seconds / unit:6.1f} units{aim}", flush=True)


if __name__ == "__main__":
    main()

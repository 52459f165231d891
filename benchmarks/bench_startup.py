"""What it costs to begin: CPU seconds of fresh processes and all that they start, beside a bare interpreter and, where nothing is
compiled yet, beside one small function that Numba compiles."""

import os
import resource
import subprocess
import sys
import tempfile

PROBLEM = """
import solvable as sv
problem = sv.problems.convention("bocchi2026").problem(p=6, p_star=3, eta=0.01, N=1000)
start = sv.start(problem, seed=0, students="orthogonal", cross=0.01)
"""
FIRST = PROBLEM + "sv.run(problem, start, sv.Macro(), until=2000)"
PICTURE = "\nimport matplotlib; matplotlib.use('Agg'); sv.plot.risk(run).figure.savefig({!r} + '.png')"
REFERENCE = """
import numba
@numba.njit
def gram(x):
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            total += x[i, j] * x[j, i] if i > j else abs(x[i, j])
    return total
import numpy; gram(numpy.eye(3))
"""
WARM = {
    "bare interpreter": ["-c", "pass"],
    "import solvable": ["-c", "import solvable"],
    "solvable --help": ["-m", "solvable.cli.main", "--help"],
    "import numba alone": ["-c", "import numba"],
    "first trajectory": ["-c", FIRST],
}
COLD = {
    "reference compilation": REFERENCE,
    "quadratic 6/3, drawn": PROBLEM + "run = sv.run(problem, start, sv.Macro(), until=200)" + PICTURE,
    "erf 2/2, 16 eigenvalues, drawn": """
import solvable as sv
problem = sv.problems.convention("worschech2024").problem(K=2, M=2, eta=0.5, beta=0.5, L=16, N=1600)
run = sv.run(problem, sv.start(problem, seed=0), sv.Macro(), until=40)"""
    + PICTURE,
    "the explorer's first curve, beside a process that compiles": """
from solvable.numerics.interpreting import interpret_all
from solvable.web import work
from solvable.web.presets import PRESETS
interpret_all()
work.curve(work.view(PRESETS[0]["state"]))""",
    "Micro 6/3, drawn": PROBLEM + "run = sv.run(problem, start, sv.Micro(runs=8), until=5)" + PICTURE,
    "Meso 6/3, drawn": PROBLEM + "run = sv.run(problem, start, sv.Meso(runs=8), until=5)" + PICTURE,
}


def cpu(arguments: list[str], **environment: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True, env={**os.environ, **environment})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def cold(code: str) -> float:
    with tempfile.TemporaryDirectory() as empty:
        return cpu(["-c", code.replace("{!r}", repr(empty + "/picture"))], SOLVABLE_CACHE_DIR=empty)


def main() -> None:
    best = dict.fromkeys(WARM, float("inf"))
    for arguments in WARM.values():
        cpu(arguments, SOLVABLE_PATIENCE="0")
    for _ in range(5):
        for name, arguments in WARM.items():
            best[name] = min(best[name], cpu(arguments, SOLVABLE_PATIENCE="0"))
    print("\nStart-up, CPU seconds with machine code at hand")
    for name, seconds in best.items():
        print(f"  {name:32s} {seconds:6.2f} s   {seconds / best['bare interpreter']:6.1f} x bare interpreter")
    fresh = {name: min(cold(code) for _ in range(2)) for name, code in COLD.items()}
    print("\nThe first picture on a machine that has no machine code, CPU seconds")
    for name, seconds in fresh.items():
        print(
            f"  {name:58s} {seconds:6.2f} s   {seconds / fresh['reference compilation']:6.1f} x reference compilation"
        )


if __name__ == "__main__":
    main()

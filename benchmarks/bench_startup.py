"""What it costs to begin: CPU seconds of fresh processes, the fastest of five, beside a bare interpreter."""

import resource
import subprocess
import sys

FIRST = """
import solvable as sv
problem = sv.convention("bocchi2026").problem(p=6, p_star=3, eta=0.01)
sv.run(problem, sv.start(problem, seed=0, students="orthogonal", cross=0.01), sv.Macro(), until=2000)
"""
CASES = {
    "bare interpreter": ["-c", "pass"],
    "import solvable": ["-c", "import solvable"],
    "solvable --help": ["-m", "solvable.cli.main", "--help"],
    "import numba alone": ["-c", "import numba"],
    "first trajectory": ["-c", FIRST],
}


def cpu(arguments: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    best = dict.fromkeys(CASES, float("inf"))
    for arguments in CASES.values():
        cpu(arguments)
    for _ in range(5):
        for name, arguments in CASES.items():
            best[name] = min(best[name], cpu(arguments))
    print("\nStart-up, CPU seconds with a warm compilation cache")
    for name, seconds in best.items():
        print(f"  {name:20s} {seconds:6.2f} s   {seconds / best['bare interpreter']:6.1f} x bare interpreter")


if __name__ == "__main__":
    main()

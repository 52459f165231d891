"""Small, meaningful mistakes, each with the tests that must notice it: `make test-mutations`, or

    python tests/mutation/run.py [NAME ...] [--jobs N]

Every mutation of `mutations.py` is made in a copy of the sources and the tests that it names are run on that copy. A mutation
that they let pass is a hole in the tests. Before that, all named tests must pass on an unchanged copy. Machine code of mutated
kernels goes into a copy of the cache, which is removed with the rest.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.util import cache_from_source
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent))
from mutations import MUTATIONS, Mutation

ROOT = Path(__file__).parents[2]
PASSED, FAILED = 0, 1  # pytest's exit codes; others tell that it could not run the tests
LONGEST = 900.0  # seconds for the tests of one mutation
CAUGHT, SURVIVED, BROKEN = "caught", "SURVIVED", "BROKEN"


class Verdict(NamedTuple):
    """`word` is CAUGHT, SURVIVED, or BROKEN where the tests could not even be run; `said` is the test that failed, or
    else what pytest said last."""

    word: str
    said: str


class Bench:
    """A directory with an unchanged copy of the sources, whose bytecode is kept from run to run, and one of the kernels."""

    def __init__(self, room: str) -> None:
        self.room = Path(room)
        self.sources = self.room / "unchanged"
        shutil.copytree(ROOT / "src", self.sources, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        self.kernels = self.room / "cache"
        if (known := _kernels()).is_dir():
            shutil.copytree(known, self.kernels)

    def unchanged(self, tests: list[str]) -> subprocess.CompletedProcess:
        return self._pytest(self.sources, tests)

    def judge(self, mutation: Mutation) -> Verdict:
        with tempfile.TemporaryDirectory(dir=self.room) as place:
            copy = Path(place) / "src"
            shutil.copytree(self.sources, copy)
            mutate(copy, mutation)
            try:
                told = self._pytest(copy, list(mutation.tests))
            except subprocess.TimeoutExpired:
                return Verdict(BROKEN, f"took longer than {LONGEST:g} s")
        word = {PASSED: SURVIVED, FAILED: CAUGHT}.get(told.returncode, BROKEN)
        if told.returncode < 0:  # a test process that is killed by a signal does not go unnoticed
            word = CAUGHT
        lines = (told.stdout + told.stderr).strip().splitlines() or [""]
        return Verdict(word, next((line for line in lines if line.startswith("FAILED ")), lines[-1]))

    def _pytest(self, sources: Path, tests: list[str]) -> subprocess.CompletedProcess:
        settings = os.environ | {
            "PYTHONPATH": str(sources),
            "OPENBLAS_NUM_THREADS": "1",
            "SOLVABLE_CACHE_DIR": str(self.kernels),
        }
        words = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=line"]
        return subprocess.run(
            [*words, *(f"tests/{test}" for test in tests)],
            cwd=ROOT, env=settings, capture_output=True, text=True, check=False, timeout=LONGEST,
        )  # fmt: skip


def mutate(sources: Path, mutation: Mutation) -> None:
    file = sources / "solvable" / mutation.file
    text = file.read_text(encoding="utf-8")
    if text.count(mutation.before) != 1:
        raise ValueError(f"{mutation.name}: its text stands {text.count(mutation.before)} times in {mutation.file}")
    file.write_text(text.replace(mutation.before, mutation.after), encoding="utf-8")
    Path(cache_from_source(str(file))).unlink(missing_ok=True)


def _kernels() -> Path:
    from solvable.numerics.kernels_on_disk import cache_directory

    return cache_directory()


def main() -> int:
    parser = argparse.ArgumentParser(description="Which mistakes do the tests notice?")
    parser.add_argument("names", nargs="*", help="mutations (default: all)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    unknown = set(options.names) - {one.name for one in MUTATIONS}
    if unknown:
        parser.error(f"no such mutation: {', '.join(sorted(unknown))}")
    chosen = [one for one in MUTATIONS if not options.names or one.name in options.names]
    with tempfile.TemporaryDirectory() as room, ThreadPoolExecutor(options.jobs) as pool:
        bench = Bench(room)
        sound = bench.unchanged(sorted({test for one in chosen for test in one.tests}))
        if sound.returncode != PASSED:
            print(f"{sound.stdout}{sound.stderr}\nthe tests fail without any mutation")
            return 2

        def judge(mutation: Mutation) -> bool:
            began = time.monotonic()
            verdict = bench.judge(mutation)
            spent = time.monotonic() - began
            print(f"{verdict.word:8s} {mutation.name:40s} {spent:4.0f} s  {verdict.said}", flush=True)
            return verdict.word == CAUGHT

        caught = list(pool.map(judge, chosen))
    print(f"{sum(caught)} of {len(caught)} mutations caught")
    return 0 if all(caught) else 1


if __name__ == "__main__":
    sys.exit(main())

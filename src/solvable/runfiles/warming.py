"""Compiles all kernels beforehand: one tiny run of each kind, in separate processes, on all cores."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import IO, Any, NamedTuple

import numpy as np

from solvable.numerics.progress import SCREEN, is_terminal
from solvable.numerics.threads import cores


def follow(level: str, settings: dict[str, Any], changes: dict[str, Any]) -> None:
    """Make a tiny run at a level, to its end or `UNTIL` a threshold that it does not meet, or a search for its best schedule."""
    import solvable as sv

    problem = sv.Problem(
        teacher=sv.Teacher(width=1),
        student=sv.Student(width=1),
        inputs=sv.Inputs(dim=40),
        training=sv.Training(learning_rate=0.01),
    ).replace(**changes)
    begin: dict[str, Any] = {"seed": 0}
    if EQUAL.items() <= changes.items():
        begin = {"student_overlap": np.ones((2, 2)), "cross_overlap": np.zeros((2, 1))}
    first = sv.start(problem.replace(training__samples=None), **begin)
    if level == OPTIMAL:
        sv.optimal(problem, first, until=1, **settings, progress=False)
        return
    stop = sv.when("risk", below=1e-9) if level.endswith(UNTIL) else None
    made = getattr(sv, level.removesuffix(UNTIL))(**settings)
    sv.run(problem, first, made, until=1, stop=stop, progress=False)


OPTIMAL = "optimal"
UNTIL = " until"
EQUAL = {"student__width": 2}  # students that begin equal
TWO = {"inputs": {"dim": 40, "spectrum": {"eigenvalues": (1.0, 0.1)}}}
FEW = {"inputs__dim": 3, "training__samples": 5}
CLASSES = {"mixture": {"probabilities": (0.5, 0.5), "means": ((1.0,), (-1.0,)), "labels": (1.0, -1.0)}}
SIGNS = {"teacher__target": "sign", "teacher__activation": "linear", "student__activation": "linear"}
ROBUST = {"training__loss": "huber"}
LINEAR, ERF, HERMITE3, TANH = (
    {"student__activation": unit, "teacher__activation": unit} for unit in ("linear", "erf", "hermite3", "tanh")
)
CUBIC = {"student__activation": {"coefficients": (0, 0, 0, 1)}, "teacher__activation": {"coefficients": (0, 0, 0, 1)}}
PRODUCT = {"teacher__target": "product", "student__activation": "tanh"}
REPEATED = {"training__repeats": 2, **ERF}
CLIPPED = {"training__rule": {"norm": 0.5}, **ERF}
SEARCH = {"control": {"training.learning_rate": 2}, "guesses": 1, "refine": False}
PACED = {"training__rate_rule": {"kind": "adagrad", "offset": 1.0}}
# kinds that share few kernels stand beside each other, for two processes that compile at once; the first two are the most usual
USUAL: dict[str, list[tuple[str, dict[str, Any], dict[str, Any]]]] = {
    "SGD": [("Micro", {}, {})],
    "limit": [("Macro", {}, {}), ("Macro", {}, ERF), ("Macro", {"rtol": 1e-6}, {})],
    "diffusion": [("Meso", {}, {})],
}
SELDOM: dict[str, list[tuple[str, dict[str, Any], dict[str, Any]]]] = {
    "best schedules": [(OPTIMAL, SEARCH, {}), (OPTIMAL, SEARCH, ERF)],
    "classes": [("Macro", {}, CLASSES), ("Micro", {}, CLASSES), ("Micro", {"form": "full"}, CLASSES)],
    "spectra": [
        ("Macro", {"method": "implicit"}, TWO),
        ("Macro", {"method": "weights", "small_rate": True}, TWO),
    ],
    "losses and rules": [("Macro", {}, REPEATED), ("Macro", {}, SIGNS), ("Macro", {}, ROBUST), ("Micro", {}, REPEATED)],
    "finite data": [("Empirical", {"method": "stabilised"}, FEW), ("Empirical", {"method": "implicit"}, FEW)],
    "full weights": [("Micro", {"form": "full"}, {})],
    "thresholds": [(level + UNTIL, {}, changes) for changes in ({}, CLASSES) for level in ("Macro", "Micro", "Meso")],
    "equal students": [("Macro", {}, EQUAL), ("Macro", {"method": "implicit"}, TWO | EQUAL)],
    "batches": [("Micro", {}, {"training__batch": 2}), ("Micro", {}, ROBUST), ("Meso", {}, ROBUST)],
    "closed units": [(level, {}, unit) for unit in (LINEAR, ERF, HERMITE3) for level in ("Macro", "Meso")],
    "closed units of classes": [("Macro", {}, CLASSES | unit) for unit in (LINEAR, ERF, HERMITE3)],
    "stiff closed units": [("Macro", {"method": "implicit"}, TWO | unit) for unit in (LINEAR, ERF, HERMITE3)],
    "best schedules of classes": [(OPTIMAL, SEARCH, CLASSES)],
    "smooth units": [
        ("Macro", {}, TANH),
        ("Macro", {}, CUBIC),
        ("Macro", {}, PRODUCT),
        ("Micro", {}, PRODUCT),
        (OPTIMAL, SEARCH, TANH),
    ],
    "diffusion of classes": [("Meso", {}, CLASSES)],
    "smooth units of classes": [("Macro", {}, CLASSES | TANH), ("Macro", {}, CLASSES | TANH | PACED)],
    "rates that follow the state": [("Macro", {}, PACED), ("Macro", {}, CLIPPED | PACED), ("Micro", {}, PACED)],
}
LINE = 400  # bytes of which the last are looked at for how far a process is
PULSE = 0.05  # seconds between looks


def make(name: str) -> None:
    """Compile one kind here, and write to standard output how far that is, a line each time."""
    from solvable.numerics import compiled

    runs = (USUAL | SELDOM)[name]
    compiled.tell(lambda count, words: print(count.done, count.total, words, flush=True))
    compiled.expect_always(entry for run in runs for entry in compiled.entries_of(partial(follow, *run)))
    for run in runs:
        follow(*run)


class Compiling(NamedTuple):
    """A process that compiles, the file into which it says what went wrong, and the one that says how far it is."""

    process: subprocess.Popen[bytes]
    said: IO[str]
    told: IO[bytes]

    def failure(self) -> str | None:
        """What it said, if it has failed."""
        with self.said, self.told:
            self.said.seek(0)
            return self.said.read() if self.process.returncode else None

    def progress(self) -> tuple[int, int, str]:
        """Return the work done, of how much, and words for it; zeros and "" before it compiles."""
        try:
            size = os.fstat(self.told.fileno()).st_size
            end = os.pread(self.told.fileno(), LINE, max(0, size - LINE))  # without moving where the process writes
        except ValueError:  # the file is closed: it has ended
            return 0, 0, ""
        last = end.rpartition(b"\n")[0].rpartition(b"\n")[2].decode()
        done, total, words = last.split(" ", 2) if last else ("0", "0", "")
        return int(done), int(total), words


def start(name: str) -> Compiling:
    """Compile one kind in a process of its own."""
    command = f"from solvable.runfiles.warming import make; make({name!r})"
    said, told = tempfile.TemporaryFile("w+"), tempfile.TemporaryFile()  # noqa: SIM115  (read later)
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", command],  # -P: no module of the directory that we are in
        env={**os.environ, "SOLVABLE_PATIENCE": "0"},
        stdin=subprocess.DEVNULL,
        stdout=told,
        stderr=said,
    )
    return Compiling(process, said, told)


class _Running:
    """A process for one kind, and its line on the terminal."""

    def __init__(self, name: str) -> None:
        self.name, self.begun, self.compiling = name, time.monotonic(), start(name)
        self.line = SCREEN.add() if is_terminal() else None

    def show(self) -> None:
        done, total, words = self.compiling.progress()
        if self.line is not None:
            SCREEN.update(self.line, done, max(total, 1), f"{self.name}: {words}" if words else self.name)

    def close(self) -> None:
        if self.line is not None:
            SCREEN.remove(self.line)


def warm_up(everything: bool, tell: Callable[[str, float], None]) -> None:
    """Compile what is usually needed, or everything. `tell` hears of each kind when it is done, and after how many seconds; on a
    terminal a bar for each process shows how far it is."""
    waiting = [*USUAL, *(SELDOM if everything else {})]
    running: list[_Running] = []
    try:
        while waiting or running:
            while waiting and len(running) < cores():
                running.append(_Running(waiting.pop(0)))
            time.sleep(PULSE)
            for one in list(running):
                one.show()
                if one.compiling.process.poll() is None:
                    continue
                one.close()
                running.remove(one)
                if (failure := one.compiling.failure()) is not None:
                    raise RuntimeError(f"{one.name}: could not be compiled\n{failure}")
                tell(one.name, time.monotonic() - one.begun)
    finally:
        for one in running:
            one.compiling.process.kill()
            one.close()

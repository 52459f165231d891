"""Compiles all kernels beforehand: one tiny run of each kind, in separate processes, on all cores."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import IO, Any, NamedTuple

from solvable.numerics.threads import cores


def follow(level: str, settings: dict[str, Any], changes: dict[str, Any]) -> None:
    """A tiny run at a level, or a search for its best schedule."""
    import solvable as sv

    problem = sv.Problem(
        teacher=sv.Teacher(width=1),
        student=sv.Student(width=1),
        inputs=sv.Inputs(dim=40),
        training=sv.Training(learning_rate=0.01),
    ).replace(**changes)
    first = sv.start(problem.replace(training__samples=None), seed=0)
    if level == OPTIMAL:
        sv.optimal(problem, first, until=1, **settings, progress=False)
        return
    made = getattr(sv, level)(**settings)
    stop = None if made.domain.samples else sv.when("risk", below=1e-9)
    sv.run(problem, first, made, until=1, stop=stop, progress=False)


OPTIMAL = "optimal"
TWO = {"inputs": {"dim": 40, "spectrum": {"eigenvalues": (1.0, 0.1)}}}
FEW = {"inputs__dim": 3, "training__samples": 5}
CLASSES = {"mixture": {"probabilities": (0.5, 0.5), "means": ((1.0,), (-1.0,)), "labels": (1.0, -1.0)}}
SIGNS = {"teacher__target": "sign", "teacher__activation": "linear", "student__activation": "linear"}
ROBUST = {"training__loss": "huber"}
ERF, TANH = ({"student__activation": unit, "teacher__activation": unit} for unit in ("erf", "tanh"))
CUBIC = {"student__activation": {"coefficients": (0, 0, 0, 1)}, "teacher__activation": {"coefficients": (0, 0, 0, 1)}}
PRODUCT = {"teacher__target": "product", "student__activation": "tanh"}
REPEATED = {"training__repeats": 2, **ERF}
CLIPPED = {"training__rule": {"norm": 0.5}, **ERF}
SEARCH = {"control": {"training.learning_rate": 2}, "guesses": 1, "refine": False}
PACED = {"training__rate_rule": {"kind": "adagrad", "offset": 1.0}}
USUAL: dict[str, list[tuple[str, dict[str, Any], dict[str, Any]]]] = {
    "diffusion": [("Meso", {}, {})],
    "SGD": [("Micro", {}, {})],
    "limit": [("Macro", {}, {}), ("Macro", {}, ERF), ("Macro", {"rtol": 1e-6}, {})],
}
SELDOM: dict[str, list[tuple[str, dict[str, Any], dict[str, Any]]]] = {
    "finite data": [("Empirical", {"method": "stabilised"}, FEW), ("Empirical", {"method": "implicit"}, FEW)],
    "spectra": [
        ("Macro", {"method": "implicit"}, TWO),
        ("Macro", {"method": "weights", "small_rate": True}, TWO),
    ],
    "smooth units": [
        ("Macro", {}, TANH),
        ("Macro", {}, CUBIC),
        ("Macro", {}, PRODUCT),
        ("Micro", {}, PRODUCT),
        (OPTIMAL, SEARCH, TANH),
    ],
    "smooth units of classes": [("Macro", {}, CLASSES | TANH), ("Macro", {}, CLASSES | TANH | PACED)],
    "best schedules": [(OPTIMAL, SEARCH, {})],
    "best schedules of classes": [(OPTIMAL, SEARCH, CLASSES)],
    "full weights": [("Micro", {"form": "full"}, {})],
    "classes": [("Macro", {}, CLASSES), ("Micro", {}, CLASSES), ("Micro", {"form": "full"}, CLASSES)],
    "diffusion of classes": [("Meso", {}, CLASSES)],
    "losses and rules": [("Macro", {}, REPEATED), ("Macro", {}, SIGNS), ("Macro", {}, ROBUST), ("Micro", {}, REPEATED)],
    "rates that follow the state": [("Macro", {}, PACED), ("Macro", {}, CLIPPED | PACED), ("Micro", {}, PACED)],
}


class Compiling(NamedTuple):
    """A process that compiles, and the file into which it says what went wrong."""

    process: subprocess.Popen[bytes]
    said: IO[str]

    def failure(self) -> str | None:
        """What it said, if it has failed."""
        with self.said:
            self.said.seek(0)
            return self.said.read() if self.process.returncode else None


def start(name: str) -> Compiling:
    """Compile one kind in a process of its own."""
    command = f"from solvable.runfiles.warming import *; [follow(*run) for run in (USUAL | SELDOM)[{name!r}]]"
    said = tempfile.TemporaryFile("w+")  # noqa: SIM115  (read when the process has ended)
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", command],  # -P: no module of the directory that we are in
        env={**os.environ, "SOLVABLE_PATIENCE": "0"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=said,
    )
    return Compiling(process, said)


def warm_up(everything: bool, tell: Callable[[str, float], None]) -> None:
    """Compile what is usually needed, or everything. `tell` hears of each kind when it is done, and after how many seconds."""
    waiting = [*USUAL, *(SELDOM if everything else {})]
    running: dict[str, tuple[Compiling, float]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < cores():
                name = waiting.pop(0)
                running[name] = start(name), time.monotonic()
            for name, (one, begun) in list(running.items()):
                if one.process.poll() is None:
                    continue
                del running[name]
                if (failure := one.failure()) is not None:
                    raise RuntimeError(f"{name}: could not be compiled\n{failure}")
                tell(name, time.monotonic() - begun)
            time.sleep(0.02)
    finally:
        for one, _ in running.values():
            one.process.kill()

"""Machine code beforehand: one tiny run of each kind, in processes of their own, on all cores."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from solvable.numerics.threads import cores


def follow(level: str, settings: dict[str, Any], changes: dict[str, Any]) -> None:
    """A tiny run at a level."""
    import solvable as sv

    problem = sv.Problem(
        teacher=sv.Teacher(width=1),
        student=sv.Student(width=1),
        inputs=sv.Inputs(dim=40),
        training=sv.Training(learning_rate=0.01),
    ).replace(**changes)
    first = sv.start(problem.replace(training__samples=None), seed=0)
    stop = None if level == "Empirical" else sv.when("risk", below=1e-9)
    sv.run(problem, first, getattr(sv, level)(**settings), until=1, stop=stop, progress=False)


TWO = {"inputs": {"dim": 40, "spectrum": {"eigenvalues": (1.0, 0.1)}}}
FEW = {"inputs__dim": 3, "training__samples": 5}
USUAL: dict[str, list[tuple[str, dict[str, Any], dict[str, Any]]]] = {
    "diffusion": [("Meso", {}, {})],
    "SGD": [("Micro", {}, {})],
    "limit": [("Macro", {}, {})],
}
SELDOM: dict[str, list[tuple[str, dict[str, Any], dict[str, Any]]]] = {
    "finite data": [("Empirical", {"method": "stabilised"}, FEW), ("Empirical", {"method": "implicit"}, FEW)],
    "spectra": [("Macro", {"method": "exponential"}, TWO), ("Macro", {"method": "weights", "small_rate": True}, TWO)],
    "full weights": [("Micro", {"form": "full"}, {})],
}


def start(name: str) -> subprocess.Popen:
    """Compile one kind in a process of its own."""
    command = f"from solvable.descriptions.warming import *; [follow(*run) for run in (USUAL | SELDOM)[{name!r}]]"
    return subprocess.Popen(
        [sys.executable, "-c", command],
        env={**os.environ, "SOLVABLE_PATIENCE": "0"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def warm_up(everything: bool, tell: Callable[[str, float], None]) -> None:
    """Compile what is usually needed, or everything. `tell` hears of each kind when it is done, and after how many seconds."""
    waiting = [*USUAL, *(SELDOM if everything else {})]
    running: dict[str, tuple[subprocess.Popen, float]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < cores():
                name = waiting.pop(0)
                running[name] = start(name), time.monotonic()
            for name, (process, begun) in list(running.items()):
                if process.poll() is None:
                    continue
                del running[name]
                if process.returncode:
                    raise RuntimeError(
                        f"{name}: could not be compiled\n{process.stderr.read() if process.stderr else ''}"
                    )
                tell(name, time.monotonic() - begun)
            time.sleep(0.02)
    finally:
        for process, _ in running.values():
            process.kill()

"""A measure that costs nothing, for tests of everything around it. Not a test itself: worker processes import it."""

import hashlib
import os
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import solvable as sv
from solvable.numerics import compiled
from solvable.sweeps.records import Labelled

PROBLEM = sv.Problem(
    teacher=sv.Teacher(width=1),
    student=sv.Student(width=1),
    inputs=sv.Inputs(dim=100),
    training=sv.Training(learning_rate=0.1),
)


@dataclass(frozen=True)
class Light:
    """Numbers that follow from `number`. `log`: a file in which every computation is noted. `deadly`: what kills its process.
    `code`: a file that stands for machine code; where it is missing, it takes a second to make it."""

    number: int = 0
    seconds: float = 0.0
    size: int = 20
    log: str = ""
    deadly: tuple[int, ...] = ()
    wrong: tuple[int, ...] = ()
    code: str = ""

    parts = ("light",)

    def look(self, name: str) -> Any:
        return getattr(self, name.partition(".")[2])

    def vary(self, changes: Mapping[str, Any]) -> "Light":
        return replace(self, **{name.partition(".")[2]: value for name, value in changes.items()})

    def settle(self, problem: sv.Problem) -> "Light":
        return self

    def content(self, problem: sv.Problem) -> dict[str, Any]:
        return {"kind": "light", "number": self.number, "size": self.size, "rate": problem.training.learning_rate}

    def compute(self, problem: sv.Problem) -> dict[str, Labelled]:
        if self.log:
            note(self.log, f"{os.getpid()} {self.number}")
        if self.number in self.deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.number in self.wrong:
            raise ValueError(f"{self.number} is a bad number")
        if self.code and not os.path.exists(self.code):
            for listener in compiled.LISTENERS:
                listener()
            time.sleep(1.0)
            note(self.code, f"{os.getpid()}")
        time.sleep(self.seconds)
        seed = int.from_bytes(hashlib.sha256(str(self.number).encode()).digest()[:8], "little")
        random = np.random.default_rng(seed)
        return {
            "curve": Labelled(("time",), random.standard_normal(self.size)),
            "end": Labelled((), np.array(random.standard_normal())),
        }


def note(path: str, line: str) -> None:
    """Append a line in one write, whoever else does."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(handle, f"{line}\n".encode())
    os.close(handle)


def rates(count: int) -> str:
    """A sweep file of so many small runs."""
    return f"""
[teacher]
width = 1
[student]
width = 1
[inputs]
dim = 100
[training]
learning_rate = 0.01
[start]
seed = 0
[run]
until = 10
[vary]
training.learning_rate = {{ from = 0.01, to = 0.02, count = {count} }}
"""

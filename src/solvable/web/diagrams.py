"""A phase diagram: one number of the learning curve over two settings, cell by cell, coarse ones first."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from time import monotonic
from typing import Any

import numpy as np

from solvable.levels import run
from solvable.macro import Macro
from solvable.problems import InvalidProblem
from solvable.results import Ending, Trajectory
from solvable.web import work

CELLS = 48  # most along an axis
SECONDS, CELL_SECONDS = 120.0, 0.5  # most of a diagram, and of one of its cells
OUTPUTS, RTOL = 121, 1e-5
BATCH = 0.1  # seconds between lines of an answer


def _final(found: Trajectory) -> float:
    return float(found.risk[0, -1])


def _half(found: Trajectory) -> float:
    return float(found.exit_time(0.5)[0])


def _plateau(found: Trajectory) -> float:
    spans = found.plateaus()
    return float(spans[0].height) if spans else np.nan


QUANTITIES: dict[str, Callable[[Trajectory], float]] = {"risk": _final, "half": _half, "plateau": _plateau}


@dataclass(frozen=True)
class DiagramAxis:
    """A setting by its dotted name, and the values that it takes."""

    name: str
    values: tuple[float, ...]

    @classmethod
    def read(cls, which: str, table: Any) -> DiagramAxis:
        if not isinstance(table, dict) or set(table) != {"name", "values"}:
            raise InvalidProblem([f"{which}: must have name and values"])
        name, values = table["name"], table["values"]
        if not isinstance(name, str) or name.split(".")[0] not in work.TABLES or "." not in name:
            raise InvalidProblem(
                [f"{which}.name: {str(name)[:40]} given, must be a setting, as training.learning_rate"]
            )
        if not isinstance(values, list) or not 1 <= len(values) <= CELLS:
            raise InvalidProblem([f"{which}.values: must be a list of 1 to {CELLS} numbers"])
        if not all(isinstance(one, int | float) and not isinstance(one, bool) for one in values):
            raise InvalidProblem([f"{which}.values: must be numbers"])
        return cls(name, tuple(values))

    def put(self, state: dict[str, Any], i: int) -> None:
        *tables, last = self.name.split(".")
        place: Any = state
        for word in tables:
            place = place.setdefault(word, {})
            if not isinstance(place, dict):
                raise InvalidProblem([f"{self.name}: is no setting of this problem"])
        place[last] = self.values[i]


@dataclass(frozen=True)
class Diagram:
    """A checked request for a diagram."""

    state: dict[str, Any]
    x: DiagramAxis
    y: DiagramAxis
    quantity: str

    @classmethod
    def read(cls, content: dict[str, Any]) -> Diagram:
        quantity = content.get("quantity", "risk")
        if quantity not in QUANTITIES:
            raise InvalidProblem([f"quantity: {str(quantity)[:40]} given, must be one of {', '.join(QUANTITIES)}"])
        x, y = DiagramAxis.read("x", content.get("x")), DiagramAxis.read("y", content.get("y"))
        if x.name == y.name:
            raise InvalidProblem([f"y.name: {y.name} given for both axes, must be two settings"])
        work.view(content.get("state"))
        return cls(content["state"], x, y, quantity)

    def order(self) -> list[tuple[int, int]]:
        """All cells, so that the first ones are spread over the diagram and the others come between them."""
        places = list(product(range(len(self.x.values)), range(len(self.y.values))))
        return sorted(places, key=lambda place: (-min(_evenness(place[0]), _evenness(place[1])), place[1], place[0]))

    def cell(self, i: int, j: int) -> tuple[int, int, float | None, str]:
        """Its place, its value, and a word for where there is none."""
        state = copy.deepcopy(self.state)
        try:
            self.x.put(state, i)
            self.y.put(state, j)
            asked = work.view(state)
            level = Macro(rtol=RTOL, nodes=2**8, threads=1, seconds=CELL_SECONDS)
            found = run(asked.problem, asked.start, level, times=np.linspace(0.0, asked.until, OUTPUTS), progress=False)
        except ValueError:
            return i, j, None, "refused"
        if found.ending[0] == Ending.DIVERGED:
            return i, j, None, "diverged"
        if not found.success:
            return i, j, None, "cut off"
        value = QUANTITIES[self.quantity](found)
        return (i, j, value, "") if np.isfinite(value) else (i, j, None, "not reached")

    def lines(self, wait: Callable[[], None]) -> Iterator[dict[str, Any]]:
        """Cells in lines as they are computed; `wait` is called before each one, so that what is more urgent goes first."""
        began = told = monotonic()
        done: list[tuple[int, int, float | None, str]] = []
        for place in self.order():
            wait()
            done.append(self.cell(*place))
            if monotonic() - told > BATCH:
                yield {"cells": done}
                told, done = monotonic(), []
            if monotonic() - began > SECONDS:
                yield {"cells": done}
                raise ValueError(f"diagram: ended after {SECONDS:g} s; the library's sweeps take longer ones")
        yield {"cells": done}


def _evenness(i: int) -> int:
    """The power of two that divides i, at most eight; of zero eight."""
    return 8 if i == 0 else min(8, i & -i)

"""What is laid over the curve: SGD at finite dimension, its diffusion, or training on a finite data set, within bounds."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

import solvable
from solvable.dynamics.exactness import is_closed
from solvable.dynamics.functions import has_numbers
from solvable.levels import run, run_batch
from solvable.overlaps import Overlaps
from solvable.problems import InvalidProblem, Problem
from solvable.results import Ending
from solvable.web.preparing import DIFFUSION, SGD
from solvable.web.work import View

PIECES, PIECE_SECONDS = 40, 0.2  # of a simulation: at least so many, about so long at most
RUNS, SIMULATION_SECONDS = 16, 120.0  # most of a simulation
DATA_SECONDS, OPERATIONS = 30.0, 1.5e9  # most of a data set; numbers that a core reads in a second
STEPS, STEP_SECONDS, OUTPUTS = (
    20_000,
    4e-4,
    200,
)  # most on a data set; about how long one takes beside its matrices; outputs


class Kind(NamedTuple):
    """A level as the page shows it: its class, its words in legends, the name of its files, and its kernels in `PREPARATION`. With
    `on_data` it trains on a data set; a run takes the time of `most` samples at most."""

    level: str
    words: str
    file: str
    kernels: str | None
    on_data: bool = False
    most: float = np.inf


LEVELS = {
    "micro": Kind("Micro", "SGD", "sgd", SGD),
    "meso": Kind("Meso", "the diffusion", "diffusion", DIFFUSION, most=1e5),
    "empirical": Kind("Empirical", "the data set", "trained", None, on_data=True),
}
DATA = ("samples", "batch", "selection", "step", "form")


@dataclass(frozen=True)
class Piece:
    """A stretch of a simulation: times, risks (run, time), overlaps of the first run with teachers (time, p p*), and on a data set
    the training losses (run, time)."""

    time: np.ndarray
    risk: np.ndarray
    cross: np.ndarray
    training: np.ndarray | None = None

    def parts(self) -> dict[str, np.ndarray]:
        found = {"time": self.time, "risk": self.risk, "cross": self.cross}
        return found if self.training is None else found | {"training": self.training}


@dataclass(frozen=True)
class Simulation:
    """A checked request for a simulation."""

    view: View
    level: str
    runs: int
    seed: int
    form: str = "auto"
    reach: float = 1.0  # of a step on a data set, in units of alpha

    @classmethod
    def read(cls, view: View, content: dict[str, Any]) -> "Simulation":
        level = content.get("level", "micro")
        if level not in LEVELS:
            raise InvalidProblem([f"level: {str(level)[:40]} given, must be one of {', '.join(LEVELS)}"])
        if not LEVELS[level].on_data and content.get("data") is not None:
            raise InvalidProblem(["data: is for the level empirical alone"])
        seed, runs = check_seed(content.get("seed", 0)), _check_runs(content.get("runs", 1))
        if view.problem.inputs.dim is None:
            raise InvalidProblem(["inputs.dim: infinite, but a simulation has a finite one"])
        if not LEVELS[level].on_data:
            asked = cls(view, level, runs, seed)
            _check_cost(asked)
            return asked
        problem, form, reach = _on_data(view, content.get("data"))
        asked = cls(View(problem, view.start, view.until), level, runs, seed, form, reach)
        _check_data(asked)
        return asked

    @property
    def kind(self) -> Kind:
        return LEVELS[self.level]

    @property
    def training(self) -> dict[str, Any]:
        """The table of a file, with what differs from the defaults."""
        return self.view.problem.training.model_dump(mode="json", exclude_defaults=True)

    @property
    def steps(self) -> int:
        """On a data set until the end of the curve."""
        return max(1, round(self.view.until / self.reach))

    def pieces(self) -> Iterator[Piece]:
        return _learn(self) if self.kind.on_data else _follow(self)


def check_seed(seed: Any) -> int:
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2**31:
        raise InvalidProblem([f"seed: {str(seed)[:40]} given, must be a whole number from 0 to 2^31"])
    return seed


def _check_runs(runs: Any) -> int:
    if not isinstance(runs, int) or isinstance(runs, bool) or not 1 <= runs <= RUNS:
        raise InvalidProblem([f"runs: {str(runs)[:40]} given, must be a whole number from 1 to {RUNS}"])
    return runs


def _check_cost(asked: Simulation) -> None:
    if seconds(asked) > SIMULATION_SECONDS:
        steps = asked.view.until * (asked.view.problem.inputs.dim or 0) * asked.runs
        raise InvalidProblem(
            [f"inputs.dim: {steps:.2g} steps of SGD, more than the explorer runs; lower dim, runs or until"]
        )


def seconds(asked: Simulation) -> float:
    """Return about how long a simulation takes; units that only Python can call cost far more."""
    problem, until = asked.view.problem, asked.view.until
    p, n = problem.student.width, problem.student.width + problem.teacher.width
    cost = 1.0 if is_closed(problem) else 2.0 if has_numbers(problem) else 20.0
    samples = until * (problem.inputs.dim or 0) * asked.runs * float(problem.training.segments["batch"][:, 1].max())
    samples = min(samples, asked.kind.most * asked.runs)
    return samples * problem.inputs.blocks * (2e-8 + 2e-9 * p * n) * cost


def _follow(asked: Simulation) -> Iterator[Piece]:
    """From the same start, a piece of time after the other: the overlaps are a Markov chain, so every piece may begin from the
    last state of the one before."""
    view, runs, level = asked.view, asked.runs, getattr(solvable, asked.kind.level)
    began = monotonic()
    edges = np.linspace(0.0, view.until, max(PIECES, int(seconds(asked) / PIECE_SECONDS) + 1) + 1)
    states: list[Overlaps] = [view.start] * runs
    for piece, (begin, end) in enumerate(pairwise(edges)):
        outputs = np.linspace(0.0, end - begin, 5)[1:]
        noise = np.random.SeedSequence([asked.seed, piece])
        if piece == 0:
            found = run(view.problem, view.start, level(runs=runs, seed=noise), times=outputs, progress=False)
        else:
            found = run_batch(view.problem, states, level(seed=noise), times=outputs, progress=False)
        yield Piece(begin + found.time, found.risk, found.cross_overlap[0].reshape(len(outputs), -1))
        lost = [i for i, ending in enumerate(found.ending) if ending == Ending.DIVERGED]
        if lost:
            i, others = lost[0], f" and {len(lost) - 1} more" if len(lost) > 1 else ""
            raise ValueError(
                f"simulate: run {i + 1}{others} diverged at {begin + found.end_time[i]:.3g}, where SGD ends"
            )
        if monotonic() - began > SIMULATION_SECONDS and end < edges[-1]:
            raise ValueError(
                f"simulate: ended at {end:.3g} after {SIMULATION_SECONDS:g} s; the library takes longer ones"
            )
        states = found.states()


# ---- a finite data set


def _on_data(view: View, data: Any) -> tuple[Problem, str, float]:
    """The problem trained in steps on a data set of `samples` per dimension, the form that this takes, and how far a step goes: as
    far as single samples go in that time (steps/dim)."""
    if not isinstance(data, dict) or set(data) - set(DATA):
        raise InvalidProblem([f"data: must have {', '.join(DATA)} and nothing else"])
    step, selection = data.get("step"), data.get("selection", "all")
    changes: dict[str, Any] = {
        "learning_rate": None, "step": step, "samples": {"ratio": data.get("samples")}, "selection": None, "batch": None,
    }  # fmt: skip
    if selection != "all":
        changes |= {"selection": selection, "batch": {"ratio": data.get("batch")}}
    rate = float(view.problem.training.schedule(0.0))
    made = view.problem.replace(**{f"training__{name}": value for name, value in changes.items()})
    return made, str(data.get("form", "auto")), float(step) / rate  # type: ignore[arg-type]


def _check_data(asked: Simulation) -> None:
    from solvable.empirical.forms import choose

    steps = asked.steps
    if steps > STEPS:
        raise InvalidProblem([f"training.step: {steps} steps on the data set, must be at most {STEPS} in the explorer"])
    problem = asked.view.problem
    work = choose(problem, steps, OUTPUTS, asked.runs).work / OPERATIONS + steps * STEP_SECONDS
    if work * asked.runs > DATA_SECONDS:
        raise InvalidProblem(
            [f"inputs.dim: a data set of this size takes about {work * asked.runs:.0f} s, must take at most "
             f"{DATA_SECONDS:g} in the explorer; lower dim, samples, runs or until"]
        )  # fmt: skip


def _learn(asked: Simulation) -> Iterator[Piece]:
    from solvable.empirical import Empirical

    view, steps = asked.view, asked.steps
    level = Empirical(runs=asked.runs, seed=asked.seed, form=asked.form, threads=1)  # type: ignore[arg-type]
    outputs = np.unique(np.linspace(0, steps, min(steps, OUTPUTS) + 1).round()).astype(float)
    found = run(view.problem, view.start, level, times=outputs, progress=False)
    assert found.training_loss is not None
    cross = found.cross_overlap[0, 1:].reshape(len(outputs) - 1, -1)
    yield Piece(asked.reach * found.time[1:], found.risk[:, 1:], cross, found.training_loss[:, 1:])
    if any(ending == Ending.DIVERGED for ending in found.ending):
        raise ValueError(f"simulate: {found.message}")

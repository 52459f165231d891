"""Answers to the page's requests, computed by the library within bounds: the curve with its phases, and the landscape."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from solvable.dynamics.cases import case_table
from solvable.levels import run
from solvable.macro import Macro
from solvable.overlaps import Overlaps
from solvable.problems import InvalidProblem, Problem, Ratio, Training
from solvable.results import Ending, Trajectory
from solvable.results.observables import local_exponent
from solvable.runfiles import RunFile, StartTable, read_content
from solvable.web.preparing import CURVE, PREPARATION

LINEAR, LOGARITHMIC = 181, 61  # outputs of a curve
SECONDS, RTOL = 1.5, 1e-6  # of work for a curve, and its accuracy
NEAREST, DIRECTIONS = 5, 6  # critical points of a list; most teachers with directions of their own, which multiply them
SIZES = {
    "student.width": 16, "teacher.width": 16, "inputs.spectrum.distinct": 64, "inputs.spectrum.eigenvalues": 64,
    "inputs.spectrum.beta": 10, "inputs.dim": 10**9, "training.batch": 1024, "run.until": 1e6,
    "mixture.probabilities": 16, "mixture.means.0": 16, "tasks": 8,
}  # fmt: skip
LEAST = 1e-6  # of times
APART = 1.05  # ratio of times between which a local exponent is measured
SLOW = f"cut off at {{:.3g}} after {SECONDS:g} s of work, which is all that the explorer spends; the library takes longer ones"
PARTS = tuple(Problem.model_fields)  # tables of a problem
TABLES = (*PARTS, "start", "run")
CASES = 64  # most that a sample may belong to


@dataclass(frozen=True)
class View:
    """A checked request of the page: a problem, a start and how long to run."""

    problem: Problem
    start: Overlaps
    until: float


def view(state: Any) -> View:
    """Check the tables of a run and the bounds of what is computed for a page; all mistakes at once."""
    if not isinstance(state, dict):
        raise InvalidProblem(["must be a table of tables"])
    unknown = [
        f"{name}: is not a table here, must be one of {', '.join(TABLES)}" for name in state if name not in TABLES
    ]
    if unknown:
        raise InvalidProblem(unknown[:5])
    _check_sizes(state)
    file = read_content(state, {})
    _check_bounds(file)
    assert file.run.until is not None
    training = file.problem.training
    still = Training(learning_rate=1.0, train_readout=training.train_readout, anchor=training.anchor)
    return View(file.problem, _start(file.problem.replace(training=still), file.start), file.run.until)


@lru_cache(maxsize=32)
def _start(problem: Problem, table: StartTable) -> Overlaps:
    """It does not depend on how one trains, so that moving the rate draws the same one again."""
    return table.draw(problem)


def _check_sizes(state: dict[str, Any]) -> None:
    """Before anything of that size is made."""
    mistakes = []
    for name, most in SIZES.items():
        value: Any = state
        for word in name.split("."):
            inside = value[0] if word == "0" and isinstance(value, list) and value else None
            value = value.get(word) if isinstance(value, dict) else inside
        if isinstance(value, list):
            value = len(value)
        if isinstance(value, int | float) and value > most:
            given = f"{value:g}" if value < 1e300 else "too much"
            mistakes.append(f"{name}: {given} given, must be at most {most:g} in the explorer; the library takes more")
    if mistakes:
        raise InvalidProblem(mistakes)


def _check_bounds(file: RunFile) -> None:
    problem, mistakes = file.problem, []
    if file.run.until is None:
        mistakes.append("run.until: is missing")
    elif file.run.until < LEAST:
        mistakes.append(f"run.until: {file.run.until:g} given, must be at least {LEAST:g}")
    for name in ("times", "stop", "clock"):
        if getattr(file.run, name) is not None:
            mistakes.append(f"run.{name}: is not for the explorer")
    count = case_table(problem).size
    if count > CASES:
        mistakes.append(f"training.dropout: {count} cases of a sample, must be at most {CASES} in the explorer")
    for name in ("samples", "step", "selection"):
        if getattr(problem.training, name) is not None:
            mistakes.append(f"training.{name}: is for a finite data set; the explorer takes it in the table data")
    if isinstance(problem.training.batch, Ratio):
        mistakes.append("training.batch: a ratio is for a finite data set; the explorer takes it in the table data")
    if mistakes:
        raise InvalidProblem(mistakes)


def curve(asked: View) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Facts, and arrays over time: the deterministic limit with its phases and what theory says of them."""
    found, (known, unknown) = trajectory(asked), theory(asked)
    facts = {
        "success": found.success,
        "message": found.message if found.ending[0] != Ending.INTERRUPTED else SLOW.format(found.end_time[0]),
        "hash": asked.problem.hash[:12],
        "dim": asked.problem.inputs.dim,
        "start_risk": _number(found.start_risk[0]),
        "half_time": _number(found.exit_time(0.5)[0]),
        "phases": [
            {"name": one.name, "from": one.start, "to": one.end, "height": one.height} for one in found.phases()
        ],
        "theory": known,
        "theory_refusal": unknown,
        "accuracy": RTOL * (_number(found.start_risk[0]) or 0.0),
        "landscape": landscape_refusal(asked.problem),
        "compiling": PREPARATION.words(CURVE),
        "cut_off": bool(found.ending[0] == Ending.INTERRUPTED),
        "eigenvalues": sorted(map(float, asked.problem.inputs.eigenvalues), reverse=True),
        "exponent": power(asked),
    }
    arrays = {
        "time": found.time,
        "risk": found.risk[0],
        "cross": found.cross_overlap[0],
        "student": found.student_overlap[0],
        "readout": found.readout[0],
        "exponent": exponents(found),
    }
    return facts, arrays


def exponents(found: Trajectory) -> np.ndarray:
    """Local exponent at each output, from outputs so far apart that their rounding is not seen."""
    time, kept = found.time, [1]
    for i in range(2, len(time)):
        if time[i] > APART * time[kept[-1]]:
            kept.append(i)
    apart = local_exponent(time[kept], found.risk[0, kept])
    return np.interp(time, time[kept], apart)


def power(asked: View) -> float | None:
    """The power of time with which the risk of linear students falls on a power-law spectrum without end; None for others."""
    from solvable.theory import power_law_risk

    try:
        early, late = power_law_risk(asked.problem, asked.start, [1.0, 2.0], limits=(0.0, np.inf)).value
    except ValueError:
        return None
    return _number(np.log2(late / early))


def trajectory(asked: View) -> Trajectory:
    """The deterministic limit; where it diverges early, at the times that it reaches."""
    level = Macro(rtol=RTOL, nodes=2**10, threads=1, seconds=SECONDS)
    found = run(asked.problem, asked.start, level, times=times(asked.until), progress=False)
    end = float(found.end_time[0])
    if found.ending[0] == Ending.DIVERGED and LEAST < end < 0.2 * asked.until:
        return run(asked.problem, asked.start, level, times=times(1.02 * end), progress=False)
    return found


def times(until: float) -> np.ndarray:
    """Equally spaced outputs, with some more at the beginning for logarithmic axes."""
    return np.unique(
        np.concatenate(
            [np.linspace(0.0, until, LINEAR), np.geomspace(1e-4 * until, until, LOGARITHMIC, endpoint=False)]
        )
    )


def theory(asked: View) -> tuple[list[dict[str, Any]], str | None]:
    """Predictions that apply, with where they are drawn (at a risk or at a time), what is said of them and what is not met; or why
    there is none."""
    from solvable import theory as known

    problem, start = asked.problem, asked.start
    wanted: list[tuple[str, str, str, Callable[[], Any]]] = [
        ("plateau", "plateau height", "risk", lambda: known.plateau(problem)),
        ("escape_time", "escape time to half", "time", lambda: known.escape_time(problem, start)),
        ("erf_plateau", "plateau height at small rates", "risk", lambda: known.erf_plateau(problem, start)),
        ("optimal_rate", "rate of the fastest escape", "", lambda: known.optimal_rate(problem)),
        ("rate_limit", "zero error is stable below the rate", "", lambda: known.rate_limit(problem)),
        ("annealed_escape_time", "escape time, annealed", "time", lambda: known.annealed_escape_time(problem)),
        ("noise_floor", "noise floor", "risk", lambda: known.noise_floor(problem)),
    ]
    found, refusals = [], {}
    for name, label, kind, predict in wanted:
        try:
            prediction = predict()
        except (ValueError, ArithmeticError) as refusal:  # it does not apply here
            refusals[name] = "; ".join(str(refusal).splitlines())
            continue
        number = _number(float(getattr(prediction.value, "risk", prediction.value)))
        if number is not None:
            about = _about(getattr(known, name).__doc__ or "")
            found.append(
                {"name": label, "at": kind, "value": number, "source": f"theory.{name}", "about": about,
                 "caveats": list(prediction.caveats)}
            )  # fmt: skip
    first = "erf_plateau" if problem.student.activation == "erf" else "plateau"
    return found, None if found else refusals.get(first)


def _about(text: str) -> str:
    """Of a docstring, what it is and its notes."""
    parts = re.split(r"\n\s*(\w+)\n\s*-{3,}\n", text)
    notes = dict(zip(parts[1::2], parts[2::2], strict=True)).get("Notes", "")
    return " ".join(f"{parts[0]} {notes}".split())


def landscape_refusal(problem: Problem) -> str | None:
    """Why the Hessian is not known, if it is not."""
    from solvable.landscape.quadratic import LANDSCAPE, WHO

    refusals = LANDSCAPE.refusals(problem, WHO)
    return refusals[0] if refusals else None


def curvature(asked: View, at: Any) -> dict[str, Any]:
    """The eigenvalues of the Hessian at one output."""
    from solvable.landscape import curvature as curvature_of

    refusal = landscape_refusal(asked.problem)
    if refusal is not None:
        raise InvalidProblem([refusal])
    if not isinstance(at, int) or isinstance(at, bool):
        raise InvalidProblem([f"at: {at!r:.40} given, must be the number of an output"])
    found = trajectory(asked)
    reached = int(np.isfinite(found.risk[0]).sum())
    if not 0 <= at < reached:
        raise InvalidProblem([f"at: {str(at)[:40]} given, must be the number of an output, from 0 to {reached - 1}"])
    state = found.at(float(found.time[at]))
    bent = curvature_of(asked.problem, state)
    near, unlisted = critical(asked.problem, state)
    return {
        "inside": bent.inside.tolist(), "outside": bent.outside.tolist(), "room": bent.room, "near": near, "unlisted": unlisted,
    }  # fmt: skip


def critical(problem: Problem, state: Overlaps) -> tuple[list[dict[str, Any]], str | None]:
    """The nearest critical points of the risk, or why there is no list."""
    from solvable.landscape import nearest

    if not problem.teacher.is_orthonormal and problem.teacher.width > DIRECTIONS:
        return [], "too many critical points to list them here"
    try:
        found = nearest(problem, state, NEAREST)
    except ValueError as error:
        return [], str(error)
    return [
        {
            "kind": point.kind, "inside": point.inside, "outside": point.outside, "risk": _number(point.risk), "index": point.index,
            "loss": _number(loss),
        }
        for point, loss in found
    ], None  # fmt: skip


def _number(value: Any) -> float | None:
    return float(value) if value is not None and np.isfinite(value) else None

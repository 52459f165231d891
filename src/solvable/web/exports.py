"""Exports of a view: the same run as Python, TOML or a command, its data, its picture."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

from solvable.problems import InvalidProblem
from solvable.web import simulations, work
from solvable.web.python_text import call, changes_text, problem_text, text

OUTPUTS = 10_000  # most of a simulated run
TEXT = "text/plain; charset=utf-8"
NOISE = "# {} of the same law; its noise is not that on the page, which simulates in pieces"
SIMULATED = {"time", "risk", "seed", "level", "data"}
KEPT = 5  # most curves


@dataclass(frozen=True)
class Simulated:
    """Runs of a simulation as the page has drawn them."""

    time: np.ndarray
    risk: np.ndarray  # (run, time)
    asked: simulations.Simulation

    @classmethod
    def read(cls, content: Any, view: work.View) -> Simulated:
        wrong = InvalidProblem(["sgd: must have time, risk (a list for each run) and seed, as they were simulated"])
        if not isinstance(content, dict) or not {"time", "risk", "seed"} <= set(content) <= SIMULATED:
            raise wrong
        seed = simulations.check_seed(content["seed"])
        rows = [content["time"], *(content["risk"] if isinstance(content["risk"], list) else [])]
        if not 2 <= len(rows) <= simulations.RUNS + 1:
            raise wrong
        for row in rows:
            if not isinstance(row, list) or not 1 <= len(row) <= OUTPUTS or len(row) != len(rows[0]):
                raise wrong
            if not all(x is None or (isinstance(x, int | float) and abs(x) < 1e300) for x in row):
                raise wrong
        time, *risk = (np.array([np.nan if x is None else x for x in row], dtype=float) for row in rows)
        level = {"level": content.get("level", "micro"), "data": content.get("data")}
        asked = simulations.Simulation.read(view, level | {"runs": len(risk), "seed": seed})
        return cls(time, np.array(risk), asked)


@dataclass(frozen=True)
class Kept:
    """A curve that was kept, and in words how the present one differs from it."""

    state: dict[str, Any]
    view: work.View
    words: str

    @classmethod
    def read(cls, content: Any) -> Kept:
        if not isinstance(content, dict) or set(content) != {"state", "words"} or not isinstance(content["words"], str):
            raise InvalidProblem(["kept: must have a state and words for each curve"])
        return cls(content["state"], work.view(content["state"]), " ".join(content["words"].split())[:200])


@dataclass(frozen=True)
class Taken:
    """A checked request for an export, with the view that it shows."""

    state: dict[str, Any]
    view: work.View
    log_time: bool = False
    log_risk: bool = True
    overlaps: str = "teachers"
    sgd: Simulated | None = None
    kept: tuple[Kept, ...] = ()

    @classmethod
    def read(cls, content: dict[str, Any]) -> Taken:
        looked = content.get("view") or {}
        usual = {"log_time": False, "log_risk": True, "overlaps": "teachers"}
        if not isinstance(looked, dict) or any(type(looked[name]) is not type(usual.get(name)) for name in looked):
            raise InvalidProblem(["view: must have log_time and log_risk, true or false, and overlaps"])
        if looked.get("overlaps", "teachers") not in ("teachers", "students", "readout"):
            raise InvalidProblem(
                [f"view.overlaps: {looked['overlaps']:.40} given, must be teachers, students or readout"]
            )
        view, kept = work.view(content.get("state")), content.get("kept") or []
        if not isinstance(kept, list) or len(kept) > KEPT:
            raise InvalidProblem([f"kept: must be a list of at most {KEPT} curves"])
        sgd = None if content.get("sgd") is None else Simulated.read(content["sgd"], view)
        return cls(content.get("state", {}), view, **looked, sgd=sgd, kept=tuple(map(Kept.read, kept)))


def as_toml(taken: Taken) -> tuple[bytes, str]:
    return tomli_w.dumps(_plain({**taken.state, "start": _start(taken.state)})).encode(), TEXT


def as_command(taken: Taken) -> tuple[bytes, str]:
    lines = [
        "cat > problem.toml <<'END'",
        as_toml(taken)[0].decode() + "END",
        "solvable run problem.toml --output run.nc",
    ]
    if taken.sgd is not None:
        lines += _simulate_command(taken, taken.sgd.asked)
    return "\n".join([*lines, ""]).encode(), TEXT


def _simulate_command(taken: Taken, asked: simulations.Simulation) -> list[str]:
    output = f"--output {asked.kind.file}.nc"
    if not asked.kind.on_data:
        runs = f"--level {asked.level} --runs {asked.runs} --level-seed {asked.seed}"
        return [NOISE.format(asked.kind.words), f"solvable run problem.toml {runs} {output}"]
    level = {"name": "empirical", "runs": asked.runs, "seed": asked.seed, "form": asked.form}
    state = {**taken.state, "training": asked.training, "level": level, "run": {"until": asked.steps}}
    return [
        "cat > data.toml <<'END'",
        tomli_w.dumps(_plain({**state, "start": _start(taken.state)})) + "END",
        f"solvable run data.toml {output}",
    ]


def as_python(taken: Taken) -> tuple[bytes, str]:
    problem, until = taken.view.problem, float(taken.state["run"]["until"])
    scales = ", ".join(f'{axis}scale="log"' for axis, log in (("x", taken.log_time), ("y", taken.log_risk)) if log)
    start = call("sv.start", "problem", **_start(taken.state))
    lines = ["import solvable as sv", "", problem_text(problem), f"start = {start}"]
    lines += [f"macro = {call('sv.run', 'problem', 'start', 'sv.Macro()', until=until)}  # the equations"]
    names, labels = ["macro"], ["equations"]
    for i, one in enumerate(taken.kept, 1):
        lines += _kept_lines(taken, one, f"kept_{i}")
        names, labels = [*names, f"kept_{i}"], [*labels, f"before: {one.words}"]
    if taken.sgd is not None:
        lines += _simulated_lines(taken.sgd.asked, until)
    kind = None if taken.sgd is None else taken.sgd.asked.kind
    if kind is not None and not kind.on_data:
        names, labels = [*names, kind.file], [*labels, kind.words]
    drawn = call("sv.plot.compare", *names, labels=labels, depth=1)
    lines += ["with sv.plot.style():"]
    lines += [f"    ax = {drawn if len(names) > 1 else 'sv.plot.risk(macro, phases=True)'}"]
    if taken.sgd is not None and taken.sgd.asked.kind.on_data:
        times = "trained.time" if taken.sgd.asked.reach == 1 else f"{text(taken.sgd.asked.reach)} * trained.time"
        lines += [f"    ax.plot({times}, trained.risk.T)  # on the data set"]
    lines += [f"    ax.set({scales})"] if scales else []
    lines += ['    ax.figure.savefig("curve.png")', "print(macro)", ""]
    return "\n".join(lines).encode(), "text/x-python; charset=utf-8"


def _kept_lines(taken: Taken, one: Kept, name: str) -> list[str]:
    """A curve that was kept: the problem with the differences replaced, from a start of its own where that is another one."""
    changes = changes_text(taken.view.problem, one.view.problem)
    made = call("problem.replace", *changes) if changes else "problem"
    start = "start" if one.view.start == taken.view.start else call("sv.start", f"{name}_problem", **_start(one.state))
    run = call("sv.run", f"{name}_problem", start, "sv.Macro()", until=one.view.until)
    return [f"{name}_problem = {made}", f"{name} = {run}"]


def _simulated_lines(asked: simulations.Simulation, until: float) -> list[str]:
    name = asked.kind.file
    if not asked.kind.on_data:
        level = call(f"sv.{asked.kind.level}", runs=asked.runs, seed=asked.seed)
        run = call("sv.run", "problem", "start", level, until=until)
        return [NOISE.format(asked.kind.words), f"{name} = {run}"]
    level = call("sv.Empirical", runs=asked.runs, seed=asked.seed, form=None if asked.form == "auto" else asked.form)
    return [
        f"on_data = {call('problem.replace', 'training=' + text(asked.view.problem.training))}",
        f"# in steps, each of which goes as far as single samples in α = {asked.reach:g}",
        f"{name} = {call('sv.run', 'on_data', 'start', level, until=asked.steps)}",
    ]


def as_csv(taken: Taken) -> tuple[bytes, str]:
    found = work.trajectory(taken.view)
    p, q = taken.view.problem.student.width, taken.view.problem.teacher.width
    pairs = [(i, j) for i in range(p) for j in range(i, p)]
    columns = {
        "time": found.time,
        "risk": found.risk[0],
        **{f"cross_{i + 1}_{j + 1}": found.cross_overlap[0, :, i, j] for i in range(p) for j in range(q)},
        **{f"student_{i + 1}_{j + 1}": found.student_overlap[0, :, i, j] for i, j in pairs},
        **{f"readout_{i + 1}": found.readout[0, :, i] for i in range(p)},
    }
    rows = [",".join(repr(float(value)) for value in row) for row in zip(*columns.values(), strict=True)]
    return "\n".join([",".join(columns), *rows, ""]).encode(), "text/csv; charset=utf-8"


def as_netcdf(taken: Taken) -> tuple[bytes, str]:
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "run.nc"
        work.trajectory(taken.view).save(path)
        return path.read_bytes(), "application/x-netcdf"


def _picture(ending: str) -> Callable[[Taken], tuple[bytes, str]]:
    def draw(taken: Taken) -> tuple[bytes, str]:
        from solvable.plot import figure, style

        found, content = work.trajectory(taken.view), io.BytesIO()
        with style():
            picture, (left, right) = figure(1, 2, height=3.0, width=8.0)
            for ax in (left, right):
                if taken.log_time:
                    ax.set(xscale="log", xlim=(found.time[1], found.time[-1]))
            _draw_risk(taken, found, left)
            _draw_overlaps(taken, found, right)
            picture.suptitle(_title(taken.view.problem), fontsize="medium")
            picture.savefig(content, format=ending)
        return content.getvalue(), {"png": "image/png", "svg": "image/svg+xml"}[ending]

    return draw


def _draw_risk(taken: Taken, found: Any, ax: Any) -> None:
    from solvable.plot import risk

    ax.set_yscale("log" if taken.log_risk else "linear")
    risk(found, ax=ax, color="C0", lw=1.6, label="deterministic limit", zorder=3, phases=True)
    if taken.sgd is not None:
        runs = ax.plot(taken.sgd.time, taken.sgd.risk.T, color="C1", lw=0.7, zorder=4)
        runs[0].set_label(f"{taken.sgd.asked.kind.words} at dimension {taken.view.problem.inputs.dim}")
    for curve, dashes in zip(taken.kept, cycle(["--", ":", "-."]), strict=False):
        before = work.trajectory(curve.view)
        ax.plot(before.time, before.risk[0], color="0.45", ls=dashes, lw=1.2, label=f"before: {curve.words}")
    limits = ax.axis()
    drawn = [one for one in work.theory(taken.view)[0] if one["at"]]
    for one, dashes in zip(drawn, cycle(["--", "-.", ":"]), strict=False):
        line = {"risk": ax.axhline, "time": ax.axvline}[one["at"]]
        line(one["value"], color="C2", lw=0.9, ls=dashes, label=f"theory: {one['name']}")
    ax.axis(limits)
    ax.legend(fontsize="x-small")


def _draw_overlaps(taken: Taken, found: Any, ax: Any) -> None:
    from solvable import plot

    draw = {"students": plot.student_overlaps, "teachers": plot.cross_overlaps, "readout": plot.readouts}[
        taken.overlaps
    ]
    if taken.overlaps == "readout" and not taken.view.problem.training.train_readout:
        draw = plot.cross_overlaps
    draw(found, ax=ax, legend=True, lw=0.9)
    ax.legend(fontsize="x-small")


def _title(problem: Any) -> str:
    student, teacher = problem.student, problem.teacher
    words = [
        f"{student.width} {student.activation} student{'s' * (student.width > 1)}"
        + (" on the sphere" if student.norm == "sphere" else ""),
        f"{teacher.width} {teacher.activation} teacher{'s' * (teacher.width > 1)}",
    ]
    if isinstance(problem.training.learning_rate, float):
        words.append(f"rate {problem.training.learning_rate:g}")
    if problem.inputs.blocks > 1:
        words.append(f"{problem.inputs.blocks} eigenvalues")
    if isinstance(problem.training.label_noise, float) and problem.training.label_noise > 0:
        words.append(f"label noise {problem.training.label_noise:g}")
    return ", ".join(words)


def _start(state: dict[str, Any]) -> dict[str, Any]:
    """What differs from the usual start, with the seed that is taken where none is given."""
    given: dict[str, Any] = state.get("start", {})
    drawn = given.get("seed") is None and given.get("student_overlap") is None
    usual = {"scale": 1.0, "students": "gaussian"}
    kept = {name: value for name, value in given.items() if value is not None and usual.get(name) != value}
    return {**({"seed": 0} if drawn else {}), **kept}


def _plain(state: Any) -> Any:
    """Without the fields that are not there; TOML has no null."""
    if isinstance(state, dict):
        return {name: _plain(value) for name, value in state.items() if value is not None}
    return [_plain(value) for value in state] if isinstance(state, list) else state


KINDS: dict[str, Callable[[Taken], tuple[bytes, str]]] = {
    "toml": as_toml,
    "command": as_command,
    "python": as_python,
    "csv": as_csv,
    "nc": as_netcdf,
    "png": _picture("png"),
    "svg": _picture("svg"),
}

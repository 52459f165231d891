"""What a type checker sees of the library from outside: scripts that use it pass strictly, mistakes in them are found."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import solvable as sv

ROOT = Path(__file__).parents[2]
RIGHT = """
import numpy as np
import solvable as sv

problem = sv.Problem(
    teacher=sv.Teacher(width=2, overlap=sv.overlaps.gram(2, overlap=0.1).tolist()),
    student=sv.Student(width=4, readout="mean"),
    inputs=sv.Inputs(dim=1000, spectrum=sv.PowerLaw(beta=1.0, distinct=4)),
    training=sv.Training(learning_rate=sv.Schedule(times=(0, 10), rates=(0.1, 0.01))),
)
printed: sv.Problem = sv.problems.convention("bocchi2026").problem(p=4, p_star=2, eta=0.1, N=1000)
start: sv.Overlaps = sv.start(printed, seed=0)
speed: np.ndarray = sv.dynamics.derivative(printed, start).cross_overlap
risk: float = sv.dynamics.moments(sv.dynamics.field_covariance(printed, start), printed).risk
run: sv.Trajectory = sv.run(printed, start, sv.Macro(), until=10.0, stop=sv.when("risk", below=0.5, relative=True))
batch = sv.levels.run_batch(printed, run.states(), sv.Micro(runs=2, seed=1), until=1.0)
ends: list[sv.results.Ending] = batch.ending
rates: np.ndarray = batch.rate
excess: np.ndarray | None = batch.gap
states: list[sv.Overlaps] = [one.last() for one in batch]
other = float(run.risk_on(printed.replace(teacher__readout=(1.0, 0.0)))[0, -1])
points: list[sv.landscape.CriticalPoint] = sv.landscape.critical_points(printed)
sv.plot.risk(run).set_title("risk")
"""
WRONG = """
import solvable as sv

sv.convention("bocchi2026")
sv.Macro(rtol="small")
sv.Student(breadth=4)
sv.dynamics.nothing


def rate_of(run: sv.Trajectory) -> int:
    run.gapp
    return run.rate


sv.theory.escape_time()
"""
ERRORS = {
    4: 'Module has no attribute "convention"',
    5: 'Argument "rtol" to "Macro" has incompatible type "str"',
    6: 'Unexpected keyword argument "breadth" for "Student"',
    7: 'Module has no attribute "nothing"',
    11: '"Trajectory" has no attribute "gapp"',
    12: 'Incompatible return value type (got "ndarray',
    15: 'Missing positional arguments "problem", "start" in call to "escape_time"',
}


@pytest.mark.full
def test_scripts_are_checked_strictly(tmp_path) -> None:
    (tmp_path / "right.py").write_text(RIGHT)
    (tmp_path / "wrong.py").write_text(WRONG)
    cache = ROOT / ".mypy_cache" / "outside"  # which makes it fast from the second time on
    options = ["--config-file=", "--strict", "--follow-imports=silent", f"--cache-dir={cache}", "--no-error-summary"]
    told = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "right.py", "wrong.py"],
        cwd=tmp_path, env={**os.environ, "MYPYPATH": str(ROOT / "src")}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    found = [line for line in told.stdout.splitlines() if ": error:" in line]
    assert told.stderr == ""
    assert len(found) == len(ERRORS), told.stdout
    for line, (number, text) in zip(found, ERRORS.items(), strict=True):
        assert line.startswith(f"wrong.py:{number}: error: {text}")


def test_scripts_that_pass_the_checker_run() -> None:
    exec(compile(RIGHT, "right.py", "exec"), {})


def test_there_is_one_version() -> None:
    from hatchling.metadata.core import ProjectMetadata
    from hatchling.plugin.manager import PluginManager

    metadata = ProjectMetadata(str(ROOT), PluginManager())
    assert metadata.version == sv.__version__
    assert f"\nversion: {sv.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"## {sv.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")

"""Wheels: what is in them, and that those with machine code need no compiler."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import solvable as sv

ROOT = Path(__file__).parents[2]
CURVE = """
import solvable as sv
problem = sv.Problem(
    teacher=sv.Teacher(width=1), student=sv.Student(width=2), inputs=sv.Inputs(dim=100), training=sv.Training(learning_rate=0.1)
)
for level in (sv.Macro(), sv.Micro(), sv.Meso()):
    assert sv.run(problem, sv.start(problem, seed=0), level, until=2, progress=False).success
print(sv.__file__)
"""


def build(target: Path, **environment: str) -> Path:
    words = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)]
    subprocess.run(words, cwd=ROOT, env={**os.environ, **environment}, check=True, capture_output=True)
    (wheel,) = target.glob("*.whl")
    return wheel


def test_a_wheel_is_pure_unless_it_is_asked_for_machine_code(tmp_path) -> None:
    wheel = build(tmp_path, SOLVABLE_MACHINE_CODE="0")
    assert wheel.name.endswith("-py3-none-any.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {"solvable/web/static/page.html", "solvable/py.typed"} <= set(names)
    assert wheel.name.startswith(f"solvable-{sv.__version__}-")
    assert not [name for name in names if name.endswith((".bin", ".nbi", ".nbc", ".pyc"))]


@pytest.mark.slow
def test_a_wheel_with_machine_code_compiles_nothing(tmp_path) -> None:
    wheel = build(tmp_path / "dist", SOLVABLE_MACHINE_CODE="1")
    assert "none-any" not in wheel.name
    names = [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".bin")]
    assert any("micro.process.follow-" in name for name in names)
    assert not any("micro.process.take-" in name for name in names)  # an inner kernel
    place, cache = tmp_path / "site", tmp_path / "cache"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(place), str(wheel)]
    subprocess.run(pip, check=True, capture_output=True)
    settings = {**os.environ, "PYTHONPATH": str(place), "SOLVABLE_PATIENCE": "0", "SOLVABLE_CACHE_DIR": str(cache)}
    words = [sys.executable, "-c", CURVE]
    told = subprocess.run(words, cwd=tmp_path, env=settings, check=True, capture_output=True, text=True)
    assert told.stdout.strip().startswith(str(place))
    assert told.stderr == ""
    assert not cache.exists()

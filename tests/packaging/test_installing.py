"""The package as an engineer meets it: built, installed into an empty environment, used, and removed without a trace; and what
its metadata and its locks say."""

import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PROBLEM = "[teacher]\nwidth = 1\n[student]\nwidth = 2\n[training]\nlearning_rate = 0.1\n[run]\nuntil = 2\n"
PINS = {"requirements.txt": ("dev",), "requirements-docs.txt": ("dev", "docs")}


def built(target: Path) -> tuple[Path, Path]:
    """The sdist of these sources, unpacked, and the wheel that is built from it alone."""
    build = [sys.executable, "-m", "hatchling", "build", "-d", str(target)]
    settings = {**os.environ, "SOLVABLE_MACHINE_CODE": "0"}
    subprocess.run([*build, "-t", "sdist"], cwd=ROOT, env=settings, check=True, capture_output=True)
    (sdist,) = target.glob("*.tar.gz")
    with tarfile.open(sdist) as packed:
        packed.extractall(target / "unpacked", filter="data")
    (sources,) = (target / "unpacked").iterdir()
    subprocess.run([*build, "-t", "wheel"], cwd=sources, env=settings, check=True, capture_output=True)
    (wheel,) = target.glob("*.whl")
    return sources, wheel


def files(place: Path) -> set[str]:
    return {str(path.relative_to(place)) for path in place.rglob("*")}


@pytest.mark.full
def test_a_wheel_is_installed_used_and_removed(tmp_path) -> None:
    """Tests download nothing: what the wheel needs is lent by this environment, between installing and removing."""
    sources, wheel = built(tmp_path / "dist")
    place = tmp_path / "env"
    venv.create(place, with_pip=False)
    (site,) = place.glob("lib/python*/site-packages")
    before, python = files(place), str(place / "bin/python")
    pip = [sys.executable, "-m", "pip", "--python", python]
    settings = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def said(*words: str) -> str:
        return subprocess.run(words, cwd=tmp_path, env=settings, check=True, capture_output=True, text=True).stdout

    said(*pip, "install", "--quiet", "--no-deps", "--no-index", str(wheel))
    assert "solvable" in {path.name for path in site.iterdir()}
    (site / "lent.pth").write_text(sysconfig.get_paths()["purelib"])
    assert said(python, "-c", "import solvable; print(solvable.__file__)").startswith(str(site))
    (tmp_path / "problem.toml").write_text(PROBLEM)
    told = said(str(place / "bin/solvable"), "run", "problem.toml", "--plot", "curve.png")
    assert "macro: reached the end" in told
    assert (tmp_path / "curve.png").read_bytes()[:4] == b"\x89PNG"
    command = said(python, "-c", "from solvable.numerics.installing import install_command as c; print(c('explore'))")
    assert command.startswith(f"{python} -m pip install ")
    assert all(f"'{one}'" in command for one in PROJECT["optional-dependencies"]["explore"])
    (site / "lent.pth").unlink()
    said(*pip, "uninstall", "--quiet", "--yes", "solvable")
    assert files(place) == before
    for name in (
        "README.md",
        "Makefile",
        "requirements.txt",
        "examples/quadratic.toml",
        "tests/packaging/test_installing.py",
    ):
        assert (sources / name).is_file(), name


def test_the_metadata_says_what_is_supported() -> None:
    versions = [one.rpartition(" ")[2] for one in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d+$", one)]
    assert versions == ["3.11", "3.12", "3.13", "3.14"]
    assert PROJECT["requires-python"] == f">={versions[0]}"
    assert f"{sys.version_info.major}.{sys.version_info.minor}" in versions
    (author,) = PROJECT["authors"]
    assert f'- name: "{author["name"]}"' in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PINS)
def test_the_locks_hold_what_the_project_needs(name) -> None:
    extras = PROJECT["optional-dependencies"]
    needed = [
        Requirement(one) for one in (*PROJECT["dependencies"], *(one for key in PINS[name] for one in extras[key]))
    ]
    text = (ROOT / name).read_text(encoding="utf-8")
    pins = re.findall(r"^([\w.-]+)==(\S+)(.*\n(?:    .*\n)+)", text, re.M)
    for one in needed:
        assert any(one.specifier.contains(version) for pinned, version, _ in pins if pinned == one.name.lower()), one
    asked = {pinned for pinned, _, block in pins if "solvable (pyproject.toml)" in block}
    assert asked == {one.name.lower() for one in needed}


def test_every_dependency_of_the_core_is_imported_by_it() -> None:
    """Also those of extras, by the module that they are for."""
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    for one in [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["completion"]]:
        module = Requirement(one).name.replace("-", "_")
        assert re.search(rf"^\s*(import|from) {module}\b", sources, re.M), one

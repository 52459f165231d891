"""The layout is part of the design: which room may import which, what is public, and what a start costs."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import solvable as sv

ROOT = Path(sv.__file__).parent
ORDER = [
    "numerics", "gaussian", "problems", "overlaps", "dynamics", "plot", "results", "levels", "micro", "meso", "macro", "empirical",
    "empirical_macro", "landscape", "theory", "control", "fits", "checks", "runfiles", "sweeps", "papers", "cli", "web",
]  # fmt: skip
SIBLINGS = {"micro", "meso", "macro", "empirical", "empirical_macro", "landscape", "theory"}
PUBLIC = {
    "Activation", "Control", "Data", "Empirical", "EmpiricalMacro", "Inputs", "InvalidProblem", "Macro", "Meso", "Micro",
    "Mixture", "Momentum", "Overlaps", "PowerLaw", "Problem", "Ratio", "Rule", "Schedule", "Spectrum", "Student", "Task",
    "Teacher", "Training", "Trajectory", "fit", "gradient", "measure", "optimal", "run", "start", "sweep", "when",
}  # fmt: skip
MOST = 34  # names at top level, beside the rooms: each level and each thing that one asks of a problem has one
OPEN = {
    "checks", "control", "dynamics", "empirical", "fits", "gaussian", "landscape", "levels", "overlaps", "plot", "problems",
    "results", "sweeps", "theory",
}  # fmt: skip


def imported_rooms(path: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module] if node.module != "solvable" else [f"solvable.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        rooms |= {name.split(".")[1] for name in names if name.startswith("solvable.") and name.count(".") >= 1}
    return rooms & set(ORDER)


def allowed(room: str) -> set[str]:
    above = set(ORDER[: ORDER.index(room) + 1])
    if room in SIBLINGS:
        above -= SIBLINGS - {room}
    return above - ({"cli"} if room == "web" else set())


@pytest.mark.parametrize("path", sorted(ROOT.glob("*/**/*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_rooms_import_upwards_only(path: Path) -> None:
    room = path.relative_to(ROOT).parts[0]
    assert room in ORDER, f"{room} is not a room of the design"
    assert imported_rooms(path) <= allowed(room)


def test_the_rule_would_catch_a_wrong_import(tmp_path: Path) -> None:
    file = tmp_path / "wrong.py"
    file.write_text("from solvable.macro import Macro\nfrom solvable import theory\n")
    assert imported_rooms(file) == {"macro", "theory"}
    assert not imported_rooms(file) <= allowed("dynamics")
    assert not imported_rooms(file) <= allowed("theory")


def test_public_names() -> None:
    assert set(sv.__all__) == PUBLIC | OPEN
    assert len(PUBLIC) <= MOST
    for name in sv.__all__:
        assert getattr(sv, name) is not None
    with pytest.raises(AttributeError, match=r"no attribute 'nothing'$"):
        sv.nothing  # noqa: B018


def test_a_name_of_a_room_asked_for_at_top_level_tells_where_it_is() -> None:
    homes: dict[str, list[str]] = {}
    for room in sorted(OPEN):
        for name in getattr(sv, room).__all__:
            homes.setdefault(name, []).append(f"solvable.{room}.{name}")
    assert {"derivative", "gram", "expect", "decide", "convention", "run_batch", "moments"} < homes.keys()
    assert homes["atlas"] == ["solvable.landscape.atlas", "solvable.plot.atlas"]
    for name in homes.keys() - PUBLIC - OPEN:
        with pytest.raises(AttributeError) as error:
            getattr(sv, name)
        assert str(error.value) == f"module 'solvable' has no attribute {name!r}; it is {' or '.join(homes[name])}"


def test_a_room_offers_the_same_after_all_its_modules_are_imported() -> None:
    """A module of the name of a function would replace it."""
    for room in OPEN:
        module = getattr(sv, room)
        before = {name: getattr(module, name) for name in module.__all__}
        for path in sorted((ROOT / room).rglob("*.py")):
            import_module(".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__"))
        assert {name: getattr(module, name) for name in module.__all__} == before
        assert not [name for name, value in before.items() if isinstance(value, ModuleType)]


def test_a_public_class_has_a_name_of_its_own() -> None:
    homes: dict[str, set[str]] = {}
    for room in ORDER:
        module = import_module(f"solvable.{room}")
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if isinstance(value, type):
                homes.setdefault(name, set()).add(f"{value.__module__}.{value.__qualname__}")
    assert {name: found for name, found in homes.items() if len(found) > 1} == {}
    assert len(homes) > 40


def loaded_after(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_importing_the_library_loads_nothing_heavy() -> None:
    heavy = {"numpy", "scipy", "numba", "xarray", "matplotlib", "pydantic", "pandas", "rich"}
    used = "sv.dynamics.VERSION; dir(sv.dynamics); assert not hasattr(sv, 'gram')"
    assert not heavy & loaded_after(f"import solvable as sv; {used}")
    assert not {"xarray", "matplotlib", "pandas"} & loaded_after("import solvable as sv; sv.run; sv.Macro")
    assert "scipy.stats" not in loaded_after("import solvable.papers.registry")  # a third of all that this loads


def test_help_loads_nothing_heavy() -> None:
    heavy = {"numpy", "scipy", "numba", "xarray", "matplotlib", "pydantic", "pandas"}
    assert not heavy & loaded_after("from solvable.cli.main import parser; parser().format_help()")


def test_papers_have_no_compiled_code_and_no_integrals() -> None:
    for path in (ROOT / "papers").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "numba" not in text
        assert "solve_ivp" not in text

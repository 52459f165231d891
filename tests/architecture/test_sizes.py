"""Files and functions stay short enough to be read at one go, and calls name few things."""

import ast
from pathlib import Path
from typing import NamedTuple

import pytest

import solvable as sv

ROOT = Path(sv.__file__).parent
LONGEST_FILE = 400  # lines
LONGEST = 80  # lines of a function, without its docstring
MOSTLY = 30  # lines that at most one function in twenty exceeds
ARGUMENTS = 10
FEW = 4  # of the arguments of an exception may be given without their names
# public functions whose users write settings by name, each with the reason why they are not grouped
MANY = {
    "overlaps/starts.py: start": "four overlaps, each in total or by blocks, beside three settings of what is drawn",
    "results/logs.py: from_weights": "whatever a training keeps: weights, readouts, velocities, biases; and how they are read",
    "sweeps/sweep.py: sweep": "the settings of a run, of the grid and of where it is computed, in one call",
}
NUMBERS = 20  # decimal numbers in a statement that the formatter leaves alone


class Function(NamedTuple):
    """A function of the sources, with what is counted; `self` and `cls` are not arguments."""

    name: str
    lines: int
    arguments: int
    unnamed: int


def functions(path: Path, root: Path = ROOT) -> list[Function]:
    return [
        _measured(f"{path.relative_to(root).as_posix()}: {node.name}", node)
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def _measured(name: str, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Function:
    docstring = node.body[0] if ast.get_docstring(node) is not None else None
    spared = 0 if docstring is None else _height(docstring)
    unnamed = [one.arg for one in (*node.args.posonlyargs, *node.args.args) if one.arg not in ("self", "cls")]
    return Function(name, _height(node) - spared, len(unnamed) + len(node.args.kwonlyargs), len(unnamed))


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _height(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def walls(path: Path) -> list[int]:
    """First lines of statements with many decimal numbers whose layout the formatter is told to leave."""
    rows = path.read_text(encoding="utf-8").splitlines()
    assert not any(row.strip().startswith("# fmt: off") for row in rows), f"{path}: lay out single statements"
    found = [node for node in ast.walk(_tree(path)) if isinstance(node, ast.Assign | ast.AnnAssign | ast.Return)]
    return [
        node.lineno
        for node in found
        if "# fmt: skip" in rows[(node.end_lineno or node.lineno) - 1]
        and sum(isinstance(one, ast.Constant) and isinstance(one.value, float) for one in ast.walk(node)) > NUMBERS
    ]


@pytest.fixture(scope="module")
def everything() -> list[Function]:
    return [one for path in sorted(ROOT.rglob("*.py")) for one in functions(path)]


def test_no_file_is_too_long() -> None:
    """A long one mostly holds several things."""
    lines = {
        path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in ROOT.rglob("*.py")
    }
    assert {name: count for name, count in lines.items() if count > LONGEST_FILE} == {}


def test_no_function_is_too_long(everything) -> None:
    assert {one.name: one.lines for one in everything if one.lines > LONGEST} == {}
    assert sum(one.lines > MOSTLY for one in everything) <= len(everything) / 20


def test_no_function_takes_too_much(everything) -> None:
    """An exception that is no longer needed must go; what it takes is given by name."""
    exceptions = {one.name: one for one in everything if one.arguments > ARGUMENTS}
    assert exceptions.keys() == MANY.keys()
    assert all(one.unnamed <= FEW for one in exceptions.values())


def test_no_walls_of_numbers() -> None:
    """Outside papers, where tables of parameters are laid out by columns."""
    paths = [path for path in ROOT.rglob("*.py") if path.relative_to(ROOT).parts[0] != "papers"]
    assert {path.name: found for path in paths if (found := walls(path))} == {}


def test_the_rules_would_catch_what_is_too_long(tmp_path: Path) -> None:
    file = tmp_path / "long.py"
    names = ", ".join(f"x{i}" for i in range(9))
    body = "\n".join("        x0 += 1" for _ in range(LONGEST))
    file.write_text(f'class A:\n    def f(self, {names}, *rest, y, z):\n        """One.\n\n        Two."""\n{body}\n')
    assert functions(file, tmp_path) == [Function("long.py: f", LONGEST + 1, 11, 9)]
    file.write_text("X = [\n" + ", ".join(["0.5"] * (NUMBERS + 1)) + ",\n]  # fmt: skip\n")
    assert walls(file) == [1]
    file.write_text("# fmt: off\n")
    with pytest.raises(AssertionError, match="single statements"):
        walls(file)

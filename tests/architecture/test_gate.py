"""What `make test` takes and what it leaves to `make test-full`: settled by names and counts, for a timing decides no test."""

import ast
import re
from itertools import product
from pathlib import Path

import pytest

from gate import first, only

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
OUTSIDE = ("full", "slow", "browser")  # markers of what `make test` leaves out
# files whose tests all have such a marker, and why
WHOLE = {"sweeps/test_slurm.py": "needs SLURM and root"}


def selections() -> dict[str, str]:
    """Of each target of the Makefile that runs tests by markers: which."""
    rules = re.findall(r"^(test[\w-]*):.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    found = {name: re.search(r' -m (?:"([^"]+)"|(\w+))', recipe.replace("python -m", "")) for name, recipe in rules}
    return {name: match[1] or match[2] for name, match in found.items() if match}


def taken(expression: str, markers: set[str]) -> bool:
    """Whether pytest takes a test with these markers."""
    return bool(
        eval(expression, {"__builtins__": {}}, {name: name in markers for name in (*OUTSIDE, "laws", "statistical")})
    )


def test_every_test_is_run_by_a_target_and_once_by_the_gate() -> None:
    chosen = selections()
    gate = re.findall(r"^make (test\S*)$", (ROOT / ".ci/run").read_text(encoding="utf-8"), re.M)
    assert gate == ["test", "test-full", "test-browser"]
    for which in product((False, True), repeat=len(OUTSIDE)):
        markers = {name for name, there in zip(OUTSIDE, which, strict=True) if there}
        takers = [name for name in gate if taken(chosen[name], markers)]
        assert len(takers) == ("slow" not in markers) or "browser" in markers, markers
        assert takers or taken(chosen["test-slow"], markers), markers
    for markers in ({"slow"}, {"slow", "statistical"}, {"slow", "laws"}, {"slow", "laws", "statistical"}):
        takers = [name for name in chosen if taken(chosen[name], markers) and name != "test-seeds"]
        assert takers == ["test-laws" if "laws" in markers else "test-slow"], markers


def test_no_file_is_left_out_of_make_test_unless_it_is_named() -> None:
    """Whatever has a file of tests has something in `make test`."""
    left = {path.relative_to(TESTS).as_posix() for path in TESTS.rglob("test_*.py") if not quick(path)}
    left -= {name for name in left if name.startswith("browser/")}
    assert left == WHOLE.keys()


def quick(path: Path) -> bool:
    """Whether a test of this file has none of the markers that `make test` leaves out."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    values = [
        node.value for node in body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
    ]
    tests = [node for node in body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
    return not any(map(marked, values)) and any(not any(map(marked, test.decorator_list)) for test in tests)


def marked(node: ast.expr) -> bool:
    """Whether this decorator, or value of `pytestmark`, is one of those markers, or a list with one."""
    nodes = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
    return any(ast.unparse(one) in {f"pytest.mark.{name}" for name in OUTSIDE} for one in nodes)


def test_what_is_quick_of_many_parameters() -> None:
    full = [pytest.mark.full.mark]
    assert [(one.values, [mark.mark for mark in one.marks]) for one in first([(1, 2), (3, 4)])[1:]] == [((3, 4), full)]
    assert only("abc", "b")[1] == "b"
    slow = only([pytest.param("a", marks=pytest.mark.slow), "b"], "b")[0]
    assert {mark.name for mark in slow.marks} == {"slow", "full"}
    with pytest.raises(AssertionError):
        only("abc", "d")


def test_the_rule_would_catch_a_file_without_quick_tests(tmp_path: Path) -> None:
    file = tmp_path / "test_some.py"
    file.write_text("@pytest.mark.full\n@pytest.mark.statistical\ndef test_a():\n    pass\n")
    assert not quick(file)
    file.write_text(file.read_text() + "@pytest.mark.statistical\ndef test_b():\n    pass\n")
    assert quick(file)
    file.write_text(file.read_text() + "pytestmark = [pytest.mark.full, pytest.mark.filterwarnings('error')]\n")
    assert not quick(file)

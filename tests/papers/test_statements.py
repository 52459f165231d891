"""What the papers state: where each statement is judged exists, and the command lists it."""

import ast
import json
from pathlib import Path

import pytest
from test_figures import mismatches

from solvable.cli.main import main
from solvable.papers import registry
from solvable.papers.claims import beyond, holds
from solvable.papers.statements import Statement, summary

ROOT = Path(__file__).parents[2]
SOME = (
    Statement("(1)", "the mean is zero", claims=("bocchi2026/3",)),
    Statement(
        "(2)", "so is the risk", tests=("tests/papers/test_statements.py::test_a_statement_is_judged_in_one_way",)
    ),
    Statement("section 2", "N = 10", none="a setting"),
)


def functions_in(path: Path) -> set[str]:
    return {
        node.name for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.FunctionDef)
    }


def unknown(statements: tuple[Statement, ...], root: Path = ROOT) -> list[str]:
    """Keys of figures and names of tests that there are not."""
    keys = {key for one in statements for key in one.claims}
    named = {test for one in statements for test in one.tests}
    missing = [test for test in sorted(named) if not _exists(root, test)]
    return sorted(keys - {*registry.available()}) + missing


def _exists(root: Path, test: str) -> bool:
    path, _, name = test.partition("::")
    return (root / path).is_file() and name.partition("[")[0] in functions_in(root / path)


@pytest.mark.parametrize("paper", registry.papers())
def test_statements_name_figures_and_tests_that_exist(paper) -> None:
    statements = registry.statements(paper)
    assert statements
    assert unknown(statements) == []
    assert {key.split("/")[0] for one in statements for key in one.claims} <= {paper}
    assert all(one.where and one.text for one in statements)


def test_what_does_not_exist_is_noticed() -> None:
    assert unknown(SOME) == []
    wrong = Statement(
        "(3)", "x", claims=("bocchi2026/99",), tests=("tests/papers/test_statements.py::test_nothing", "tests/x.py::y")
    )
    assert unknown((wrong,)) == ["bocchi2026/99", "tests/papers/test_statements.py::test_nothing", "tests/x.py::y"]


def test_claims_and_statements_name_each_other() -> None:
    facts = {"found": 1.0, "tolerance": 0.1, "evidence": "here"}
    good = [
        holds("bocchi2026/3", "x", source="(1)", printed=1.0, **facts),
        beyond("bocchi2026/3", "y", expected=1.0, **facts),
    ]
    assert mismatches("bocchi2026/3", good, SOME) == []
    other = [holds("bocchi2026/3", "x", source="(4)", printed=1.0, **facts)]
    assert len(mismatches("bocchi2026/3", other, SOME)) == 2  # (4) is no statement, and no claim is about (1)


def test_a_statement_is_judged_in_one_way() -> None:
    assert [one.judged_by for one in SOME] == ["claims", "tests", "none"]
    assert summary(SOME) == {"statements": 3, "claims": 1, "tests": 1, "none": 1}
    with pytest.raises(ValueError, match="name a claim, a test, or the reason"):
        Statement("(1)", "x")
    with pytest.raises(ValueError, match="beside a claim or a test"):
        Statement("(1)", "x", claims=("a/1",), none="why")


def test_coverage(capsys, monkeypatch) -> None:
    monkeypatch.setattr(registry, "statements", lambda paper: SOME if paper == "bocchi2026" else None)
    assert main(["claims", "--coverage"]) == 0
    text = capsys.readouterr().out
    assert "bocchi2026: 3 statements: 1 judged by claims, 1 by tests alone, 1 by neither, with the reason" in text
    assert "arnaboldi2023: not covered" in text
    assert "none: a setting" in text
    assert main(["claims", "bocchi2026", "--coverage", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["covered"]
    assert found["summary"] == summary(SOME)
    assert found["statements"][0] == {
        "where": "(1)", "text": "the mean is zero", "claims": ["bocchi2026/3"], "tests": [], "none": "", "judged_by": "claims",
    }  # fmt: skip
    assert main(["claims", "newton1687", "--coverage"]) == 2
    assert "paper: 'newton1687' given" in capsys.readouterr().err

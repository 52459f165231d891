"""The list of mutations fits the sources and the tests, and what the script says of a mutation is true. All of them: `make
test-mutations`."""

import ast
import re
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from gate import first

sys.path.insert(0, str(Path(__file__).parent))
from mutations import MUTATIONS, Mutation
from run import BROKEN, CAUGHT, ROOT, SURVIVED, Bench, mutate

ROOMS = (
    "gaussian", "dynamics", "numerics", "results", "levels", "micro", "meso", "macro", "overlaps", "problems", "papers", "theory",
    "landscape", "plot", "empirical", "empirical_macro", "control", "fits", "runfiles", "sweeps", "web", "cli", "checks",
)  # fmt: skip
CHEAP = "problems/test_conventions.py::test_label_noise_enters_arnaboldis_risk_only"


def test_there_are_enough_of_everything() -> None:
    assert len(MUTATIONS) >= 60
    assert Counter(one.name for one in MUTATIONS).most_common(1)[0][1] == 1
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", one.name) for one in MUTATIONS)
    assert {one.file.partition("/")[0] for one in MUTATIONS} == set(ROOMS)
    assert len({(one.file, one.before, one.after) for one in MUTATIONS}) == len(MUTATIONS)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda one: one.name)
def test_a_mutation_fits_sources_and_tests(mutation: Mutation) -> None:
    text = (ROOT / "src" / "solvable" / mutation.file).read_text(encoding="utf-8")
    assert text.count(mutation.before) == 1
    assert ast.dump(ast.parse(text.replace(mutation.before, mutation.after))) != ast.dump(ast.parse(text))
    assert 1 <= len(mutation.tests) <= 2
    for test in mutation.tests:
        file, _, name = test.partition("::")
        assert name.partition("[")[0] in functions_of(file)


@cache
def functions_of(file: str) -> set[str]:
    tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
    return {one.name for one in tree.body if isinstance(one, ast.FunctionDef) and one.name.startswith("test_")}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(str(tmp_path_factory.mktemp("bench")))


@pytest.mark.parametrize("name", first(["schedule-integral-of-a-ramp", "arnaboldi-risk-without-noise"]))
def test_a_mistake_is_caught(name: str, bench: Bench) -> None:
    (mutation,) = (one for one in MUTATIONS if one.name == name)
    verdict = bench.judge(mutation)
    assert verdict.word == CAUGHT
    assert verdict.said.startswith(f"FAILED tests/{mutation.tests[0]}")


def test_what_changes_nothing_survives(bench: Bench) -> None:
    """So the unchanged sources pass, by way of the copy that was made for this mutation."""
    before = '"""The four papers\' normalisations:'
    words = Mutation("other-words", "problems/conventions/__init__.py", before, f"{before} ", (CHEAP,))
    verdict = bench.judge(words)
    assert verdict.word == SURVIVED
    assert "1 passed" in verdict.said


def test_tests_that_cannot_be_run_say_nothing(bench: Bench) -> None:
    before = "import inspect\n"
    torn = Mutation("torn", "problems/conventions/notation.py", before, "import inspect as\n", (CHEAP,))
    assert bench.judge(torn).word == BROKEN
    with pytest.raises(ValueError, match="torn: its text stands 0 times"):
        mutate(bench.sources, torn._replace(before="no such text"))

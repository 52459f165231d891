import os
import sys
from pathlib import Path

os.environ.setdefault("SOLVABLE_PATIENCE", "0")  # machine code from the first call on: bits are compared

import pytest
from hypothesis import settings

import seeds
import solvable as sv
from noting import Note, lines_of

settings.register_profile("gate", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("gate")
FEW = 3  # interpreters that a test of `make test` may start
started: list[str] = []  # interpreters of the running test


def _note(event: str, details: tuple) -> None:
    if event == "subprocess.Popen" and "python" in Path(os.fsdecode(details[0])).name:
        started.append(str(details[1]))


sys.addaudithook(_note)


@pytest.fixture(autouse=True)
def _statistical_tests_are_marked(request: pytest.FixtureRequest):
    """`make test-seeds` runs those that are marked: a test that asks for a seed is one of them."""
    seeds.asked.clear()
    yield
    if seeds.asked and request.node.get_closest_marker("statistical") is None:
        pytest.fail("asks for seeds.seed(...) but is not marked statistical")


@pytest.fixture(autouse=True)
def _tests_that_start_many_interpreters_are_marked(request: pytest.FixtureRequest):
    """Each takes seconds before it does anything: `make test` has those that start few."""
    started.clear()
    yield
    if len(started) > FEW and not any(map(request.node.get_closest_marker, ("full", "slow", "browser"))):
        pytest.fail(f"starts {len(started)} interpreters but is not marked full")


@pytest.fixture
def laws_note(request: pytest.FixtureRequest) -> Note:
    """Where tests of random problems leave their numbers."""
    return Note(request.node)


def pytest_terminal_summary(terminalreporter) -> None:
    for line in lines_of(terminalreporter.getreports("passed") + terminalreporter.getreports("failed")):
        terminalreporter.write_line(line)


@pytest.fixture(autouse=True)
def _pictures_are_closed():
    """Those that a test leaves open would count as those of the next."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def quadratic() -> sv.Problem:
    """Six students, three teachers, bocchi2026's rate."""
    return sv.Problem(
        teacher=sv.Teacher(width=3),
        student=sv.Student(width=6),
        inputs=sv.Inputs(dim=10_000),
        training=sv.Training(learning_rate=0.01),
    )


@pytest.fixture
def power_law() -> sv.Problem:
    """Two erf students, two teachers, sixteen eigenvalues."""
    return sv.problems.convention("worschech2024").problem(K=2, M=2, eta=0.1, beta=1.0, L=16, N=1024)

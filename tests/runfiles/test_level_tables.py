"""Tables of levels follow from the levels."""

import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

import pytest

import solvable as sv
from solvable.cli.main import parser
from solvable.runfiles import LEVELS, read_content, read_level
from solvable.runfiles.level_tables import level_table

GUIDE = Path(__file__).parents[2] / "docs" / "GUIDE.md"
NOT_WRITTEN = {"threads", "seconds", "labels"}
TABLES = {"teacher": {"width": 1}, "student": {"width": 1}, "training": {"learning_rate": 0.1}}


@dataclass(frozen=True)
class Added:
    size: int
    strength: float = 0.5
    way: Literal["here", "there"] = "here"
    threads: int | None = None
    rows: list[float] | None = None

    name = "added"


def fields_of(name: str) -> set[str]:
    return set(level_table(name).model_fields) - {"name"}


@pytest.mark.parametrize("name", LEVELS)
def test_a_table_has_the_fields_of_its_level(name: str) -> None:
    level = LEVELS[name]
    of_data = {"order", "array", "prepare"} if name in ("micro", "empirical") else set()
    assert fields_of(name) == ({one.name for one in fields(level)} - NOT_WRITTEN) | of_data
    assert read_level(name) == level()
    row = next(line for line in GUIDE.read_text(encoding="utf-8").splitlines() if f'| `name = "{name}"`' in line)
    assert fields_of(name) <= set(re.findall(r"`(\w+)", row))


def test_a_level_that_is_added_has_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LEVELS, "added", Added)
    assert fields_of("added") == {"strength", "way"}


def test_files_and_the_command_line_know_the_same_levels() -> None:
    run: Any = next(action for action in parser()._actions if action.dest == "command").choices["run"]
    assert next(action.choices for action in run._actions if action.dest == "level") == list(LEVELS)


def test_what_is_written_arrives() -> None:
    table = {"name": "meso", "runs": 3, "leap": 0.25, "rtol": 1e-5}
    file = read_content({**TABLES, "level": table}, {})
    assert file.level.level() == sv.Meso(runs=3, leap=0.25, rtol=1e-5)
    with pytest.raises(sv.InvalidProblem, match=r"level.runs: is not a field here, must be one of atol"):
        read_content({**TABLES, "level": {"runs": 3}}, {})
    with pytest.raises(sv.InvalidProblem, match=r"level.max_steps: 2.5 given, must be"):
        read_content({**TABLES, "level": {"max_steps": 2.5}}, {})

"""The paper about the software: in the form that its journal asks for, with nothing cited that is not there, and figures that are
drawn by the library."""

import re
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PAPER = ROOT / "paper"
TEXT = (PAPER / "paper.md").read_text(encoding="utf-8")
HEAD, BODY = TEXT.split("---\n", 2)[1:]


def test_its_head_says_what_it_is_and_by_whom() -> None:
    head = yaml.safe_load(HEAD)
    assert set(head) == {"title", "tags", "authors", "affiliations", "date", "bibliography"}
    assert {one["affiliation"] for one in head["authors"]} == {one["index"] for one in head["affiliations"]}
    assert (PAPER / head["bibliography"]).exists()


def test_it_has_the_sections_and_the_length_that_are_asked_for() -> None:
    sections = re.findall(r"^# (.*)$", BODY, re.M)
    asked = ["Summary", "Statement of need", "State of the field", "Software design", "Research impact statement"]
    assert sections == [*asked, "Acknowledgements", "References"]
    assert 750 <= len(re.sub(r"!\[.*?\]\(.*?\)|\[@.*?\]", "", BODY, flags=re.S).split()) <= 1750


def test_what_is_cited_is_what_is_listed() -> None:
    cited = set(re.findall(r"@(\w+)", BODY))
    listed = re.findall(r"^@\w+\{(\w+),", (PAPER / "paper.bib").read_text(encoding="utf-8"), re.M)
    assert len(listed) == len(set(listed))
    assert cited == set(listed)


def test_its_figures_are_drawn_by_the_library(tmp_path, monkeypatch) -> None:
    monkeypatch.syspath_prepend(str(PAPER))
    import figures

    shown = re.findall(r"\]\((\w+)\.png\)", BODY)
    assert shown == ["levels", "data"]
    assert all((PAPER / f"{name}.png").exists() for name in shown)
    figures.levels(tmp_path)
    assert (tmp_path / "levels.png").stat().st_size > 20_000
    del sys.modules["figures"]


@pytest.mark.slow
def test_the_figure_of_real_data_is_drawn(tmp_path, monkeypatch) -> None:
    monkeypatch.syspath_prepend(str(PAPER))
    import figures

    figures.data(tmp_path)
    assert (tmp_path / "data.png").stat().st_size > 20_000
    del sys.modules["figures"]


def test_the_workflow_runs_what_there_is() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/gate.yml").read_text(encoding="utf-8"))["jobs"]
    commands = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    targets = {word for line in commands if line.startswith("make ") for word in line.split()[1:]}
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert {"docs", "wheel", "setup"} <= targets
    assert all(re.search(rf"^{target}:", makefile, re.M) for target in targets)
    assert ".ci/run" in commands
    assert all((ROOT / path).exists() for line in commands for path in re.findall(r"\b(?:tests|benchmarks)/\S+", line))

"""Every tutorial has its notebook, with the outputs that its code has."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

SITE = Path(__file__).parents[2] / "docs/site"
TUTORIALS = sorted(path.stem for path in (SITE / "tutorials").glob("*.md"))
SHORT = {"first_steps", "forgetting", "scaling_laws"}  # a second each: the gate runs them
ALL = 3_000_000  # bytes of all notebooks


@pytest.fixture(autouse=True)
def _site(monkeypatch) -> None:
    monkeypatch.syspath_prepend(str(SITE))


def stored(name: str) -> dict:
    from notebooks import place

    return json.loads(place(name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", TUTORIALS)
def test_a_notebook_has_the_cells_of_its_tutorial_and_their_outputs(name) -> None:
    from notebooks import Cell, cells

    found = stored(name)["cells"]
    assert [Cell(one["cell_type"], "".join(one["source"])) for one in found] == cells(name), (
        f"make it anew: python docs/site/notebooks.py {name}"
    )
    code = [one for one in found if one["cell_type"] == "code"]
    assert [one["execution_count"] for one in code] == list(range(1, len(code) + 1))
    outputs = [output for one in code for output in one["outputs"]]
    assert outputs
    assert {output["output_type"] for output in outputs} <= {"stream", "execute_result", "display_data"}  # no errors
    assert "\r" not in json.dumps(outputs)


def test_notebooks_are_small_and_none_is_left_over() -> None:
    from notebooks import ROOT, place

    files = [place(name) for name in TUTORIALS]
    assert sum(file.stat().st_size for file in files) < ALL
    assert sorted(files) == sorted((ROOT / "examples").rglob("*.ipynb"))


@pytest.mark.parametrize(
    "name", [one if one in SHORT else pytest.param(one, marks=pytest.mark.slow) for one in TUTORIALS]
)
def test_a_notebook_runs_and_shows_what_is_stored(name, tmp_path, monkeypatch, capsys) -> None:
    from notebooks import differences, executed

    monkeypatch.chdir(tmp_path)
    fresh = executed(name)
    assert differences(stored(name), fresh) == []
    capsys.readouterr()


def proposed() -> list[str]:
    """The lines that the first tutorial proposes in the place of its own."""
    text = (SITE / "tutorials/first_steps.md").read_text(encoding="utf-8")
    return re.findall(r"`(sv\.\w+\(.+?\))`", text.partition("- Change one line")[2].partition("\n- ")[0])


@pytest.mark.parametrize("line", proposed())
def test_first_steps_run_with_each_change_that_they_propose(line, capsys) -> None:
    from notebooks import Execution, cells

    sources = [one.source for one in cells("first_steps") if one.kind == "code" and "sv.Micro" not in one.source]
    kind = re.escape(line.partition("(")[0])
    first, changed = re.subn(rf"{kind}\(.*\),$", f"{line},", sources[0], flags=re.M)
    assert changed == 1
    assert first != sources[0]
    execution = Execution()
    *_, last = [execution.run(source) for source in (first, *sources[1:])]
    assert any("image/png" in output.get("data", {}) for output in last)
    assert execution.names["macro"].plateaus()
    assert np.isfinite(execution.names["times"]).all()
    capsys.readouterr()


def test_first_steps_propose_changes() -> None:
    assert len(proposed()) >= 3


def test_links_of_notebooks_lead_somewhere() -> None:
    from notebooks import cells, place

    for name in TUTORIALS:
        for link in re.findall(r"\]\(([^)#:]+)\)", place(name).read_text(encoding="utf-8")):
            assert (place(name).parent / link).exists(), (name, link)
        assert "```{" not in "".join(cell.source for cell in cells(name))  # notebooks do not know the site's directives


def test_a_cell_shows_what_a_notebook_would_show() -> None:
    from notebooks import Execution

    execution = Execution()
    assert execution.run("x = 2\nprint(x)") == [{"name": "stdout", "output_type": "stream", "text": ["2\n"]}]
    (value,) = execution.run("x + 1")
    assert (value["data"], value["execution_count"]) == ({"text/plain": ["3"]}, 2)
    assert execution.run("x + 1;") == []
    (picture,) = execution.run("import matplotlib.pyplot as plt\nplt.plot([1, 2]);")
    assert picture["data"]["image/png"].startswith("iVBOR")
    assert execution.run("x") != []  # the figure is not shown twice
    with pytest.raises(ZeroDivisionError):
        execution.run("1 / 0")


def test_outputs_that_differ_are_found() -> None:
    from notebooks import differences

    def notebook(text: str, source: str = "x") -> dict:
        output = {"output_type": "stream", "text": [text]}
        return {"cells": [{"id": "cell-0", "source": [source], "outputs": [output]}]}

    assert differences(notebook("risk 0.500, error 1e-12"), notebook("risk 0.501, error -3e-11")) == []
    assert differences(notebook("risk 0.50"), notebook("risk 0.60")) == ["cell-0: risk 0.50 is now risk 0.60"]
    assert differences(notebook("risk 1"), notebook("loss 1"))
    assert differences(notebook("1 2"), notebook("1"))
    assert differences(notebook("1"), notebook("1", source="y")) == ["cell-0: another source"]

    def table(cell: str, plain: str, colour: str = "") -> dict:
        data = {"text/html": [f"<td{colour}>{cell}</td>"], "text/plain": [plain]}
        return {
            "cells": [{"id": "cell-0", "source": ["x"], "outputs": [{"output_type": "execute_result", "data": data}]}]
        }

    assert (
        differences(table("1", "A(b=1)"), table("1", "A(b=1, c=2)", " style='color:#123'")) == []
    )  # what is seen counts
    assert differences(table("1", "A"), table("2", "A"))


def test_notebooks_have_the_format_of_notebooks() -> None:
    nbformat = pytest.importorskip("nbformat")
    for name in TUTORIALS:
        nbformat.validate(stored(name))

"""The site has a page for each room with all its public names, and docstrings come through as they were meant."""

import doctest
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import solvable as sv

SITE = Path(__file__).parents[2] / "docs/site"


@pytest.fixture(autouse=True)
def _site(monkeypatch) -> None:
    monkeypatch.syspath_prepend(str(SITE))


def test_every_public_name_has_its_place(tmp_path) -> None:
    from formulas import described
    from library import write_library

    write_library(sv._ROOMS, tmp_path)
    contents = (SITE / "api.rst").read_text(encoding="utf-8")
    assert sorted(re.findall(r"<api/(\w+)>", contents)) == sorted(sv._ROOMS)
    text = "\n".join(path.read_text(encoding="utf-8") for path in tmp_path.glob("api/*.rst"))
    placed = re.findall(r"^\.\. auto(?:class|function):: (\S+)", text, re.M)
    assert len(placed) == len(set(placed))
    assert "plot.atlas" in next(name for name in placed if ".plot." in name)  # plot.landscape is not the room
    names = {described(f"solvable.{room}.{name}") for room in sv._ROOMS for name in _public(room)}
    assert names - set(placed) == set()
    assert set(re.findall(r"<(solvable\.\S+)>", contents)) <= set(placed)
    for name in set(sv.__all__) - set(sv._ROOMS):
        assert f":py:obj:`{name} <" in contents


def test_the_first_example_of_the_library_has_the_outputs_that_it_shows() -> None:
    text = (SITE / "api.rst").read_text(encoding="utf-8")
    assert text.index("solvable.problems.Problem") < text.index("solvable.levels.run") < text.index("py:obj")
    found = doctest.DocTestParser().get_doctest(text, {}, "api.rst", None, None)
    said: list[str] = []
    assert doctest.DocTestRunner(verbose=False).run(found, out=said.append).attempted == 7
    assert said == []


def _public(room: str) -> list[str]:
    module = getattr(sv, room)
    return [name for name in module.__all__ if callable(getattr(module, name))]


def test_docstrings_keep_formulas_and_escape_the_rest() -> None:
    from docstrings import marked_up

    lines = [
        "Overlaps (p, p*) of `p*` students; see `run`, `risk` and `Trajectory`.", "",
        "Returns", "-------", "Overlaps or None", "    What |x| is.", "",
        "Notes", "-----", "The risk is", "", "    c * x_", "    + y", "", "at x_ only (val_...).", "",
        "Examples", "--------", ">>> 2 * 3", "6",
    ]  # fmt: skip
    text = "\n".join(marked_up(lines, own={"risk"}, room="overlaps"))
    assert (
        r"(p, p\*) of ``p*`` students; see :py:obj:`run <solvable.levels.run>`, ``risk`` and "
        ":py:obj:`Trajectory <solvable.results.Trajectory>`." in text
    )
    assert ":py:obj:`Overlaps <solvable.overlaps.Overlaps>` or None\n    What \\|x\\| is.\n" in text
    assert "The risk is\n\n.. code-block:: text\n\n    c * x_\n    + y\n\nat x\\_ only (val\\_...).\n" in text
    assert text.endswith(">>> 2 * 3\n6")


def test_a_link_without_a_file_or_a_place_is_found(tmp_path) -> None:
    from links import broken

    (tmp_path / "deep").mkdir()
    (tmp_path / "one.html").write_text(
        '<h1 id="top">1</h1><a href="deep/two.html#end">2</a> <a href="https://x.org">3</a>'
    )
    two = '<p id="end"><a title="a"><code class="xref py">run</code></a> <a href="../one.html#top">1</a>'
    (tmp_path / "deep/two.html").write_text(two)
    assert broken(tmp_path) == []
    wrong = '<a href="../three.html"></a> <a href="#begin"></a> <code class="xref py"><b>lost</b></code>'
    (tmp_path / "deep/two.html").write_text(two + wrong)
    assert broken(tmp_path) == [f"deep/two.html: {link}" for link in ("../three.html", "#begin", "lost")]


def test_names_link_to_nothing_that_is_not_described() -> None:
    from formulas import described, linked_guide

    assert described("solvable.theory.plateau") == "solvable.theory.plateau"
    assert described("solvable.dynamics.equations.rhs") is None
    assert described("solvable.gaussian.quadrature.expect") == "solvable.gaussian.expect"
    assert linked_guide("`sv.run` and `sv.nothing`") == "{py:obj}`sv.run <solvable.levels.run>` and `sv.nothing`"


@pytest.mark.parametrize("page", ["index", "levels", "errors"])
def test_the_code_of_pages_runs(page, monkeypatch) -> None:
    """What they show is tested in the tutorials; what these cells print is told in the words around them."""
    from notebooks import CODE, Execution

    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(HTML=str, Markdown=str))
    execution = Execution()
    outputs = [
        execution.run(re.sub(r"^:tags:.*\n", "", cell))
        for cell in CODE.findall((SITE / f"{page}.md").read_text("utf-8"))
    ]
    assert any(outputs)
    if page == "errors":
        shown = "".join("".join(one.get("text", ())) for output in outputs for one in output)
        for words in (
            "did you mean readout?",
            "InvalidStart: overlaps: no weights",
            "NotApplicable: ",
            "False | the overlaps",
        ):
            assert words in shown
    if page == "levels":
        assert "Micro: " in "".join(outputs[1][0]["text"])


NOT_IN_A_DATA_SET = {
    "tasks": {"tasks": sv.Task.sequence([[1, 0], [0, 1]], [1.0])},
    "dropout": {"training__dropout": {"keep": 0.8}},
    "anchors": {"training__anchor": 0.1},
    "averages": {"training__average": {"rate": 1.0}},
    "moving teachers": {"teacher__drift": 0.1},
    "noise on inputs": {"training__input_noise": 0.1},
    "rules": {"training__rule": "normalised"},
    "rates of your own": {"training__rate_rule": {"kind": "adagrad", "offset": 1.0}},
}


def test_levels_refuse_what_their_page_says() -> None:
    text = (SITE / "levels.md").read_text(encoding="utf-8")
    problem = sv.Problem(
        teacher=sv.Teacher(width=2, activation="erf"),
        student=sv.Student(width=2, activation="erf"),
        inputs=sv.Inputs(dim=100),
        training=sv.Training(step=0.5, samples=200),
    )
    refused = "".join(line for line in text.splitlines() if line.endswith("| no | no |"))
    assert all(word in refused for word in NOT_IN_A_DATA_SET)
    for change in NOT_IN_A_DATA_SET.values():
        one = problem.replace(**change)
        for level in (sv.Empirical(), sv.EmpiricalMacro()):
            with pytest.raises(ValueError, match="does not know"):
                sv.run(one, sv.start(one, seed=0), level, until=2)
    for change in ({"mixture": sv.Mixture.xor(1.0)}, {"training__label_flips": 0.1}):
        one = problem.replace(**change)
        assert sv.run(one, sv.start(one, seed=0), sv.Empirical(), until=1, progress=False).success
        with pytest.raises(ValueError, match="does not know"):
            sv.run(one, sv.start(one, seed=0), sv.EmpiricalMacro(), until=2)

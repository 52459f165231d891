"""The site has a page for each room with all its public names, and docstrings come through as they were meant."""

import re
from pathlib import Path

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


def _public(room: str) -> list[str]:
    module = getattr(sv, room)
    return [name for name in module.__all__ if callable(getattr(module, name))]


def test_docstrings_keep_formulas_and_escape_the_rest() -> None:
    from docstrings import marked_up

    lines = [
        "Overlaps (p, p*) of `p*` students; see `run`, `risk` and `Trajectory`.", "",
        "Returns", "-------", "Overlaps or None", "    What |x| is.", "",
        "Notes", "-----", "The risk is", "", "    c * x_", "    + y", "", "at x_ only.", "",
        "Examples", "--------", ">>> 2 * 3", "6",
    ]  # fmt: skip
    text = "\n".join(marked_up(lines, own={"risk"}, room="overlaps"))
    assert (
        r"(p, p\*) of ``p*`` students; see :py:obj:`run <solvable.levels.run>`, ``risk`` and "
        ":py:obj:`Trajectory <solvable.results.Trajectory>`." in text
    )
    assert ":py:obj:`Overlaps <solvable.overlaps.Overlaps>` or None\n    What \\|x\\| is.\n" in text
    assert "The risk is\n\n.. code-block:: text\n\n    c * x_\n    + y\n\nat x\\_ only.\n" in text
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

"""Progress is shown where someone looks: in a notebook as one output that changes and leaves nothing in the file."""

import sys
from types import SimpleNamespace

import pytest

from solvable.numerics import progress


class Shown:
    """What a notebook keeps of `display` with an identity: the last content."""

    def __init__(self) -> None:
        self.contents: list[dict[str, str]] = []

    def display(self, content: dict[str, str], *, raw: bool, display_id: bool) -> "Shown":
        assert raw
        assert display_id
        self.contents.append(content)
        return self

    def update(self, content: dict[str, str], *, raw: bool) -> None:
        assert raw
        self.contents.append(content)


@pytest.fixture
def notebook(monkeypatch) -> Shown:
    shown = Shown()
    kernel = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: kernel))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=shown.display))
    monkeypatch.setattr(progress, "UNSHOWN_SECONDS", 0.0)
    return shown


def test_a_notebook_sees_one_output_that_changes_and_goes(notebook, capsys) -> None:
    with progress.meter(None) as report:
        report(10, 40)
        report(20, 40)
    first, second, last = notebook.contents
    assert first["text/plain"].startswith("10 of 40 steps, ")
    assert "<progress value='20' max='40'>" in second["text/html"]
    assert set(last.values()) == {""}
    assert capsys.readouterr() == ("", "")  # no carriage returns, nothing in red


def test_what_is_short_shows_nothing(notebook, monkeypatch) -> None:
    monkeypatch.setattr(progress, "UNSHOWN_SECONDS", 60.0)
    with progress.meter(True) as report:
        report(10, 40)
    assert notebook.contents == []


def test_nobody_looks_at_a_pipe_but_logs_get_lines(monkeypatch, capsys) -> None:
    assert not progress.in_notebook()
    with progress.meter(None) as report:
        assert report is progress.silent
    monkeypatch.setattr(progress, "LINES", 0.0)
    with progress.meter(None, "points", plain=True) as report:
        report(3, 12)
    told = capsys.readouterr().err
    assert told.startswith("3 of 12 points, ")
    assert told.endswith(" left\n")
    assert "\r" not in told

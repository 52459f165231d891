"""Pictures that the library begins have its look, whenever they are drawn; panels of the caller's keep the caller's."""

import contextlib

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_hex

import solvable as sv

PALETTE = ["#2b55d9", "#c8415f"]


@pytest.fixture(autouse=True)
def _closed():
    matplotlib.use("Agg")
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def runs() -> tuple[sv.Trajectory, sv.Trajectory]:
    problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=1000)
    start = sv.start(problem, seed=0)
    micro = sv.Micro(runs=8, seed=0)
    return sv.run(problem, start, sv.Macro(), until=50), sv.run(problem, start, micro, until=50, progress=False)


def test_a_picture_begun_here_has_the_look_of_the_library(runs) -> None:
    before = dict(matplotlib.rcParams)
    ax = sv.plot.compare(*runs)
    ax.set(xlim=(0, 300), yscale="log")  # with ticks that are made when it is drawn
    ax.figure.canvas.draw()
    assert [to_hex(line.lines[0].get_color()) for line in ax.containers] == PALETTE
    assert not ax.spines["top"].get_visible()
    assert {tick.label1.get_fontsize() for tick in ax.xaxis.get_major_ticks()} == {8.0}
    assert {tick.get_tickdir() for tick in (*ax.yaxis.get_major_ticks(), *ax.yaxis.get_minor_ticks())} == {"in"}
    assert dict(matplotlib.rcParams) == before


def test_numbers_of_colours_are_those_of_the_library_also_later(runs) -> None:
    ax = sv.plot.risk(runs[0], color="C1")
    assert sv.plot.risk(runs[0], ax=ax, color="C0") is ax  # goes on in the look that it was begun in
    assert [line.get_color() for line in ax.lines] == PALETTE[::-1]


def test_panels_of_the_caller_keep_the_settings_of_the_caller(runs) -> None:
    with matplotlib.rc_context({"lines.linewidth": 4.0}):
        _, ax = pyplot.subplots()
        sv.plot.risk(runs[0], ax=ax)
    assert to_hex(ax.lines[0].get_color()) == "#1f77b4"
    assert ax.lines[0].get_linewidth() == 4.0
    assert ax.spines["top"].get_visible()


def test_whole_figures_have_the_look_too() -> None:
    problem = sv.problems.convention("bocchi2026").problem(p=3, p_star=2, eta=0.1, N=100)
    picture = sv.plot.atlas(sv.landscape.atlas(problem))
    assert not any(ax.spines["top"].get_visible() for ax in picture.axes)


def test_curves_of_many_runs_have_error_bars_that_are_seen(runs) -> None:
    ax = sv.plot.compare(*runs)
    curve, caps, (bars,) = ax.containers[1].lines
    heights = np.array([piece[1, 1] - piece[0, 1] for piece in bars.get_segments()])
    assert 8 <= len(heights) <= 16
    error = runs[1].mean("risk").standard_error
    every = len(error) // 12
    np.testing.assert_allclose(heights, 2 * error[::every][: len(heights)], rtol=1e-9, atol=1e-12)
    assert len(caps) == 2
    assert curve.get_linestyle() == "--"
    assert ax.get_legend().get_texts()[1].get_text() == "micro, 8 runs (mean ± s.e.)"


@pytest.mark.parametrize("fails", [False, True])
def test_what_a_notebook_notes_at_the_first_figure_stays(fails) -> None:
    """The backend of notebooks turns this on when the first figure is made, which may be inside the `with`."""
    assert not matplotlib.is_interactive()
    try:
        with contextlib.suppress(ZeroDivisionError), sv.plot.style():
            matplotlib.interactive(True)
            assert 1 / (1 - fails)
        assert matplotlib.is_interactive()
    finally:
        matplotlib.interactive(False)
    with sv.plot.style():
        pass
    assert not matplotlib.is_interactive()


def test_figures_made_inside_the_style_keep_it_when_they_are_drawn() -> None:
    before = pyplot.figure()
    with sv.plot.style():
        _, ax = pyplot.subplots()
        ax.plot([1, 2], color="C1")
        pyplot.figure(before.number)
        before.add_subplot().plot([1, 2], color="C1")
    assert pyplot.gcf() is before
    ax.figure.canvas.draw()
    assert ax.lines[0].get_color() == PALETTE[1]
    assert before.axes[0].lines[0].get_color() == "C1"  # that one belongs to the caller

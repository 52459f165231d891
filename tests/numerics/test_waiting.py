"""What whoever waits for the compiler sees: counts of kernels, from two seconds on, and nothing before."""

import sys
import time
from types import SimpleNamespace

import pytest
from numba import float64

from solvable.numerics import progress, waiting
from solvable.numerics.compiled import compiled
from solvable.numerics.kernels_on_disk import reached
from solvable.numerics.waiting import Count, Notice, Work

ONE = float64(float64)


@compiled()
def _inner(x):
    return x + 1.0


@compiled()
def _other(x):
    return 2.0 * _inner(x)


@compiled(ONE)
def _entry(x):
    return _inner(x) + _other(x)


@compiled(ONE)
def _second(x):
    return _inner(x) - 1.0


class Written:
    """What is told of a stretch."""

    def __init__(self, notice: Notice) -> None:
        self.counts: list[Count] = []
        notice.tell(lambda count, _: self.counts.append(count))


def until(condition, seconds: float = 5.0) -> bool:
    latest = time.monotonic() + seconds
    while not condition() and time.monotonic() < latest:
        time.sleep(0.01)
    return bool(condition())


def test_an_entry_reaches_what_it_calls_once() -> None:
    assert set(reached(_entry)) == {_entry, _inner, _other}
    assert len(reached(_entry)) == 3


class Part:
    """A kernel as far as counting goes: with machine code in memory, on disk, or nowhere."""

    def __init__(self, *parts: "Part") -> None:
        self.parts = (self, *(further for part in parts for further in part.parts))
        self.overloads: dict = {}
        self.is_kept = False

    @property
    def at_hand(self) -> bool:
        return self.is_kept or bool(self.overloads)


@pytest.fixture
def counted(monkeypatch) -> None:
    monkeypatch.setattr(waiting, "reached", lambda kernel: tuple(dict.fromkeys(kernel.parts)))


def test_kernels_are_counted_once_and_entries_optimised_as_a_whole(counted) -> None:
    shared, own, last = Part(), Part(), Part()
    first, second = Part(shared, own), Part(shared, last)
    work = Work()
    work.add([first, second, first])
    assert work.count() == (0, 5, 0, 11)  # five kernels to translate; three and three to optimise
    shared.overloads = own.overloads = {1: 1}
    assert work.count() == (2, 5, 2, 11)
    first.overloads = {1: 1}
    assert work.count() == (3, 5, 6, 11)
    assert not work.is_done
    second.overloads = {1: 1}  # without `last`: a branch that is never compiled
    assert work.count() == (5, 5, 11, 11)
    assert work.is_done


def test_what_is_ready_when_a_stretch_begins_is_no_work(counted) -> None:
    loaded, below, kept = Part(), Part(), Part()
    loaded.overloads = {1: 1}
    kept = Part(below)
    kept.is_kept = True  # its inner kernels too
    work = Work()
    work.add([Part(loaded, kept), kept])
    assert work.count() == (0, 1, 0, 2)
    assert work.count().words == "0 of 1 kernels"


def test_counts_are_told_from_the_first_kernel_to_the_last(counted) -> None:
    """The entries that a level has named count before they are compiled."""
    notice, shared = Notice(), Part()
    written = Written(notice)
    first, second = Part(shared), Part(shared)
    notice.expect((first, second))
    with notice.around(first):
        notice.give()
        assert until(lambda: written.counts)
        assert written.counts[0].kernels == 3
        shared.overloads = first.overloads = {1: 1}
    with notice.around(second):
        notice.give()
        assert until(lambda: written.counts[-1].ready == 2)
        second.overloads = {1: 1}
    assert notice._stretch is None  # all that is known to be needed is ready: nothing is shown any more


def test_a_pause_ends_a_stretch(counted, monkeypatch) -> None:
    monkeypatch.setattr(waiting, "PAUSE", 0.0)
    monkeypatch.setattr(waiting, "REFRESH", 0.01)
    notice = Notice()
    written = Written(notice)
    first, second = Part(), Part()
    notice.expect((first, second))
    with notice.around(first):
        notice.give()
        assert until(lambda: written.counts)
        first.overloads = {1: 1}
    stretch = notice._stretch
    assert stretch is not None
    assert until(lambda: not stretch.goes_on)
    assert written.counts[0].kernels == 2
    with notice.around(second):
        notice.give()
        assert until(lambda: written.counts[-1].kernels == 1)
        second.overloads = {1: 1}


def test_short_waits_and_pools_are_silent(counted, capsys, monkeypatch) -> None:
    notice, part = Notice(), Part()
    with notice.around(part):
        notice.give()
        part.overloads = {1: 1}
    assert notice._stretch is None
    notice.unshown = 0.0
    notice.reset(wanted=False)
    with notice.around(Part()):
        notice.give()
        time.sleep(0.05)
    assert capsys.readouterr() == ("", "")


def wait_for(notice: Notice, capsys) -> str:
    """What is written by a stretch of compiling that lasts until something is."""
    part = Part()
    written = ""

    def is_there() -> bool:
        nonlocal written
        written += capsys.readouterr().err
        return "\n" in written

    with notice.around(part):
        notice.give()
        until(is_there)
        part.overloads = {1: 1}
    return written + capsys.readouterr().err


def test_logs_get_a_line_for_each_stretch_and_then_one_now_and_again(counted, capsys, monkeypatch) -> None:
    monkeypatch.setattr(progress, "LINES", 0.0)
    monkeypatch.setattr(waiting, "REFRESH", 0.01)
    notice = Notice()
    notice.unshown = 0.0
    first, second = wait_for(notice, capsys), wait_for(notice, capsys)
    assert first.startswith(
        "solvable: compiling 1 kernels for this machine, which happens once for each kind of problem"
    )
    assert "\ncompiling: 0 of 1 kernels" in first
    assert second.startswith("solvable: compiling 1 more kernels\n")


def test_a_notebook_gets_one_output_that_goes(counted, capsys, monkeypatch) -> None:
    contents: list[dict[str, str]] = []
    shown = SimpleNamespace(update=lambda content, raw: contents.append(content))

    def display(content, **_):
        contents.append(content)
        return shown

    kernel = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: kernel))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    notice, part = Notice(), Part()
    notice.unshown = 0.0
    with notice.around(part):
        notice.give()
        assert until(lambda: contents)
        part.overloads = {1: 1}
    assert contents[0]["text/plain"] == "compiling: 0 of 1 kernels"
    assert set(contents[-1].values()) == {""}
    assert capsys.readouterr() == ("", "")


def test_a_compilation_that_fails_leaves_no_bar(counted) -> None:
    notice = Notice()
    Written(notice)

    def fail() -> None:
        with notice.around(Part()):
            notice.give()
            raise TypeError

    with pytest.raises(TypeError):
        fail()
    assert notice._stretch is None

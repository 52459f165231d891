"""Kernels in the form that a kind of problem needs."""

from pathlib import Path

import pytest
from numba import float64

from solvable.numerics import interpreting
from solvable.numerics.compiled import compiled
from solvable.numerics.kernels_on_disk import identity, reached
from solvable.numerics.specialising import specialise

CASES = True


@compiled()
def seldom(x):
    return x + 1000.0


@compiled()
def plain(x):
    return 2.0 * x


@compiled()
def inner(x):
    if CASES and x > 0.0:
        return seldom(x)
    return plain(x)


@compiled(float64(float64), pure=True)
def entry(x):
    return inner(x) + plain(x)


@compiled()
def again(x):
    if x > 1.0:
        return again(x - 1.0)
    return 1.0 if CASES else 2.0


@compiled()
def attributes(form):
    return form.CASES + form.inner


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty cache directory, and kernels without machine code."""
    monkeypatch.setenv("SOLVABLE_CACHE_DIR", str(tmp_path / "cache"))


def test_what_is_off_is_neither_asked_nor_compiled(cache) -> None:
    form = specialise(entry, "simple", CASES=False)
    assert form(1.0) == 4.0
    assert not seldom.overloads
    assert form.py_func.__name__ == "entry_simple"
    assert entry(1.0) == 1003.0
    assert form(1.0) == 4.0


def test_kernels_that_read_no_flag_are_shared() -> None:
    """What a flag switches off is not counted among those that are reached."""
    form = specialise(entry, "shared", CASES=False)
    assert set(reached(entry)) == {entry, inner, seldom, plain}
    assert set(reached(form)) == {form, form.py_func.__globals__["inner"], plain}
    assert form.py_func.__globals__["plain"] is plain
    assert form.py_func.__globals__["inner"] is not inner
    assert entry.py_func.__globals__["inner"] is inner
    assert len({identity(kernel) for kernel in (entry, form, specialise(entry, "others", plain=seldom))}) == 3


def test_a_kernel_takes_the_place_of_another(cache) -> None:
    assert specialise(entry, "exchanged", plain=seldom, CASES=False)(1.0) == 2002.0


def test_a_form_is_interpreted_as_itself() -> None:
    """Its module has the general form under the same names."""
    form = specialise(entry, "interpreted", CASES=False)
    assert interpreting.interpreted(form)(1.0) == 4.0
    assert interpreting.interpreted(entry)(1.0) == 1003.0
    assert interpreting.interpreted(form)(1.0) == 4.0


def test_a_flag_that_nothing_reads_is_refused() -> None:
    with pytest.raises(ValueError, match="entry: reads no CASE, ROWS"):
        specialise(entry, "wrong", CASES=False, ROWS=False, CASE=False)


def test_a_kernel_that_calls_itself_is_refused() -> None:
    """All but the first call would be of the general form."""
    with pytest.raises(ValueError, match="again: calls itself"):
        specialise(again, "recursive", CASES=False)


def test_names_of_attributes_are_no_flags() -> None:
    with pytest.raises(ValueError, match="attributes: reads no CASES"):
        specialise(attributes, "wrong", CASES=False)

"""Kernels are written once, in the general form; `specialise` makes the form that a kind of problem needs.

A kernel reads its flags as names of its module, for example

    CASES = True  # samples may come in cases

    @compiled()
    def fields(...):
        if CASES:
            ...

and `specialise(follow, "plain", CASES=False)` returns `follow` with this flag bound to a constant, in it and in all kernels
that it reaches. The compiler leaves out what is off before it looks at it: nothing is compiled, nothing is asked at run time.
Kernels are bound like flags: `kick=kick_cases` puts another kernel in the place of one that is called by this name.
"""

import dis
from functools import cache
from types import CodeType, FunctionType
from typing import Any

from solvable.numerics.compiled import Kernel


def specialise(kernel: Kernel, suffix: str, **bound: Any) -> Kernel:
    """Return a kernel with names bound to constants or to other kernels, in it and in whatever it reaches by name.

    Parameters
    ----------
    kernel : Kernel
        The general form. It must be complete: call this after the module that it is in has been read.
    suffix : str
        What its name, and those of all kernels that differ from the general form, end with: in files, progress and errors.
        Machine code is told apart by what is bound.
    **bound
        Flags and kernels by name. A name that nothing reads raises an error, and so does a kernel that calls itself.
    """
    forms: dict[int, Kernel | None] = {}
    met: set[str] = set()

    def form_of(general: Kernel) -> Kernel:
        if id(general) not in forms:
            forms[id(general)] = None
            forms[id(general)] = _with(general, changed(general), suffix)
        form = forms[id(general)]
        if form is None:
            raise ValueError(f"{general.py_func.__name__}: calls itself, and would go on in the general form")
        return form

    def changed(general: Kernel) -> dict[str, Any]:
        names, others = general.py_func.__globals__, {}
        for name in _read_by(general.py_func.__code__):
            if name in bound:
                met.add(name)
                others[name] = bound[name]
            elif isinstance(value := names.get(name), Kernel) and (form := form_of(value)) is not value:
                others[name] = form
        return others

    special = form_of(kernel)
    if unread := bound.keys() - met:
        raise ValueError(f"{kernel.py_func.__name__}: reads no {', '.join(sorted(unread))}")
    return special


@cache
def form_for(kernel: Kernel, **flags: bool) -> Kernel:
    """Return a kernel in the form for a run of which flags say what it has: those that are false are switched off."""
    off = {name: False for name, on in flags.items() if not on}
    return specialise(kernel, "without_" + "_".join(name.lower() for name in off), **off) if off else kernel


def _with(kernel: Kernel, others: dict[str, Any], suffix: str) -> Kernel:
    """Return a kernel that reads `others` in the place of its module's names; itself, where there are none."""
    if not others:
        return kernel
    general, name = kernel.py_func, f"{kernel.py_func.__name__}_{suffix}"
    function = FunctionType(general.__code__, {**general.__globals__, **others}, name, general.__defaults__)
    function.__module__, function.__qualname__ = general.__module__, name
    return kernel.of(function)


@cache
def _read_by(code: CodeType) -> tuple[str, ...]:
    """Return the global names that code looks up, in it and in functions within it; those of attributes are none."""
    own = [step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"]
    inner = [name for part in code.co_consts if isinstance(part, CodeType) for name in _read_by(part)]
    return tuple(dict.fromkeys([*own, *inner]))

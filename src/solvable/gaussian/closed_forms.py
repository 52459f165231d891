"""The Gaussian averages of closed units, by the kind of unit: the one list of formulas that a closed unit brings.

The fields of a sample are z ~ N(h, C), students first; p is the number of students. The error is e = s_0 + sum_i s_i g(z_i).
A closed unit is an entry of `UNITS` with `closed=True` and a file of its own, `closed/<name>.py`, with the kernels of `REQUIRED`
and, where there is a better way than the general one, of `OPTIONAL`; their arguments are those of the functions below without
`kind`. It has two names more: `PARITY`, 1 for an even g and -1 for an odd one, and `scratch(fields)`, numbers of scratch for
`averages_with_means` and for `back_averages`. Without means and s_0, units are even or odd in all fields at once, so that <g'_k e>
vanishes.

Each function below that is marked `by_kind` becomes a kernel that hands over to the unit of that kind; its own body is what kernels
do for kinds without the formula: NaN, or the general way.

Reverses add to `C_bar`, `s_bar` and the like the derivatives of sum (bar * average), where `bar` weighs the averages. Entries of
`C_bar` are those of independent entries of C; only their sum over (i, j) and (j, i) has a meaning, because C is symmetric.
"""

import inspect
import math
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from numba import float64, int64, void

from solvable.gaussian.units import TABULATED, UNITS, NamedUnit
from solvable.numerics.compiled import Kernel, compiled

REQUIRED = (
    "product", "slopes", "curvature", "slopes_times_square", "back_slopes", "back_curvature", "back_slopes_times_square",
    "mean", "mean_slopes", "averages_with_means", "back_averages",
)  # fmt: skip
OPTIONAL = ("error_square", "drift", "back_product", "averages_of_several")
PLANES_OF_REVERSE = 32  # matrices (n, n) of scratch for `back_slopes_times_square`
HOME = f"{__package__}.closed"

UNKNOWN = -1  # a unit without closed forms
# the number of each closed unit in compiled code
KINDS = {
    unit.name: unit.kind if unit.kind < TABULATED else TABULATED + 1 + number
    for number, unit in enumerate(unit for unit in UNITS.values() if unit.closed)
}


def formulas_of(unit: NamedUnit) -> ModuleType | None:
    """Return the module with a unit's formulas; None if there is none."""
    name = f"{HOME}.{unit.name.replace('-', '_')}"
    return import_module(name) if find_spec(name) is not None else None


def missing(unit: NamedUnit) -> list[str]:
    """Return what a unit lacks that a closed one brings."""
    formulas = formulas_of(unit)
    if formulas is None:
        return [f"the file gaussian/closed/{unit.name.replace('-', '_')}.py"]
    lacks = [name for name in REQUIRED if not isinstance(getattr(formulas, name, None), Kernel)]
    lacks += [] if getattr(formulas, "PARITY", None) in (-1, 1) else ["PARITY"]
    lacks += [] if callable(getattr(formulas, "scratch", None)) else ["scratch"]
    if not lacks and unit.name not in KINDS:
        lacks.append("its place in `UNITS` when solvable is imported")
    return lacks


@lru_cache
def check_closed(unit: NamedUnit) -> None:
    """Raise NotImplementedError where a unit is declared closed without all of its formulas."""
    lacks = missing(unit)
    if lacks:
        raise NotImplementedError(
            f"activation: {unit.name!r} is declared closed, but lacks {', '.join(lacks)}; gaussian/closed_forms.py lists what a "
            "closed unit brings"
        )


def is_even(unit: NamedUnit) -> bool:
    """Return whether a closed unit is even rather than odd."""
    return bool(vars(formulas_of(unit))["PARITY"] == 1)


def words_of(activation: Any) -> dict[str, Any]:
    """Return what compiled code knows of a unit: the number of a closed one, and whether it is even."""
    kind = KINDS.get(activation, UNKNOWN) if isinstance(activation, str) else UNKNOWN
    return {"kind": kind, "even": kind != UNKNOWN and is_even(UNITS[activation])}


@lru_cache
def _scratch(fields: int) -> tuple[int, int]:
    sizes = [formulas_of(UNITS[name]).scratch(fields) for name in KINDS if not missing(UNITS[name])]  # type: ignore[union-attr]
    return max(size for size, _ in sizes), max(size for _, size in sizes)


def mean_scratch(fields: int) -> int:
    """Return the numbers of scratch that `averages_with_means` needs."""
    return _scratch(fields)[0]


def mean_reverse_scratch(fields: int) -> int:
    """Return the numbers of scratch that `back_averages` needs."""
    return _scratch(fields)[1]


def by_kind(signature: Any = None) -> Callable[[Callable[..., Any]], Any]:
    """Turn a function of a kind and other arguments into a kernel that calls the unit's formula of that name. The function's body
    is for kinds that have none."""

    def dispatcher(otherwise: Callable[..., Any]) -> Any:
        name, names = otherwise.__name__, vars(inspect.getmodule(otherwise))
        arguments = ", ".join(list(inspect.signature(otherwise).parameters)[1:])
        lines = [f"def {name}(kind, {arguments}):"]
        for unit, kind in KINDS.items():
            formula = getattr(formulas_of(UNITS[unit]), name, None)
            if formula is not None:
                names[f"_{name}_{kind}"] = formula
                lines += [f"    if kind == {kind}:", f"        return _{name}_{kind}({arguments})"]
        names[f"_{name}"] = compiled()(otherwise)
        exec("\n".join([*lines, f"    return _{name}(kind, {arguments})"]), names)
        made = names[name]
        made.__doc__ = otherwise.__doc__
        return compiled(signature)(made)

    return dispatcher


_PAIR = float64(int64, float64, float64, float64)
_MATRIX, _VECTOR = float64[:, ::1], float64[::1]


@by_kind(_PAIR)
def product(kind, c11, c22, c12):
    """<g(z1) g(z2)> of two fields without means, of variances c11 and c22 and covariance c12."""
    return math.nan


@by_kind(_PAIR)
def slopes(kind, c11, c22, c12):
    """<g'(z1) g'(z2)>."""
    return math.nan


@by_kind()
def curvature(kind, c11, c22, c12):
    """<g''(z1) g(z2)>."""
    return math.nan


@by_kind()
def error_square(kind, C, s):
    """<e^2> without means, and the size of its terms; by default the sum over pairs."""
    total, size = 0.0, 0.0
    for i in range(s.size):
        for j in range(i):
            term = 2.0 * s[i] * s[j] * product(kind, C[i, i], C[j, j], C[i, j])
            total += term
            size += abs(term)
        term = s[i] * s[i] * product(kind, C[i, i], C[i, i], C[i, i])
        total += term
        size += abs(term)
    return total, size


@by_kind(void(int64, int64, _MATRIX, _VECTOR, float64, _MATRIX))
def drift(kind, p, C, s, factor, out):
    """Fill the first p rows of `out` (n, n) with factor s_k <d/dz_j (g'_k e)>, the drift of SGD, for every student k and field j:

        <d/dz_j (g'_k e)> = s_j <g'_k g'_j> + delta_kj sum_i s_i <g''_k g_i>

    By default the averages over pairs one by one; those of a unit go by rows, which run in vector registers."""
    for k in range(p):
        bend = 0.0
        for j in range(s.size):
            out[k, j] = factor * s[k] * s[j] * slopes(kind, C[k, k], C[j, j], C[k, j])
            bend += s[j] * curvature(kind, C[k, k], C[j, j], C[k, j])
        out[k, k] += factor * s[k] * bend


@by_kind(void(int64, int64, _MATRIX, _VECTOR, _MATRIX, _MATRIX))
def slopes_times_square(kind, p, C, s, work, out):
    """Fill the leading (p, p) entries of `out` with <g'_k g'_l e^2>, the noise that SGD adds to overlaps at order rate^2; `work`
    (n, n) is scratch. Summing worschech2024's four-field integrals I4 over two fields gives the same; here the sum is inside."""
    out[:p, :p] = math.nan


@by_kind()
def mean(kind, h, c):
    """<g> of a field of mean h and variance c."""
    return math.nan


@by_kind()
def mean_slopes(kind, h, c):
    """The derivatives <g'> and <g''>/2 of <g> by h and c."""
    return math.nan, math.nan


@by_kind()
def averages_with_means(kind, p, fields, error, noise, asked, out, scratch):
    """Fill out = (D, S, phi, pull) for fields = (h, C) and error = (s_0, s); return <e^2> and the size of its terms.

        D_kj     <d/dz_j (g'_k e)> = s_j <g'_k g'_j> + delta_kj <g''_k e>
        S_kl     <g'_k g'_l (e^2 + Delta)>
        phi_k    <g'_k e>            pull_k    <g_k e>

    `asked` says whether S is wanted, and whether the pull and <e^2> are."""
    D, _, phi, pull = out
    D[:p], phi[:p], pull[:p] = math.nan, math.nan, math.nan
    return math.nan, math.nan


@by_kind()
def averages_of_several(kind, p, fields, errors, noise, asked, out, scratch):
    """Fill `out` for several errors of the same fields, errors = (s_0 (error,), s (error, n)), where a unit has a way to do so;
    return whether it has. What is filled has one more index, the first."""
    return False


@by_kind()
def back_product(kind, C, i, j, bar, C_bar):
    """Reverse of <g_i g_j>; by default d<f>/dC_ij = <f_ij> and d<f>/dC_ii = <f_ii>/2."""
    C_bar[i, j] += bar * slopes(kind, C[i, i], C[j, j], C[i, j])
    C_bar[i, i] += 0.5 * bar * curvature(kind, C[i, i], C[j, j], C[i, j])
    C_bar[j, j] += 0.5 * bar * curvature(kind, C[j, j], C[i, i], C[i, j])


@by_kind()
def back_slopes(kind, C, i, j, bar, C_bar):
    """Reverse of <g'_i g'_j>."""
    C_bar[i, j] = math.nan


@by_kind()
def back_curvature(kind, C, i, j, bar, C_bar):
    """Reverse of <g''_i g_j>."""
    C_bar[i, j] = math.nan


@by_kind()
def back_slopes_times_square(kind, p, C, s, bar, C_bar, s_bar, work):
    """Reverse of <g'_k g'_l e^2>, which `bar` (p, p) weighs; `work` are `PLANES_OF_REVERSE` planes (n, n) of scratch."""
    C_bar[:], s_bar[:] = math.nan, math.nan


@by_kind()
def back_averages(kind, p, fields, error, noise, bars, asked, averages, to, scratch):
    """Reverse of `averages_with_means`: bars = (D, S, phi, pull, <e^2>) are weights, to = (h_bar, C_bar, s_bar); return what the
    offset s_0 and the noise Delta are weighed by. `asked` says whether the weights of S and of the pull count (and, for erf,
    whether s_bar is wanted from S: it is wherever readouts are trained); `averages` are S as `averages_with_means` fills it."""
    h_bar, C_bar, s_bar = to
    h_bar[:], C_bar[:], s_bar[:] = math.nan, math.nan, math.nan
    return math.nan, math.nan


@compiled()
def back_drift(kind, p, C, s, a, factor, bar, C_bar, s_bar, a_bar):
    """Reverse of factor a_k <d/dz_j (g'_k e)>, which `bar` (p, n) weighs."""
    for k in range(p):
        along = 0.0
        for j in range(s.size):
            weight = factor * bar[k, j]
            slope = slopes(kind, C[k, k], C[j, j], C[k, j])
            back_slopes(kind, C, k, j, weight * a[k] * s[j], C_bar)
            s_bar[j] += weight * a[k] * slope
            along += weight * s[j] * slope
        weight = factor * bar[k, k]
        for i in range(s.size):
            bend = curvature(kind, C[k, k], C[i, i], C[k, i])
            back_curvature(kind, C, k, i, weight * a[k] * s[i], C_bar)
            s_bar[i] += weight * a[k] * bend
            along += weight * s[i] * bend
        a_bar[k] += along


@compiled()
def back_square(kind, C, s, weight, C_bar, s_bar):
    """Reverse of weight <e^2>."""
    n = s.size
    for i in range(n):
        total = 0.0
        for j in range(n):
            back_product(kind, C, i, j, weight * s[i] * s[j], C_bar)
            total += s[j] * product(kind, C[i, i], C[j, j], C[i, j])
        s_bar[i] += 2.0 * weight * total

"""Units: activations g with their slopes g' as functions of arrays, and the registry `UNITS` of those that have a name.

An entry of the registry is all that the library knows of a named unit: what files may say, the number by which compiled code
knows it, whether all moments of squared loss are closed, and its Hermite coefficients if it is a polynomial.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any
from uuid import uuid4

import numpy as np

from solvable.gaussian.bindings import Bindings
from solvable.gaussian.identity import Unreadable, code_of

_NODES = np.linspace(-6.0, 6.0, 193)
# kinds of units in compiled code: how a value is computed. The first five have formulas, others are coefficients or a table
LINEAR, QUADRATIC, ERF, RELU, TANH, POLYNOMIAL, TABULATED = range(7)
OWN = -1  # only Python can call it
_FAR = np.concatenate([sign * np.geomspace(6.0, 6e4, 41) for sign in (-1.0, 1.0)])


def fingerprint(*functions: Callable[[np.ndarray], Any], nodes: np.ndarray = _NODES) -> str:
    """A hash of functions by their values on fixed nodes, rounded to 1e-9 of the largest."""
    digest = hashlib.sha256()
    for function in functions:
        values = np.broadcast_to(np.asarray(function(nodes), dtype=float), nodes.shape[:1])
        if not np.isfinite(values).all():
            raise ValueError("function: must be finite")
        size = float(f"{np.abs(values).max():.6e}")
        digest.update(f"{size:.6e} {np.round(values / (1e-9 * size or 1.0)).astype(np.int64).tolist()}".encode())
    return digest.hexdigest()


def far_values(*functions: Callable[[np.ndarray], Any], nodes: np.ndarray = _FAR) -> str:
    """A hash of functions by their values where hardly any input comes, one node at a time: what they need not be able to do."""
    digest = hashlib.sha256()
    with np.errstate(all="ignore"):
        for function in functions:
            values = np.array([_value(function, node) for node in nodes])
            size = 1.0 + np.abs(values[np.isfinite(values)]).max(initial=0.0)
            digest.update(
                "".join(f"{value / size:.6f} " for value in values + 0.0).replace("-0.000000", "0.000000").encode()
            )
    return digest.hexdigest()


def _value(function: Callable[[np.ndarray], Any], node: np.ndarray) -> float:
    try:
        return float(np.asarray(function(node[None]), dtype=float).item())
    except Exception:
        return np.nan


def jumps(function: Callable[[np.ndarray], Any], reach: float = 20.0) -> tuple[float, ...]:
    """Where a function jumps within [-reach, reach]: intervals with the largest changes are halved until a change that
    stays is pinned down."""
    grid = np.linspace(-reach, reach, 4002)  # zero, where most have it, is between two points
    values = np.asarray(function(grid), dtype=float)
    change = np.abs(np.diff(values))
    size = 1.0 + np.abs(values[np.abs(grid) < 6]).max()
    found: list[float] = []
    for i in np.argsort(change)[::-1][:12]:
        low, high = grid[i], grid[i + 1]
        if change[i] < 1e-6 * size:
            break
        for _ in range(40):
            middle = 0.5 * (low + high)
            left, center, right = np.asarray(function(np.array([low, middle, high])), dtype=float)
            low, high = (low, middle) if abs(center - left) > abs(right - center) else (middle, high)
        ends = np.asarray(function(np.array([low, high])), dtype=float)
        if abs(ends[1] - ends[0]) > 1e-6 * size:
            found.append(round(0.5 * (low + high), 9) + 0.0)
    return tuple(sorted(found))


class OwnFunction(ABC):
    """A function that a user gives under a name. It is known by the code of its functions and their values together, or, where a
    `version` is given, by name, version and values: then raise the version with every change. Bytecode differs between versions of
    Python, and a function that hides its code equals itself alone; a version helps with both."""

    name: str
    version: str | int | None

    @abstractmethod
    def _functions(self) -> tuple[Callable[[np.ndarray], Any], ...]:
        """What a user gives."""

    @abstractmethod
    def _nodes(self) -> tuple[np.ndarray, np.ndarray]:
        """Where values are compared: near, where inputs are, and far."""

    def _check_version(self) -> None:
        given = self.version
        if given is not None and (not isinstance(given, str | int) or isinstance(given, bool) or given == ""):
            raise ValueError(f"version: {given!r} given, must be a text or a whole number, as '2'")

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the values near zero. Functions that share it are alike, not the same."""
        return fingerprint(*self._functions(), nodes=self._nodes()[0])

    @cached_property
    def _known_by(self) -> tuple[str, str | None]:
        """By what it is told from others, and why its code is not enough."""
        far = far_values(*self._functions(), nodes=self._nodes()[1])
        if self.version is not None:
            return f"version {self.version} {far}", None
        try:
            return f"code {code_of(*self._functions())} {far}", None
        except Unreadable as error:
            return f"object {uuid4().hex}", str(error)

    @property
    def identity(self) -> str:
        """Equal for the same function alone, in every process."""
        return self._known_by[0]

    @property
    def obstacle(self) -> str | None:
        """Why results cannot be kept under this function's name beyond this process, if so."""
        return self._known_by[1]

    def check_unchanged(self) -> None:
        """Raise where the function is no longer what it was: something that it uses has been changed since. It takes microseconds
        where all names are bound to what they were, and reads or calls the function again otherwise."""
        bindings = self._bindings
        if bindings is not None and bindings.hold():
            return
        if self._has_changed():
            raise ValueError(f"{self.name!r}: has changed since it was made, by something that it uses; make it anew")
        vars(self)["_bindings"] = Bindings.of(self._functions())

    @cached_property
    def _bindings(self) -> Bindings | None:
        """What its names are bound to; None where that is not known, as in another process."""
        return None

    def _remember(self) -> None:
        """Record code and names when a user's function is made, so that later changes are noticed."""
        given = [value for value in vars(self).values() if callable(value)]
        if not any(str(getattr(one, "__module__", "")).startswith("solvable.") for one in given):
            vars(self)["_bindings"] = Bindings.of(self._functions())
            self.identity  # noqa: B018

    def _has_changed(self) -> bool:
        if self.version is None and self.obstacle is None:
            try:
                return not self.identity.startswith(f"code {code_of(*self._functions())} ")
            except Unreadable:
                return True
        fields = {name: vars(self)[name] for name in type(self).__dataclass_fields__}  # type: ignore[attr-defined]
        now = type(self)(**fields)
        return now.fingerprint != self.fingerprint or (self.obstacle is None and now.identity != self.identity)

    def __getstate__(self) -> dict[str, Any]:
        """Names and their values stay in this process."""
        return {name: value for name, value in vars(self).items() if name != "_bindings"}

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return False
        assert isinstance(other, OwnFunction)
        if self.name != other.name or self.fingerprint != other.fingerprint:
            return False
        same = all(one is two for one, two in zip(self._functions(), other._functions(), strict=True))
        return (same and self.version == other.version) or self.identity == other.identity

    def __hash__(self) -> int:
        return hash((self.name, self.fingerprint))


@dataclass(frozen=True, eq=False)
class Activation(OwnFunction):
    """A unit g(z) of your own, given with its derivative.

    The derivative is checked against finite differences. g may have kinks, which are found (`kinks`) so that averages
    respect them; jumps of g are refused.

    Parameters
    ----------
    name : str
        Name in results and messages.
    function, derivative : callable
        g and g': they map an array to one of the same shape.
    version : str or int, optional
        Raise it with every change. Without it activations are equal if names, code and values are; with it, if names,
        versions and values are. Stores of sweeps need readable code or a version.

    Examples
    --------
    >>> softplus = sv.Activation("softplus", lambda z: np.logaddexp(0, z), lambda z: 1 / (1 + np.exp(-z)))
    >>> softplus.kinks
    ()
    """

    name: str
    function: Callable[[np.ndarray], np.ndarray]
    derivative: Callable[[np.ndarray], np.ndarray]
    version: str | int | None = None

    @property
    def known(self) -> str:
        """The name by which the library knows the unit; empty for a function of one's own, whatever it is called."""
        return ""

    def __post_init__(self) -> None:
        self._check_version()
        with np.errstate(all="ignore"):
            self._check()

    def _check(self) -> None:
        for label, function in [("function", self.function), ("derivative", self.derivative)]:
            if not callable(function):
                raise ValueError(f"{label}: {function!r} given, must be a function of arrays")
            try:
                values = np.asarray(function(_NODES))
            except TypeError as error:
                raise ValueError(
                    f"{label}: must be a function of arrays, as np.sin and not math.sin ({error})"
                ) from None
            if values.shape != _NODES.shape or values.dtype.kind not in "fiub":
                raise ValueError(f"{label}: must map an array of numbers to one of the same shape")
        steps = jumps(self.function)
        if steps:
            raise ValueError(f"function: jumps at z = {steps[0]:.6g}; a teacher with jumps can be given as a Target")
        h = 1e-6
        slope = (self.function(_NODES + h) - self.function(_NODES - h)) / (2 * h)
        wrong = np.abs(slope - self.derivative(_NODES)) > 1e-4 * (1 + np.abs(slope))
        if wrong.sum() > 3:  # a few nodes may sit on kinks
            worst = _NODES[wrong][0]
            raise ValueError(f"derivative: is not that of the function, for instance at z = {worst:.3g}")
        self.fingerprint  # noqa: B018  (also checks that values are finite)
        self._remember()

    def _functions(self) -> tuple[Callable[[np.ndarray], Any], ...]:
        return self.function, self.derivative

    def _nodes(self) -> tuple[np.ndarray, np.ndarray]:
        return _NODES, _FAR

    @property
    def curve(self) -> tuple[Callable[[np.ndarray], np.ndarray], Callable[[np.ndarray], np.ndarray]]:
        """Value and slope as functions, of which compiled code gets a table."""
        return self.function, self.derivative

    @cached_property
    def kinks(self) -> tuple[float, ...]:
        """Where the derivative jumps."""
        return jumps(self.derivative)

    def __repr__(self) -> str:
        return f"Activation({self.name!r})"


@dataclass(frozen=True, eq=False)
class NamedUnit(Activation):
    """A unit that files know by its name. `kind` is its number in compiled code: without a formula of its own there, its values are
    those of a polynomial or a table. `closed`: its averages are closed forms, in `closed/<name>.py` (`closed_forms.py` says which).
    `hermite`: coefficients c_m of He_m."""

    kind: int = TABULATED
    closed: bool = False
    hermite: tuple[float, ...] | None = None

    @property
    def known(self) -> str:
        return self.name


def _erf(z: np.ndarray) -> np.ndarray:
    from scipy.special import erf

    values: np.ndarray = erf(z / np.sqrt(2.0))
    return values


UNITS: dict[str, NamedUnit] = {
    unit.name: unit
    for unit in (
        NamedUnit("linear", lambda z: 1.0 * z, lambda z: np.ones_like(z), kind=LINEAR, closed=True, hermite=(0.0, 1.0)),
        NamedUnit("quadratic", np.square, lambda z: 2.0 * z, kind=QUADRATIC, closed=True, hermite=(1.0, 0.0, 1.0)),
        NamedUnit("erf", _erf, lambda z: np.sqrt(2.0 / np.pi) * np.exp(-0.5 * z * z), kind=ERF, closed=True),
        NamedUnit("relu", lambda z: np.maximum(z, 0.0), lambda z: (z > 0).astype(float), kind=RELU),
        NamedUnit("tanh", np.tanh, lambda z: 1.0 - np.tanh(z) ** 2, kind=TANH),
        NamedUnit(
            "hermite3",
            lambda z: (z**3 - 3 * z) / 6**0.5,
            lambda z: (z**2 - 1) * 1.5**0.5,
            closed=True,
            hermite=(0, 0, 0, 6**-0.5),
        ),
    )
}
BUILT_IN = frozenset(UNITS)  # others may be added


@lru_cache(maxsize=64)
def hermite(coefficients: tuple[float, ...]) -> Activation:
    """g(z) = sum_m c_m He_m(z), with the probabilists' Hermite polynomials."""
    from numpy.polynomial import hermite_e

    slope = hermite_e.hermeder(np.array(coefficients)) if len(coefficients) > 1 else np.zeros(1)
    return Activation(
        "hermite", lambda z: hermite_e.hermeval(z, coefficients), lambda z: hermite_e.hermeval(z, slope) + 0.0 * z
    )

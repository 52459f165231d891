"""Learning rates that follow the state: rules that multiply the learning rate by a function of the run so far."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, InstanceOf, PlainSerializer, WithJsonSchema

from solvable.gaussian.units import OwnFunction
from solvable.problems.model import InvalidProblem, Model, Plain

Positive = Annotated[float, Plain, Field(gt=0)]
ARGUMENTS = ("alpha", "risk", "square", "accumulated")  # of functions of one's own
KINDS = {"adagrad": 1, "line-search": 2, "polyak": 3, "clip-batches": 4, "custom": 5}  # in compiled code


class AdaGrad(Model):
    """AdaGrad-Norm: the rate falls as squared gradients add up, learning_rate/sqrt(offset^2 + G).

    Parameters
    ----------
    offset : float
        What G is added to, squared; the first rate is learning_rate/offset.
    kind : str
        "adagrad"; tells rules apart in files.

    Examples
    --------
    >>> sv.Training(learning_rate=1.0, rate_rule=sv.problems.AdaGrad(offset=0.5)).rate_rule.offset
    0.5

    Notes
    -----
    G grows by |batch gradient|^2/dim in each step, after it; the gradient of a sample is F x/sqrt(dim).
    """

    offset: Positive
    kind: Literal["adagrad"] = "adagrad"

    @property
    def number(self) -> float:
        """What compiled code knows of it."""
        return self.offset


class LineSearch(Model):
    """Exact line search: the rate at which the risk falls fastest, to second order, times learning_rate.

    Parameters
    ----------
    largest : float
        Bound on it, for states in which the second order does not bound the rate.
    kind : str
        "line-search"; tells rules apart in files.

    Examples
    --------
    >>> sv.Training(learning_rate=1.0, rate_rule=sv.problems.LineSearch()).rate_rule.kind
    'line-search'
    """

    largest: Positive = 100.0
    kind: Literal["line-search"] = "line-search"

    @property
    def number(self) -> float:
        """What compiled code knows of it."""
        return self.largest


class Polyak(Model):
    """Polyak's rate: twice the risk over the mean square of the gradient, times learning_rate.

    For linear units without noise it is the rate at which the distance to the teacher falls fastest.

    Parameters
    ----------
    kind : str
        "polyak"; tells rules apart in files.

    Examples
    --------
    >>> sv.Training(learning_rate=1.0, rate_rule=sv.problems.Polyak()).rate_rule.kind
    'polyak'
    """

    kind: Literal["polyak"] = "polyak"

    @property
    def number(self) -> float:
        """What compiled code knows of it."""
        return 0.0


class ClipBatches(Model):
    """Gradients of large batches that are longer than `norm` are shortened to it.

    `ClipSamples`, a `rule`, shortens those of single samples.

    Parameters
    ----------
    norm : float
        Of the batch gradient, whose square is the mean of F x/sqrt(dim) over the batch, summed over students.
    kind : str
        "clip-batches"; tells rules apart in files.

    Examples
    --------
    >>> sv.Training(learning_rate=1.0, batch=100, rate_rule=sv.problems.ClipBatches(norm=0.2)).rate_rule.norm
    0.2

    Notes
    -----
    Macro and Meso know the norm in the limit of large batches, in which it does not scatter, of samples far fewer than dim, whose
    mean is then small beside their noise: sqrt(mean square/batch). They refuse batches below 16 and above dim/10.
    """

    norm: Positive
    kind: Literal["clip-batches"] = "clip-batches"

    @property
    def number(self) -> float:
        """What compiled code knows of it."""
        return self.norm


@dataclass(frozen=True, eq=False)
class RateFunction(OwnFunction):
    """A rate of one's own: learning_rate times a function of time, risk, mean squared gradient and their sum.

    Parameters
    ----------
    name : str
        Name in results and messages.
    function : callable
        Of four numbers (alpha, risk, square, accumulated), for one number; a negative one counts as zero. They are time in
        steps/dim, risk, mean of |batch gradient|^2, and its integral over alpha. It is compiled, so it may use arithmetic
        and `math`.
    version : str or int, optional
        Raise it with every change; without it rules are equal if name, code and values are.
    begin : float
        Time at which the run begins, for runs that go on.

    Examples
    --------
    >>> rule = sv.problems.RateFunction("risk-driven", lambda alpha, risk, square, accumulated: risk / (1 + risk))
    >>> sv.Training(learning_rate=1.0, rate_rule=rule).rate_rule
    RateFunction('risk-driven')
    """

    name: str
    function: Callable[[float, float, float, float], float]
    version: str | int | None = None
    begin: float = 0.0

    kind = "custom"
    number = 0.0

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InvalidProblem(
                [f"rate_rule: {self.function!r} given for {self.name!r}, must be a function of four numbers"]
            )
        self._check_version()
        self._compiled  # noqa: B018  (refuses what cannot be compiled)
        self.fingerprint  # noqa: B018  (also checks that values are finite)
        self._remember()

    @cached_property
    def _compiled(self) -> Any:
        from numba import cfunc, float64
        from numba.core.errors import NumbaError

        try:
            return cfunc(float64(float64, float64, float64, float64))(self.function)
        except (NumbaError, TypeError) as error:
            lines = [one.strip() for one in str(error).splitlines() if one.strip()]
            line = next((one for one in lines if "nopython mode" not in one), type(error).__name__)
            raise InvalidProblem([f"rate_rule: the function {self.name!r} cannot be compiled: {line}"]) from None

    @property
    def address(self) -> int:
        """Of its machine code."""
        return int(self._compiled.address)

    def later(self, time: float) -> "RateFunction":
        """The same as seen from `time` (steps/dim) on."""
        return replace(self, begin=self.begin + time)

    def _functions(self) -> tuple[Callable[[np.ndarray], Any], ...]:
        return (_on_rows(self.name, self.function),)

    def _nodes(self) -> tuple[np.ndarray, np.ndarray]:
        near = np.array(
            [[a, r, s, g] for a in (0.0, 1.0, 7.5) for r in (0.1, 2.0) for s in (0.3, 4.0) for g in (0.2, 9.0)]
        )
        return near, 100.0 * near

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RateFunction) and self.begin == other.begin and super().__eq__(other)

    def __hash__(self) -> int:
        return hash((super().__hash__(), self.begin))

    def __repr__(self) -> str:
        return f"RateFunction({self.name!r})"


def _on_rows(name: str, function: Callable[..., float]) -> Callable[[np.ndarray], np.ndarray]:
    def value(row: list[float]) -> float:
        try:
            return float(function(*row))
        except (TypeError, ValueError, ArithmeticError) as error:
            where = ", ".join(f"{word} = {number:g}" for word, number in zip(ARGUMENTS, row, strict=True))
            raise InvalidProblem([f"rate_rule: the function {name!r} has no value at {where}: {error}"]) from None

    def values(rows: np.ndarray) -> np.ndarray:
        return np.array([value(row) for row in rows.tolist()])

    return values


def _custom(value: RateFunction) -> dict[str, Any]:
    """How a function shows in dumps: enough to compare, not to restore."""
    begin = {"begin": value.begin} if value.begin else {}
    return {"custom": value.name, "fingerprint": value.fingerprint, "identity": value.identity} | begin


def check_named(given: Any) -> None:
    """Raise ValueError where a rule for the rate is given by its name alone, or as something else that it cannot be."""
    if given is None or isinstance(given, dict | Model | RateFunction):
        return
    shown = getattr(given, "__name__", None) or repr(given)
    kinds = "AdaGrad(offset=...), LineSearch(), Polyak(), ClipBatches(norm=...) or RateFunction(name, function)"
    raise ValueError(
        f"rate_rule: {shown} given, must be {kinds} of sv.problems; in files a table, as {{ kind = 'adagrad', offset = 1.0 }}"
    )


OwnRate = Annotated[RateFunction, InstanceOf(), PlainSerializer(_custom), WithJsonSchema({"not": {}})]
RateRule = Annotated[AdaGrad | LineSearch | Polyak | ClipBatches, Field(discriminator="kind")] | OwnRate

"""Rules by which a sample's gradient becomes a step: clipped, normalised, or a rule of one's own."""

import dis
import hashlib
import inspect
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, InstanceOf, PlainSerializer

from solvable.gaussian.units import OwnFunction
from solvable.problems.model import Model, Plain
from solvable.problems.networks import AS_TEXT, as_text

# kinds of rules in compiled code
GRADIENT, CLIPPED, NORMALISED, OWN_RULE = range(4)
PROBES = 24  # samples on which rules are compared


class ClipSamples(Model):
    """Gradients of single samples that are longer than `norm` are shortened to it, also within a batch.

    A sample's gradient has the length sqrt(|x|^2/dim sum_k F_k^2). `ClipBatches` shortens the mean gradient of a batch.

    Parameters
    ----------
    norm : float
        Of the longest gradient.
    name : str
        "clip-samples", in files.

    Examples
    --------
    >>> sv.Training(learning_rate=0.1, rule=sv.problems.ClipSamples(norm=2.0)).rule.norm
    2.0
    """

    norm: Annotated[float, Plain, Field(gt=0)]
    name: Literal["clip-samples"] = "clip-samples"


@dataclass(frozen=True, eq=False)
class Rule(OwnFunction):
    """A learning rule of your own: what a sample adds to the students, as a function of what a step may know.

    A step moves w_k by rate x F_k x / sqrt(dim). Before the rule, F is that of SGD, readout_k g'(z_k) times the push of the loss;
    the rule changes it in place. It is compiled by Numba, so that all levels run at full speed.

    Parameters
    ----------
    name : str
        Name in results and messages.
    amplitude : callable
        amplitude(F, fields, label, output, size): `F` and `fields` are arrays with one number for each student, `size` is
        |x|^2/dim, the others are numbers. It changes F and returns nothing.
    version : str or int, optional
        Raise it with every change; without it rules are equal if name, code and values are.

    Examples
    --------
    >>> def careful(F, fields, label, output, size):
    ...     if abs(label - output) > 2:
    ...         F[:] = 0.0
    >>> sv.Training(learning_rate=0.1, rule=sv.Rule("careful", careful)).rule
    Rule('careful')
    """

    name: str
    amplitude: Callable[..., None]
    version: str | int | None = None

    def __post_init__(self) -> None:
        self._check_version()
        if not callable(self.amplitude):
            raise ValueError(f"amplitude: {self.amplitude!r} given, must be a function")
        count = len(inspect.signature(self.amplitude).parameters)
        if count != 5:
            raise ValueError(f"amplitude: takes {count} arguments, must take five: F, fields, label, output, size")
        self.fingerprint  # noqa: B018  (which compiles it and checks that values are finite)
        self._check_effect()
        self._remember()

    def _functions(self) -> tuple[Callable[..., Any], ...]:
        return (self.amplitude,)

    def _nodes(self) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros(0), np.zeros(0)  # values are compared as rules have them

    @cached_property
    def fingerprint(self) -> str:
        """A hash of what it makes of some samples."""
        digest = hashlib.sha256()
        for width in (1, 2, 3):
            with suppress(IndexError):  # it may be for more students
                for (_, F), (_, again) in zip(self._probe(width), self._probe(width), strict=True):
                    if not np.isfinite(F).all():
                        raise ValueError(
                            f"amplitude: of the rule {self.name!r} is not finite, for instance {F.tolist()}"
                        )
                    if (again != F).any():
                        raise ValueError(
                            f"amplitude: of the rule {self.name!r} differs from call to call; it must not draw"
                        )
                    digest.update(" ".join(f"{value:.6e}" for value in F + 0.0).encode())
        return digest.hexdigest()

    def _probe(self, width: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """F of some samples with so many students, before and after it. Raises IndexError where it asks for more students."""
        primes = [n for n in range(2, 4 * width + 20) if np.sqrt(n) % 1][: 2 * width + 3]
        for row in 4.0 * (np.arange(1, PROBES + 1)[:, None] * np.sqrt(primes) % 1.0) - 2.0:
            F = row[:width].copy()
            self.compiled(F, row[width : 2 * width].copy(), row[-3], row[-2], 1.0 + 0.2 * row[-1])
            yield row[:width], F

    def _check_effect(self) -> None:
        """Refuse what gives F another meaning and leaves the array alone, `F = 0.5 * F`."""
        code = getattr(self.amplitude, "__code__", None)
        name = next(iter(inspect.signature(self.amplitude).parameters))
        if code is None or not any(
            one.opname.startswith("STORE_FAST") and name in str(one.argval) for one in dis.get_instructions(code)
        ):
            return
        with suppress(IndexError):
            if all((before == after).all() for before, after in self._probe(3)):
                raise ValueError(
                    f"amplitude: of the rule {self.name!r} leaves {name} as it is; change it in place, {name}[:] = ..."
                )

    def check_width(self, width: int) -> None:
        """Raise where it asks for students beyond so many."""
        try:
            for _ in self._probe(width):
                pass
        except IndexError:
            raise ValueError(
                f"training.rule: the rule {self.name!r} asks for a student beyond the last one, student.width is {width}"
            ) from None

    @cached_property
    def compiled(self) -> Any:
        """Machine code, as a function."""
        from solvable.numerics.own_kernels import AMPLITUDE, compile_own  # which loads Numba

        try:
            return compile_own(self.amplitude, AMPLITUDE)
        except ValueError as error:
            raise ValueError(f"amplitude: of the rule {self.name!r} does not compile: {error}") from None

    @property
    def address(self) -> int:
        """Of the machine code in this process."""
        from solvable.numerics.own_kernels import AMPLITUDE, address_of

        return address_of(self.compiled, AMPLITUDE)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "compiled"}

    def __repr__(self) -> str:
        return f"Rule({self.name!r})"


AnyRule = Literal["normalised"] | ClipSamples | Annotated[Rule, InstanceOf(), PlainSerializer(as_text), AS_TEXT]


def rule_numbers(given: str | ClipSamples | Rule | None) -> tuple[int, float, int]:
    """Kind, norm and address of a rule for compiled code."""
    if given is None:
        return GRADIENT, 0.0, 0
    if isinstance(given, Rule):
        return OWN_RULE, 0.0, given.address
    if isinstance(given, ClipSamples):
        return CLIPPED, given.norm, 0
    if given == "normalised":
        return NORMALISED, 1.0, 0
    raise NotImplementedError(f"rule: {given!r} has no formula in compiled code")

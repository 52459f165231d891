"""Inputs: Gaussian, with a covariance of a few distinct eigenvalues, each with its share of the dimensions."""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, model_validator

from solvable.problems.model import Array, Model, Plain, short
from solvable.problems.schedules import Schedule, later, segments_of, value_at

Dim = Annotated[int, Plain, Field(gt=0, le=10**15)]
SMALLEST = 1e-150  # eigenvalue but zero
Distinct = Annotated[int, Plain, Field(gt=0, le=10**7)]


class PowerLaw(Model):
    """A power-law spectrum: lambda_l proportional to l^-(1 + beta), with mean one (worschech2024, 1).

    Parameters
    ----------
    beta : float
        Exponent, not negative.
    distinct : int
        Number of distinct eigenvalues, of equal multiplicity.
    kind : str
        "power-law"; tells spectra apart in files.

    Examples
    --------
    >>> sv.PowerLaw(beta=1.0, distinct=2).eigenvalues
    array([1.6, 0.4])
    """

    beta: Annotated[float, Plain, Field(ge=0)]
    distinct: Distinct
    kind: Literal["power-law"] = "power-law"

    @cached_property
    def eigenvalues(self) -> np.ndarray:
        """(distinct,) eigenvalues, largest first."""
        values = np.arange(1.0, self.distinct + 1) ** -(1.0 + self.beta)
        return values * self.distinct / values.sum()

    @cached_property
    def fractions(self) -> np.ndarray:
        """(distinct,) share of the dimensions of each."""
        return np.full(self.distinct, 1.0 / self.distinct)


class Spectrum(Model):
    """A spectrum of given eigenvalues.

    Parameters
    ----------
    eigenvalues : tuple of float or Schedule
        Taken as they are; a Schedule makes a curriculum.
    weights : tuple of float, optional
        Shares of the dimensions, scaled to sum one; left out, equal.
    kind : str
        "spectrum"; tells spectra apart in files.

    Examples
    --------
    >>> sv.Spectrum(eigenvalues=(0.5, 1.5), weights=(3, 1)).fractions
    array([0.75, 0.25])
    """

    eigenvalues: Annotated[tuple[float | Schedule, ...], Plain, Field(min_length=1)]
    weights: Array | None = None
    kind: Literal["spectrum"] = "spectrum"

    @model_validator(mode="after")
    def _check(self) -> "Spectrum":
        given = [value for one in self.eigenvalues for value in (one.rates if isinstance(one, Schedule) else (one,))]
        if min(given) < 0 or max(given) <= 0:
            raise ValueError(f"eigenvalues: must not be negative and not all zero, got {self.eigenvalues}")
        least = min(value for value in given if value > 0)
        if least < SMALLEST:
            raise ValueError(
                f"eigenvalues: {least:g} given, must be 0 or at least {SMALLEST:g}, so that its square is one too"
            )
        if self.weights is not None:
            if len(self.weights) != len(self.eigenvalues):
                raise ValueError(
                    f"weights: {len(self.weights)} given for {len(self.eigenvalues)} eigenvalues, must be as many"
                )
            if min(self.weights) <= 0:
                raise ValueError(f"weights: must be positive, got {self.weights}")
        return self

    @cached_property
    def fractions(self) -> np.ndarray:
        """Share of the dimensions of each eigenvalue."""
        count = len(self.eigenvalues)
        weights = np.ones(count) if self.weights is None else np.array(self.weights)
        return weights / weights.sum()


class Inputs(Model):
    """Gaussian inputs: their number and the eigenvalues of their covariance.

    Parameters
    ----------
    dim : int, optional
        Number of inputs; left out, infinitely many.
    spectrum : PowerLaw or Spectrum, optional
        Eigenvalues; left out, all are one.

    Examples
    --------
    >>> sv.Inputs(dim=100, spectrum=sv.Spectrum(eigenvalues=(0.5, 1.5))).fractions
    array([0.5, 0.5])
    """

    dim: Dim | None = None
    spectrum: Annotated[PowerLaw | Spectrum, Field(discriminator="kind")] | None = None

    @model_validator(mode="before")
    @classmethod
    def _guess_kind(cls, fields: Any) -> Any:
        """In files a spectrum needs no `kind`: its fields tell."""
        spectrum = fields.get("spectrum") if isinstance(fields, dict) else None
        if isinstance(spectrum, int | float | list | tuple | np.ndarray | np.generic):
            raise ValueError(
                f"spectrum: {short(spectrum)} given, must be sv.Spectrum(eigenvalues=...), sv.PowerLaw(...) or a table of "
                f"their fields"
            )
        if isinstance(spectrum, dict) and "kind" not in spectrum:
            kind = "power-law" if {"beta", "distinct"} & spectrum.keys() else "spectrum"
            return {**fields, "spectrum": {**spectrum, "kind": kind}}
        return fields

    @model_validator(mode="after")
    def _check(self) -> "Inputs":
        if self.dim is not None:
            sizes = self.fractions * self.dim
            whole = np.round(sizes)
            if np.abs(sizes - whole).max() > 1e-6 + 1e-15 * self.dim or whole.min() < 1 or whole.sum() != self.dim:
                unit = _smallest_dim(self.fractions)
                below, above = self.dim // unit * unit, (self.dim // unit + 1) * unit
                nearest = f"{below} or {above}" if below else f"{above}"
                raise ValueError(
                    f"dim: {self.dim} cannot be shared among {self.blocks} eigenvalues in whole numbers, "
                    f"the nearest that can: {nearest}"
                )
        return self

    @property
    def blocks(self) -> int:
        """Number of distinct eigenvalues."""
        return self.fractions.size

    @cached_property
    def eigenvalues(self) -> np.ndarray:
        """(blocks,) distinct eigenvalues of the input covariance."""
        if self.is_scheduled:
            raise ValueError(
                "inputs.spectrum.eigenvalues: a schedule is given where constant numbers are needed; problem.at(alpha) has those "
                "of one time"
            )
        return np.ones(1) if self.spectrum is None else np.array(self.spectrum.eigenvalues)

    @property
    def is_scheduled(self) -> bool:
        """Whether an eigenvalue changes in time."""
        return isinstance(self.spectrum, Spectrum) and any(
            isinstance(one, Schedule) for one in self.spectrum.eigenvalues
        )

    @cached_property
    def segments(self) -> list[np.ndarray]:
        """Of each eigenvalue: begin, value and slope of each segment."""
        return [segments_of(one) for one in (self.spectrum.eigenvalues if self.is_scheduled else self.eigenvalues)]  # type: ignore[union-attr]

    def at(self, time: float) -> "Inputs":
        """The same with the eigenvalues of one time (steps/dim) in the place of schedules."""
        return self._with(value_at, time)

    def later(self, time: float) -> "Inputs":
        """The same with schedules as seen from `time` (steps/dim) on."""
        return self._with(later, time)

    def _with(self, read: Callable[[Any, float], Any], time: float) -> "Inputs":
        if not self.is_scheduled or not isinstance(self.spectrum, Spectrum):
            return self
        values = tuple(read(one, time) for one in self.spectrum.eigenvalues)
        spectrum = Spectrum.model_construct(eigenvalues=values, weights=self.spectrum.weights, kind="spectrum")
        kept = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self).model_construct(**kept | {"spectrum": spectrum})

    @cached_property
    def fractions(self) -> np.ndarray:
        """(blocks,) share of the dimensions that each eigenvalue holds; sums to one."""
        return np.ones(1) if self.spectrum is None else self.spectrum.fractions

    @cached_property
    def block_sizes(self) -> np.ndarray:
        """(blocks,) number of dimensions of each eigenvalue, at finite dim."""
        if self.dim is None:
            raise ValueError("inputs.dim: infinite here, block sizes need a finite dim")
        return np.round(self.fractions * self.dim).astype(np.int64)


def _smallest_dim(fractions: np.ndarray) -> int:
    return math.lcm(*(Fraction(float(f)).limit_denominator(100_000).denominator for f in fractions))

"""Momentum: a step moves the weights by a velocity, in which past gradients fade."""

from typing import Annotated, Any

from pydantic import Field, model_validator

from solvable.problems.model import Model, Plain
from solvable.problems.schedules import Schedule, later, value_at

Share = Annotated[float, Plain, Field(gt=0, lt=1)]
Friction = Annotated[float, Plain, Field(gt=0)] | Schedule


class Momentum(Model):
    """Momentum of the steps: give `beta` or `kappa`.

    Parameters
    ----------
    beta : float, optional
        Share of its velocity that a step keeps, the same at every dim. `learning_rate` is then the bare rate: gradients
        add up to the effective rate learning_rate/(1 - beta).
    kappa : float or Schedule, optional
        Friction of slow velocities, 1 - beta = kappa/dim. `learning_rate` is then the effective rate: the bare one is
        kappa x learning_rate/dim.
    nesterov : bool
        Whether gradients are taken ahead of the weights, where the velocity would bring them.

    Examples
    --------
    >>> sv.Training(learning_rate=0.1, momentum=0.9).momentum
    Momentum(beta=0.9, kappa=None, nesterov=False)
    >>> sv.Training(learning_rate=0.25, momentum=0.75).effective_rate
    1.0

    Notes
    -----
    v <- beta v + e F x/sqrt(dim), w <- (1 - eta decay/dim) w + s v, with (e, s) = (learning_rate, 1) for beta and
    (kappa learning_rate, 1/dim) for kappa; eta is the effective rate. The readout, where it is trained, has velocities too.
    """

    beta: Share | None = None
    kappa: Friction | None = None
    nesterov: bool = False

    @model_validator(mode="after")
    def _check(self) -> "Momentum":
        if (self.beta is None) == (self.kappa is None):
            given = "is missing" if self.beta is None else "given together with kappa"
            raise ValueError(f"beta: {given}; give one of beta and kappa")
        if isinstance(self.kappa, Schedule) and min(self.kappa.rates) <= 0:
            raise ValueError(f"kappa: must be positive at all times, got {self.kappa.rates}")
        return self

    @property
    def gain(self) -> float:
        """The effective rate over `learning_rate`."""
        return 1.0 if self.beta is None else 1.0 / (1.0 - self.beta)

    def at(self, time: float) -> "Momentum":
        """The same with the friction of one time (steps/dim) in the place of a schedule."""
        return self._with(value_at(self.kappa, time))

    def later(self, time: float) -> "Momentum":
        """The same with a schedule as seen from `time` (steps/dim) on."""
        return self._with(later(self.kappa, time))

    def _with(self, kappa: Any) -> "Momentum":
        if kappa is self.kappa:
            return self
        return Momentum.model_construct(beta=self.beta, kappa=kappa, nesterov=self.nesterov)

"""Momentum: a step moves the weights by a velocity, in which past gradients fade."""

from typing import Annotated, Any

from pydantic import Field, model_validator

from solvable.problems.model import Model, Plain
from solvable.problems.schedules import Schedule, later, value_at

Share = Annotated[float, Plain, Field(ge=0, lt=1)] | Schedule
Friction = Annotated[float, Plain, Field(gt=0)] | Schedule


class Momentum(Model):
    """Momentum of the steps: give `beta` or `kappa`.

    Parameters
    ----------
    beta : float or Schedule, optional
        Share of its velocity that a step keeps, the same at every dim; 0 keeps nothing. `learning_rate` is then the bare
        rate: gradients add up to the effective rate learning_rate/(1 - beta). A schedule of it goes in steps.
    kappa : float or Schedule, optional
        Friction of slow velocities, 1 - beta = kappa/dim; at most dim. `learning_rate` is then the effective rate: the
        bare one is kappa x learning_rate/dim.
    nesterov : bool
        Whether gradients are taken ahead of the weights, at w + beta s v.

    Examples
    --------
    >>> sv.Training(learning_rate=0.1, momentum=0.9).momentum
    Momentum(beta=0.9)
    >>> sv.Training(learning_rate=0.25, momentum=0.75).effective_rate
    1.0

    Notes
    -----
    v <- beta v + e F x/sqrt(dim), w <- (1 - eta decay/dim) w + s v, with (e, s) = (learning_rate, 1) for beta and
    (kappa learning_rate, 1/dim) for kappa; eta is the effective rate. So decay is decoupled: it does not pass through v, and what
    replaces the rate with beta replaces that of the decay too. The readout, where it is trained, has velocities too.
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
        if isinstance(self.beta, Schedule) and max(self.beta.rates) >= 1:
            raise ValueError(f"beta: must be below 1 at all times, got {self.beta.rates}")
        if isinstance(self.beta, Schedule) and self.beta.shape != "steps":
            raise ValueError("beta: a linear schedule given, must go in steps: 1/(1 - beta) is not linear")
        return self

    @property
    def number(self) -> float | Schedule:
        """Beta or kappa, whichever is given."""
        given = self.kappa if self.beta is None else self.beta
        assert given is not None
        return given

    @property
    def gain(self) -> float | Schedule:
        """The effective rate over `learning_rate`."""
        if isinstance(self.beta, Schedule):
            gains = tuple(1.0 / (1.0 - beta) for beta in self.beta.rates)
            return Schedule.model_construct(times=self.beta.times, rates=gains, shape="steps")
        return 1.0 if self.beta is None else 1.0 / (1.0 - self.beta)

    def at(self, time: float) -> "Momentum":
        """The same with the number of one time (steps/dim) in the place of a schedule."""
        return self._with(value_at(self.number, time))

    def later(self, time: float) -> "Momentum":
        """The same with a schedule as seen from `time` (steps/dim) on."""
        return self._with(later(self.number, time))

    def _with(self, number: Any) -> "Momentum":
        if number is self.number:
            return self
        beta, kappa = (number, None) if self.kappa is None else (None, number)
        return Momentum.model_construct(beta=beta, kappa=kappa, nesterov=self.nesterov)

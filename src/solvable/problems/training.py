"""Training: learning rate or schedule, batch, weight decay, loss, noise, masks, readout, samples."""

from contextlib import suppress
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from pydantic import Field, model_validator

from solvable.gaussian.losses import LOSSES
from solvable.problems.averages import Average
from solvable.problems.dropout import Dropout
from solvable.problems.model import Array, InvalidProblem, Model, Plain, Unbounded, one_of
from solvable.problems.momentum import Momentum
from solvable.problems.rate_rules import LineSearch, RateFunction, RateRule
from solvable.problems.schedules import Schedule, as_schedule, later, scaled, segments_of, value_at, whole, within

Positive = Annotated[float, Plain, Field(gt=0)]
Rate = Annotated[float, Unbounded, Field(gt=0)] | Schedule  # runs at any rate have an ending: they diverge
NotNegative = Annotated[float, Plain, Field(ge=0)]


Batch = Annotated[int, Plain, Field(gt=0, le=10**9)]


def stopped_rates(fields: Any) -> dict[str, float | Schedule]:
    """Of the fields of a Training, as files have them, the rates that are zero at all times."""
    found: dict[str, float | Schedule] = {}
    for name in RATES:
        rate = fields.get(name) if isinstance(fields, dict) else None
        if type(rate) in (int, float) and rate == 0:
            found[name] = 0.0
        elif isinstance(rate, dict):
            with suppress(InvalidProblem):
                schedule = Schedule.from_mapping(rate)
                found |= {} if any(schedule.rates) else {name: schedule}
    return found


RATES = ("learning_rate", "readout_rate")
SCHEDULED = (*RATES, "batch", "weight_decay", "label_noise")


class Training(Model):
    """How the student learns: one-pass SGD on loss_factor x (label - output)^2, unless said otherwise.

    Rates, batch, weight decay and label noise may be a `Schedule`; a scheduled batch is the nearest whole number at
    each time.

    Parameters
    ----------
    learning_rate : float or Schedule
        One step moves w_k by (rate/batch) times the sum over the batch of F_k x / sqrt(dim).
    batch : int or Schedule
        Samples of one step.
    weight_decay : float or Schedule
        A step takes rate x decay x w / dim off the weights.
    loss_factor : float
        c in the loss.
    loss : str
        "squared", "log-cosh" (2 log cosh(label - output), less sensitive to outliers), or another name of the registry
        `LOSSES`.
    label_noise : float or Schedule
        Variance of Gaussian noise on the labels.
    train_readout : bool
        Whether the second layer learns too.
    readout_rate : float or Schedule, optional
        Its learning rate, per steps/dim; left out, `learning_rate`.
    samples : int, optional
        Size of a data set that is seen again and again, all at once (`Empirical`); left out, every sample is fresh.
    dropout : Dropout, optional
        Leaves some students out at random.
    input_noise : float or tuple of float
        Variance of noise on what students see, one number or one for each block; labels come from the clean input.
    label_flips : float
        Probability that a label has the wrong sign.
    anchor : float
        Pulls students back to where the run began: rate x anchor x (w - w_start) / dim in each step; or to the
        `snapshot`, if there is one.
    momentum : Momentum or float, optional
        `Momentum(beta=...)` or `Momentum(kappa=...)`; a number is beta. Weight decay and anchor use the effective rate.
    average : Average, optional
        An average of the students' weights that is kept beside them, with a risk of its own.
    snapshot : float, optional
        Time (steps/dim) at which the students are copied, for the anchor or to compare with; until then the copy follows
        them.
    rate_rule : AdaGrad, LineSearch, Polyak, Clip or RateFunction, optional
        What multiplies the learning rate of the weights, following the state; they are in `problems`.

    Examples
    --------
    >>> sv.Training(learning_rate=0.1, batch=4).label_noise
    0.0
    """

    learning_rate: Rate
    batch: Batch | Schedule = 1
    weight_decay: NotNegative | Schedule = 0.0
    loss_factor: Positive = 1.0
    loss: Annotated[str, one_of(LOSSES)] = "squared"
    label_noise: NotNegative | Schedule = 0.0
    train_readout: bool = False
    readout_rate: Rate | None = None
    samples: Annotated[int, Plain, Field(gt=0, le=10**9)] | None = None
    dropout: Dropout | None = None
    input_noise: NotNegative | Array = 0.0
    label_flips: Annotated[float, Plain, Field(ge=0, le=0.5)] = 0.0
    anchor: NotNegative = 0.0
    momentum: Momentum | None = None
    average: Average | None = None
    snapshot: NotNegative | None = None
    rate_rule: RateRule | None = None

    @model_validator(mode="before")
    @classmethod
    def _name_beta(cls, fields: Any) -> Any:
        given = fields.get("momentum") if isinstance(fields, dict) else None
        if isinstance(given, int | float | np.number) and not isinstance(given, bool):
            return fields | {"momentum": {"beta": float(given)}}
        return fields

    @model_validator(mode="after")
    def _check(self) -> "Training":
        if self.readout_rate is not None and not self.train_readout:
            raise ValueError("readout_rate: given although train_readout is false, so nothing would use it")
        for name in RATES:
            rate = getattr(self, name)
            if isinstance(rate, Schedule) and max(rate.rates) == 0:
                raise ValueError(f"{name}: is zero at all times, so nothing would be learned")
        if self.rate_rule is not None:
            self._check_rule(self.rate_rule)
        if isinstance(self.batch, Schedule) and min(self.batch.rates) < 1:
            raise ValueError(f"batch: must be at least 1 at all times, got {self.batch.rates}")
        if isinstance(self.input_noise, tuple) and (not self.input_noise or min(self.input_noise) < 0):
            raise ValueError(f"input_noise: must be numbers that are not negative, got {self.input_noise}")
        return self

    def _check_rule(self, rule: RateRule) -> None:
        if self.train_readout and self.readout_rate is None:
            raise ValueError(
                "readout_rate: is missing; rate_rule is for the weights alone, the readout needs a rate of its own"
            )
        if not isinstance(rule, LineSearch):
            return
        for name in ("weight_decay", "anchor", "train_readout", "momentum", "dropout", "input_noise", "label_flips"):
            if getattr(self, name):
                raise ValueError(
                    f"rate_rule: line search given together with {name}, with which the risk falls otherwise"
                )
        if self.loss != "squared":
            raise ValueError(
                f"rate_rule: line search given with the loss {self.loss!r}, must be 'squared': it is for the risk"
            )

    @cached_property
    def segments(self) -> dict[str, np.ndarray]:
        """What changes in time, by the names that compiled code has for it: begin, value and slope of each segment."""
        return {
            "rate": self.schedule.segments,
            "readout_rate": self.readout_schedule.segments,
            "decay": segments_of(self.weight_decay),
            "batch": whole(segments_of(self.batch)),
            "label_noise": segments_of(self.label_noise),
            "friction": segments_of(self._friction),
        }

    @property
    def _friction(self) -> float | Schedule:
        return 0.0 if self.momentum is None or self.momentum.kappa is None else self.momentum.kappa

    @property
    def effective_rate(self) -> float | Schedule:
        """What gradients add up to: the learning rate, divided by 1 - beta with momentum of that kind."""
        return scaled(self.learning_rate, self.gain)

    @property
    def gain(self) -> float:
        """The effective rate over the learning rate."""
        return 1.0 if self.momentum is None else self.momentum.gain

    @property
    def is_slow(self) -> bool:
        """Whether velocities are slow, of the momentum kappa."""
        return self.momentum is not None and self.momentum.beta is None

    def at(self, time: float) -> "Training":
        """The same with the numbers of one time (steps/dim) in the place of schedules; a batch is a whole number."""
        if not self.is_scheduled:
            return self
        found = {name: value_at(getattr(self, name), time) for name in SCHEDULED}
        batch, _ = within(self.segments["batch"], np.maximum([time], 0.0))
        momentum = None if self.momentum is None else self.momentum.at(time)
        return self._with(found | {"batch": int(batch[0]), "momentum": momentum})

    def later(self, time: float) -> "Training":
        """The same with schedules as seen from `time` (steps/dim) on."""
        rule = self.rate_rule
        if (
            not self.is_scheduled
            and self.average is None
            and self.snapshot is None
            and not isinstance(rule, RateFunction)
        ):
            return self
        found: dict[str, Any] = {name: later(getattr(self, name), time) for name in SCHEDULED}
        if self.momentum is not None:
            found["momentum"] = self.momentum.later(time)
        if self.average is not None:
            found["average"] = self.average.later(time)
        if self.snapshot is not None:
            found["snapshot"] = max(self.snapshot - time, 0.0)
        if isinstance(rule, RateFunction):
            found["rate_rule"] = rule.later(time)
        return self._with(found)

    def stopped(self, rates: dict[str, float | Schedule]) -> "Training":
        """The same with rates that are zero at all times, as `at` and `later` leave them."""
        return self._with(rates)

    @property
    def is_scheduled(self) -> bool:
        """Whether a number changes in time."""
        changing = [getattr(self, name) for name in SCHEDULED]
        return any(isinstance(number, Schedule) for number in (*changing, self._friction))

    def _with(self, found: dict[str, Any]) -> "Training":
        """Not checked: a rate may be zero by now, which none that is given is."""
        return type(self).model_construct(**{name: getattr(self, name) for name in type(self).model_fields} | found)

    @cached_property
    def schedule(self) -> Schedule:
        """The learning rate as a Schedule, also where it is constant."""
        return as_schedule(self.learning_rate)

    @cached_property
    def effective_schedule(self) -> Schedule:
        """The effective rate as a Schedule."""
        return as_schedule(self.effective_rate)

    @cached_property
    def readout_schedule(self) -> Schedule:
        """The learning rate of the readout as a Schedule."""
        return self.schedule if self.readout_rate is None else as_schedule(self.readout_rate)

"""Training: learning rate or schedule, batch, weight decay, loss, noise, masks, readout, samples."""

from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from pydantic import Field, model_validator

from solvable.gaussian.losses import Loss
from solvable.problems.averages import Average
from solvable.problems.dropout import Dropout
from solvable.problems.losses import NUMBERED, AnyLoss, loss_of, named
from solvable.problems.model import Array, InvalidProblem, Model, Plain, Unbounded
from solvable.problems.momentum import Momentum
from solvable.problems.rate_rules import LineSearch, RateFunction, RateRule, check_named
from solvable.problems.reuse import Ratio, Selection, check_reuse
from solvable.problems.rules import AnyRule
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


RATES = ("learning_rate", "step", "readout_rate")
SCHEDULED = (*RATES, "batch", "weight_decay", "label_noise")


class Training(Model):
    """How the student learns: one-pass SGD on loss_factor x (label - output)^2, unless said otherwise.

    Rates, batch, weight decay, label noise and momentum may be a `Schedule`; a scheduled batch is the nearest whole number at
    each time.

    Parameters
    ----------
    learning_rate : float or Schedule
        One step moves w_k by (rate/batch) times the sum over the batch of F_k x / sqrt(dim).
    step : float or Schedule, optional
        In the place of `learning_rate`, which is step x dim: the rate for batches as large as the dimension, of order one
        at any dim. For training on a data set or on batches that are used again (`Empirical`).
    batch : int, Ratio or Schedule, optional
        Samples of one step; left out, all of `samples`, or one where every sample is fresh.
    weight_decay : float or Schedule
        A step takes rate x decay x w / dim off the weights.
    loss_factor : float
        c in the loss.
    loss : str, Huber, Hinge or Loss
        Of the residual e = label - output: "squared", "log-cosh" (2 log cosh e), "huber", "absolute" (2 |e|, the sign of the
        error). Of the margin m = label x output: "correlation" (-2 m), "logistic" (log(1 + exp(-m))), "hinge" (smoothed),
        "perceptron" (max(0, -m)). Or a loss of your own.
    label_noise : float or Schedule
        Variance of Gaussian noise on the labels.
    train_readout : bool
        Whether the second layer learns too.
    readout_rate : float or Schedule, optional
        Its learning rate, in the unit of whichever of `learning_rate` (per steps/dim) and `step` (per step) is given; left
        out, equal to it.
    samples : int or Ratio, optional
        Size of a data set that is seen again and again (`Empirical`); left out, every sample is fresh.
    selection : str, optional
        Which samples a step takes: "all"; "subsets" (`batch` different ones, drawn anew), "drawn" (with replacement),
        "shuffled" (each once in an epoch, in an order drawn for every epoch), "partition" (the same batches in every
        epoch), "persistent" (each sample is in or out by itself, redrawn with the chance 1/repeats in every step);
        "repeated": fresh batches, each used `repeats` times. Left out: "all", or "subsets" where a batch is given.
    repeats : int
        How many steps in a row a fresh batch, or a fresh sample, is used; for "persistent", the mean time between redraws.
    dropout : Dropout, optional
        Leaves some students out at random.
    input_noise : float or tuple of float
        Variance of noise on what students see, one number or one for each block; labels come from the clean input.
    label_flips : float
        Probability that a label has the wrong sign.
    anchor : float
        Pulls students back to where the run began: rate x anchor x (w - w_start) / dim in each step; or to the
        `snapshot`, if there is one.
    momentum : Momentum, float or Schedule, optional
        `Momentum(beta=...)` or `Momentum(kappa=...)`; a number is beta. Weight decay and anchor use the effective rate, also
        where that follows the state.
    average : Average, optional
        An average of the students' weights that is kept beside them, with a risk of its own.
    snapshot : float, optional
        Time (steps/dim) at which the students are copied, for the anchor or to compare with; until then the copy follows
        them.
    rate_rule : AdaGrad, LineSearch, Polyak, ClipBatches or RateFunction, optional
        What multiplies the learning rate of the weights, following the state; they are in `problems`.
    rule : str, ClipSamples or Rule, optional
        What becomes of a sample's gradient: "normalised" (to length one), clipped, or a rule of your own; left out, it is
        the step.
    lookahead : float
        The gradient is taken where a step of this rate on the same sample alone would lead, which is not kept.
    train_bias : bool
        Whether the output's bias learns, at the rate of the readout: a step adds (rate/dim) times the push of the loss to it.

    Examples
    --------
    >>> sv.Training(learning_rate=0.1, batch=4).label_noise
    0.0
    """

    learning_rate: Rate | None = None
    step: Rate | None = None
    batch: Batch | Ratio | Schedule | None = None
    weight_decay: NotNegative | Schedule = 0.0
    loss_factor: Positive = 1.0
    loss: AnyLoss = "squared"
    label_noise: NotNegative | Schedule = 0.0
    train_readout: bool = False
    readout_rate: Rate | None = None
    samples: Annotated[int, Plain, Field(gt=0, le=10**9)] | Ratio | None = None
    selection: Selection | None = None
    repeats: Annotated[int, Plain, Field(ge=1, le=10**6)] = 1
    dropout: Dropout | None = None
    input_noise: NotNegative | Array = 0.0
    label_flips: Annotated[float, Plain, Field(ge=0, le=0.5)] = 0.0
    anchor: NotNegative = 0.0
    momentum: Momentum | None = None
    average: Average | None = None
    snapshot: NotNegative | None = None
    rate_rule: RateRule | None = None
    rule: AnyRule | None = None
    lookahead: NotNegative = 0.0
    train_bias: bool = False

    @model_validator(mode="before")
    @classmethod
    def _name_beta(cls, fields: Any) -> Any:
        if not isinstance(fields, dict):
            return fields
        given = fields.get("momentum")
        check_named(fields.get("rate_rule"))
        if isinstance(given, int | float | np.number | Schedule) and not isinstance(given, bool):
            return fields | {"momentum": {"beta": given if isinstance(given, Schedule) else float(given)}}
        return fields

    @model_validator(mode="before")
    @classmethod
    def _name_loss(cls, fields: Any) -> Any:
        return fields | {"loss": named(fields["loss"])} if isinstance(fields, dict) and "loss" in fields else fields

    @model_validator(mode="before")
    @classmethod
    def _single_samples(cls, fields: Any) -> Any:
        """Where every sample is fresh, a batch that is left out is one sample."""
        if isinstance(fields, dict) and fields.get("samples") is None and fields.get("batch") is None:
            return {**fields, "batch": 1}
        return fields

    @model_validator(mode="after")
    def _check(self) -> "Training":
        if self.learning_rate is None and self.step is None:
            raise ValueError("learning_rate: is missing; give it, or step = learning_rate / dim")
        if self.learning_rate is not None and self.step is not None:
            raise ValueError("step: given together with learning_rate, which is step x dim; give one of them")
        check_reuse(self)
        if self.readout_rate is not None and not (self.train_readout or self.train_bias):
            raise ValueError("readout_rate: given although train_readout is false, so nothing would use it")
        for name in RATES:
            rate = getattr(self, name)
            if isinstance(rate, Schedule) and max(rate.rates) == 0:
                raise ValueError(f"{name}: is zero at all times, so nothing would be learned")
            if isinstance(rate, Schedule) and rate.shape == "linear" and isinstance(self.gain, Schedule):
                raise ValueError(
                    f"{name}: a linear schedule given together with one of momentum.beta; let both go in steps"
                )
        if self.rate_rule is not None:
            self._check_rule(self.rate_rule)
        if isinstance(self.batch, Schedule) and min(self.batch.rates) < 1:
            raise ValueError(f"batch: must be at least 1 at all times, got {self.batch.rates}")
        if isinstance(self.input_noise, tuple) and (not self.input_noise or min(self.input_noise) < 0):
            raise ValueError(f"input_noise: must be numbers that are not negative, got {self.input_noise}")
        if self.lookahead and self.uses_again:
            raise ValueError("lookahead: given together with repeats, of which one is kept and one is not; give one")
        if self.uses_again and self.momentum is not None:
            raise ValueError(
                "repeats: given together with momentum, whose velocity moves fields less between uses of a sample than the "
                "effective rate would; give one of them"
            )
        return self

    def _check_rule(self, rule: RateRule) -> None:
        if (self.train_readout or self.train_bias) and self.readout_rate is None:
            raise ValueError(
                "readout_rate: is missing; rate_rule is for the weights alone, the readout needs a rate of its own"
            )
        if self.uses_again:
            raise ValueError(
                "rate_rule: given together with repeats, of which each moves fields by a rate not yet known"
            )
        if not isinstance(rule, LineSearch):
            return
        if self.is_shaped:
            raise ValueError(
                "rate_rule: line search given together with rule or lookahead, along which the risk need not fall"
            )
        for name in (
            "weight_decay",
            "anchor",
            "train_readout",
            "train_bias",
            "momentum",
            "dropout",
            "input_noise",
            "label_flips",
        ):
            if getattr(self, name):
                raise ValueError(
                    f"rate_rule: line search given together with {name}, with which the risk falls otherwise"
                )
        if self.loss != "squared":
            raise ValueError(
                f"rate_rule: line search given with the loss {self.loss!r}, must be 'squared': it is for the risk"
            )

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """Yield the fields that are not at their defaults, or at the value that a validator gives to a batch that is left out."""
        fresh = self.samples is None
        return (
            (name, value) for name, value in super().__repr_args__() if not (name == "batch" and value == 1 and fresh)
        )

    @property
    def loss_function(self) -> Loss:
        """The loss as functions."""
        return loss_of(self.loss)

    @property
    def is_shaped(self) -> bool:
        """Whether steps differ from gradients of single samples: by a rule, a look-ahead or repeats."""
        return self.rule is not None or bool(self.lookahead) or self.uses_again

    @property
    def uses_again(self) -> bool:
        """Whether fresh samples, one or a few at a time, are used several times in a row."""
        return self.repeats > 1 and self.samples is None and self.selection is None

    @cached_property
    def segments(self) -> dict[str, np.ndarray]:
        """What changes in time, by the names that compiled code has for it: begin, value and slope of each segment."""
        return {
            "rate": self.schedule.segments,
            "readout_rate": self.readout_schedule.segments,
            "decay": segments_of(self.weight_decay),
            "batch": whole(segments_of(self.batch if isinstance(self.batch, int | Schedule) else 1)),
            "label_noise": segments_of(self.label_noise),
            "friction": segments_of(self._friction),
        }

    @property
    def _friction(self) -> float | Schedule:
        """Kappa of slow velocities, beta of fast ones."""
        return 0.0 if self.momentum is None else self.momentum.number

    @property
    def effective_rate(self) -> float | Schedule:
        """What gradients add up to: the learning rate, divided by 1 - beta with momentum of that kind."""
        return scaled(self._rate, self.gain)

    @property
    def _rate(self) -> float | Schedule:
        """The learning rate, or the step where that is given."""
        rate = self.step if self.learning_rate is None else self.learning_rate
        assert rate is not None
        return rate

    @property
    def gain(self) -> float | Schedule:
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
        if isinstance(self.batch, Schedule):
            batch, _ = within(self.segments["batch"], np.maximum([time], 0.0))
            found["batch"] = int(batch[0])
        return self._with(
            found
            | {
                "momentum": None if self.momentum is None else self.momentum.at(time),
                "dropout": None if self.dropout is None else self.dropout.at(time),
            }
        )

    def replace(self, **changes: Any) -> "Training":
        """Of `learning_rate` and `step` the new one takes the place of the other; a data set in the place of fresh single
        samples is seen as a whole, unless a batch is given too; `samples__ratio` takes
        the place of a number of samples; a loss that is given by its name has its numbers too."""
        if isinstance(self.loss, str) and any(name.startswith("loss__") for name in changes):
            if self.loss not in NUMBERED:
                raise InvalidProblem([f"loss: {self.loss!r} has no numbers; {' and '.join(map(repr, NUMBERED))} have"])
            return self.replace(loss=NUMBERED[self.loss]()).replace(**changes)
        for name, other in (("learning_rate", "step"), ("step", "learning_rate")):
            if changes.get(name) is not None:
                changes.setdefault(other, None)
        for name in ("samples", "batch"):
            if f"{name}__ratio" in changes and name not in changes and not isinstance(getattr(self, name), Ratio):
                changes[name] = {"ratio": changes.pop(f"{name}__ratio")}
        if changes.get("samples") is not None and self.samples is None and self.batch == 1:
            changes.setdefault("batch", None)
        return super().replace(**changes)

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
        if self.dropout is not None:
            found["dropout"] = self.dropout.later(time)
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
        keep = None if self.dropout is None else self.dropout.keep
        return any(isinstance(number, Schedule) for number in (*changing, self._friction, keep))

    def _with(self, found: dict[str, Any]) -> "Training":
        """Not checked: a rate may be zero by now, which none that is given is."""
        return type(self).model_construct(**{name: getattr(self, name) for name in type(self).model_fields} | found)

    @cached_property
    def schedule(self) -> Schedule:
        """The learning rate, or the step where that is given, as a Schedule, also where it is constant."""
        return as_schedule(self._rate)

    @cached_property
    def effective_schedule(self) -> Schedule:
        """The effective rate as a Schedule."""
        return as_schedule(self.effective_rate)

    @cached_property
    def readout_schedule(self) -> Schedule:
        """The learning rate of the readout as a Schedule."""
        return self.schedule if self.readout_rate is None else as_schedule(self.readout_rate)

"""How many samples there are, how many a step takes, and how a step chooses them: training on a finite data set."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, Field

from solvable.problems.model import Model, Plain
from solvable.problems.schedules import as_schedule

if TYPE_CHECKING:
    from solvable.problems.problem import Problem
    from solvable.problems.training import Training

REUSE = ("training.step", "training.selection")  # settings that levels of fresh samples do not know
SMALL_STEP = 0.01  # as large as this beside a useful one
TWICE = "only selection 'drawn' takes a sample twice in a step"
Selection = Literal["all", "subsets", "drawn", "shuffled", "partition", "persistent", "repeated"]


class Ratio(Model):
    """A number of samples per dimension: `Ratio(3)` with dim = 1000 is 3000 samples, rounded to the nearest whole number.

    Parameters
    ----------
    ratio : float
        Samples per dimension, positive. It may be given by place.

    Examples
    --------
    >>> sv.problems.Ratio(1.5).count(1001)
    1502
    """

    ratio: Annotated[float, Plain, Field(gt=0, le=1e9)]

    def __new__(cls, *_: Any, **__: Any) -> Ratio:
        return BaseModel.__new__(cls)

    def __init__(self, ratio: Any = ..., **fields: Any) -> None:
        super().__init__(**(fields if ratio is ... else {"ratio": ratio, **fields}))

    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]  # as that of Model

    def count(self, dim: int) -> int:
        """The number at a finite dim; at least 1."""
        return max(1, round(self.ratio * dim))


def count_of(number: int | Ratio, dim: int | None) -> int:
    """A number of samples, given as such or per dimension."""
    if not isinstance(number, Ratio):
        return number
    if dim is None:
        raise ValueError("inputs.dim: infinite, so a Ratio of samples per dimension is no number; give inputs.dim")
    return number.count(dim)


def sample_count(problem: Problem) -> int | None:
    """Size of the data set; None where every sample is fresh."""
    samples = problem.training.samples
    return None if samples is None else count_of(samples, problem.inputs.dim)


def batch_size(problem: Problem) -> int:
    """Samples of one step, on average where they vary; for constant batches."""
    batch, samples = problem.training.batch, sample_count(problem)
    if batch is None:
        return samples or 1
    if not isinstance(batch, int | Ratio):
        raise ValueError("training.batch: a schedule is given where a constant number is needed")
    return count_of(batch, problem.inputs.dim)


def per_dimension(number: int | Ratio, dim: int | None) -> float:
    """A number of samples per dimension: with a finite dim, of the whole number that it is there."""
    if isinstance(number, Ratio) and dim is None:
        return number.ratio
    return count_of(number, dim) / (dim or 1)


def batches_per_epoch(problem: Problem) -> int:
    """In how many batches, equal up to one sample, the selections "shuffled" and "partition" split the data set."""
    training, dim = problem.training, problem.inputs.dim
    if dim is None and isinstance(training.samples, Ratio) and isinstance(training.batch, Ratio):
        return math.ceil(training.samples.ratio / training.batch.ratio * (1 - 1e-12))
    return -(-(sample_count(problem) or 1) // batch_size(problem))


def epochs_per_step(problem: Problem) -> float:
    """The share of the data set that a step sees."""
    training, dim = problem.training, problem.inputs.dim
    if training.selection in ("shuffled", "partition"):
        return 1 / batches_per_epoch(problem)
    if training.batch is None:
        return 1.0
    if dim is None and isinstance(training.samples, Ratio) and isinstance(training.batch, Ratio):
        return training.batch.ratio / training.samples.ratio
    return batch_size(problem) / (sample_count(problem) or 1)


def warn_of_small_steps(problems: list[Problem]) -> None:
    """Warn where `learning_rate` on a data set makes steps far below order one in all of these problems, so that it was probably
    meant as the step.

    A step s = learning_rate / dim moves overlaps by about s through the mean gradient and by s^2 dim / batch through its noise.
    So useful steps are of the order of min(1, batch / dim): steps of order one for large batches, rates of order one for single
    samples.
    """
    first, dim = problems[0], problems[0].inputs.dim
    if first.training.learning_rate is None or dim is None:
        return
    rate = max(max(as_schedule(problem.training.effective_rate).rates) for problem in problems)
    batch, step = batch_size(first), rate / dim
    useful = min(1.0, batch / dim)
    if step < SMALL_STEP * useful:
        order = "1" if useful == 1 else f"batch / dim = {useful:.2g}"
        warnings.warn(
            f"training.learning_rate: {rate:g} makes steps of {step:.3g}, because it is divided by dim = {dim}; on batches of "
            f"{batch} samples steps of order {order} learn: say step = {rate:g} if it was meant so, or step = {step:.3g} for this "
            f"one",
            stacklevel=2,
        )


def check_reuse(training: Training) -> None:
    """Raise ValueError, naming the field, where samples, batch, selection and repeats contradict each other."""
    selection, batch = training.selection, training.batch
    if training.samples is None:
        if selection not in (None, "repeated"):
            raise ValueError(f"selection: {selection!r} given without samples, a data set to choose from")
        if isinstance(batch, Ratio) or selection is not None:
            _refuse_schedule(batch)
        return
    _refuse_schedule(batch)
    if selection == "repeated":
        raise ValueError("selection: 'repeated' is for fresh batches, so it needs samples left out")
    if selection == "all" and batch is not None:
        raise ValueError("batch: given although selection is 'all', so nothing would use it")
    if selection not in (None, "all") and batch is None:
        raise ValueError(f"batch: is missing; selection {selection!r} chooses so many of the samples in each step")
    if training.repeats > 1 and selection != "persistent":
        raise ValueError("repeats: is for fresh batches (samples left out) and for selection 'persistent'")
    if isinstance(batch, Ratio) is isinstance(training.samples, Ratio) and selection != "drawn" and batch is not None:
        _check_share(batch, training.samples)


def check_batch(problem: Problem) -> None:
    """Raise ValueError where a batch is larger than the data set, as far as the numbers of both are known."""
    training, dim = problem.training, problem.inputs.dim
    if training.samples is None or training.batch is None or training.selection == "drawn":
        return
    if dim is None and (isinstance(training.samples, Ratio) or isinstance(training.batch, Ratio)):
        return
    batch, samples = batch_size(problem), count_of(training.samples, dim)
    if batch > samples:
        raise ValueError(f"training.batch: {batch} given, must be at most the {samples} samples; {TWICE}")


def _refuse_schedule(batch: Any) -> None:
    if batch is not None and not isinstance(batch, int | Ratio):
        raise ValueError("batch: a schedule is given, but samples that are seen again come in batches of one size")


def _check_share(batch: Any, samples: Any) -> None:
    given, most = (one.ratio if isinstance(one, Ratio) else one for one in (batch, samples))
    if given > most:
        raise ValueError(f"batch: {given:g} given, must be at most samples, {most:g}; {TWICE}")

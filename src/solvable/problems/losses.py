"""Losses that have a parameter, as files and Python write them, and what `training.loss` may be."""

from typing import Annotated, Any, Literal

from pydantic import Field, InstanceOf, PlainSerializer

from solvable.gaussian.losses import LOSSES, SHARPNESS, THRESHOLD, Loss, hinge, huber
from solvable.problems.model import Model, Plain, one_of
from solvable.problems.networks import AS_TEXT, as_text


class Huber(Model):
    """The loss of Huber: the square of the residual up to a threshold, a straight line beyond it.

    Parameters
    ----------
    name : str
        "huber", in files.
    threshold : float
        The residual beyond which the push is constant, 2 x loss_factor x threshold.

    Examples
    --------
    >>> sv.Training(learning_rate=0.1, loss=sv.problems.Huber(threshold=0.5)).loss.threshold
    0.5
    """

    name: Literal["huber"] = "huber"
    threshold: Annotated[float, Plain, Field(gt=0, le=1e4)] = THRESHOLD

    @property
    def loss(self) -> Loss:
        """As functions."""
        return huber(self.threshold)


class Hinge(Model):
    """The hinge loss of the margin label x output, smoothed: log(1 + exp(sharpness (1 - margin))) / sharpness.

    Parameters
    ----------
    name : str
        "hinge", in files.
    sharpness : float
        How sharp its bend at margin one is.

    Examples
    --------
    >>> sv.Training(learning_rate=0.1, loss=sv.problems.Hinge(sharpness=10.0)).loss.sharpness
    10.0
    """

    name: Literal["hinge"] = "hinge"
    sharpness: Annotated[float, Plain, Field(gt=0, le=30)] = SHARPNESS

    @property
    def loss(self) -> Loss:
        """As functions."""
        return hinge(self.sharpness)


NUMBERED: dict[str, type[Huber] | type[Hinge]] = {"huber": Huber, "hinge": Hinge}  # losses that have a number
WORDS = {  # that others have for them
    "squared": ("mse", "l2", "square", "quadratic"),
    "absolute": ("mae", "l1", "sign"),
    "logistic": ("cross-entropy", "cross_entropy", "bce", "log"),
}
Parametric = Annotated[Huber | Hinge, Field(discriminator="name")]
AnyLoss = Annotated[str, one_of(LOSSES)] | Parametric | Annotated[Loss, InstanceOf(), PlainSerializer(as_text), AS_TEXT]


def named(given: Any) -> Any:
    """A loss as its name, where a table has nothing else. Raises for words that others have for it."""
    if isinstance(given, dict) and given.keys() == {"name"}:
        given = given["name"]
    for name, words in WORDS.items():
        if isinstance(given, str) and given.lower() in words and given not in LOSSES:
            raise ValueError(f"loss: {given!r} given, which is called {name!r} here")
    return given


def loss_of(given: str | Huber | Hinge | Loss) -> Loss:
    """The functions of a loss that is given by name, by name and parameters, or as itself."""
    if isinstance(given, Loss):
        return given
    return LOSSES[given] if isinstance(given, str) else given.loss

"""Losses: functions of the residual y - y^ or of the margin y y^, and the registry `LOSSES` of those that have a name.

SGD moves by the push, minus the slope of the loss in the output y^. A loss of the residual e pushes by push(e) = l'(e), one of the
margin m by y push(m) with push(m) = -l'(m). The loss factor multiplies both; the squared loss is e^2, so it pushes by 2 e.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from solvable.gaussian.units import OwnFunction, jumps

# kinds of losses in compiled code: the first two have formulas there, others are tables of the push
SQUARED, LOG_COSH, TABULATED_LOSS = range(3)
_NODES = np.linspace(-6.0, 6.0, 193)
_FAR = np.concatenate([sign * np.geomspace(6.0, 6e4, 41) for sign in (-1.0, 1.0)])


@dataclass(frozen=True, eq=False)
class Loss(OwnFunction):
    """A loss that files know by its name: `function` of what `of` says, its push and the slope of the push, each mapping arrays
    to arrays of the same shape. Pushes may have kinks and jumps, which are found (`kinks`); both slopes are checked against
    finite differences. `kind` is its number in compiled code."""

    name: str
    function: Callable[[np.ndarray], np.ndarray]
    push: Callable[[np.ndarray], np.ndarray]
    push_slope: Callable[[np.ndarray], np.ndarray]
    of: Literal["residual", "margin"] = "residual"
    version: str | int | None = None
    kind: int = TABULATED_LOSS

    def __post_init__(self) -> None:
        self._check_version()
        sign = 1.0 if self.of == "residual" else -1.0
        with np.errstate(all="ignore"):
            _check_slope("push", lambda x: sign * self.function(x), self.push)
            _check_slope("push_slope", self.push, self.push_slope)
        self.fingerprint  # noqa: B018  (also checks that values are finite)

    def _functions(self) -> tuple[Callable[[np.ndarray], Any], ...]:
        return self.function, self.push, self.push_slope

    def _nodes(self) -> tuple[np.ndarray, np.ndarray]:
        return _NODES, _FAR

    @property
    def curve(self) -> tuple[Callable[[np.ndarray], np.ndarray], Callable[[np.ndarray], np.ndarray]]:
        """Value and slope, which a table holds."""
        return self.push, self.push_slope

    @cached_property
    def kinks(self) -> tuple[float, ...]:
        """Where the push or its slope jumps."""
        return tuple(sorted({*jumps(self.push), *jumps(self.push_slope)}))

    @cached_property
    def smooth(self) -> bool:
        """Whether the push has a slope everywhere but at kinks: it does not jump."""
        return not jumps(self.push)

    def __repr__(self) -> str:
        return f"Loss({self.name!r})"


def _check_slope(label: str, function: Callable[..., Any], slope: Callable[..., Any]) -> None:
    values, h = np.asarray(slope(_NODES)), 1e-6
    if values.shape != _NODES.shape or values.dtype.kind not in "fiub":
        raise ValueError(f"{label}: must map an array of numbers to one of the same shape")
    measured = (function(_NODES + h) - function(_NODES - h)) / (2 * h)
    wrong = np.abs(measured - values) > 1e-4 * (1 + np.abs(measured))
    if wrong.sum() > 3:  # a few nodes may sit on kinks
        raise ValueError(f"{label}: is not the slope that it should be, for instance at {_NODES[wrong][0]:.3g}")


def _log_cosh(e: np.ndarray) -> np.ndarray:
    size = np.abs(e)
    values: np.ndarray = 2.0 * (size + np.log1p(np.exp(-2.0 * size)) - np.log(2.0))
    return values


LOSSES: dict[str, Loss] = {
    loss.name: loss
    for loss in (
        Loss("squared", np.square, lambda e: 2.0 * e, lambda e: np.full_like(e, 2.0), kind=SQUARED),
        Loss("log-cosh", _log_cosh, lambda e: 2.0 * np.tanh(e), lambda e: 2.0 - 2.0 * np.tanh(e) ** 2, kind=LOG_COSH),
    )
}
BUILT_IN_LOSSES = frozenset(LOSSES)  # others may be added


def pushes(name: str, label: np.ndarray, output: np.ndarray) -> np.ndarray:
    """What a named loss pushes an output by, without the loss factor."""
    loss = LOSSES[name]
    return loss.push(label - output) if loss.of == "residual" else label * loss.push(label * output)

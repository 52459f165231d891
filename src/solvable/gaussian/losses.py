"""Losses: functions of the residual y - y^ or of the margin y y^, and the registry `LOSSES` of those that have a name.

SGD moves by the push, minus the slope of the loss in the output y^. A loss of the residual e pushes by push(e) = l'(e), one of the
margin m by y push(m) with push(m) = -l'(m). The loss factor multiplies both; the squared loss is e^2, so it pushes by 2 e.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np

from solvable.gaussian.units import OwnFunction, jumps

# kinds of losses in compiled code: the first two and correlation have formulas there, others are tables of the push
SQUARED, LOG_COSH, TABULATED_LOSS, CORRELATION = range(4)
_FORMULAS: dict[int, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {  # of pushes
    SQUARED: ("residual", lambda e: 2.0 * e),
    LOG_COSH: ("residual", lambda e: 2.0 * np.tanh(e)),
    CORRELATION: ("margin", lambda m: np.full_like(m, 2.0)),
}
_NODES = np.linspace(-6.0, 6.0, 193)
_FAR = np.concatenate([sign * np.geomspace(6.0, 6e4, 41) for sign in (-1.0, 1.0)])


@dataclass(frozen=True, eq=False)
class Loss(OwnFunction):
    """A loss of your own: a function of the residual or of the margin, with its slopes.

    The loss factor multiplies it. Pushes may have kinks and jumps, which are found; both slopes are checked against finite
    differences. Compiled code gets a table of the push.

    Parameters
    ----------
    name : str
        Name in results and messages.
    function, push, push_slope : callable
        The loss l, its push (l' of a residual, -l' of a margin: what SGD moves the output by, of a margin times the label) and the
        slope of the push. Each maps an array to one of the same shape.
    of : str
        "residual" (label - output) or "margin" (label x output).
    version : str or int, optional
        Raise it with every change; without it losses are equal if name, code and values are.
    kind : int
        Which formula compiled code has for the push; left out, a table. Another loss than the formula's is refused.

    Examples
    --------
    >>> pseudo_huber = sv.problems.Loss(
    ...     "pseudo-huber", lambda e: np.sqrt(1 + e**2) - 1, lambda e: e / np.sqrt(1 + e**2), lambda e: (1 + e**2) ** -1.5
    ... )
    >>> sv.Training(learning_rate=0.1, loss=pseudo_huber).loss
    Loss('pseudo-huber')
    """

    name: str
    function: Callable[[np.ndarray], np.ndarray]
    push: Callable[[np.ndarray], np.ndarray]
    push_slope: Callable[[np.ndarray], np.ndarray]
    of: Literal["residual", "margin"] = "residual"
    version: str | int | None = None
    kind: int = TABULATED_LOSS

    def __post_init__(self) -> None:
        self._check_version()
        if self.of not in ("residual", "margin"):
            raise ValueError(f"of: {self.of!r} given, must be 'residual' (label - output) or 'margin' (label x output)")
        sign = 1.0 if self.of == "residual" else -1.0
        with np.errstate(all="ignore"):
            _check_slope("push", lambda x: sign * self.function(x), self.push)
            _check_slope("push_slope", self.push, self.push_slope)
            self._check_kind()
        self.fingerprint  # noqa: B018  (also checks that values are finite)
        self._remember()

    def _check_kind(self) -> None:
        """Refuse a number of compiled code whose formula is not this push."""
        if self.kind == TABULATED_LOSS:
            return
        of, formula = _FORMULAS.get(self.kind, ("", None))
        if formula is None or of != self.of or not np.allclose(self.push(_NODES), formula(_NODES), rtol=1e-12, atol=0):
            raise ValueError(
                f"kind: {self.kind} given, but compiled code has no formula of {self.name!r} there; leave it out"
            )

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

    @cached_property
    def needs_signs(self) -> bool:
        """Tell whether labels must be signs: the loss is a bent function of the margin. A line in the margin, as the correlation
        loss, takes any numbers."""
        return self.of == "margin" and bool(np.ptp(self.push(_NODES)) > 0)

    def __repr__(self) -> str:
        return f"Loss({self.name!r})"


def _check_slope(label: str, function: Callable[..., Any], slope: Callable[..., Any]) -> None:
    h = 1e-6
    try:
        values, above, below = np.asarray(slope(_NODES)), function(_NODES + h), function(_NODES - h)
    except Exception as error:
        raise ValueError(f"{label}: it, or what it is the slope of, fails on an array: {error}; use NumPy") from None
    if values.shape != _NODES.shape or values.dtype.kind not in "fiub" or np.shape(above) != _NODES.shape:
        raise ValueError(f"{label}: must map an array of numbers to one of the same shape")
    measured = (above - below) / (2 * h)
    wrong = np.abs(measured - values) > 1e-4 * (1 + np.abs(measured))
    if wrong.sum() > 3:  # a few nodes may sit on kinks
        x, given, found = (array[wrong][0] for array in (_NODES, values, measured))
        raise ValueError(
            f"{label}: is {given:.6g} at {x:.3g}, but differences give {found:.6g}; a margin's push is minus its slope"
        )


def _log_cosh(e: np.ndarray) -> np.ndarray:
    size = np.abs(e)
    values: np.ndarray = 2.0 * (size + np.log1p(np.exp(-2.0 * size)) - np.log(2.0))
    return values


def _sigmoid(x: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        values: np.ndarray = 1.0 / (1.0 + np.exp(-x))
    return values


@lru_cache(maxsize=64)
def huber(threshold: float) -> Loss:
    """e^2 up to the threshold, a straight line beyond it: pushes are clipped."""
    made = Loss(
        "huber",
        lambda e: np.where(np.abs(e) < threshold, np.square(e), threshold * (2.0 * np.abs(e) - threshold)),
        lambda e: 2.0 * np.clip(e, -threshold, threshold),
        lambda e: 2.0 * (np.abs(e) < threshold),
    )
    vars(made)["kinks"] = (-threshold, threshold)  # known, wherever they are
    return made


@lru_cache(maxsize=64)
def hinge(sharpness: float) -> Loss:
    """log(1 + exp(s (1 - m))) / s, which tends to max(0, 1 - m)."""
    s = sharpness
    return Loss(
        "hinge",
        lambda m: np.logaddexp(0.0, s * (1.0 - m)) / s,
        lambda m: _sigmoid(s * (1.0 - m)),
        lambda m: -s * _sigmoid(s * (1.0 - m)) * _sigmoid(s * (m - 1.0)),
        of="margin",
    )


THRESHOLD, SHARPNESS = 1.0, 4.0  # of losses that are given by name alone
LOSSES: dict[str, Loss] = {
    loss.name: loss
    for loss in (
        Loss("squared", np.square, lambda e: 2.0 * e, lambda e: np.full_like(e, 2.0), kind=SQUARED),
        Loss("log-cosh", _log_cosh, lambda e: 2.0 * np.tanh(e), lambda e: 2.0 - 2.0 * np.tanh(e) ** 2, kind=LOG_COSH),
        Loss(
            "correlation",
            lambda m: -2.0 * m,
            lambda m: np.full_like(m, 2.0),
            np.zeros_like,
            of="margin",
            kind=CORRELATION,
        ),
        huber(THRESHOLD),
        Loss("absolute", lambda e: 2.0 * np.abs(e), lambda e: 2.0 * np.sign(e), np.zeros_like),
        Loss(
            "logistic",
            lambda m: np.logaddexp(0.0, -m),
            lambda m: _sigmoid(-m),
            lambda m: -_sigmoid(m) * _sigmoid(-m),
            of="margin",
        ),
        hinge(SHARPNESS),
        Loss(
            "perceptron",
            lambda m: np.maximum(-m, 0.0),
            lambda m: (m < 0).astype(float),
            np.zeros_like,
            of="margin",
        ),
    )
}
BUILT_IN_LOSSES = frozenset(LOSSES)  # others may be added


def pushes(loss: Loss, label: np.ndarray, output: np.ndarray) -> np.ndarray:
    """What a loss pushes an output by, without the loss factor."""
    return loss.push(label - output) if loss.of == "residual" else label * loss.push(label * output)

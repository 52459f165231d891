"""The chance that the output of a network has the wrong sign, for fields z ~ N(mean, covariance).

The chance that an output bias + sum_k a_k g(z_k) is negative is closed where the output is linear or has one unit, one integral
for quadratic units (`quadratic_chances.py`), and for other monotone units an average over all fields but one: given those the
last is normal, and the output is negative below, or above, one place. So what is averaged is continuous. Units that are not
monotone are averaged as they are, on nodes. Several ReLU units, which do not feel fields below zero, are averaged over lines
(`relu_chances.py`).

Errors where nodes are those of Sobol, root mean squares over random networks against 2^18 nodes: of 3, 4, 8 and 16 erf or tanh
units 4e-5, 2e-4, 3e-4 and 1e-3, of units that are not monotone 1e-3 to 2e-3, of 8 ReLU units 7e-5 once they have learned XOR and
4e-4 before.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from solvable.gaussian.quadratic_chances import chance_of_negative_quadratic, normal_chance
from solvable.gaussian.relu_chances import along_lines, lines_through
from solvable.gaussian.rules import Rule, sobol
from solvable.gaussian.signs import sign_covariance, sign_mean
from solvable.gaussian.units import Activation

NODES, LINES = 2**14, 2**12  # of Sobol, for fields of which one is exact, and for lines of ReLU units
PANELS, EACH, FAR = (
    72,
    12,
    9.0,
)  # of the rule for a single field: Gauss-Legendre on panels within so many standard deviations


def _inverse_erf(r: np.ndarray) -> np.ndarray:
    from scipy.special import ndtri

    found: np.ndarray = ndtri(0.5 * (1 + r))
    return found


def _inverse_relu(r: np.ndarray) -> np.ndarray:
    return np.where(r >= 0, r, -np.inf)


# where a monotone unit takes a value r, with plus or minus infinity where it never does
INVERSES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "linear": lambda r: r,
    "erf": lambda r: _inverse_erf(np.clip(r, -1.0, 1.0)),
    "tanh": lambda r: np.arctanh(np.clip(r, -1.0, 1.0)),
    "relu": _inverse_relu,
}


@lru_cache(maxsize=8)
def line(cuts: tuple[float, ...] = ()) -> Rule:
    """Nodes for one standard normal variable and functions that may be steep, with kinks or jumps at some places."""
    edges = np.unique([*np.linspace(-FAR, FAR, PANELS + 1), *(cut for cut in cuts if abs(cut) < FAR)])
    x, w = np.polynomial.legendre.leggauss(EACH)
    points = (0.5 * (edges[1:] + edges[:-1])[:, None] + 0.5 * np.diff(edges)[:, None] * x).ravel()
    weights = (0.5 * np.diff(edges)[:, None] * w).ravel() * np.exp(-0.5 * points**2)
    return Rule(points[:, None], weights / weights.sum(), False, EACH)


def rule_of(fields: int, cuts: tuple[float, ...] = (), nodes: int = NODES) -> Rule:
    """For averages over so many standard normal variables; a single one may have cuts."""
    if fields == 0:
        return Rule(np.zeros((1, 0)), np.ones(1), True, EACH)
    return line(cuts) if fields == 1 else sobol(fields, nodes, 0)


def chance_of_negative_output(unit: Activation, readout: Any, bias: float, mean: Any, covariance: Any) -> float:
    """P(bias + sum_k readout_k g(z_k) < 0); an output that vanishes counts half."""
    a, h, C = (np.asarray(part, dtype=float) for part in (readout, mean, covariance))
    used = a != 0
    a, h, C = a[used], h[used], C[np.ix_(used, used)]
    if unit.known == "linear" or a.size == 0:
        return float(chance_below(0.0, bias + a @ h, np.sqrt(max(a @ C @ a, 0.0))))
    if unit.known == "quadratic":
        return chance_of_negative_quadratic(a, bias, h, C)
    labels = lambda z: -np.ones(len(z))  # noqa: E731
    return 1.0 - chance_of_error(unit, a, bias, h, C, labels)


def chance_below(place: Any, mean: Any, spread: Any) -> Any:
    """P(z < place) for a normal z, a half where it has no spread and is just there."""
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.where(np.asarray(place) == mean, 0.0, place - mean)
        return normal_chance(np.where(apart == 0, 0.0, apart / spread))


def split(rule: Rule, place: float) -> Rule:
    """The same average with nodes of its own on both sides of a place in the first variable, where a function may jump."""
    from scipy.special import ndtri

    low, high = normal_chance(place), normal_chance(-place)
    first = rule.points[:, 0]
    sides = ndtri(normal_chance(first) * low), -ndtri(normal_chance(-first) * high)
    points = np.concatenate([np.column_stack([side, rule.points[:, 1:]]) for side in sides])
    return rule._replace(points=points, weights=np.concatenate([low * rule.weights, high * rule.weights]))


def chance_of_error(
    unit: Activation, readout: np.ndarray, bias: float, mean: np.ndarray, covariance: np.ndarray,
    labels: Callable[[np.ndarray], np.ndarray], cut: float | None = None,
) -> float:  # fmt: skip
    """P(label x output < 0). Fields of the students come first; `labels` maps the others (nodes, rest) to numbers. Where there is
    one of them and the label changes its sign with it, `cut` is the place."""
    inverse, p, n = INVERSES.get(unit.known), len(readout), len(mean)
    if unit.known == "relu" and p > 1 and n > 2:
        return _error_along_lines(readout, bias, mean, covariance, labels, cut)
    last = int(np.argmax(np.abs(readout)))
    students = [i for i in range(p) if inverse is None or i != last]
    others = [*range(p, n), *students]
    root = _root(covariance[np.ix_(others, others)])
    rule = rule_of(len(others), _cuts(unit.known, bias, readout[students], mean[others], root))
    if cut is not None and root[0, 0] > 0:
        rule = split(rule, (cut - mean[others[0]]) / root[0, 0])
    z = mean[others] + rule.points @ root.T
    label = np.sign(labels(z[:, : n - p]))
    output = bias + unit.function(z[:, n - p :]) @ readout[students]
    if inverse is None:
        return float(rule.weights @ (0.5 - 0.5 * label * np.sign(output)))
    along = np.linalg.lstsq(root, covariance[others, last], rcond=1e-7)[0]
    spread = np.sqrt(max(covariance[last, last] - along @ along, 0.0))
    below = _chance_of_less(unit.known, -output / readout[last], mean[last] + rule.points @ along, spread)
    negative = below if readout[last] > 0 else 1.0 - below
    return float(rule.weights @ np.where(label > 0, negative, np.where(label < 0, 1.0 - negative, 0.5)))


def _error_along_lines(
    readout: np.ndarray, bias: float, mean: np.ndarray, covariance: np.ndarray,
    labels: Callable[[np.ndarray], np.ndarray], cut: float | None,
) -> float:  # fmt: skip
    """`chance_of_error` of several ReLU units, given the fields of the label."""
    p, rest = len(readout), len(mean) - len(readout)
    root = _root(covariance[p:, p:])
    by_rest = np.linalg.lstsq(root, covariance[p:, :p], rcond=1e-7)[0] if rest else np.zeros((0, p))
    step, across = lines_through(mean[:p], covariance[:p, :p] - by_rest.T @ by_rest, readout)
    rule = rule_of(rest + across.shape[1], nodes=LINES)
    if cut is not None and root[0, 0] > 0:
        rule = split(rule, (cut - mean[p]) / root[0, 0])
    first, others = rule.points[:, :rest], rule.points[:, rest:]
    label = np.sign(labels(mean[p:] + first @ root.T))
    negative = along_lines(mean[:p] + first @ by_rest + others @ across.T, step, readout, bias)
    return float(rule.weights @ np.where(label > 0, negative, np.where(label < 0, 1.0 - negative, 0.5)))


def _cuts(name: str, bias: float, readout: np.ndarray, mean: np.ndarray, root: np.ndarray) -> tuple[float, ...]:
    """Where, in standard deviations, the ramp of a single other student begins and where it makes up for the bias: below it the
    last one decides alone, by a jump."""
    if name != "relu" or len(readout) != 1 or len(mean) != 1 or root[0, 0] == 0:
        return ()
    return tuple(float((place - mean[0]) / root[0, 0]) for place in (0.0, max(-bias / readout[0], 0.0)))


def _chance_of_less(name: str, value: np.ndarray, mean: np.ndarray, spread: float) -> np.ndarray:
    """P(g(z) < value) for a monotone unit; where it is flat and just there, half."""
    with np.errstate(divide="ignore"):
        below: np.ndarray = chance_below(INVERSES[name](value), mean, spread)
    return np.where(value == 0, 0.5 * below, below) if name == "relu" else below


def _root(covariance: np.ndarray) -> np.ndarray:
    """R with R R^T = covariance, also where it is singular; the first variable is the first coordinate alone."""
    root = np.zeros_like(covariance)
    left, size = covariance.copy(), np.diag(covariance).max(initial=0.0)
    if len(left) and left[0, 0] > 1e-13 * size:
        root[:, 0] = left[:, 0] / np.sqrt(left[0, 0])
        left = left - np.outer(root[:, 0], root[:, 0])
    if len(left) > 1:
        values, vectors = np.linalg.eigh(left[1:, 1:])
        root[1:, 1:] = vectors * np.sqrt(np.where(values > 1e-13 * size, values, 0.0))
    return root


def chance_of_unequal_signs(mean: np.ndarray, covariance: np.ndarray) -> float:
    """P(x y < 0) for two normal variables with spread."""
    spread = np.sqrt(np.diag(covariance))
    mu = mean / spread
    together = sign_mean(mu[0]) * sign_mean(mu[1])
    return float(0.5 - 0.5 * (together + sign_covariance(mu[0], mu[1], covariance[0, 1] / (spread[0] * spread[1]))))


def error_of_two_classes(distance: float, share: float = 0.5) -> float:
    """Of the best classifier of two classes of one covariance, in units of which their means are `distance` apart; `share` is the
    probability of the first. It takes the likelier class beyond a plane, which rarer classes have nearer to them."""
    if distance == 0:
        return min(share, 1 - share)
    half, tilt = 0.5 * distance, np.log(share / (1 - share)) / distance
    return float(share * normal_chance(-half - tilt) + (1 - share) * normal_chance(-half + tilt))


def error_of_crossed_classes(distance: float, variance: float = 1.0) -> float:
    """Of the best classifier of +-m_1 against +-m_2, orthogonal and of norms distance sqrt(dim)."""
    right = normal_chance(distance / np.sqrt(2 * variance))
    return float(2 * right * (1 - right))

"""Twelve rules of learning, as fields of `sv.Training` and as functions of arrays for `case_sgd.py`."""

import math
from typing import NamedTuple

import numpy as np

import solvable as sv


class Spelled(NamedTuple):
    """A rule in both words, and whether labels are signs."""

    training: dict
    setting: dict
    signs: bool = False


def damped(F, fields, label, output, size):
    """A rule of one's own: large errors count less, large inputs too."""
    weight = 1.0 / (1.0 + abs(label - output) * size)
    for k in range(F.size):
        F[k] *= weight / math.sqrt(1.0 + fields[k] * fields[k])


def _damped(F, z, y, output, size):
    return F / (1 + np.abs(y - output)[..., None] * size) / np.sqrt(1 + z**2)


def _clipped(F, z, y, output, size):
    return F * 0.4 / np.maximum(0.4, np.sqrt(size * (F**2).sum(axis=-1, keepdims=True)))


def _normalised(F, z, y, output, size):
    return F / np.sqrt(size * (F**2).sum(axis=-1, keepdims=True))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


RULES = {
    "correlation": Spelled({"loss": "correlation"}, {"push": lambda y, o: 2 * y + 0 * o}),
    "log-cosh": Spelled({"loss": "log-cosh"}, {"push": lambda y, o: 2 * np.tanh(y - o)}),
    "huber": Spelled(
        {"loss": {"name": "huber", "threshold": 0.3}}, {"push": lambda y, o: 2 * np.clip(y - o, -0.3, 0.3)}
    ),
    "absolute": Spelled({"loss": "absolute"}, {"push": lambda y, o: 2 * np.sign(y - o)}),
    "logistic": Spelled({"loss": "logistic"}, {"push": lambda y, o: y * sigmoid(-y * o)}, True),
    "hinge": Spelled(
        {"loss": {"name": "hinge", "sharpness": 6.0}}, {"push": lambda y, o: y * sigmoid(6 * (1 - y * o))}, True
    ),
    "perceptron": Spelled({"loss": "perceptron"}, {"push": lambda y, o: y * (y * o < 0)}, True),
    "clipped": Spelled({"rule": {"norm": 0.4}}, {"rule": _clipped}),
    "normalised": Spelled({"rule": "normalised"}, {"rule": _normalised}),
    "lookahead": Spelled({"lookahead": 1.5}, {"lookahead": 1.5}),
    "repeats": Spelled({"repeats": 3}, {"repeats": 3}),
    "own": Spelled({"rule": sv.Rule("damped", damped)}, {"rule": _damped}),
}

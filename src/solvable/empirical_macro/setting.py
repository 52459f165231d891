"""What the equations of a data set's limit are made of, as plain numbers and functions."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Function = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Setting:
    """A problem and a start for the equations: n/N = ratio samples per dimension (of a batch, where those are fresh and used
    `repeats` times), steps with their decay, units with two slopes, a push with its slope in the output, and a selection."""

    ratio: float
    steps: np.ndarray  # (time,)
    readout_steps: np.ndarray
    decays: np.ndarray
    beta: float  # share of its velocity that a step keeps
    eigenvalues: np.ndarray
    fractions: np.ndarray
    students: np.ndarray  # (blocks, p, p) overlaps of the start
    cross: np.ndarray  # (blocks, p, q)
    teachers: np.ndarray  # (blocks, q, q)
    readout: np.ndarray
    label_noise: float
    sphere: bool
    train_readout: bool
    unit: tuple[Function, Function, Function]
    labels: Function
    push: Callable[
        [np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]
    ]  # of labels and outputs: push, its slope in the output
    loss: Callable[[np.ndarray, np.ndarray], np.ndarray]
    selection: str
    share: float
    repeats: int
    fresh: bool

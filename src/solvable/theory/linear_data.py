"""Linear units on a finite data set: gradient descent in the eigenmodes of the samples' covariance.

A linear network is one vector, J = sum_k a_k w_k, its teachers' B = sum_l a*_l w*_l. A step of gradient descent on all
n = ratio x N samples moves v = J - B along an eigenvector of the samples' covariance with the eigenvalue s by

    v <- f v - eta kappa B + r b,    f = 1 - eta kappa - r s,    r = 2 c eta sum_k a_k^2,

where b, the labels' noise on this mode, has variance s Delta / ratio. So v = A v(0) + D B + V b with three numbers for each s, and
for many dimensions the eigenvalues have Marchenko and Pastur's density.
"""

from typing import Any, NamedTuple

import numpy as np

from solvable.overlaps import Overlaps
from solvable.problems import Domain, Problem
from solvable.problems.reuse import Ratio, per_dimension
from solvable.theory.prediction import NotApplicable, Prediction, checked_times, prediction

LINEAR_DATA = Domain(
    units="linear", teachers="any", student_readout="any", teacher_readout="any", label_noise=True, decay=True, samples=True,
    knows=("training.step", "training.selection"),
)  # fmt: skip
NODES = 4000  # of the integral over eigenvalues


class DataLosses(NamedTuple):
    """Losses of training on a data set.

    Parameters
    ----------
    risk, training_loss : ndarray
        (time,) the risk, and the mean loss on the samples with its factor.

    Examples
    --------
    >>> sv.theory.DataLosses(risk=np.array([0.5]), training_loss=np.array([0.4])).risk
    array([0.5])
    """

    risk: np.ndarray
    training_loss: np.ndarray


def check_linear_data(problem: Problem) -> None:
    """Raise NotApplicable unless linear students take constant steps on all samples of a data set."""
    LINEAR_DATA.require(problem)
    training = problem.training
    if training.samples is None:
        raise NotApplicable("training.samples: is None; this closed form is for a data set")
    if training.batch is not None:
        raise NotApplicable(
            f"training.batch: is {training.batch!r}; this closed form is for steps that see all samples"
        )
    if training.step is None and problem.inputs.dim is None:
        raise NotApplicable("training.step: is None; at infinite inputs.dim this closed form needs it")
    if problem.inputs.dim is None and not isinstance(training.samples, Ratio):
        raise NotApplicable("training.samples: is no Ratio; at infinite inputs.dim this closed form needs one")
    if training.readout_rate is not None or training.train_readout:
        raise NotApplicable("training.train_readout: is True; this closed form is for a fixed readout")


def marchenko_pastur(ratio: float, nodes: int = NODES) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues of the covariance of so many samples per dimension, and their weights, which sum to one."""
    root = 1 / np.sqrt(ratio)
    low, high = (1 - root) ** 2, (1 + root) ** 2
    angles = (np.arange(nodes) + 0.5) / nodes * np.pi
    values = 0.5 * (low + high) + 0.5 * (high - low) * np.cos(angles)
    weights = (0.5 * (high - low) * np.sin(angles)) ** 2 / (2 * nodes * root**2 * values)
    if ratio < 1:  # directions that no sample has
        values, weights = np.append(values, 0.0), np.append(weights, 1 - ratio)
    return values, weights


@prediction(check_linear_data)
def linear_data_losses(problem: Problem, start: Overlaps, steps: Any) -> Prediction:
    """Risk and training loss of linear students after steps of gradient descent on a data set of many dimensions.

    Parameters
    ----------
    problem : Problem
        With `training.samples` (a `Ratio`, or a number at finite dim), all of which every step sees.
    steps : int or array
        (time,) after how many steps.

    Returns
    -------
    Prediction
        Its value has `risk` and `training_loss` (time,).

    Examples
    --------
    >>> problem = sv.Problem(
    ...     teacher=sv.Teacher(width=1, activation="linear"), student=sv.Student(width=1, activation="linear"),
    ...     training=sv.Training(step=0.1, samples=sv.Ratio(0.5), label_noise=0.2),
    ... )
    >>> start = sv.start(problem, student_overlap=[[0.5]], cross_overlap=[[0.1]])
    >>> sv.theory.linear_data_losses(problem, start, [0, 1000]).value.training_loss.round(6)
    array([1.5, 0. ])
    """
    wanted = np.atleast_1d(checked_times("steps", steps))
    if not (np.isfinite(wanted).all() and (wanted == np.rint(wanted)).all()):
        raise ValueError("steps: must be whole numbers")
    found = _losses(problem, start, int(wanted.max(initial=0.0)))[:, wanted.astype(int)]
    return Prediction(
        DataLosses(*found),
        (
            "infinitely many dimensions and samples at a fixed ratio",
            "isotropic Gaussian inputs",
            "all samples in every step",
        ),
        "derived here, from Marchenko and Pastur's density",
    )


def _losses(problem: Problem, start: Overlaps, last: int) -> np.ndarray:
    """(2, time) at all steps up to the last."""
    training, dim = problem.training, problem.inputs.dim
    assert training.samples is not None
    ratio, c, noise = per_dimension(training.samples, dim), training.loss_factor, training.label_noise
    eta = float(training.schedule.rates[0]) * (1.0 if training.step is not None else 1.0 / (dim or 1))
    a, b = np.array(start.readout, dtype=float).ravel(), problem.teacher.readout_values
    Q, R, T = start.student_overlap, start.cross_overlap, start.teacher_overlap
    own, mixed, teacher = a @ Q @ a - 2 * a @ R @ b + b @ T @ b, a @ R @ b - b @ T @ b, b @ T @ b
    r, loss = 2 * c * eta * (a @ a), eta * training.weight_decay
    s, weights = marchenko_pastur(ratio)
    A, D, V = np.ones_like(s), np.zeros_like(s), np.zeros_like(s)
    found = np.empty((2, last + 1))
    for t in range(last + 1):
        square = A**2 * own + 2 * A * D * mixed + D**2 * teacher + V**2 * s * noise / ratio
        found[0, t] = c * (weights @ square)
        found[1, t] = c * (noise + weights @ (s * square) - 2 * noise / ratio * (weights @ (s * V)))
        f = 1 - loss - r * s
        A, D, V = f * A, f * D - loss, f * V + r
    return found

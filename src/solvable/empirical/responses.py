"""What samples do in a step, given their fields and labels: amplitudes, the push on the readout, and the loss."""

from typing import NamedTuple

import numpy as np

from solvable.gaussian.losses import Loss, pushes
from solvable.problems import Problem

CHUNK = 2**14  # samples at once, so that what is computed on the way stays in the cache


class Response(NamedTuple):
    """Amplitudes F (samples, p), the sum over samples of the push on the readout (p,), and the mean loss with its factor."""

    amplitudes: np.ndarray
    push: np.ndarray
    loss: float


def respond(
    problem: Problem, fields: np.ndarray, labels: np.ndarray, readout: np.ndarray, times: np.ndarray | None
) -> Response:
    """Of samples with fields (samples, p) and labels; `times` (samples,) says how often each is taken, None: once."""
    unit, c, loss = problem.student.unit, problem.training.loss_factor, problem.training.loss_function
    amplitudes, push, total = np.empty_like(fields), np.zeros(fields.shape[1]), 0.0
    for i in range(0, len(fields), CHUNK):
        part = slice(i, i + CHUNK)
        h, y = fields[part], labels[part]
        values = unit.function(h)
        outputs = values @ readout
        total += float(losses(loss, y, outputs).sum())
        pushed = c * pushes(loss, y, outputs)
        if times is not None:
            pushed = pushed * times[part]
        amplitudes[part] = unit.derivative(h) * readout * pushed[:, None]
        push += pushed @ values
    return Response(amplitudes, push, c * total / len(fields))


def mean_loss(problem: Problem, fields: np.ndarray, labels: np.ndarray, readout: np.ndarray) -> float:
    """The mean loss with its factor."""
    unit, total = problem.student.unit, 0.0
    for i in range(0, len(fields), CHUNK):
        part = slice(i, i + CHUNK)
        total += float(
            losses(problem.training.loss_function, labels[part], unit.function(fields[part]) @ readout).sum()
        )
    return problem.training.loss_factor * total / len(fields)


def losses(loss: Loss, label: np.ndarray, output: np.ndarray) -> np.ndarray:
    """A loss of each sample, without the loss factor."""
    return loss.function(label - output) if loss.of == "residual" else loss.function(label * output)

"""What samples do in a step, given their fields and labels: amplitudes, the push on the readout, and the loss."""

from typing import NamedTuple

import numpy as np

from solvable.gaussian.losses import Loss, pushes
from solvable.problems import Problem

Readout = tuple[np.ndarray, float]  # what multiplies students (p,), and what is added to them
CHUNK = 2**14  # samples at once, so that what is computed on the way stays in the cache


class Response(NamedTuple):
    """Amplitudes F (samples, p), the sum over samples of the push on readout and bias (p + 1,), and the mean loss with its
    factor."""

    amplitudes: np.ndarray
    push: np.ndarray
    loss: float


def respond(
    problem: Problem, fields: np.ndarray, labels: np.ndarray, readout: Readout, times: np.ndarray | None
) -> Response:
    """Of samples with fields (samples, p) and labels; `times` (samples,) says how often each is taken, None: once."""
    unit, c, loss = problem.student.unit, problem.training.loss_factor, problem.training.loss_function
    (a, bias), amplitudes, push, total = readout, np.empty_like(fields), np.zeros(fields.shape[1] + 1), 0.0
    for i in range(0, len(fields), CHUNK):
        part = slice(i, i + CHUNK)
        h, y = fields[part], labels[part]
        values = unit.function(h)
        outputs = values @ a + bias
        total += float(losses(loss, y, outputs).sum())
        pushed = c * pushes(loss, y, outputs)
        if times is not None:
            pushed = pushed * times[part]
        amplitudes[part] = unit.derivative(h) * a * pushed[:, None]
        push[:-1] += pushed @ values
        push[-1] += pushed.sum()
    return Response(amplitudes, push, c * total / len(fields))


def mean_loss(problem: Problem, fields: np.ndarray, labels: np.ndarray, readout: Readout) -> float:
    """The mean loss with its factor."""
    (a, bias), unit, total = readout, problem.student.unit, 0.0
    for i in range(0, len(fields), CHUNK):
        part = slice(i, i + CHUNK)
        outputs = unit.function(fields[part]) @ a + bias
        total += float(losses(problem.training.loss_function, labels[part], outputs).sum())
    return problem.training.loss_factor * total / len(fields)


def losses(loss: Loss, label: np.ndarray, output: np.ndarray) -> np.ndarray:
    """A loss of each sample, without the loss factor."""
    return loss.function(label - output) if loss.of == "residual" else loss.function(label * output)

"""The mean loss in a state, where it is not the squared one: over fresh samples as in tests, without noise, flips and masks.

Linear students, and a single one, need an average over one variable, on panels that end at the kinks of the loss; all others are
averages over nodes.
"""

import numpy as np

from solvable.dynamics.cases import Cases, case_table
from solvable.dynamics.classification import Readout, bias_of, field_moments
from solvable.gaussian.losses import Loss
from solvable.gaussian.rules import graded, sobol
from solvable.overlaps import Overlaps
from solvable.problems import Target
from solvable.problems.networks import signs_of
from solvable.problems.spec import KernelSpec

NODES = 2**13
REACH, OCTAVES, ORDER = 10.0, 12, 10


def mean_loss(problem: KernelSpec, state: Overlaps, alpha: float = 0.0, *, seed: int = 0) -> float:
    """loss_factor times the mean of the loss, over the mix of tasks and classes at a time (steps/dim); `seed` of the nodes."""
    now = KernelSpec.of(problem).at(alpha)
    tests = case_table(now, tests=True)
    heads, values, biases = np.atleast_2d(state.readout), [], bias_of(now, state)
    for case in range(tests.size):
        h, C = field_moments(tests, case, state, now.inputs.eigenvalues)
        a = tests.mask[case] * heads[tests.head[case]]
        weights = a, float(biases[tests.head[case]])
        found = _on_a_line(now, tests, case, weights, h, C)
        values.append(_on_nodes(now, tests, case, weights, h, C, seed) if found is None else found)
    return now.training.loss_factor * float(tests.probability[0] @ np.array(values))


def loss_values(loss: Loss, label: np.ndarray, output: np.ndarray) -> np.ndarray:
    """Of each sample, without the loss factor."""
    return loss.function(label - output) if loss.of == "residual" else loss.function(label * output)


def _label(problem: KernelSpec, tests: Cases, case: int, fields: np.ndarray) -> np.ndarray:
    """(samples,) labels of the fields (samples, teachers)."""
    teacher = problem.teacher
    if isinstance(teacher.target, Target) or teacher.target == "product":
        return tests.label[case] + tests.sign[case] * teacher.taught(fields)
    found = tests.label[case] + teacher.unit.function(fields) @ tests.teacher_readout[case]
    return signs_of(found) if teacher.target == "sign" else found


def _on_a_line(
    problem: KernelSpec, tests: Cases, case: int, readout: Readout, h: np.ndarray, C: np.ndarray
) -> float | None:
    """None where it is no average over one variable."""
    a, bias = readout
    p, loss, teacher = problem.student.width, problem.training.loss_function, problem.teacher
    asked = tests.teacher_readout[case] if teacher.target in ("additive", "sign") else np.ones(teacher.width)
    linear, label = problem.student.activation == "linear", tests.label[case]
    if not asked.any():
        label = float(signs_of(label)) if teacher.target == "sign" else label
        if not linear and p > 1:
            return None
        weights, unit = (a, None) if linear else (np.ones(1), problem.student.unit)
        mean, deviation = weights @ h[:p], np.sqrt(max(weights @ C[:p, :p] @ weights, 0.0))
        places = [] if unit is not None or (loss.of == "margin" and label == 0) else _outputs(loss, float(label))
        xi, w = _panels(places, float(mean + bias), float(deviation))
        x = mean + deviation * xi
        output = bias + (x if unit is None else a[0] * unit.function(x))
        return float(w @ loss_values(loss, np.full_like(xi, label), output))
    if linear and teacher.activation == "linear" and teacher.target == "additive" and loss.of == "residual":
        s = np.concatenate([-a, asked])
        mean, deviation = label - bias + s @ h, np.sqrt(max(s @ C @ s, 0.0))
        xi, w = _panels([0.0, *loss.kinks], float(mean), float(deviation))
        return float(w @ loss.function(mean + deviation * xi))
    return None


def _outputs(loss: Loss, label: float) -> list[float]:
    """Outputs at which the loss bends."""
    places = [0.0, 1.0, *loss.kinks]
    return [place / label if loss.of == "margin" else label - place for place in places]


def _panels(places: list[float], mean: float, deviation: float) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights of a standard normal variable, with panels that end where mean + deviation times it is in `places`."""
    kinks = np.array([(place - mean) / deviation for place in places] if deviation > 0 else [])
    xi, w = graded(OCTAVES, REACH, ORDER, kinks)
    w = w * np.exp(-0.5 * xi**2)
    return xi, w / w.sum()


def _on_nodes(
    problem: KernelSpec, tests: Cases, case: int, readout: Readout, h: np.ndarray, C: np.ndarray, seed: int
) -> float:
    (a, bias), p, (values, vectors) = readout, problem.student.width, np.linalg.eigh(C)
    rule = sobol(len(C), NODES, seed)
    z = h + rule.points @ (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    output = problem.student.unit.function(z[:, :p]) @ a + bias
    label = _label(problem, tests, case, z[:, p:])
    return float(rule.weights @ loss_values(problem.training.loss_function, label, output))

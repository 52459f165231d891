"""Moments of one step in NumPy, around functions that only Python can call: averages over all fields at once on fixed nodes.

With z = C^(1/2) g, g standard normal, D = <F g^T> (C^(1/2))^+ (Stein's lemma for the map g -> F, with the pseudo-inverse of the
symmetric root): no second derivative is needed and singular covariances are harmless. With squared loss and an additive
teacher, risk, D and readout drift need averages over two fields only, by one-dimensional rules. Nodes stay fixed within a run, else
the step control would chase their error. What has numbers for compiled code is averaged there (`averages.py`).
"""

import numpy as np

from solvable.dynamics.closed_moments import Moments, clipped
from solvable.dynamics.functions import is_additive
from solvable.gaussian.all_pairs import quadrature_pairs
from solvable.gaussian.losses import SQUARED, pushes
from solvable.gaussian.rules import Rule
from solvable.problems.spec import KernelSpec


def risk_on_nodes(C: np.ndarray, problem: KernelSpec, readout: np.ndarray, rule: Rule) -> float:
    """The risk alone, for any unit and target."""
    p, n = problem.student.width, len(C)
    values, vectors = np.linalg.eigh(C)
    z = rule.points[:, :n] @ (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    error = problem.teacher.labels(z[:, p:]) - problem.student.unit.function(z[:, :p]) @ readout
    return problem.training.loss_factor * float(rule.weights @ error**2)


def general_moments(
    C: np.ndarray, problem: KernelSpec, readout: np.ndarray, rule: Rule, *, noise: bool = True
) -> Moments:
    """Moments on the nodes of `rule`; without `noise`, S is left at zero where averages over two fields are enough."""
    p, c, loss = problem.student.width, problem.training.loss_factor, problem.training.loss_function
    n, unit = p + problem.teacher.width, problem.student.unit
    found = _by_pairs(C, problem, readout, rule.panel_nodes) if is_additive(problem) else None
    if found is not None and not noise:
        return found
    values, vectors = np.linalg.eigh(C)
    values = np.maximum(values, 0.0)
    root = (vectors * np.sqrt(values)) @ vectors.T
    g, weights = rule.points[:, :n], rule.weights
    z = g @ root
    activity, slope = unit.function(z[:, :p]), unit.derivative(z[:, :p])
    label, output = problem.teacher.labels(z[:, p:]), activity @ readout
    risk = c * float(weights @ (label - output) ** 2)
    noisy = rule.points.shape[1] > n
    if noisy:
        label = label + np.sqrt(problem.training.label_noise) * rule.points[:, n]
    push = c * pushes(loss, label, output)
    square = push**2 + (4 * c**2 * problem.training.label_noise if loss.kind == SQUARED else 0.0)
    amplitude = readout * slope
    S = (amplitude * (weights * square)[:, None]).T @ amplitude
    if found is not None:
        return found._replace(noise=S)
    keep = values > 1e-12 * max(values[-1], 1e-300)
    inverse = (vectors[:, keep] / np.sqrt(values[keep])) @ vectors[:, keep].T
    D = (amplitude * (weights * push)[:, None]).T @ g @ inverse
    return Moments(risk, D, S, (weights * push) @ activity)


def _by_pairs(C: np.ndarray, problem: KernelSpec, readout: np.ndarray, nodes: int) -> Moments:
    """All but the noise of squared loss, from averages over two fields."""
    p, q, c = problem.student.width, problem.teacher.width, problem.training.loss_factor
    pairs = quadrature_pairs([problem.student.unit] * p + [problem.teacher.unit] * q, C, nodes)
    s = np.concatenate([-readout, problem.teacher.readout_values])
    D = 2 * c * readout[:, None] * s * pairs.slopes[:p]
    D[np.arange(p), np.arange(p)] += 2 * c * readout * (pairs.curvature[:p] @ s)
    size = c * float(np.abs(s) @ np.abs(pairs.product) @ np.abs(s))
    risk = clipped(c * float(s @ pairs.product @ s), size)
    return Moments(risk, D, np.zeros((p, p)), 2 * c * pairs.product[:p] @ s)

"""Moments of one step in NumPy, around functions that only Python can call: averages over all fields at once on fixed nodes.

With z = C^(1/2) g, g standard normal, D = <F g^T> (C^(1/2))^+ (Stein's lemma for the map g -> F, with the pseudo-inverse of the
symmetric root): no second derivative is needed and singular covariances are harmless. With squared loss and an additive
teacher, risk, D and readout drift need averages over two fields only, by one-dimensional rules. Nodes stay fixed within a run, else
the step control would chase their error. What has numbers for compiled code is averaged there (`averages.py`).
"""

import numpy as np

from solvable.dynamics.closed import Moments, clipped
from solvable.dynamics.functions import has_numbers, is_additive, is_polynomial, uses_pairs
from solvable.gaussian.all_pairs import quadrature_pairs
from solvable.gaussian.losses import pushes
from solvable.gaussian.rules import Rule, sobol, tensor
from solvable.gaussian.units import UNITS
from solvable.numerics.memory import FLOAT, check_memory, counted
from solvable.problems import Problem

EXACT_NODES = 2**16


def is_closed(problem: Problem) -> bool:
    """Whether all moments have a closed form."""
    return (
        is_additive(problem)
        and (problem.student.activation == problem.teacher.activation or problem.teacher.width == 0)
        and isinstance(problem.student.activation, str)
        and UNITS[problem.student.activation].closed
    )


def _degree(problem: Problem) -> int | None:
    """Degree of the integrand of the noise where everything is a polynomial."""
    student, teacher = problem.student.hermite_coefficients, problem.teacher.hermite_coefficients
    if problem.teacher.width == 0:
        teacher = np.zeros(1)
    label = {"additive": None if teacher is None else len(teacher) - 1, "product": problem.teacher.width}.get(
        problem.teacher.target if isinstance(problem.teacher.target, str) else ""
    )
    if student is None or label is None or problem.training.loss != "squared":
        return None
    return 2 * (max(len(student) - 2, 0) + max(len(student) - 1, label))


def rule_for(problem: Problem, nodes: int, seed: int) -> Rule:
    """Nodes for all fields, and for the label noise where it does not enter by its variance alone; for the fields of two students
    where that is enough (polynomial units)."""
    n = problem.student.width + problem.teacher.width
    degree = _degree(problem)
    if degree is not None and is_polynomial(problem):
        return tensor(2, degree // 2 + 1)
    if degree is not None and (degree // 2 + 1) ** n <= EXACT_NODES:
        return tensor(n, degree // 2 + 1)
    noisy = problem.training.loss != "squared" and problem.training.courses["label_noise"][:, 1].max() > 0
    if nodes < 16 * (n + 1):
        raise ValueError(
            f"nodes: {nodes} given, must be at least {2 ** int(np.ceil(np.log2(16 * (n + 1))))} for {n} fields"
        )
    check_memory("nodes", f"{counted(nodes)} nodes for {n} fields", 8 * FLOAT * nodes * n)
    return sobol(n + noisy, nodes, seed)


def is_exact(problem: Problem, nodes: int, *, noise: bool) -> bool:
    """Whether no average has a quadrature error: all closed, all polynomial, or the noise (which needs nodes) not asked for."""
    if is_closed(problem) or rule_for(problem, nodes, 0).exact:
        return True
    return not noise and uses_pairs(problem) and has_numbers(problem)


def risk_on_nodes(C: np.ndarray, problem: Problem, readout: np.ndarray, rule: Rule) -> float:
    """The risk alone, for any unit and target."""
    p, n = problem.student.width, len(C)
    values, vectors = np.linalg.eigh(C)
    z = rule.points[:, :n] @ (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    error = problem.teacher.labels(z[:, p:]) - problem.student.unit.function(z[:, :p]) @ readout
    return problem.training.loss_factor * float(rule.weights @ error**2)


def general_moments(C: np.ndarray, problem: Problem, readout: np.ndarray, rule: Rule, *, noise: bool = True) -> Moments:
    """Moments on the nodes of `rule`; without `noise`, S is left at zero where averages over two fields are enough."""
    p, c, loss = problem.student.width, problem.training.loss_factor, problem.training.loss
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
    square = push**2 + (4 * c**2 * problem.training.label_noise if loss == "squared" else 0.0)
    amplitude = readout * slope
    S = (amplitude * (weights * square)[:, None]).T @ amplitude
    if found is not None:
        return found._replace(noise=S)
    keep = values > 1e-12 * max(values[-1], 1e-300)
    inverse = (vectors[:, keep] / np.sqrt(values[keep])) @ vectors[:, keep].T
    D = (amplitude * (weights * push)[:, None]).T @ g @ inverse
    return Moments(risk, D, S, (weights * push) @ activity)


def _by_pairs(C: np.ndarray, problem: Problem, readout: np.ndarray, nodes: int) -> Moments:
    """All but the noise of squared loss, from averages over two fields."""
    p, q, c = problem.student.width, problem.teacher.width, problem.training.loss_factor
    pairs = quadrature_pairs([problem.student.unit] * p + [problem.teacher.unit] * q, C, nodes)
    s = np.concatenate([-readout, problem.teacher.readout_values])
    D = 2 * c * readout[:, None] * s * pairs.slopes[:p]
    D[np.arange(p), np.arange(p)] += 2 * c * readout * (pairs.curvature[:p] @ s)
    size = c * float(np.abs(s) @ np.abs(pairs.product) @ np.abs(s))
    risk = clipped(c * float(s @ pairs.product @ s), size)
    return Moments(risk, D, np.zeros((p, p)), 2 * c * pairs.product[:p] @ s)

"""Moments of one step for any activation, target and loss: averages over all fields at once on fixed nodes.

With z = C^(1/2) g, g standard normal, D = <F g^T> (C^(1/2))^+ (Stein's lemma for the map g -> F, with the pseudo-inverse of the
symmetric root): no second derivative is needed and singular covariances are harmless. With squared loss and an additive
teacher, risk, D and readout drift need averages over two fields only: closed for ReLU and Hermite polynomials, else by
one-dimensional rules; then only the noise S comes from the nodes, and for polynomial units not even that. Nodes stay fixed within a
run, else the step control would chase their error.
"""

import numpy as np

from solvable.dynamics.closed import Moments, clipped
from solvable.gaussian.all_pairs import Pairs, hermite_pairs, quadrature_pairs, relu_pairs
from solvable.gaussian.losses import pushes
from solvable.gaussian.polynomial_squares import polynomial_squares
from solvable.gaussian.rules import Rule, sobol, tensor
from solvable.gaussian.units import UNITS
from solvable.numerics.memory import FLOAT, check_memory, counted
from solvable.problems import Problem

EXACT_NODES = 2**16


def is_closed(problem: Problem) -> bool:
    """Whether all moments have a closed form."""
    return (
        is_additive(problem)
        and problem.student.activation == problem.teacher.activation
        and isinstance(problem.student.activation, str)
        and UNITS[problem.student.activation].closed
    )


def is_additive(problem: Problem) -> bool:
    """Squared loss and a teacher network: averages over two fields are all that the drift needs."""
    return problem.teacher.target == "additive" and problem.training.loss == "squared"


def _polynomials(problem: Problem) -> list[np.ndarray] | None:
    """Hermite coefficients of every unit, students first, where all are polynomials."""
    student, teacher = problem.student.hermite_coefficients, problem.teacher.hermite_coefficients
    if student is None or teacher is None:
        return None
    return [student] * problem.student.width + [teacher] * problem.teacher.width


def _degree(problem: Problem) -> int | None:
    """Degree of the integrand of the noise where everything is a polynomial."""
    student, teacher = problem.student.hermite_coefficients, problem.teacher.hermite_coefficients
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
    if degree is not None and is_additive(problem):
        return tensor(2, degree // 2 + 1)
    if degree is not None and (degree // 2 + 1) ** n <= EXACT_NODES:
        return tensor(n, degree // 2 + 1)
    noisy = problem.training.label_noise > 0 and problem.training.loss != "squared"
    if nodes < 16 * (n + 1):
        raise ValueError(
            f"nodes: {nodes} given, must be at least {2 ** int(np.ceil(np.log2(16 * (n + 1))))} for {n} fields"
        )
    check_memory("nodes", f"{counted(nodes)} nodes for {n} fields", 8 * FLOAT * nodes * n)
    return sobol(n + noisy, nodes, seed)


def is_exact(problem: Problem, nodes: int, *, noise: bool) -> bool:
    """Whether no average has a quadrature error: all closed, all polynomial, or the noise (not closed) not asked for."""
    if is_closed(problem) or rule_for(problem, nodes, 0).exact:
        return True
    relu = problem.student.activation == problem.teacher.activation == "relu"
    return not noise and is_additive(problem) and relu


def pairs_of(problem: Problem, C: np.ndarray, nodes: int) -> Pairs | None:
    """Two-field averages of all units, where they are all that the drift needs."""
    student, teacher = problem.student, problem.teacher
    if not is_additive(problem):
        return None
    if student.activation == teacher.activation == "relu":
        return relu_pairs(C)
    coefficients = _polynomials(problem)
    if coefficients is not None:
        return hermite_pairs(coefficients, C)
    return quadrature_pairs([student.unit] * student.width + [teacher.unit] * teacher.width, C, nodes)


def risk_on_nodes(C: np.ndarray, problem: Problem, readout: np.ndarray, rule: Rule) -> float:
    """The risk alone, for any unit and target."""
    p, n = problem.student.width, len(C)
    values, vectors = np.linalg.eigh(C)
    z = rule.points[:, :n] @ (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    error = problem.teacher.labels(z[:, p:]) - problem.student.unit.function(z[:, :p]) @ readout
    return problem.training.loss_factor * float(rule.weights @ error**2)


def general_moments(C: np.ndarray, problem: Problem, readout: np.ndarray, rule: Rule, *, noise: bool = True) -> Moments:
    """Moments on the nodes of `rule`; without `noise`, S is left at zero where everything else is closed."""
    p, c = problem.student.width, problem.training.loss_factor
    n = p + problem.teacher.width
    pairs = pairs_of(problem, C, rule.panel_nodes)
    S = np.zeros((p, p))
    if pairs is not None:
        s = np.concatenate([-readout, problem.teacher.readout_values])
        D = 2 * c * readout[:, None] * s * pairs.slopes[:p]
        D[np.arange(p), np.arange(p)] += 2 * c * readout * (pairs.curvature[:p] @ s)
        risk, drift = (
            clipped(c * float(s @ pairs.product @ s), c * float(np.abs(s) @ np.abs(pairs.product) @ np.abs(s))),
            2 * c * pairs.product[:p] @ s,
        )
        coefficients = _polynomials(problem)
        if noise and coefficients is not None:
            squares = polynomial_squares(coefficients, p, C, s, rule)
            squares += problem.training.label_noise * pairs.slopes[:p, :p]
            S = 4 * c**2 * np.outer(readout, readout) * squares
        if not noise or coefficients is not None:
            return Moments(risk, D, S, drift)
    values, vectors = np.linalg.eigh(C)
    values = np.maximum(values, 0.0)
    root = (vectors * np.sqrt(values)) @ vectors.T
    g, weights = rule.points[:, :n], rule.weights
    z = g @ root
    unit = problem.student.unit
    activity, slope = unit.function(z[:, :p]), unit.derivative(z[:, :p])
    label, output = problem.teacher.labels(z[:, p:]), activity @ readout
    error = label - output
    if problem.training.loss == "squared":
        push, push_square = error, error**2 + problem.training.label_noise
    else:
        if rule.points.shape[1] > n:
            label = label + np.sqrt(problem.training.label_noise) * rule.points[:, n]
        push = 0.5 * pushes(problem.training.loss, label, output)
        push_square = push**2
    amplitude = 2 * c * readout * slope
    S = (amplitude * (weights * push_square)[:, None]).T @ amplitude
    if pairs is not None:
        return Moments(risk, D, S, drift)
    keep = values > 1e-12 * max(values[-1], 1e-300)
    inverse = (vectors[:, keep] / np.sqrt(values[keep])) @ vectors[:, keep].T
    D = (amplitude * (weights * push)[:, None]).T @ g @ inverse
    return Moments(c * float(weights @ error**2), D, S, 2 * c * (weights * push) @ activity)

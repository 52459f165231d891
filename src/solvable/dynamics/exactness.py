"""Which moments of a problem have a closed form, and on which nodes the others are averaged."""

import numpy as np

from solvable.dynamics.functions import (
    has_linear_sign,
    has_numbers,
    is_additive,
    is_correlation,
    is_on_a_line,
    is_polynomial,
    uses_pairs,
)
from solvable.gaussian.closed_forms import check_closed
from solvable.gaussian.losses import CORRELATION, SQUARED
from solvable.gaussian.rules import Rule, sobol, tensor
from solvable.gaussian.units import UNITS
from solvable.numerics.memory import FLOAT, check_memory, counted
from solvable.problems import ClipSamples
from solvable.problems.spec import KernelSpec

EXACT_NODES = 2**16
SCATTER = 1e-5  # relative, of averages over scattered nodes
OLD_LOSSES = ("squared", "log-cosh")


def is_closed(problem: KernelSpec) -> bool:
    """Whether all moments have a closed form; a unit that is declared closed without its formulas is refused."""
    unit = UNITS[problem.student.activation] if isinstance(problem.student.activation, str) else None
    if unit is None or not unit.closed:
        return False
    check_closed(unit)
    alike = problem.student.activation == problem.teacher.activation or problem.teacher.width == 0
    return alike and (is_additive(problem) or is_correlation(problem))


def squared(problem: KernelSpec) -> KernelSpec:
    """The same with the numbers of the first time, learned by gradients of the squared loss: its risk is that of the problem."""
    training = problem.training.at(0.0)
    learns = training.train_readout or training.train_bias
    own = 1.0 if learns and training.rate_rule is not None else None
    return KernelSpec.of(problem).replace(training=training).replace(
        training__learning_rate=1.0, training__step=None, training__readout_rate=own, training__loss="squared",
        training__rule=None, training__lookahead=0.0, training__repeats=1,
    )  # fmt: skip


def has_closed_risk(problem: KernelSpec) -> bool:
    """Whether the risk of a problem with cases is closed; ReLU units have theirs where averages over nodes would be."""
    return is_closed(squared(problem))


def _degree(problem: KernelSpec) -> int | None:
    """Degree of the integrand of the noise where everything is a polynomial, look-ahead and repeats too."""
    student, teacher = problem.student.hermite_coefficients, problem.teacher.hermite_coefficients
    if problem.teacher.width == 0:
        teacher = np.zeros(1)
    label = {"additive": None if teacher is None else len(teacher) - 1, "product": problem.teacher.width}.get(
        problem.teacher.target if isinstance(problem.teacher.target, str) else ""
    )
    training = problem.training
    kind = training.loss_function.kind
    if student is None or label is None or kind not in (SQUARED, CORRELATION) or training.rule is not None:
        return None
    if not training.is_shaped:
        return 2 * (max(len(student) - 2, 0) + max(len(student) - 1, label))
    field, amplitude, top = 1, 0, len(student) - 1
    for _ in range(training.repeats + (training.lookahead > 0)):
        field = max(field, amplitude)
        amplitude = max(top - 1, 0) * field + (label if kind == CORRELATION else max(label, top * field))
    return 2 * amplitude


def rule_for(problem: KernelSpec, nodes: int, seed: int) -> Rule:
    """Nodes for all fields, and for the label noise where it does not enter by its variance alone; for the fields of two students
    where that is enough (polynomial units)."""
    n = problem.student.width + problem.teacher.width
    degree = _degree(problem)
    if degree is not None and is_polynomial(problem):
        return tensor(2, degree // 2 + 1)
    enters = problem.training.loss_function.kind in (SQUARED, CORRELATION) and not problem.training.is_shaped
    noisy = not enters and problem.training.segments["label_noise"][:, 1].max() > 0
    if degree is not None and (degree // 2 + 1) ** (n + noisy) <= EXACT_NODES:
        return tensor(n + noisy, degree // 2 + 1)
    if nodes < 16 * (n + 1):
        raise ValueError(
            f"nodes: {nodes} given, must be at least {2 ** int(np.ceil(np.log2(16 * (n + 1))))} for {n} fields"
        )
    check_memory("nodes", f"{counted(nodes)} nodes for {n} fields", 8 * FLOAT * nodes * n)
    return sobol(n + noisy, nodes, seed)


def _is_signed(problem: KernelSpec) -> bool:
    """Whether the risk is that of linear students about signs of a sum of fields, which is closed."""
    return has_linear_sign(problem) and problem.student.activation == "linear"


def has_jumps(problem: KernelSpec) -> bool:
    """Whether amplitudes jump with the fields, so that averages over fixed nodes jump in time, by one over the nodes."""
    training, unit = problem.training, problem.student.unit
    rule = training.rule is not None and not isinstance(training.rule, ClipSamples)
    return rule or not training.loss_function.smooth or problem.teacher.target == "sign" or bool(unit.kinks)


def tolerance_floor(problem: KernelSpec, nodes: int) -> float:
    """The smallest rtol at which steps do not chase the error of averages over scattered nodes."""
    new = problem.training.is_shaped or problem.teacher.target == "sign" or problem.training.loss not in OLD_LOSSES
    return max(SCATTER, 1.0 / nodes) if new and has_jumps(problem) else SCATTER


def is_exact(problem: KernelSpec, nodes: int, *, noise: bool) -> bool:
    """Whether no average has a quadrature error: all closed, all polynomial, or the noise (which needs nodes) not asked for."""
    on_panels = is_on_a_line(problem) and (has_closed_risk(problem) or _is_signed(problem))
    if is_closed(problem) or on_panels or rule_for(problem, nodes, 0).exact:
        return True
    return not noise and uses_pairs(problem) and has_numbers(problem)

"""The functions of a problem in the form that compiled code shares: units, target and loss as numbers, and the nodes of averages.

What is here is written into records by name and into one flat array of numbers; places in the array are fields of the record.
"""

import numpy as np

from solvable.dynamics.kernel_data import Packed
from solvable.dynamics.node_averages import node_scratch
from solvable.gaussian.curves import describe
from solvable.gaussian.losses import CORRELATION, SQUARED
from solvable.gaussian.pair_planes import pair_scratch
from solvable.gaussian.polynomial_squares import square_scratch
from solvable.gaussian.rules import Rule
from solvable.gaussian.tables import tabulate
from solvable.gaussian.units import RELU
from solvable.problems import Target
from solvable.problems.spec import KernelSpec

ODD = ("linear", "erf", "tanh")  # units that are odd and monotone


def with_functions(packed: Packed, problem: KernelSpec, rule: Rule | None) -> Packed | None:
    """A packed problem with its functions, and the nodes of a rule; None where Python alone can call a function: targets of one's
    own, and what no table holds."""
    if not has_numbers(problem):
        return None
    student = describe(problem.student.unit, problem.student.hermite_coefficients)
    teacher = describe(problem.teacher.unit, problem.teacher.hermite_coefficients)
    loss = problem.training.loss_function
    push = np.zeros(0) if loss.kind == SQUARED else tabulate(loss)
    assert student is not None
    assert teacher is not None
    assert push is not None
    nodes = _nodes(problem, rule)
    fields = {
        "unit": student[0], "unit_terms": student[1].size // 2,
        "teacher_unit": teacher[0], "teacher_terms": teacher[1].size // 2,
        "product": problem.teacher.target == "product",
        "smooth": student[0] != RELU and not problem.student.unit.kinks and not loss.kinks and problem.teacher.target != "sign",
        "kink_count": len(loss.kinks), "linear_sign": has_linear_sign(problem),
        "pairs": is_correlation(problem) and _is_centred(problem),
        "loss": loss.kind, "margin": loss.of == "margin",
        "node_count": nodes.shape[1], "node_fields": nodes.shape[0] - 1,
    }  # fmt: skip
    problems, at = packed.problems.copy(), packed.numbers.size
    kinks = np.array(loss.kinks, dtype=float)
    sections = {
        "unit_at": student[1],
        "teacher_at": teacher[1],
        "loss_at": push,
        "nodes": nodes,
        "loss_kinks": kinks,
    }
    for name, values in sections.items():
        fields[name] = at
        at += values.size
    for name, value in fields.items():
        problems[name] = value
    numbers = np.concatenate([packed.numbers, *(values.ravel() for values in sections.values())])
    return packed._replace(problems=problems, numbers=numbers)


def has_numbers(problem: KernelSpec) -> bool:
    """Whether compiled code can hold all its functions."""
    loss = problem.training.loss_function
    networks = problem.student, problem.teacher
    units = all(describe(one.unit, one.hermite_coefficients) is not None for one in networks)
    held = loss.kind == SQUARED or tabulate(loss) is not None
    return units and held and not isinstance(problem.teacher.target, Target)


def _nodes(problem: KernelSpec, rule: Rule | None) -> np.ndarray:
    """(coordinates and weights, nodes); one direction of a tensor rule over two for the noise of polynomials."""
    if rule is None:
        return np.zeros((1, 0))
    if not is_polynomial(problem):
        return np.concatenate([rule.points.T, rule.weights[None]])
    points, first = np.unique(rule.points[:, 0], return_index=True)
    weights = np.array([rule.weights[rule.points[:, 0] == rule.points[i, 0]].sum() for i in first])
    return np.stack([points, weights])


def is_additive(problem: KernelSpec) -> bool:
    """Gradients of the squared loss and a teacher network: averages over two fields are all that the drift needs."""
    training = problem.training
    return problem.teacher.target == "additive" and training.loss == "squared" and not training.is_shaped


def is_correlation(problem: KernelSpec) -> bool:
    """Gradients of the correlation loss and a teacher network: the moments are those of squared loss with other weights."""
    training = problem.training
    is_loss = training.loss_function.kind == CORRELATION
    return problem.teacher.target == "additive" and is_loss and not training.is_shaped


def _is_centred(problem: KernelSpec) -> bool:
    """Whether neither fields nor outputs nor labels have a mean of their own."""
    return problem.mixture is None and not problem.teacher.bias and "bias" not in problem.scalars


def has_linear_sign(problem: KernelSpec) -> bool:
    """Whether labels are signs of a sum of teachers' fields: of linear teachers, or of a single odd and monotone one."""
    teacher, mixture = problem.teacher, problem.mixture
    bare = not teacher.bias and (mixture is None or mixture.labels is None)
    alone = teacher.width == 1 and teacher.activation in ODD and bare
    return teacher.target == "sign" and (teacher.activation == "linear" or alone)


def is_on_a_line(problem: KernelSpec) -> bool:
    """Whether averages over one variable on panels give all moments (`line_averages.py`): linear students and a linear teacher or
    labels of classes; or a single student and labels of classes."""
    training, student, teacher = problem.training, problem.student, problem.teacher
    loss, additive = training.loss_function, teacher.target == "additive"
    paced = training.rate_rule is not None  # which looks at the risk on nodes
    if paced or training.is_shaped or teacher.target not in ("additive", "sign") or not problem.features:
        return False
    if additive and loss.kind in (SQUARED, CORRELATION):
        return False
    noisy = training.segments["label_noise"][:, 1].max() > 0
    if student.activation == "linear" and (
        teacher.width == 0 or teacher.activation == "linear" or has_linear_sign(problem)
    ):
        if additive and loss.of == "residual":
            return True
        return not noisy and (teacher.width == 0 or not additive)
    return student.width == 1 and teacher.width == 0 and not noisy


def uses_pairs(problem: KernelSpec) -> bool:
    """Whether averages over two fields are computed as such. Where samples come in cases, whose fields have means, only those of
    ReLU units are (and those of closed moments, and of the correlation loss without means)."""
    if is_correlation(problem) and _is_centred(problem):
        return True
    ramps = problem.student.activation == "relu" and (
        problem.teacher.width == 0 or problem.teacher.activation == "relu"
    )
    return is_additive(problem) and (ramps or not problem.features)


def is_polynomial(problem: KernelSpec) -> bool:
    """Whether nodes over two directions give all moments."""
    networks = problem.student, problem.teacher
    return (
        is_additive(problem) and not problem.features and all(one.hermite_coefficients is not None for one in networks)
    )


def scratch_size(fields: int) -> int:
    """Numbers of scratch that averages need behind the planes: four matrices, then whatever is averaged."""
    return 4 * fields**2 + max(pair_scratch(fields), node_scratch(fields), square_scratch(fields))

"""Which of the features beyond one class, one task and plain samples a problem uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from solvable.problems.spec import KernelSpec

FEATURES = (
    "mixture", "tasks", "teacher.drift", "teacher.rotation", "training.dropout", "training.input_noise", "training.label_flips",
    "training.anchor", "training.momentum", "training.average", "training.snapshot", "training.rate_rule",
    "training.rule", "training.lookahead", "training.repeats", "training.train_bias", "student.bias", "teacher.bias",
)  # fmt: skip


def used_features(problem: KernelSpec) -> tuple[str, ...]:
    """What a problem keeps as its `features`: paths of the fields that take it beyond one class, one task, and gradients of plain
    samples. They give it classes, tasks, masks, noise that only students see, anchors, moving teachers, momentum, averages, rates
    that follow the state, labels that are signs, a rule of learning other than gradients, biases of outputs, or a loss whose
    moments are closed or averages over one variable."""
    teacher, training = problem.teacher, problem.training
    used = {
        "mixture": problem.mixture is not None,
        "tasks": bool(problem.tasks),
        "teacher.drift": bool(teacher.drift),
        "teacher.rotation": bool(teacher.rotation),
        "training.dropout": training.dropout is not None,
        "training.input_noise": training.input_noise != 0 and np.any(training.input_noise),
        "training.label_flips": bool(training.label_flips),
        "training.anchor": bool(training.anchor),
        "training.momentum": training.momentum is not None,
        "training.average": training.average is not None,
        "training.snapshot": training.snapshot is not None,
        "training.rate_rule": training.rate_rule is not None,
        "training.rule": training.rule is not None,
        "training.lookahead": bool(training.lookahead),
        "training.repeats": training.uses_again,
        "training.train_bias": training.train_bias,
        "student.bias": bool(problem.student.bias),
        "teacher.bias": bool(teacher.bias),
        "training.loss": training.loss == "correlation" or _is_on_a_line(problem),
        "teacher.target": teacher.target == "sign",
    }
    return tuple(name for name, is_used in used.items() if is_used)


def _is_on_a_line(problem: KernelSpec) -> bool:
    """Whether linear students learn from a linear teacher by a loss that is neither squared nor log-cosh: one variable is all that
    averages are over."""
    plain = problem.training.loss in ("squared", "log-cosh") or problem.teacher.target not in ("additive", "sign")
    return not plain and problem.student.activation == problem.teacher.activation == "linear"

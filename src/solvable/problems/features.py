"""Which of the features beyond one class, one task and plain samples a problem uses."""

import numpy as np

from solvable.problems.problem import Problem

FEATURES = (
    "mixture", "tasks", "teacher.drift", "teacher.rotation", "training.dropout", "training.input_noise", "training.label_flips",
    "training.anchor", "training.momentum", "training.average", "training.snapshot", "training.rate_rule",
)  # fmt: skip


def features(problem: Problem) -> tuple[str, ...]:
    """Which fields give a problem more than one class, one task, plain samples and rows that only learn.

    Parameters
    ----------
    problem : Problem
        Any problem.

    Returns
    -------
    tuple of str
        Their paths; empty for a plain problem.

    Examples
    --------
    >>> plain = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1)
    >>> sv.problems.features(plain)
    ()
    >>> sv.problems.features(plain.replace(training__label_flips=0.1))
    ('training.label_flips',)
    """
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
    }
    return tuple(name for name, is_used in used.items() if is_used)

"""Which of the features beyond one class, one task and plain samples a problem uses, and how those are told who lack them."""

from collections.abc import Collection

import numpy as np

from solvable.problems.problem import Problem

FEATURES = (
    "mixture", "tasks", "teacher.drift", "teacher.rotation", "training.dropout", "training.input_noise", "training.label_flips",
    "training.anchor",
)  # fmt: skip


def features(problem: Problem) -> tuple[str, ...]:
    """The fields by which a problem has classes, tasks, masks, noise that only students see, anchors or moving teachers."""
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
    }
    return tuple(name for name, is_used in used.items() if is_used)


def refuse_features(problem: Problem, who: str, known: Collection[str] = ()) -> None:
    """Raise ValueError, in one line, for the first feature that is not `known`."""
    for name in features(problem):
        if name not in known:
            raise ValueError(f"{name}: given, but {who} does not support it")

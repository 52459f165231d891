"""Why a paper has no symbols for a problem: the reasons that several papers share."""

import math
from typing import Any

from solvable.problems.problem import Problem


def mean_readout(width: int, values: Any) -> bool:
    return all(math.isclose(value, 1.0 / width, rel_tol=1e-12) for value in values)


def additive_misfits(problem: Problem, units: tuple[str, ...]) -> list[str]:
    misfits = [
        f"{name}.activation: is {network.activation!r}, not {' or '.join(map(repr, units))}"
        for name, network in [("student", problem.student), ("teacher", problem.teacher)]
        if network.activation not in units
    ]
    if not misfits and problem.student.activation != problem.teacher.activation:
        misfits.append("student.activation: is not the teacher's")
    if problem.teacher.target != "additive":
        misfits.append("teacher.target: is not 'additive'")
    if problem.training.loss != "squared":
        misfits.append(f"training.loss: is {problem.training.loss!r}, not 'squared'")
    return misfits


def quadratic_misfits(problem: Problem) -> list[str]:
    student, teacher = problem.student, problem.teacher
    misfits = []
    misfits += additive_misfits(problem, ("quadratic",))
    if problem.inputs.blocks > 1 or problem.inputs.eigenvalues[0] != 1:
        misfits.append("inputs.spectrum: is not isotropic")
    if not mean_readout(student.width, student.readout_values):
        misfits.append("student.readout: is not 'mean'")
    if not mean_readout(teacher.width, teacher.readout_values):
        misfits.append("teacher.readout: is not 'mean'")
    if problem.training.batch != 1:
        misfits.append(f"training.batch: is {problem.training.batch}, not 1")
    if problem.training.weight_decay != 0:
        misfits.append("training.weight_decay: is not 0")
    return misfits


def one_pass_misfits(problem: Problem) -> list[str]:
    samples = problem.training.samples
    return [] if samples is None else [f"training.samples: is {samples}, a finite data set"]


def free_quadratic_misfits(problem: Problem) -> list[str]:
    """Of the papers whose quadratic students have free norms and a fixed readout."""
    misfits = quadratic_misfits(problem)
    if problem.student.norm != "free":
        misfits.append("student.norm: is not 'free'")
    if problem.training.train_readout:
        misfits.append("training.train_readout: is true")
    return misfits

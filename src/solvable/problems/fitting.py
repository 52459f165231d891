"""Whether the parts of a problem fit each other: classes, tasks and masks to teachers, students and blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from solvable.problems.labels import check_labels
from solvable.problems.rate_rules import LineSearch
from solvable.problems.reuse import check_batch
from solvable.problems.rules import Rule
from solvable.problems.schedules import Schedule, begins_of, check_shares, segments_of, within

if TYPE_CHECKING:
    from solvable.problems.mixture import Mixture
    from solvable.problems.problem import Problem

MASKED = 8  # students with dropout: there are two to this power masks
CASES = 4096  # most that a sample may belong to


def check_parts(problem: Problem) -> None:
    """Raise ValueError, naming the field, where two parts contradict each other."""
    if not problem.teacher.width and (problem.mixture is None or problem.mixture.labels is None):
        given = "teacher" in problem.model_fields_set
        what = "teacher.width: 0 given, must be greater than 0" if given else "teacher: is missing"
        raise ValueError(f"{what}; only a mixture with labels does without teachers")
    if problem.mixture is not None:
        _check_mixture(problem, problem.mixture)
    _check_tasks(problem)
    _check_slopes(problem)
    noise, blocks = problem.training.input_noise, problem.inputs.blocks
    if isinstance(noise, tuple) and len(noise) != blocks:
        raise ValueError(f"training.input_noise: {len(noise)} given for {blocks} block(s), must be one or as many")
    if problem.training.dropout is not None and problem.student.width > MASKED:
        raise ValueError(
            f"training.dropout: given for {problem.student.width} students, must be at most {MASKED}, "
            f"because all masks are counted"
        )
    check_labels(problem)
    check_batch(problem)
    if isinstance(problem.training.rule, Rule):
        problem.training.rule.check_width(problem.student.width)
    _check_count(problem)
    _check_steps(problem)


def _check_steps(problem: Problem) -> None:
    """Momentum of so many dimensions, and a rate for these norms."""
    training, dim = problem.training, problem.inputs.dim
    if training.is_slow and dim is not None:
        largest = segments_of(training.momentum.number)[:, 1].max()  # type: ignore[union-attr]
        if largest > dim:
            raise ValueError(
                f"training.momentum.kappa: {largest:g} given for inputs.dim = {dim}, must be at most dim: a step keeps "
                f"1 - kappa/dim"
            )
    if isinstance(training.rate_rule, LineSearch) and problem.student.norm == "sphere":
        raise ValueError(
            'training.rate_rule: line search given together with student.norm = "sphere", with which the risk falls otherwise'
        )


def _check_count(problem: Problem) -> None:
    classes = 1 if problem.mixture is None else problem.mixture.classes
    masks = 1 if problem.training.dropout is None else 2**problem.student.width
    flips = 2 if problem.training.label_flips else 1
    count = classes * max(len(problem.tasks), 1) * masks * flips
    if count > CASES:
        raise ValueError(
            f"mixture: {classes} classes, {len(problem.tasks)} tasks, {masks} masks and {flips} signs of labels make {count} cases "
            f"of a sample, must be at most {CASES}"
        )


def _check_mixture(problem: Problem, mixture: Mixture) -> None:
    blocks, dim, teacher = problem.inputs.blocks, problem.inputs.dim, problem.teacher
    for name in ("gram", "variances"):
        shape = np.shape(getattr(mixture, name) or ())
        given = (
            shape[0]
            if name == "gram" and len(shape) == 3
            else shape[1]
            if name == "variances" and len(shape) == 2
            else blocks
        )
        if given != blocks:
            raise ValueError(f"mixture.{name}: {given} blocks given, but inputs have {blocks}")
    if mixture.vectors is not None and len(mixture.vectors[0]) != dim:
        raise ValueError(
            f"mixture.vectors: rows of {len(mixture.vectors[0])} numbers given, must be inputs.dim = {dim or 'infinite'}"
        )
    given = mixture.teacher_overlap
    if given is None:
        return
    if any(len(row) != teacher.width for row in given):
        raise ValueError(
            f"mixture.teacher_overlap: must have {teacher.width} numbers in each row, one for each teacher"
        )
    if teacher.overlap == "sampled":
        raise ValueError("mixture.teacher_overlap: given although teachers are sampled; leave it out, it is drawn")
    _check_cone(problem, mixture)


def _check_cone(problem: Problem, mixture: Mixture) -> None:
    fractions, q = problem.inputs.fractions, problem.teacher.width
    T = np.eye(q) if problem.teacher.overlap == "orthonormal" else np.array(problem.teacher.overlap)
    cross = mixture.block_teacher_overlap(fractions, q)
    gram = np.block([[fractions[:, None, None] * T, cross.transpose(0, 2, 1)], [cross, mixture.block_gram(fractions)]])
    lowest = np.linalg.eigvalsh(gram)[:, 0]
    if (lowest < -1e-9 * np.abs(gram).max(axis=(1, 2))).any():
        raise ValueError(
            f"mixture.teacher_overlap: no vectors have these overlaps with the teachers, the matrix of teachers and directions "
            f"has the eigenvalue {lowest.min():.3g}"
        )


def _check_tasks(problem: Problem) -> None:
    tasks, teacher, heads = problem.tasks, problem.teacher, problem.task_heads
    if tasks:
        for i, task in enumerate(tasks):
            if len(task.readout) != teacher.width:
                raise ValueError(
                    f"tasks.{i}.readout: {len(task.readout)} given for {teacher.width} teachers, must be as many"
                )
        if teacher.readout != "mean":
            raise ValueError("teacher.readout: given although tasks have their own, so nothing would use it")
        if teacher.target not in ("additive", "sign"):
            raise ValueError("teacher.target: tasks need 'additive' or 'sign', a network with a readout for each")
        if len({task.head is None for task in tasks}) > 1:
            raise ValueError("tasks: some have a head and some have not; number all heads or none")
        if set(heads) != set(range(len(set(heads)))):
            raise ValueError(f"tasks: heads {heads} given, must be numbered from 0 on without gaps")
        check_shares("tasks.probability", [task.probability for task in tasks])
    count = len(set(heads))
    if problem.student.heads not in (None, count):
        raise ValueError(f"student.readout: for {problem.student.heads} heads given, but tasks use {count}")


def _check_slopes(problem: Problem) -> None:
    """Products of probabilities must be linear within each segment."""
    shares = [
        () if problem.mixture is None else problem.mixture.probabilities,
        [one.probability for one in problem.tasks],
    ]
    tables = [[segments_of(one) for one in group if isinstance(one, Schedule)] for group in shares]
    begins = begins_of(tables[0] + tables[1])
    sloped = [
        np.any([np.broadcast_to(within(rows, begins)[1], begins.shape) != 0 for rows in group], axis=0)
        if group
        else False
        for group in tables
    ]
    if np.any(sloped[0] & sloped[1]):
        raise ValueError("mixture.probabilities: change linearly while those of tasks do; let one of them go in steps")

"""From a problem and a start to the setting of the equations: ratios to the dimension, steps, functions."""

import math

import numpy as np

from solvable.empirical_macro.functions import loss_functions, unit_functions
from solvable.empirical_macro.marching import DRAWN
from solvable.empirical_macro.setting import Setting
from solvable.levels import Lane
from solvable.problems import Problem, Schedule
from solvable.problems.reuse import Ratio, epochs_per_step, per_dimension
from solvable.problems.schedules import value_at


def check(problem: Problem, smoothing: float | None) -> None:
    """Raise ValueError, in one line, for what the equations are not for."""
    training = problem.training
    if training.step is None and problem.inputs.dim is None:
        raise ValueError(
            "training.learning_rate: given at infinite inputs.dim; give training.step = learning_rate / dim"
        )
    if problem.inputs.is_scheduled:
        raise ValueError("inputs.spectrum.eigenvalues: a schedule is given, but a data set is drawn once")
    for name in ("label_noise", "batch"):
        if isinstance(getattr(training, name), Schedule):
            raise ValueError(f"training.{name}: a schedule is given, but EmpiricalMacro is for a constant one")
    if training.momentum is not None and training.momentum.beta is None:
        raise ValueError("training.momentum: kappa is for many steps of 1/dim, a data set is seen in few; give beta")
    if training.momentum is not None and isinstance(training.momentum.beta, Schedule):
        raise ValueError("training.momentum: beta has a schedule, but EmpiricalMacro keeps it constant; give a number")
    if training.momentum is not None and training.momentum.nesterov:
        raise ValueError(
            "training.momentum.nesterov: gradients are taken elsewhere than losses, which needs two sets of fields; use Empirical"
        )
    _check_size(problem)
    unit, kinks = problem.student.activation, problem.student.unit.kinks
    if kinks and smoothing is None:
        raise ValueError(
            f"student.activation: {unit!r} has a kink, where responses jump; give EmpiricalMacro(smoothing=0.2), or use Empirical"
        )
    if not kinks and smoothing is not None:
        raise ValueError(f"smoothing: {smoothing:g} given, but {unit!r} students have no kinks; leave it out")
    if not training.loss_function.smooth:
        raise ValueError(
            f"training.loss: the push of {training.loss_function.name!r} jumps, so it has no slope; use Empirical"
        )


def _check_size(problem: Problem) -> None:
    if problem.inputs.dim is not None:
        return
    for name in ("samples", "batch"):
        given = getattr(problem.training, name)
        if given is not None and not isinstance(given, Ratio):
            raise ValueError(f"training.{name}: {given} given at infinite inputs.dim; give a Ratio to the dimension")


def is_fresh(problem: Problem) -> bool:
    """Whether batches are fresh, and used a number of times."""
    return problem.training.samples is None


def is_random(problem: Problem) -> bool:
    """Whether each step sees another part of the samples; those drawn with replacement miss some even where as many are drawn."""
    training = problem.training
    if is_fresh(problem) or training.batch is None:
        return False
    return training.selection == "drawn" or epochs_per_step(problem) != 1.0


def span(problem: Problem, steps: int) -> int:
    """During how many steps a sample is remembered."""
    return min(problem.training.repeats, steps) if is_fresh(problem) else steps


def setting(lane: Lane, steps: int, width: float | None) -> Setting:
    """So many steps of a lane; with a width where kinks are rounded off."""
    problem, start = lane.problem, lane.start
    training, inputs = problem.training, problem.inputs
    unit = 1.0 if training.step is not None else 1.0 / (inputs.dim or 1)
    times, fresh = np.arange(steps), is_fresh(problem)
    size = training.batch if fresh else training.samples
    assert isinstance(size, int | Ratio)
    loss, push = loss_functions(training.loss_function, training.loss_factor)
    beta = 0.0 if training.momentum is None else training.momentum.beta or 0.0
    assert isinstance(beta, float)
    selection = (training.selection or "subsets") if is_random(problem) else "all"
    return Setting(
        ratio=per_dimension(size, inputs.dim),
        steps=unit * np.broadcast_to(training.schedule(times), (steps,)),
        readout_steps=unit * np.broadcast_to(training.readout_schedule(times), (steps,)),
        decays=np.array([float(value_at(training.weight_decay, float(t))) for t in times]),
        beta=beta,
        eigenvalues=inputs.eigenvalues,
        fractions=inputs.fractions,
        students=start.block_student_overlap,
        cross=start.block_cross_overlap,
        teachers=start.block_teacher_overlap,
        readout=np.array(start.readout, dtype=float).reshape(-1),
        label_noise=float(value_at(training.label_noise, 0.0)),
        sphere=problem.student.norm == "sphere",
        train_readout=training.train_readout,
        unit=unit_functions(problem.student.unit, width),
        labels=problem.teacher.labels,
        push=push,
        loss=loss,
        selection=selection,
        share=1.0 if fresh else epochs_per_step(problem),
        repeats=training.repeats,
        fresh=fresh,
    )


def particles(problem: Problem, steps: int) -> int:
    """How many particles a pass needs: responses to one time are averages over as many as there are for each step."""
    each = 100 if is_random(problem) else 30
    return max(4096, 2 ** math.ceil(math.log2(each * max(span(problem, steps), 1))))


def room(problem: Problem, steps: int, count: int) -> int:
    """Numbers that a pass keeps."""
    p, q, remembered = problem.student.width, problem.teacher.width, span(problem, steps)
    kernels = (2 * problem.inputs.blocks + 4) * ((steps + 1) * p) ** 2
    return count * (1 + q + DRAWN + (2 + p) * p * (remembered + 1)) + kernels

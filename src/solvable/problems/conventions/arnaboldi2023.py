"""arnaboldi2023 in its own symbols."""

from dataclasses import replace
from typing import Any

from solvable.problems.conventions.notation import (
    QUADRATIC,
    Convention,
    mean_squared_error,
    rate_of,
    time_per_width,
    times,
)
from solvable.problems.inputs import Inputs
from solvable.problems.networks import Student, Teacher
from solvable.problems.problem import Problem
from solvable.problems.schedules import Schedule
from solvable.problems.training import Training


def _build(
    p: int,
    gamma: float | Schedule,
    Delta: float = 0.0,
    d: int | None = None,
    sphere: bool = True,
    second_layer: bool = False,
) -> Problem:
    return Problem(
        teacher=Teacher(width=1),
        student=Student(width=p, norm="sphere" if sphere else "free"),
        inputs=Inputs(dim=d),
        training=Training(
            learning_rate=gamma,
            loss_factor=0.5,
            label_noise=Delta,
            train_readout=second_layer,
            readout_rate=times(gamma, 1 / p**2) if second_layer else None,
        ),
    )


def _read(problem: Problem) -> dict[str, Any]:
    return {
        "p": problem.student.width,
        "gamma": rate_of(problem, 2 * problem.training.loss_factor),
        "Delta": problem.training.label_noise,
        "d": problem.inputs.dim,
        "sphere": problem.student.norm == "sphere",
        "second_layer": problem.training.train_readout,
    }


def _misfits(problem: Problem) -> list[str]:
    training = problem.training
    domain = replace(QUADRATIC, norm="any", label_noise=True, trained_readout=True, teacher_width=1)
    misfits = domain.refusals(problem, "arnaboldi2023")
    if training.train_readout and training.readout_schedule != times(training.schedule, 1 / problem.student.width**2):
        misfits.append("training.readout_rate: is another one; arnaboldi2023 is for learning_rate / width^2")
    return misfits


def _risk(problem: Problem, risk: Any) -> Any:
    return (mean_squared_error(problem, risk) + problem.training.label_noise) / 2


CONVENTION = Convention("arnaboldi2023", "t = γα/p", _build, _read, _misfits, time_per_width(2.0), _risk)

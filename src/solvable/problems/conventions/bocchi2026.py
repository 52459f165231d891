"""bocchi2026 in its own symbols."""

from typing import Any

from solvable.problems.conventions.notation import QUADRATIC, Convention, mean_squared_error, rate_of
from solvable.problems.inputs import Inputs
from solvable.problems.networks import Student, Teacher
from solvable.problems.problem import Problem
from solvable.problems.schedules import Schedule
from solvable.problems.training import Training


def _build(p: int, p_star: int, eta: float | Schedule, N: int | None = None) -> Problem:
    return Problem(
        teacher=Teacher(width=p_star),
        student=Student(width=p),
        inputs=Inputs(dim=N),
        training=Training(learning_rate=eta, loss_factor=1.0),
    )


def _read(problem: Problem) -> dict[str, Any]:
    eta = rate_of(problem, problem.training.loss_factor)
    return {"p": problem.student.width, "p_star": problem.teacher.width, "eta": eta, "N": problem.inputs.dim}


def _misfits(problem: Problem) -> list[str]:
    return QUADRATIC.refusals(problem, "bocchi2026")


CONVENTION = Convention(
    "bocchi2026", "t = ηα", _build, _read, _misfits, lambda problem: problem.training.loss_factor, mean_squared_error
)

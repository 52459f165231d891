"""saraomannelli2020 in its own symbols."""

from dataclasses import replace
from typing import Any

from solvable.problems.conventions.notation import QUADRATIC, Convention, half_the_error, rate_of, time_per_width
from solvable.problems.inputs import Inputs
from solvable.problems.networks import Student, Teacher
from solvable.problems.problem import Problem
from solvable.problems.schedules import Schedule
from solvable.problems.training import Training


def _build(
    m: int, m_star: int, d: int | None = None, n: int | None = None, Delta: float = 0.0, rate: float | Schedule = 1e-3
) -> Problem:
    """`rate` only sets the clock: the paper's flow is the small-rate limit. `n` None is its population; label noise of
    variance `Delta` it has not."""
    return Problem(
        teacher=Teacher(width=m_star),
        student=Student(width=m),
        inputs=Inputs(dim=d),
        training=Training(learning_rate=rate, loss_factor=1.0, samples=n, label_noise=Delta),
    )


def _read(problem: Problem) -> dict[str, Any]:
    return {
        "m": problem.student.width,
        "m_star": problem.teacher.width,
        "d": problem.inputs.dim,
        "n": problem.training.samples,
        "Delta": problem.training.label_noise,
        "rate": rate_of(problem, problem.training.loss_factor),
    }


def _misfits(problem: Problem) -> list[str]:
    return replace(QUADRATIC, label_noise=True, samples=True).refusals(problem, "saraomannelli2020")


CONVENTION = Convention(
    "saraomannelli2020", "flow time t", _build, _read, _misfits, time_per_width(4.0), half_the_error
)

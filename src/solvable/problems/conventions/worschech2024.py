"""worschech2024 in its own symbols."""

import math
from typing import Any

from solvable.problems.conventions.misfits import additive_misfits, one_pass_misfits
from solvable.problems.conventions.notation import Convention, half_the_error, rate_of
from solvable.problems.inputs import Inputs, PowerLaw
from solvable.problems.model import InvalidProblem
from solvable.problems.networks import Student, Teacher, Unit
from solvable.problems.problem import Problem
from solvable.problems.training import Training


def _build(
    K: int, M: int, eta: float, beta: float = 0.0, L: int = 1, N: int | None = None, activation: Unit = "erf"
) -> Problem:
    if L == 1 and beta != 0:
        raise InvalidProblem([f"L: is 1, so beta = {beta} would do nothing; give the number of distinct eigenvalues"])
    return Problem(
        teacher=Teacher(
            width=M, activation=activation, readout="sqrt", overlap="orthonormal" if N is None else "sampled"
        ),
        student=Student(width=K, activation=activation, readout=math.sqrt(M) / K),
        inputs=Inputs(dim=N, spectrum=None if L == 1 else PowerLaw(beta=beta, distinct=L)),
        training=Training(learning_rate=eta, loss_factor=0.5),
    )


def _read(problem: Problem) -> dict[str, Any]:
    spectrum = problem.inputs.spectrum
    law = spectrum if isinstance(spectrum, PowerLaw) else PowerLaw(beta=0.0, distinct=1)
    return {
        "K": problem.student.width,
        "M": problem.teacher.width,
        "eta": rate_of(problem, 2 * problem.training.loss_factor),
        "beta": law.beta,
        "L": law.distinct,
        "N": problem.inputs.dim,
        "activation": problem.student.activation,
    }


def _misfits(problem: Problem) -> list[str]:
    student, teacher, training = problem.student, problem.teacher, problem.training
    misfits = one_pass_misfits(problem)
    misfits += additive_misfits(problem, ("linear", "erf", "relu"))
    if not all(math.isclose(value, math.sqrt(teacher.width) / student.width) for value in student.readout_values):
        misfits.append("student.readout: is not sqrt(teacher width) / width")
    if not all(math.isclose(value, 1 / math.sqrt(teacher.width)) for value in teacher.readout_values):
        misfits.append("teacher.readout: is not 'sqrt'")
    if problem.inputs.spectrum is not None and not isinstance(problem.inputs.spectrum, PowerLaw):
        misfits.append("inputs.spectrum: is not a power law")
    for name, plain in [("label_noise", 0), ("weight_decay", 0), ("batch", 1), ("train_readout", False)]:
        if getattr(training, name) != plain:
            misfits.append(f"training.{name}: is {getattr(training, name)}, not {plain}")
    if student.norm != "free":
        misfits.append("student.norm: is not 'free'")
    return misfits


CONVENTION = Convention("worschech2024", "α", _build, _read, _misfits, None, half_the_error)

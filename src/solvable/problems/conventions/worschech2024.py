"""worschech2024 in its own symbols."""

import math
from typing import Any

from solvable.problems.conventions.notation import Convention, half_the_error, rate_of
from solvable.problems.domain import Domain
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
    root, spectrum = math.sqrt(max(problem.teacher.width, 1)), problem.inputs.spectrum
    misfits = Domain(
        units=("linear", "erf", "relu"), teachers="any", isotropic=False, schedules=True,
        student_readout=root / problem.student.width, teacher_readout=1 / root,
    ).refusals(problem, "worschech2024")  # fmt: skip
    if spectrum is not None and not isinstance(spectrum, PowerLaw):
        misfits.append("inputs.spectrum: is not a power law; worschech2024 is for those")
    return misfits


CONVENTION = Convention("worschech2024", "α", _build, _read, _misfits, None, half_the_error)

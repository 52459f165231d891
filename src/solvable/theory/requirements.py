"""What several closed forms ask of a problem."""

from solvable.problems import Problem, Schedule
from solvable.problems.training import SCHEDULED
from solvable.theory.prediction import NotApplicable


def require_plain(problem: Problem, activation: str, **training: object) -> None:
    """Raise NotApplicable, naming the field, unless students and teacher have this activation, norms are free, the loss is squared
    and the rate constant, the readout not trained, without decay or a finite data set; and these fields of `training` have these
    values."""
    if not isinstance(problem, Problem):
        raise TypeError(f"must be given a Problem, not {type(problem).__name__}")
    for name, network in [("student", problem.student), ("teacher", problem.teacher)]:
        if network.activation != activation:
            raise NotApplicable(f"{name}.activation: is not {activation!r}")
    if problem.teacher.target != "additive":
        raise NotApplicable("teacher.target: is not 'additive'")
    if problem.student.norm != "free":
        raise NotApplicable("student.norm: is not 'free'")
    plain = {"loss": "squared", "train_readout": False, "weight_decay": 0, "samples": None, **training}
    for name, value in plain.items():
        if getattr(problem.training, name) != value:
            raise NotApplicable(f"training.{name}: is {getattr(problem.training, name)!r}, not {value!r}")
    for name in SCHEDULED:
        if isinstance(getattr(problem.training, name), Schedule):
            raise NotApplicable(f"training.{name}: is a schedule, not constant")
    if problem.inputs.is_scheduled:
        raise NotApplicable("inputs.spectrum.eigenvalues: is a schedule, not constant")


def require_orthonormal(problem: Problem) -> None:
    """Raise NotApplicable unless the teachers are orthogonal and of length one."""
    if not problem.teacher.is_orthonormal:
        raise NotApplicable("teacher.overlap: is not 'orthonormal'")

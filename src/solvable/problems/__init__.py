"""Problems: frozen, validated descriptions of who teaches, who learns, on what inputs and by which rule."""

from solvable.problems.conventions import Convention, convention
from solvable.problems.data import Data
from solvable.problems.domain import CASES, EVERYTHING, ONE_PASS, Domain, NotApplicable, require
from solvable.problems.dropout import Dropout
from solvable.problems.features import FEATURES, features
from solvable.problems.inputs import Inputs, PowerLaw, Spectrum
from solvable.problems.mixture import Mixture
from solvable.problems.model import InvalidProblem
from solvable.problems.networks import Hermite, Student, Target, Teacher
from solvable.problems.problem import Problem
from solvable.problems.reuse import Ratio
from solvable.problems.tasks import Task
from solvable.problems.training import Schedule, Training

__all__ = [
    "CASES", "EVERYTHING", "FEATURES", "ONE_PASS", "Convention", "Data", "Domain", "Dropout", "Hermite", "Inputs",
    "InvalidProblem", "Mixture", "NotApplicable", "PowerLaw", "Problem", "Ratio", "Schedule", "Spectrum", "Student", "Target",
    "Task", "Teacher", "Training", "convention", "features", "require",
]  # fmt: skip

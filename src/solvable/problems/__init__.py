"""Problems: frozen, validated descriptions of who teaches, who learns, on what inputs and by which rule."""

from solvable.problems.conventions import Convention, convention
from solvable.problems.data import Data
from solvable.problems.domain import EVERYTHING, ONE_PASS, Domain, NotApplicable, require
from solvable.problems.inputs import Inputs, PowerLaw, Spectrum
from solvable.problems.model import InvalidProblem
from solvable.problems.networks import Hermite, Student, Target, Teacher
from solvable.problems.problem import Problem
from solvable.problems.training import Schedule, Training

__all__ = [
    "EVERYTHING", "ONE_PASS", "Convention", "Data", "Domain", "Hermite", "Inputs", "InvalidProblem", "NotApplicable",
    "PowerLaw", "Problem", "Schedule", "Spectrum", "Student", "Target", "Teacher", "Training",
    "convention", "require",
]  # fmt: skip

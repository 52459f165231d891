"""Problems: frozen, validated descriptions of who teaches, who learns, on what inputs and by which rule."""

from solvable.gaussian.losses import Loss
from solvable.problems.averages import Average
from solvable.problems.conventions import Convention, convention
from solvable.problems.data import Data
from solvable.problems.domain import CASES, EVERYTHING, ONE_PASS, Domain, NotApplicable, require
from solvable.problems.dropout import Dropout
from solvable.problems.effective import effective, is_fast
from solvable.problems.features import FEATURES
from solvable.problems.inputs import Inputs, PowerLaw, Spectrum
from solvable.problems.losses import Hinge, Huber
from solvable.problems.mixture import Mixture
from solvable.problems.model import InvalidProblem
from solvable.problems.momentum import Momentum
from solvable.problems.networks import Hermite, Student, Target, Teacher
from solvable.problems.problem import Problem
from solvable.problems.rate_rules import AdaGrad, ClipBatches, LineSearch, Polyak, RateFunction
from solvable.problems.reuse import Ratio
from solvable.problems.rules import ClipSamples, Rule
from solvable.problems.schedules import Schedule
from solvable.problems.tasks import Task
from solvable.problems.training import Training

__all__ = [
    "CASES",
    "EVERYTHING",
    "FEATURES",
    "ONE_PASS",
    "AdaGrad",
    "Average",
    "ClipBatches",
    "ClipSamples",
    "Convention",
    "Data",
    "Domain",
    "Dropout",
    "Hermite",
    "Hinge",
    "Huber",
    "Inputs",
    "InvalidProblem",
    "LineSearch",
    "Loss",
    "Mixture",
    "Momentum",
    "NotApplicable",
    "Polyak",
    "PowerLaw",
    "Problem",
    "RateFunction",
    "Ratio",
    "Rule",
    "Schedule",
    "Spectrum",
    "Student",
    "Target",
    "Task",
    "Teacher",
    "Training",
    "convention",
    "effective",
    "is_fast",
    "require",
]  # fmt: skip

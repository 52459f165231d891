"""Closed-form predictions about a problem."""

from solvable.theory.available import Available, available
from solvable.theory.counting import degrees_of_freedom, solution_dimension
from solvable.theory.prediction import NotApplicable, Prediction
from solvable.theory.solutions import late_distance, late_risk, nearest_solution, rate_limit

__all__ = [
    "Available", "NotApplicable", "Prediction", "available", "degrees_of_freedom", "late_distance", "late_risk",
    "nearest_solution", "rate_limit", "solution_dimension",
]  # fmt: skip

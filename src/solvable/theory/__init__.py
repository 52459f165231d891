"""Closed-form predictions about a problem."""

from solvable.theory.prediction import NotApplicable, Prediction
from solvable.theory.solutions import late_distance, late_risk, nearest_solution, rate_limit

__all__ = ["NotApplicable", "Prediction", "late_distance", "late_risk", "nearest_solution", "rate_limit"]

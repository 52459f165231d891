"""Checks of identities as functions that return a report: tests assert them, users look at them."""

from solvable.checks.exits import exit_times_agree
from solvable.checks.flows import entropy_balance, losses_fall
from solvable.checks.invariants import layer_balance, norms_on_sphere
from solvable.checks.moments import moments_against_sampling
from solvable.checks.report import Report
from solvable.checks.routes import routes_agree
from solvable.checks.schedules import gain_is_real, gradient

__all__ = [
    "Report",
    "entropy_balance",
    "exit_times_agree",
    "gain_is_real",
    "gradient",
    "layer_balance",
    "losses_fall",
    "moments_against_sampling",
    "norms_on_sphere",
    "routes_agree",
]

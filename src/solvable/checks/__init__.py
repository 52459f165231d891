"""Checks of identities as functions that return a report: tests assert them, users look at them."""

from solvable.checks.exits import exit_times_agree
from solvable.checks.flows import entropy_balance, losses_fall
from solvable.checks.invariants import layer_balance, norms_on_sphere
from solvable.checks.limits import limits_agree
from solvable.checks.mismatch import Mismatch, mismatch
from solvable.checks.moments import moments_against_sampling
from solvable.checks.report import Report
from solvable.checks.reuse import law_of_dense, transcript_is_one_matrix
from solvable.checks.routes import routes_agree
from solvable.checks.schedules import gain_is_real, gradient

__all__ = [
    "Mismatch",
    "Report",
    "entropy_balance",
    "exit_times_agree",
    "gain_is_real",
    "gradient",
    "law_of_dense",
    "layer_balance",
    "limits_agree",
    "losses_fall",
    "mismatch",
    "moments_against_sampling",
    "norms_on_sphere",
    "routes_agree",
    "transcript_is_one_matrix",
]

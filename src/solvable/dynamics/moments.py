"""The Gaussian moments of one SGD step: all that the limit of many dimensions needs to know of a problem.

In closed form where there is one (`closed.py`), else on nodes (`general.py`).
"""

from typing import Any

import numpy as np

from solvable.dynamics.closed import Moments, risk_of, step_moments
from solvable.dynamics.general import general_moments, is_closed, rule_for
from solvable.dynamics.kernel_data import DRIFT, NOISE, workspace
from solvable.gaussian.pairs import KINDS
from solvable.overlaps import Overlaps, as_array
from solvable.problems import Problem

NODES = 2**13

__all__ = ["NODES", "Moments", "field_covariance", "moments"]


def field_covariance(problem: Problem, overlaps: Overlaps) -> np.ndarray:
    """(n, n) covariance C = sum_b lambda_b Omega^b of the pre-activations, students first."""
    return np.tensordot(problem.inputs.eigenvalues, overlaps.stacked, axes=1)


def moments(covariance: Any, problem: Problem, readout: Any = None, *, nodes: int = NODES, seed: int = 0) -> Moments:
    """Moments of one SGD step for pre-activations of the given covariance (n, n), students first.

    Where there is no closed form they are averages over `nodes` quasi-random points.
    """
    p, q = problem.student.width, problem.teacher.width
    C = np.ascontiguousarray(as_array(covariance))
    a = problem.student.readout_values if readout is None else as_array(readout)
    if C.shape != (p + q, p + q) or a.shape != (p,):
        raise ValueError(f"covariance: must be {(p + q, p + q)} with readout {(p,)}, got {C.shape} and {a.shape}")
    if not is_closed(problem):
        return general_moments(C, problem, a, rule_for(problem, nodes, seed))
    s = np.concatenate([-a, problem.teacher.readout_values])
    kind, training = KINDS[str(problem.student.activation)], problem.training
    work, readout_drift = workspace(p, q), np.empty(p)
    step_moments(kind, p, True, True, training.loss_factor, float(training.label_noise), C, s, work, readout_drift)
    risk = risk_of(kind, C, s, training.loss_factor)
    return Moments(risk, work[DRIFT, :p].copy(), work[NOISE, :p, :p].copy(), readout_drift)

"""The Gaussian moments of one SGD step: all that the limit of many dimensions needs to know of a problem.

In closed form where there is one (`closed_moments.py`), else as averages (`averages.py`, or `python_moments.py` in Python).
"""

from types import SimpleNamespace
from typing import Any

import numpy as np

from solvable.dynamics.closed_moments import Moments
from solvable.dynamics.kernel_choice import system
from solvable.dynamics.kernel_data import DRIFT, NOISE, RISK, SEEN, pack
from solvable.overlaps import Overlaps, as_array
from solvable.problems import Inputs, Problem

NODES = 2**13

__all__ = ["NODES", "Moments", "field_covariance", "moments"]


def field_covariance(problem: Problem, overlaps: Overlaps) -> np.ndarray:
    """(n, n) covariance C = sum_b lambda_b Omega^b of the pre-activations, students first."""
    if not isinstance(problem, Problem) or not isinstance(overlaps, Overlaps):
        given = f"{type(problem).__name__}, {type(overlaps).__name__}"
        raise ValueError(f"field_covariance: ({given}) given, must be (problem, overlaps)")
    return np.tensordot(problem.inputs.eigenvalues, overlaps.stacked, axes=1)


def moments(covariance: Any, problem: Problem, readout: Any = None, *, nodes: int = NODES, seed: int = 0) -> Moments:
    """Moments of one SGD step for pre-activations of the given covariance (n, n), students first.

    Where there is no closed form they are averages over `nodes` quasi-random points.
    """
    if not isinstance(problem, Problem) or isinstance(covariance, Overlaps):
        given = f"{type(covariance).__name__}, {type(problem).__name__}"
        raise ValueError(
            f"moments: ({given}) given, must be (covariance, problem); field_covariance(problem, overlaps) is the covariance"
        )
    p, q = problem.student.width, problem.teacher.width
    C = np.ascontiguousarray(as_array(covariance))
    a = problem.student.readout_values if readout is None else as_array(readout)
    if C.shape != (p + q, p + q) or a.shape != (p,):
        raise ValueError(f"covariance: must be {(p + q, p + q)} with readout {(p,)}, got {C.shape} and {a.shape}")
    float(problem.training.label_noise)  # which refuses a schedule
    plain = problem.replace(  # one block of overlaps C and unit rates: then the equations are the moments
        inputs=Inputs(), student__norm="free", training__learning_rate=1.0, training__readout_rate=None, training__batch=1,
        training__train_readout=True,
    )  # fmt: skip
    Q, R, T = C[None, :p, :p], C[None, :p, p:], C[None, p:, p:]
    start: Any = SimpleNamespace(
        block_student_overlap=Q, block_cross_overlap=R, block_teacher_overlap=T, readout=a
    )  # not checked as a start is: any covariance may be asked about
    found = system(plain, pack(plain, start), nodes, seed)
    work, speed, seen = found.workspace(), np.empty_like(found.packed.state), np.empty(SEEN)
    data = found.data(work)
    found.observe(0, 0.0, found.packed.state, seen, *data)
    found.rhs(0, 0.0, found.packed.state, speed, *data)
    return Moments(float(seen[RISK]), work[DRIFT, :p].copy(), work[NOISE, :p, :p].copy(), speed[-p:])

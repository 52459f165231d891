"""The Gaussian moments of one SGD step: all that the limit of many dimensions needs to know of a problem.

In closed form where there is one (`closed_moments.py`), else as averages (`averages.py`, or `python_moments.py` in Python).
"""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from solvable.dynamics.closed_moments import Moments
from solvable.dynamics.kernel_choice import system
from solvable.dynamics.kernel_data import DRIFT, NOISE, PLANES, RISK, SEEN, pack
from solvable.overlaps import Overlaps, as_array
from solvable.problems import EVERYTHING, FEATURES, Inputs, Problem

NODES = 2**13
STEPS = replace(EVERYTHING, knows=(*EVERYTHING.knows, "training.rule", "training.lookahead", "training.repeats"))
ONE_CLASS = replace(EVERYTHING, knows=tuple({*EVERYTHING.knows, *FEATURES} - {"mixture", "training.input_noise"}))

__all__ = ["NODES", "Moments", "field_covariance", "moments"]


def field_covariance(problem: Problem, overlaps: Overlaps) -> np.ndarray:
    """Covariance C = sum_b lambda_b Omega^b of the pre-activations of all units.

    Parameters
    ----------
    problem : Problem
        Whose inputs have the eigenvalues lambda_b.
    overlaps : Overlaps
        Omega^b, the overlaps in each block.

    Returns
    -------
    ndarray
        (p + p*, p + p*), students first.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=1000)
    >>> sv.dynamics.field_covariance(problem, sv.start(problem, seed=0)).shape
    (3, 3)
    """
    if not isinstance(problem, Problem) or not isinstance(overlaps, Overlaps):
        given = f"{type(problem).__name__}, {type(overlaps).__name__}"
        raise ValueError(f"field_covariance: ({given}) given, must be (problem, overlaps)")
    ONE_CLASS.require(problem, "`field_covariance`")
    n = problem.student.width + problem.teacher.width
    return np.tensordot(problem.inputs.eigenvalues, overlaps.stacked[:, :n, :n], axes=1)


def moments(covariance: Any, problem: Problem, readout: Any = None, *, nodes: int = NODES, seed: int = 0) -> Moments:
    """Gaussian moments of one SGD step, for pre-activations of a given covariance.

    Parameters
    ----------
    covariance : array
        (p + p*, p + p*) of all fields, students first, as from `field_covariance`.
    problem : Problem
        Units, loss, target and label noise.
    readout : array, optional
        (p,) second layer; left out, the problem's.
    nodes : int
        Quasi-random points of averages that have no closed form.
    seed : int
        Of these points.

    Returns
    -------
    Moments
        Risk, drift, noise and readout drift.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=1000)
    >>> round(float(sv.dynamics.moments(np.eye(3), problem).risk), 6)
    3.0
    """
    if not isinstance(problem, Problem) or isinstance(covariance, Overlaps):
        given = f"{type(covariance).__name__}, {type(problem).__name__}"
        raise ValueError(
            f"moments: ({given}) given, must be (covariance, problem); field_covariance(problem, overlaps) is the covariance"
        )
    STEPS.require(problem, "`moments`")
    p, q = problem.student.width, problem.teacher.width
    C = np.ascontiguousarray(as_array(covariance))
    a = problem.student.readout_values if readout is None else as_array(readout)
    if C.shape != (p + q, p + q) or a.shape != (p,):
        raise ValueError(f"covariance: must be {(p + q, p + q)} with readout {(p,)}, got {C.shape} and {a.shape}")
    float(problem.training.label_noise)  # which refuses a schedule
    again = problem.training.uses_again
    plain = problem.replace(  # one block of overlaps C and unit rates: then the equations are the moments
        inputs=Inputs(), student__norm="free", training__learning_rate=1.0, training__readout_rate=None, training__batch=1,
        training__samples=None, training__selection=None, training__repeats=problem.training.repeats if again else 1,
        training__train_readout=True,
    )  # fmt: skip
    Q, R, T = C[None, :p, :p], C[None, :p, p:], C[None, p:, p:]
    start: Any = SimpleNamespace(
        block_student_overlap=Q,
        block_cross_overlap=R,
        block_teacher_overlap=T,
        stacked=C[None],
        extras=(),
        readout=a,
        scalars=np.zeros(0),
    )  # not checked as a start is: any covariance may be asked about
    found = system(plain, pack(plain, start), nodes, seed)
    work, speed, seen = found.workspace(), np.empty_like(found.packed.state), np.empty(SEEN)
    data = found.data(work)
    found.observe(0, 0.0, found.packed.state, seen, *data)
    found.rhs(0, 0.0, found.packed.state, speed, *data)
    drift, noise = work[DRIFT, :p], work[NOISE, :p, :p]
    if plain.features:  # of a single case, whose drift and noise the scratch has behind the overlaps
        rest, n = work[PLANES:].ravel()[(p + q) ** 2 :], p + q
        drift, noise = rest[: p * n].reshape(p, n), rest[p * n :][: p * p].reshape(p, p)
    return Moments(float(seen[RISK]), drift.copy(), noise.copy(), speed[-p:])

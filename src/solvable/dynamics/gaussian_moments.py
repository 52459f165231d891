"""The Gaussian moments of one SGD step: all that the limit of many dimensions needs to know of a problem.

In closed form where there is one (`closed_moments.py`), else as averages (`averages.py`, or `python_moments.py` in Python).
"""

from dataclasses import replace
from typing import Any

import numpy as np

from solvable.dynamics import case_equations
from solvable.dynamics.closed_moments import Moments
from solvable.dynamics.kernel_choice import system
from solvable.dynamics.kernel_data import DRIFT, NOISE, RISK, SEEN, Packed, copied, records_of
from solvable.overlaps import Overlaps, as_array
from solvable.problems import EVERYTHING, FEATURES, Inputs, Problem
from solvable.problems.spec import KernelSpec

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
    return _moments(KernelSpec.of(problem), C, a, nodes, seed)


def start_moments(problem: KernelSpec, start: Overlaps) -> Moments:
    """Return the moments of the first step from a start, for a problem of one class."""
    now, n = KernelSpec.of(problem).at(0.0), problem.student.width + problem.teacher.width
    C = np.tensordot(now.inputs.eigenvalues, start.stacked[:, :n, :n], axes=1)
    return _moments(now, C, start.readout, NODES, 0)


def _moments(problem: KernelSpec, C: np.ndarray, readout: np.ndarray, nodes: int, seed: int) -> Moments:
    p, again = problem.student.width, problem.training.uses_again
    spec = problem.replace(  # one block of overlaps C and unit rates: then the equations are the moments
        inputs=Inputs(), student__norm="free", training__learning_rate=1.0, training__step=None, training__readout_rate=None,
        training__batch=1, training__samples=None, training__selection=None,
        training__repeats=problem.training.repeats if again else 1, training__train_readout=True,
    )  # fmt: skip
    found = system(spec, _packed(spec, C, readout), nodes, seed)
    work, speed, seen = found.workspace(), np.empty_like(found.packed.state), np.empty(SEEN)
    data = found.data(work)
    found.observe(0, 0.0, found.packed.state, seen, *data)
    found.rhs(0, 0.0, found.packed.state, speed, *data)
    drift, noise = work[DRIFT, :p], work[NOISE, :p, :p]
    if spec.features:  # of a single case, whose inputs have variance one
        gains, spreads = case_equations.gains_and_spreads(found.packed.problems[0], work)
        drift, noise = gains[0], spreads[0]
    return Moments(float(seen[RISK]), drift.copy(), noise.copy(), speed[-p:])


def _packed(spec: KernelSpec, C: np.ndarray, readout: np.ndarray) -> Packed:
    """A covariance of all fields as the overlaps of a single block, whatever it is: it is not checked as a start is."""
    problems, blocks, cases, constant = (copied(array) for array in records_of(spec, True))
    p = spec.student.width
    state, T = np.concatenate([C[:p].ravel(), readout.ravel()]), C[p:, p:].ravel()
    plain = [constant, T, T, 0.0 * T]  # readouts, overlaps, and the field covariance with its slope
    return Packed(problems, blocks, cases, np.concatenate([T, constant] if spec.features else plain), state)

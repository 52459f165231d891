"""Check of the moments of one SGD step against sampled fields."""

from typing import Any

import numpy as np

from solvable.checks.report import Report
from solvable.dynamics.gaussian_moments import NODES, moments
from solvable.gaussian.losses import pushes
from solvable.overlaps import Seed, as_array
from solvable.problems import EVERYTHING, Problem


def moments_against_sampling(
    problem: Problem,
    covariance: Any,
    *,
    readout: Any = None,
    samples: int = 200_000,
    seed: Seed = 0,
    nodes: int = NODES,
    allowed: float = 5.0,
) -> Report:
    """Check the Gaussian moments of one SGD step against drawn samples.

    Fields z with the given covariance and label noise are drawn, the learning amplitudes F of single samples are formed
    by their definition, and risk, <F z^T> = D C, <F F^T> and the readout drift are compared.

    Parameters
    ----------
    problem : Problem
        Whose moments.
    covariance : array
        (p + p*, p + p*) covariance of the fields of all units, students first.
    readout : array, optional
        (p,) second layer; left out, the problem's.
    samples : int
        How many samples to draw.
    seed : int or SeedSequence
        Of the samples.
    nodes : int
        Points of averages over nodes, where moments need them.
    allowed : float
        How many standard errors moments may deviate.

    Returns
    -------
    Report
        All moments, in standard errors.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=1000)
    >>> sv.checks.moments_against_sampling(problem, np.eye(3), samples=20_000).passed
    True
    """
    EVERYTHING.require(problem, "`moments_against_sampling`")  # gradients of any loss, no other rule
    C = as_array(covariance)
    a = problem.student.readout_values if readout is None else as_array(readout)
    p, c = problem.student.width, problem.training.loss_factor
    random = np.random.default_rng(seed)
    values, vectors = np.linalg.eigh(C)
    z = random.standard_normal((samples, len(C))) @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
    student = problem.student.unit
    g = student.function(z[:, :p])
    clean = problem.teacher.labels(z[:, p:])
    label = clean + np.sqrt(problem.training.label_noise) * random.standard_normal(samples)
    push = c * pushes(problem.training.loss_function, label, g @ a)
    F = a * student.derivative(z[:, :p]) * push[:, None]
    sampled = {
        "risk": c * (clean - g @ a) ** 2,
        "drift": F[:, :, None] * z[:, None, :],
        "noise": F[:, :, None] * F[:, None, :],
        "readout_drift": g * push[:, None],
    }
    exact = moments(C, problem, a, nodes=nodes)
    return Report(
        "moments of one step against sampling",
        {
            "risk": np.array(exact.risk),
            "drift": exact.drift @ C,
            "noise": exact.noise,
            "readout_drift": exact.readout_drift,
        },
        {key: draws.mean(axis=0) for key, draws in sampled.items()},
        {key: draws.std(axis=0) / np.sqrt(samples) + 1e-14 for key, draws in sampled.items()},
        allowed,
    )

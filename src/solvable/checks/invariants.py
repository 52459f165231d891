"""Checks of quantities that the equations conserve, along a trajectory."""

from dataclasses import replace

import numpy as np

from solvable.checks.report import Report
from solvable.problems import EVERYTHING, ONE_PASS
from solvable.results import Trajectory

BALANCED = replace(ONE_PASS, norm="free", decay=False)
DEGREES = {"linear": 1, "quadratic": 2}


def norms_on_sphere(trajectory: Trajectory, *, tolerance: float = 1e-10) -> Report:
    """Check that students on the sphere keep overlap one with themselves.

    Parameters
    ----------
    trajectory : Trajectory
        A run of a problem with student.norm = "sphere".
    tolerance : float
        Allowed absolute deviation from one.

    Returns
    -------
    Report
        The norm of every student at every time.

    Examples
    --------
    >>> problem = sv.problems.convention("arnaboldi2023").problem(p=1, gamma=0.1, d=1000, sphere=True)
    >>> start = sv.start(problem, student_overlap=[[1.0]], cross_overlap=[[0.1]])
    >>> sv.checks.norms_on_sphere(sv.run(problem, start, sv.Macro(), until=5)).passed
    True
    """
    replace(EVERYTHING, norm="sphere").require(trajectory.problem, "norms_on_sphere")
    norms = np.diagonal(trajectory.student_overlap, axis1=2, axis2=3)
    norms = norms[np.isfinite(trajectory.risk)]
    return Report(
        "norms on the sphere",
        {"norm": norms},
        {"norm": np.ones_like(norms)},
        {"norm": np.full_like(norms, tolerance)},
        1.0,
    )


def layer_balance(trajectory: Trajectory, *, tolerance: float = 1e-6) -> Report:
    """Check that the balance between the two layers is conserved at small rates.

    With both layers trained, free norms, no weight decay and units with z g'(z) = k g(z), every student keeps Q_kk - k
    (learning rate / readout rate) a_k^2. (For quadratic units in arnaboldi2023's normalisation the factor is 2.)

    Parameters
    ----------
    trajectory : Trajectory
        A run of `Macro(small_rate=True)`.
    tolerance : float
        Allowed absolute change of the balance.

    Returns
    -------
    Report
        The balance of every student at every time, against that at the first.

    Examples
    --------
    >>> problem = sv.Problem(
    ...     teacher=sv.Teacher(width=1), student=sv.Student(width=2),
    ...     training=sv.Training(learning_rate=0.1, train_readout=True),
    ... )
    >>> start = sv.start(problem, student_overlap=np.eye(2), cross_overlap=[[0.2], [0.1]])
    >>> run = sv.run(problem, start, sv.Macro(small_rate=True), until=20)
    >>> sv.checks.layer_balance(run).passed
    True
    """
    training, student = trajectory.problem.training, trajectory.problem.student
    if not trajectory.settings.get("small_rate"):
        raise ValueError("layer_balance: conserved at small rates only; run with Macro(small_rate=True)")
    BALANCED.require(trajectory.problem, "layer_balance")
    if student.activation not in DEGREES or not training.train_readout:
        raise ValueError("layer_balance: needs linear or quadratic units and a trained readout")
    ratios = np.array(training.schedule.rates) / np.array(training.readout_schedule.rates)
    if training.schedule.times != training.readout_schedule.times or np.ptp(ratios) > 1e-12 * ratios[0]:
        raise ValueError("layer_balance: needs rates of the two layers in a constant ratio")
    norms = np.diagonal(trajectory.student_overlap, axis1=2, axis2=3)
    balance = norms - DEGREES[str(student.activation)] * ratios[0] * trajectory.readout**2
    start = np.broadcast_to(balance[:, :1], balance.shape)[np.isfinite(trajectory.risk)]
    balance = balance[np.isfinite(trajectory.risk)]
    return Report(
        "balance of the layers",
        {"balance": balance}, {"balance": start}, {"balance": np.full_like(balance, tolerance)}, 1.0,
    )  # fmt: skip

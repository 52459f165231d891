"""Quantities that the equations conserve, along a trajectory."""

import numpy as np

from solvable.checks.report import Report
from solvable.results import Trajectory

DEGREES = {"linear": 1, "quadratic": 2}


def norms_on_sphere(trajectory: Trajectory, *, tolerance: float = 1e-10) -> Report:
    """On the sphere every student keeps overlap one with itself."""
    if trajectory.problem.student.norm != "sphere":
        raise ValueError("norms_on_sphere: student.norm is 'free', so norms may change")
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
    """Small rates, free norms, both layers trained, no decay: with units homogeneous of degree k, z g'(z) = k g(z), the
    balance Q_kk - k (rate / readout rate) a_k^2 of every student is conserved (quadratic: 2 instead of k in
    arnaboldi2023's units, for any widths)."""
    training, student = trajectory.problem.training, trajectory.problem.student
    if not trajectory.settings.get("small_rate"):
        raise ValueError("layer_balance: conserved at small rates only; run with Macro(small_rate=True)")
    if (
        student.activation not in DEGREES
        or student.norm != "free"
        or not training.train_readout
        or training.weight_decay
    ):
        raise ValueError(
            "layer_balance: needs linear or quadratic units, free norms, a trained readout and no weight decay"
        )
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

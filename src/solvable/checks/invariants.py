"""Quantities that the equations conserve, along a trajectory."""

from dataclasses import replace

import numpy as np

from solvable.checks.report import Report
from solvable.problems import EVERYTHING, ONE_PASS
from solvable.results import Trajectory

BALANCED = replace(ONE_PASS, norm="free", decay=False)
DEGREES = {"linear": 1, "quadratic": 2}


def norms_on_sphere(trajectory: Trajectory, *, tolerance: float = 1e-10) -> Report:
    """On the sphere every student keeps overlap one with itself."""
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
    """Small rates, free norms, both layers trained, no decay: with units homogeneous of degree k, z g'(z) = k g(z), the
    balance Q_kk - k (rate / readout rate) a_k^2 of every student is conserved (quadratic: 2 instead of k in
    arnaboldi2023's units, for any widths)."""
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

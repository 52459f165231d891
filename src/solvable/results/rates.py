"""The learning rate along a run, also where it follows the state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from solvable.problems.rate_rules import AdaGrad
from solvable.results.quantities import CURVE, observable

if TYPE_CHECKING:
    from solvable.results.trajectory import Trajectory


@observable("run time", "learning rate", CURVE, from_states=True)
def rate(trajectory: Trajectory) -> np.ndarray:
    """(run, time) the learning rate, also where it follows the state (`training.rate_rule`); of momentum beta the bare one. For
    several blocks of inputs all rules but AdaGrad need keep_blocks=True."""
    t, rule = trajectory, trajectory.problem.training.rate_rule
    base = np.where(np.isfinite(t.risk), t.problem.training.schedule(t.alpha), np.nan)
    if "learning_rate" in t.labels:
        base = base / t.problem.training.schedule(0.0) * t.labels["learning_rate"][:, None]
    if rule is None:
        return base
    if isinstance(rule, AdaGrad):
        assert t.scalars is not None
        return base / np.sqrt(rule.offset**2 + t.scalars[:, :, -1])
    if t.blocks is None and t.problem.inputs.blocks > 1:
        raise ValueError("rate: the overlaps of the single blocks were not kept; run with keep_blocks=True")
    from solvable.dynamics.paces import paces

    for run, reached in enumerate(np.isfinite(t.risk)):
        states = [t.at(float(time), run) for time in t.time[reached]]
        if states:
            base[run, reached] *= paces(t.problem, states, t.alpha[reached])
    return base

"""Why a run broke off: which term of the equations of motion drove it, from the moments of its last state."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from solvable.dynamics.gaussian_moments import moments
from solvable.gaussian.losses import pushes
from solvable.problems.domain import NotApplicable
from solvable.problems.reuse import batch_size
from solvable.results.ending import Ending
from solvable.results.traits import traits_of

if TYPE_CHECKING:
    from solvable.problems import Problem
    from solvable.results.trajectory import Trajectory

FAR, GROWTH = 50.0, 2.5  # a field far out, and how much more at twice that is more than linear
STEEP = 5.0  # how many times as large as the rest a term is where it is named


class Speeds(NamedTuple):
    """How fast single terms of the equations move the overlaps: relative rates per unit of alpha.

    `drift` of all blocks; `noise` of order rate^2, with the share of it that label noise makes (on the sphere the
    projection takes as much off again); weight `decay`.
    """

    drift: float
    noise: float
    label_share: float
    decay: float


def explain(trajectory: Trajectory, run: int) -> str:
    """How a run ended and what to change, with the cause where the last state shows one."""
    ending = Ending(trajectory.endings[run])
    if ending == Ending.DIVERGED:
        return _divergence(trajectory, run)
    if ending == Ending.DISAGREED and outgrows(trajectory.problem):
        return (
            "replicas disagree: forces on the students grow faster than their fields, so that a rare sample runs away, in large "
            "data sets as well: lower the step or until, or use Empirical at the dim that is meant (more particles meet it sooner)"
        )
    if ending == Ending.STEP_LIMIT and traits_of(trajectory).adapts_steps:
        return _crawl(trajectory, run)
    return ending.text


def outgrows(problem: Problem) -> bool:
    """Whether the push on a single student grows faster than its field, as for quadratic units and the squared loss: then no step
    is small enough for every sample."""
    unit, fields = problem.student.unit, FAR * np.array([1.0, 2.0, -1.0, -2.0])
    push = pushes(problem.training.loss_function, np.ones(4), unit.function(fields))
    one, two, below, further = np.abs(unit.derivative(fields) * push)
    return bool(two > GROWTH * one or further > GROWTH * below)


UNIT_RATES = {"learning_rate": 1.0, "readout_rate": None}  # moments do not depend on them


def speeds(trajectory: Trajectory, run: int) -> Speeds | None:
    """Return the speeds in the last state of a run; None where that is not finite, or has no such moments."""
    problem = trajectory.problem.at(float(trajectory.end_alpha[run]))
    training = problem.training
    Q, R, T = (
        trajectory.end_blocks.student[run],
        trajectory.end_blocks.cross[run],
        trajectory.block_teacher_overlap[run],
    )
    lam, readout = problem.inputs.eigenvalues, trajectory.end_readout[run]
    if not (np.isfinite(Q).all() and np.isfinite(R).all() and np.isfinite(readout).all()):
        return None
    C = np.tensordot(lam, np.block([[Q, R], [R.swapaxes(-1, -2), T]]), axes=1)
    norms = np.trace(Q.sum(axis=0))
    with np.errstate(all="ignore"):
        try:
            here, clean = (
                moments(C, one, readout)
                for one in (problem, problem.replace(training=training.replace(label_noise=0.0, **UNIT_RATES)))
            )
        except (np.linalg.LinAlgError, NotApplicable):  # moments that overflow; classes, tasks and masks
            return None
        if not (np.isfinite(here.drift).all() and np.isfinite(here.noise).all()):
            return None
        rate, spread = np.float64(_rate(trajectory, run)), float(problem.inputs.fractions @ lam)
        noise, without = (
            rate**2 * spread * float(np.trace(one.noise)) / batch_size(problem) / norms for one in (here, clean)
        )
        p = problem.student.width
        drift = 2 * rate * float(lam.max()) * float(np.abs(np.linalg.eigvals(here.drift[:, :p])).max(initial=0.0))
        share = 1 - without / noise if noise > 0 else 0.0
        found = Speeds(drift, noise, share, 2 * rate * training.weight_decay)
    return found if np.isfinite(found).all() else None


def _rate(trajectory: Trajectory, run: int) -> float:
    """The learning rate of this run when it ended."""
    if "learning_rate" in trajectory.labels:
        return float(trajectory.labels["learning_rate"][run])
    return float(trajectory.problem.training.schedule(trajectory.end_alpha[run]))


def _divergence(trajectory: Trajectory, run: int) -> str:
    training, dim = trajectory.problem.training.at(float(trajectory.end_alpha[run])), trajectory.problem.inputs.dim
    traits = traits_of(trajectory)
    if trajectory.base == "steps":
        may_lack_particles = traits.has_replicas and not outgrows(trajectory.problem)
        more = "; if Empirical does not diverge there, raise particles" if may_lack_particles else ""
        return f"the weights diverged: lower the step (or learning_rate){more}"
    if traits.flows:
        return "the weights diverged, which a gradient flow does not do: lower rtol"
    taken = _rate(trajectory, run) * training.weight_decay / (dim or np.inf)
    if traits.takes_samples and taken > 2:
        return (
            f"the overlaps diverged: weight decay takes {taken:.3g} times the weights off at each step (learning_rate x "
            f"weight_decay / dim); it must be below 2"
        )
    first = trajectory.start_risk[run] / training.loss_factor
    if training.label_noise > STEEP * first:
        return (
            f"the overlaps diverged: label noise of variance {training.label_noise:.3g}, against a first mean squared error of "
            f"{first:.3g}, is too large for this learning rate: lower either (or raise the batch)"
        )
    return Ending.DIVERGED.text


def _crawl(trajectory: Trajectory, run: int) -> str:
    """Steps cannot be longer than the fastest term allows, however little happens."""
    found = speeds(trajectory, run)
    if found is None:
        return Ending.STEP_LIMIT.text
    if found.decay > STEEP * found.drift:
        return (
            f"used up max_steps: weight decay moves the overlaps at {found.decay:.3g} per unit of alpha, the gradient at "
            f"{found.drift:.3g}: lower weight_decay, raise max_steps, or ask for less time"
        )
    noisy = not trajectory.settings.get("small_rate", False)
    if noisy and trajectory.problem.student.norm == "sphere" and found.noise > found.drift:
        cause, remedy = "the learning rate is above its stable limit", "lower the learning rate (or raise the batch)"
        if found.label_share > 0.5:
            cause, remedy = "label noise is beyond what this learning rate bears", "lower either (or raise the batch)"
        return (
            f"used up max_steps: {cause}: noise shrinks the overlaps at {found.noise:.3g} per unit of alpha, the drift moves "
            f"them at {found.drift:.3g}: {remedy}"
        )
    return Ending.STEP_LIMIT.text

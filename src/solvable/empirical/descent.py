"""Training in steps on a finite data set, as `Empirical` asks for it: what is refused, which form is taken, and all runs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from solvable.empirical.forms import asked, choose
from solvable.empirical.selecting import CHOSEN, selection_of, share
from solvable.empirical.steps import Walk
from solvable.empirical.worlds import GivenSamples, coordinates
from solvable.levels import Lane, Plan
from solvable.levels.effective import as_asked, effective_lanes
from solvable.levels.records import Records
from solvable.levels.seeds import lane_seed
from solvable.numerics.memory import FLOAT, check_memory
from solvable.numerics.random import Purpose, child
from solvable.numerics.threads import cores
from solvable.problems import EVERYTHING, Problem, Schedule
from solvable.problems.reuse import batch_size, warn_of_small_steps
from solvable.results import Trajectory

if TYPE_CHECKING:
    from solvable.empirical.level import Empirical

DESCENT = replace(
    EVERYTHING,
    knows=(
        *EVERYTHING.knows, "mixture", "training.label_flips", "training.momentum", "training.repeats", "training.train_bias",
        "student.bias", "teacher.bias",
    ),
)  # fmt: skip
TESTS = 4096  # rows beyond the samples on which the risk is measured, at most


def check(level: Empirical, lanes: list[Lane]) -> None:
    """Raise an error for what training in steps cannot do."""
    problem = trained(level, lanes[0].problem)
    if problem.inputs.dim is None:
        raise ValueError("inputs.dim: infinite, but a data set has rows of finite length; give it")
    if level.method != "auto":
        raise ValueError(f"method: {level.method!r} given, but methods are for the flow; must be 'auto'")
    if problem.inputs.is_scheduled:
        raise ValueError("inputs.spectrum.eigenvalues: a schedule is given, but a data set is drawn once")
    if isinstance(problem.training.label_noise, Schedule):
        raise ValueError("training.label_noise: a schedule is given, but labels are drawn once")
    if problem.training.is_slow:
        raise ValueError("training.momentum: kappa is for many steps of 1/dim, a data set is seen in few; give beta")
    if isinstance(problem.training.gain, Schedule):
        raise ValueError("training.momentum: beta has a schedule, but Empirical keeps it constant; give a number")
    warn_of_small_steps([trained(level, lane.problem) for lane in lanes])
    _check_classes(level, problem)
    _check_form(level, problem)
    for lane in lanes:
        coordinates(lane, 0)  # refuses overlaps that no weights have


def _check_classes(level: Empirical, problem: Problem) -> None:
    mixture = problem.mixture
    if mixture is None:
        return
    if level.data is not None or level.form == "gram":
        raise ValueError("mixture: classes are for samples that are drawn or revealed, not for data or form 'gram'")
    if any(isinstance(one, Schedule) for one in mixture.probabilities):
        raise ValueError("mixture.probabilities: a schedule is given, but a data set is drawn once")
    factors = mixture.variance_factors(problem.inputs.blocks)
    if (factors != factors[:, :1]).any():
        raise ValueError("mixture.variances: differ between blocks, must be one number for each class here")


def _check_form(level: Empirical, problem: Problem) -> None:
    selection = selection_of(problem)
    if level.data is not None and level.form == "revealed":
        raise ValueError("form: 'revealed' given, but the data need not be Gaussian; must be 'full', 'gram' or 'auto'")
    if level.form == "gram" and (problem.inputs.blocks > 1 or selection in ("partition", "repeated")):
        name, given = "training.selection", f"{selection!r} given"
        if problem.inputs.blocks > 1:
            name, given = "inputs.spectrum", f"{problem.inputs.blocks} eigenvalues"
        raise ValueError(
            f"{name}: {given}, but form 'gram' is for isotropic inputs and the selections 'all', 'subsets', 'drawn', 'shuffled' "
            f"and 'persistent'; use 'full'"
        )


def trained(level: Empirical, problem: Problem) -> Problem:
    """The problem with its number of samples, where the data alone tell it."""
    if level.data is None or problem.training.samples is not None:
        return problem
    if problem.training.repeats > 1 or problem.training.selection == "repeated":
        raise ValueError("training.repeats: is for fresh batches, but data are given, which are a data set")
    return problem.replace(training__samples=level.samples(problem))


def may_repeat(level: Empirical, problem: Problem) -> bool:
    """Whether runs on the same rows from the same weights differ."""
    return selection_of(trained(level, problem)) in CHOSEN


def form_of(level: Empirical, problem: Problem, steps: int, outputs: int, runs: int) -> str:
    """The form that the runs take, `runs` of them at once; ValueError where memory does not hold it."""
    samples, dim = level.samples(problem), problem.inputs.dim
    assert dim is not None
    if level.form in ("auto", "revealed") and level.data is None:
        return choose(problem, steps, outputs, runs, drawn=level.form == "auto").name
    gram = level.form == "gram"
    if level.form == "auto":
        gram = problem.inputs.blocks == 1 and samples is not None and samples < 2 * dim
        gram = gram and selection_of(problem) != "partition" and share(problem) == 1
    count = batch_size(problem) if samples is None else samples
    needed = FLOAT * (count * dim * (2 if gram else 1) + (2 * count**2 if gram else 0))
    check_memory("training.samples", f"{count} samples of {dim} numbers in {runs} thread(s)", runs * needed)
    return "gram" if gram else "rows" if level.data is not None else "dense"


def prepare(
    level: Empirical, lanes: list[Lane], plan: Plan, form: str | None = None, walk: type[Walk] = Walk
) -> tuple[Records, np.ndarray, list[Walk], str]:
    """What is kept of the runs, their training loss (run, time), the runs, and the form that they take: `form`, or the best."""
    problem, observed = lanes[0].problem, effective_lanes(lanes)
    dim = float(problem.inputs.dim or 1)
    stop = plan.stop if plan.stop is not None and plan.stop.quantity == "training_loss" else None
    records = Records(
        observed, replace(plan, times=plan.times / dim, stop=None if stop is not None else plan.stop), level.runs
    )
    losses = np.full((len(lanes) * level.runs, records.steps.size), np.nan)
    steps = max(int(records.steps[-1]), 1)
    outputs = records.steps.size if stop is None else steps + 1  # the training loss is looked at in every step
    learned = trained(level, problem)
    at_once = min(len(losses), level.threads or cores())
    form = form or form_of(level, learned, steps, outputs, at_once)
    given = _given(level, problem)
    walks = []
    for i, (asker, lane) in enumerate(zip(lanes, observed, strict=True)):
        root = lane_seed(level.seed, Purpose.DESCENT, asker)
        for run in range(level.runs):
            walks.append(
                walk(lane, trained(level, asker.problem), i * level.runs + run, child(root, run), records, losses, form,
                     asked(learned, steps, outputs), given, stop)
            )  # fmt: skip
    return records, losses, walks, form


def trajectory(
    level: Empirical, lanes: list[Lane], records: Records, losses: np.ndarray, form: str, plan: Plan
) -> Trajectory:
    """All runs, in steps; velocities are not kept in states, so that a run from one of them begins without."""
    records.evaluations = records.end_steps * batch_size(trained(level, records.problem))
    made = records.trajectory(level.name, level.settings() | {"matrix": form})
    made = made if made.problem is lanes[0].problem else as_asked(made, lanes)
    return replace(
        made, alpha=records.steps.astype(float), end_alpha=records.end_steps.astype(float), training_loss=losses, base="steps",
        unit="steps", stop=plan.stop,
    )  # fmt: skip


def _given(level: Empirical, problem: Problem) -> GivenSamples | None:
    """Rows of data, in the eigenbasis of the inputs."""
    if level.data is None:
        return None
    data, count = level.data, level.samples(problem) or 0
    assert data.rows is not None
    rows, tests = (data.prepared(part) for part in (data.rows[:count], data.rows[count : count + TESTS]))
    if problem.inputs.blocks > 1:
        rows, tests = rows @ data.basis, tests @ data.basis
    if level.labels is None:
        return GivenSamples(rows, None, tests, None)
    labels = np.array(level.labels)
    return GivenSamples(rows, labels[:count], tests, labels[count : count + TESTS])

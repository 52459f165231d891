"""Finite-size SGD with momentum, averages and snapshots has the law of full weights.

The reduced process against `reference/case_sgd.py`, which shares nothing with it: all overlaps of all rows in every block, all
readouts and their velocities at two times, at dim 40. As in `test_case_law.py`, and with the same controls.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

import solvable as sv
from comparing import chances, joint_chance, scores
from gate import first, only
from reference.case_sgd import Setting, simulate
from reference.rules import RULES
from seeds import seed

RUNS, MANY = 800, 12_000
K, RARE = 5.5, 1e-6
DIM, TIMES = 40, (0.75, 2.0)
SIZES, EIGENVALUES = np.array([20, 20]), np.array([1.5, 0.5])


class Case(NamedTuple):
    """The same as a problem, as arrays, and what is changed in the problem for a control."""

    problem: sv.Problem
    setting: Setting
    without: dict


@cache
def vectors():
    """Students that know something of the teachers, and teachers."""
    random = np.random.default_rng(seed(1))
    teachers = random.standard_normal((2, DIM))
    return 0.6 * random.standard_normal((2, DIM)) + 0.4 * teachers, teachers


def case(without, *, students=None, teacher=None, training=None, **setting):
    """`setting` in the words of the reference; the same must be said in the words of a problem."""
    W, V = vectors()
    problem = sv.Problem(
        student=sv.Student(**{"width": 2, "activation": "erf", "readout": (0.7, 0.7)} | (students or {})),
        teacher=sv.Teacher(**{"width": 2, "activation": "erf", "overlap": "sampled", "readout": (0.6, -0.4)} | (teacher or {})),
        inputs=sv.Inputs(dim=DIM, spectrum=sv.Spectrum(eigenvalues=tuple(EIGENVALUES), weights=(1, 1))),
        training=sv.Training(**{"learning_rate": 0.8, "loss_factor": 0.5} | training),
    )  # fmt: skip
    known = {
        "student": W, "teacher": V, "readout": np.full((1, 2), 0.7), "teacher_readout": np.array([[0.6, -0.4]]), "rate": 0.8,
        "sizes": SIZES, "variances": EIGENVALUES[None], "roles": tuple(dict.fromkeys(problem.extras)),
    }  # fmt: skip
    return Case(problem, Setting(**known | setting), without)


@cache
def cases():
    on_sphere = vectors()[0] * np.sqrt(DIM) / np.linalg.norm(vectors()[0], axis=1, keepdims=True)
    slow, fast = sv.Momentum(kappa=3.0), sv.Momentum(beta=0.8)
    return {
        "slow, decay": case(
            {"training__momentum": sv.Momentum(kappa=4.0)},
            training={"momentum": slow, "weight_decay": 0.5, "label_noise": 0.1}, kappa=3.0, decay=0.5, label_noise=0.1,
        ),
        "slow, sphere": case(
            {"training__momentum": sv.Momentum(kappa=4.0)},
            students={"norm": "sphere"}, training={"momentum": slow}, student=on_sphere, sphere=True, kappa=3.0,
        ),
        "slow, readout, batch": case(
            {"training__batch": 1},
            training={"momentum": slow, "train_readout": True, "readout_rate": 0.5, "batch": 3},
            kappa=3.0, readout_rate=0.5, batch=3,
        ),
        "slow, drift": case(
            {"teacher__drift": 0.2}, teacher={"drift": 0.6}, training={"momentum": slow},
            kappa=3.0, drift=0.6, drift_covariance=np.eye(2),
        ),
        "fast, decay": case(
            {"training__momentum": sv.Momentum(beta=0.75)},
            training={"momentum": fast, "weight_decay": 0.5, "learning_rate": 0.2}, beta=0.8, decay=0.5, rate=0.2,
        ),
        "fast in steps, decay": case(
            {"training__momentum": 0.8},
            training={"momentum": sv.Schedule(times=(0, 1), values=(0.8, 0.2)), "weight_decay": 0.5, "learning_rate": 0.3},
            beta=lambda alpha: 0.8 if alpha < 1 else 0.2, decay=0.5, rate=0.3,
        ),
        "slow in lines": case(
            {"training__momentum": sv.Momentum(kappa=3.0)},
            training={"momentum": sv.Momentum(kappa=sv.Schedule(times=(0, 2), values=(1, 5), shape="linear")), "weight_decay": 0.5},
            kappa=lambda alpha: 1 + 2 * alpha, decay=0.5,
        ),
        "fast, Nesterov, readout": case(
            {"training__momentum": fast},
            training={
                "momentum": sv.Momentum(beta=0.8, nesterov=True), "learning_rate": 0.4, "train_readout": True, "readout_rate": 0.1,
            },
            beta=0.8, nesterov=True, rate=0.4, readout_rate=0.1,
        ),
        "fast, batch, sphere": case(
            {"training__batch": 1},
            students={"norm": "sphere"}, training={"momentum": fast, "learning_rate": 0.2, "batch": 2},
            student=on_sphere, sphere=True, beta=0.8, rate=0.2, batch=2,
        ),
        "exponential average": case(
            {"training__average": sv.problems.Average(rate=1.5)},
            training={"average": sv.problems.Average(rate=2.0)}, average_rate=2.0,
        ),
        "plain average, momentum": case(
            {"training__average": sv.problems.Average(begin=0.25)},
            training={"average": sv.problems.Average(begin=0.5), "momentum": slow}, average_begin=0.5, kappa=3.0,
        ),
        "snapshot, anchor": case(
            {"training__snapshot": 0.5}, training={"snapshot": 1.0, "anchor": 1.5}, snapshot=1.0, anchor=1.5
        ),
        "all, batch": case(
            {"training__anchor": 0.75},
            training={
                "snapshot": 1.0, "anchor": 1.5, "momentum": slow, "average": sv.problems.Average(begin=0.5), "batch": 2,
            },
            snapshot=1.0, anchor=1.5, average_begin=0.5, kappa=3.0, batch=2,
        ),
        "AdaGrad, decay": case(
            {"training__rate_rule": sv.problems.AdaGrad(offset=0.5)},
            training={"rate_rule": sv.problems.AdaGrad(offset=0.4), "weight_decay": 0.5, "label_noise": 0.2},
            adagrad=0.4, decay=0.5, label_noise=0.2,
        ),
        "AdaGrad, batch, momentum": case(
            {"training__batch": 1}, training={"rate_rule": sv.problems.AdaGrad(offset=0.4), "batch": 3, "momentum": slow},
            adagrad=0.4, batch=3, kappa=3.0,
        ),
        "clipped batches": case(
            {"training__rate_rule": sv.problems.ClipBatches(norm=0.3)},
            training={"rate_rule": sv.problems.ClipBatches(norm=0.2), "batch": 4}, clip=0.2, batch=4,
        ),
        "clipped samples": case(
            {"training__rate_rule": sv.problems.ClipBatches(norm=0.3)},
            training={"rate_rule": sv.problems.ClipBatches(norm=0.2)}, clip=0.2,
        ),
        "AdaGrad, rule, look-ahead, batch": case(
            {"training__rule": None},
            training={
                "rate_rule": sv.problems.AdaGrad(offset=0.4), "rule": {"norm": 0.4}, "lookahead": 0.5, "batch": 3,
                "learning_rate": 1.2,
            },
            adagrad=0.4, rule=RULES["clipped"].setting["rule"], lookahead=0.5, batch=3, rate=1.2,
        ),
        "clipped, rule": case(
            {"training__rate_rule": sv.problems.ClipBatches(norm=0.6)},
            training={"rate_rule": sv.problems.ClipBatches(norm=0.3), "rule": {"norm": 0.4}}, clip=0.3,
            rule=RULES["clipped"].setting["rule"],
        ),
    }  # fmt: skip


NAMES = (
    "slow, decay", "slow, sphere", "slow, readout, batch", "slow, drift", "fast, decay", "fast in steps, decay", "slow in lines",
    "fast, Nesterov, readout",
    "fast, batch, sphere", "exponential average", "plain average, momentum", "snapshot, anchor", "all, batch", "AdaGrad, decay",
    "AdaGrad, batch, momentum", "clipped batches", "clipped samples",
    "AdaGrad, rule, look-ahead, batch", "clipped, rule",
)  # fmt: skip
QUICK = (
    "slow, readout, batch",
    "fast, Nesterov, readout",
    "exponential average",
    "AdaGrad, batch, momentum",
    "clipped samples",
)


@pytest.mark.statistical
@pytest.mark.parametrize("name", only(NAMES, *QUICK))
def test_the_reduced_process_has_the_law_of_full_weights(name):
    assert agree(name, micro(name, RUNS), RUNS)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("name", NAMES)
def test_the_law_over_thousands_of_runs(name):
    assert agree(name, micro(name, MANY), MANY)


@pytest.mark.statistical
@pytest.mark.parametrize("name", only(NAMES, *QUICK))
def test_what_is_changed_is_missed(name):
    one = cases()[name]
    assert not agree(name, micro(name, RUNS, one.problem.replace(**one.without)), RUNS)


@pytest.mark.statistical
@pytest.mark.parametrize("name", first(["fast, Nesterov, readout", "all, batch"]))
def test_full_weights_have_the_same_law(name):
    assert agree(name, micro(name, 200, form="full"), RUNS)


def agree(name, found, runs):
    full = simulated(name, runs)
    assert full.shape[1:] == found.shape[1:]
    still = full.std(axis=0) < 1e-9
    if not np.allclose(full[0, still], found[0, still], atol=1e-9):
        return False
    means, variances = scores(full, found)
    return (
        np.abs(means).max() < K
        and np.abs(variances).max() < K
        and chances(full, found).min() > RARE
        and joint_chance(full, found) > RARE
    )


@cache
def simulated(name, runs):
    one = cases()[name]
    record = simulate(one.setting, [round(time * DIM) for time in TIMES], runs, seed(2))
    roles = one.problem.scalars
    speeds = record.readout_velocity if "readout_velocity" in roles else record.readout_velocity[..., :0]
    sums = record.accumulated if "accumulated" in roles else record.accumulated[..., :0]
    return flat(record.overlaps, record.readout, speeds, sums)


def micro(name, runs, problem=None, form="reduced"):
    one = cases()[name]
    problem = one.problem if problem is None else problem
    weights = sv.overlaps.Weights(one.setting.student, vectors()[1])
    run = sv.run(problem, weights, sv.Micro(runs=runs, seed=seed(3), form=form), times=TIMES, keep_blocks=True)
    assert run.success
    teacher = run.blocks.teacher
    if teacher is None:
        teacher = np.broadcast_to(run.block_teacher_overlap[:, None], (*run.blocks.cross.shape[:3], 2, 2))
    units = np.concatenate([run.blocks.cross.swapaxes(-1, -2), teacher], axis=-1)
    units = np.concatenate([np.concatenate([run.blocks.student, run.blocks.cross], axis=-1), units], axis=-2)
    rows = units
    if problem.extras:
        rows = np.concatenate([units, run.blocks.extra[..., :4].swapaxes(-1, -2)], axis=-1)
        rows = np.concatenate([rows, run.blocks.extra], axis=-2)
    return flat(rows, run.readout, np.zeros((runs, 0)) if run.scalars is None else run.scalars)


def flat(rows, *others):
    """(run, entry) of all rows with all rows, each entry once, and the others."""
    first, second = np.triu_indices(rows.shape[-1])
    parts = [rows[..., first, second], *others]
    return np.concatenate([part.reshape(len(rows), -1) for part in parts], axis=1)

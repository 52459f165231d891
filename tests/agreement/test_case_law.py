"""Finite-size SGD of classes, tasks, masks, noise and moving teachers has the law of full weights.

The reduced process against `reference/case_sgd.py`, which shares nothing with it: every overlap of every block and every readout
at two times, at dim 40, where the finite size is a large part of everything. Means and variances within K standard errors for the
worst of all, whole distributions by Kolmogorov and Smirnov's test. The same test fails where a feature is left out.
"""

from functools import cache

import numpy as np
import pytest

import solvable as sv
from comparing import same_law
from described import Case, tuples, vectors
from gate import only
from reference.case_sgd import Setting, simulate
from seeds import seed

RUNS, MANY = 800, 12_000
K, RARE = 5.5, 1e-6
DIM, TIMES = 40, (0.75, 2.0)
SIZES, EIGENVALUES = np.array([20, 20]), np.array([1.5, 0.5])
FACTORS = np.array([[0.8, 0.5], [1.2, 1.0], [0.6, 1.5], [1.0, 1.0]])
APART = np.array([[0.2, 4.0], [3.0, 0.1], [0.2, 4.0], [3.0, 0.1]])  # classes with very different spectra
MEANS, LABELS, SHARES = np.array([[1.0, 0], [-1, 0], [0, 1], [0.3, -1]]), (1.0, 1.0, -1.0, -0.5), (0.4, 0.3, 0.2, 0.1)
LATER = (0.0, 0.0, 0.6, 0.4)
SPIKES = np.array([[9.0, 0], [0, 6], [3, 3], [0, 0]])
TASKS = np.array([[1.2, 0], [0.2, -0.8]])
HEADS = np.array([[0.7, 0.5], [0.3, 0.6]])
TURN = np.array([[0.6, -0.4]])


def mixed(factors=FACTORS, **more):
    return sv.Mixture(
        probabilities=SHARES, means=tuples(MEANS), vectors=tuples(vectors(DIM)[2]), variances=tuples(factors), labels=LABELS, **more
    )  # fmt: skip


def case(without, *, mixture=None, tasks=(), students=None, teacher=None, training=None, **setting):
    """`setting` in the words of the reference; the same must be said in the words of a problem."""
    W, V, D = vectors(DIM)
    rate, sizes = setting.pop("rate", 0.8), setting.get("sizes", SIZES)
    classes, taught = mixture is not None, teacher is not None
    problem = sv.Problem(
        student=sv.Student(**{"width": 2, "activation": "erf", "readout": (0.7, 0.7)} | (students or {})),
        teacher=sv.Teacher(**{"width": 2, "activation": "erf", "overlap": "sampled"} | teacher) if taught else sv.Teacher(width=0),
        inputs=sv.Inputs(dim=DIM, spectrum=sv.Spectrum(eigenvalues=tuple(EIGENVALUES), weights=tuple(sizes / 20))),
        training=sv.Training(learning_rate=rate, loss_factor=0.5, **(training or {})),
        mixture=mixture,
        tasks=tasks,
    )  # fmt: skip
    known = {
        "student": W,
        "readout": np.full((1, 2), 0.7),
        "rate": rate,
        "sizes": SIZES,
        "variances": EIGENVALUES[None],
    }
    if classes:
        known |= {
            "variances": np.array(mixture.variances) * EIGENVALUES, "directions": D, "means": MEANS,
            "labels": np.array(LABELS), "class_probability": lambda alpha: SHARES,
        }  # fmt: skip
    if taught:
        known |= {"teacher": V, "teacher_readout": TURN}
    return Case(problem, Setting(**known | setting), without)


@cache
def cases():
    teacher = {"readout": tuple(TURN[0])}
    trained = {"train_readout": True, "readout_rate": 0.5}
    on_sphere = vectors(DIM)[0] * np.sqrt(DIM) / np.linalg.norm(vectors(DIM)[0], axis=1, keepdims=True)
    tasks = sv.Task.sequence(TASKS, [1.0], replay=0.4)
    switched = {
        "readout": HEADS, "teacher_readout": TASKS, "heads": (0, 1), "readout_rate": 0.5,
        "task_probability": lambda alpha: (1.0, 0.0) if alpha < 1 else (0.4, 0.6),
    }  # fmt: skip
    drifting = {"drift": 0.6, "drift_covariance": np.eye(2)}
    moving_shares = tuple(
        sv.Schedule(times=(0, 2), rates=(one, other), shape="linear") for one, other in zip(SHARES, LATER, strict=True)
    )
    heads = {"students": {"readout": tuples(HEADS)}, "tasks": tasks}
    return {
        "mixture, readout": case(
            {"mixture__means": tuples(0.5 * MEANS)}, mixture=mixed(), training=trained, readout_rate=0.5
        ),
        "mixture, sphere": case(
            {"mixture__labels": (1.0, 1.0, -1.0, 0.5)},
            mixture=mixed(), students={"norm": "sphere"}, training={"label_noise": 0.1},
            student=on_sphere, sphere=True, label_noise=0.1,
        ),
        "mixture and teacher, decay": case(
            {"mixture__labels": None},
            mixture=mixed(), teacher=teacher, training={"weight_decay": 0.5}, decay=0.5,
        ),
        "spikes": case({"mixture__spikes": None}, mixture=mixed(spikes=tuples(SPIKES)), spikes=SPIKES),
        "input noise": case(
            {"training__input_noise": 0.0},
            teacher=teacher, training={"input_noise": (0.5, 2.0)}, input_noise=np.array([0.5, 2.0]),
        ),
        "drift": case({"teacher__drift": 0.3}, teacher=teacher | {"drift": 0.6}, **drifting),
        "drift, rotation, mixture, batch": case(
            {"teacher__rotation": 0.0},
            mixture=mixed(), teacher=teacher | {"drift": 0.6, "rotation": 1.0},
            training={"batch": 2, "input_noise": 0.4}, batch=2, rotation=1.0, input_noise=0.4, **drifting,
        ),
        "rotation": case({"teacher__rotation": -1.0}, teacher=teacher | {"rotation": 1.0}, rotation=1.0),
        "dropout": case(
            {"training__dropout": None},
            teacher=teacher, training=trained | {"dropout": {"keep": 0.6}}, keep=0.6, mask_scale=1 / 0.6, readout_rate=0.5,
        ),
        "flips": case(
            {"training__label_flips": 0.0}, teacher={"readout": (1.5, -1.0)}, training={"label_flips": 0.3},
            teacher_readout=np.array([[1.5, -1.0]]), flips=0.3,
        ),
        "tasks, heads, replay": case(
            {"tasks": sv.Task.sequence(TASKS, [1.0])}, teacher={}, training=trained, **heads, **switched
        ),
        "tasks, batch": case(
            {"training__batch": 1}, teacher={}, training=trained | {"batch": 3}, batch=3, **heads, **switched
        ),
        "small block, drift, spikes, linear shares": case(
            {"mixture__probabilities": SHARES},
            mixture=mixed(spikes=tuples(SPIKES)).replace(probabilities=moving_shares), sizes=np.array([4, 36]), spikes=SPIKES,
            class_probability=lambda alpha: np.array(SHARES) + alpha / 2 * (np.array(LATER) - SHARES),
            teacher=teacher | {"drift": 0.6}, training={"input_noise": 0.4}, input_noise=0.4, **drifting,
        ),
        "batch, different spectra": case(
            {"mixture__variances": tuples(np.tile(SHARES @ APART, (4, 1)))},
            mixture=mixed(APART), training={"batch": 4}, batch=4, rate=1.5,
        ),
        "anchor": case(
            {"training__anchor": 0.75}, teacher=teacher, training={"anchor": 1.5, "weight_decay": 0.2}, anchor=1.5, decay=0.2
        ),
    }  # fmt: skip


NAMES = (
    "mixture, readout", "mixture, sphere", "mixture and teacher, decay", "spikes", "input noise", "drift",
    "drift, rotation, mixture, batch", "rotation", "dropout", "flips", "tasks, heads, replay", "tasks, batch",
    "small block, drift, spikes, linear shares", "batch, different spectra", "anchor",
)  # fmt: skip
QUICK = ("mixture, readout", "drift, rotation, mixture, batch", "dropout", "tasks, heads, replay", "anchor")


@pytest.mark.statistical
@pytest.mark.parametrize("name", only(NAMES, *QUICK))
def test_the_reduced_process_has_the_law_of_full_weights(name):
    assert agree(name, reduced(name, RUNS), RUNS)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("name", NAMES)
def test_the_law_over_thousands_of_runs(name):
    assert agree(name, reduced(name, MANY), MANY)


@pytest.mark.statistical
@pytest.mark.parametrize("name", only(NAMES, *QUICK))
def test_a_feature_that_is_left_out_is_missed(name):
    one = cases()[name]
    assert not agree(name, reduced(name, RUNS, one.problem.replace(**one.without)), RUNS)


def agree(name, found, runs):
    full = simulated(name, runs)
    assert full.shape[1:] == found.shape[1:]
    still = full.std(axis=0) < 1e-9
    if not np.allclose(full[0, still], found[0, still], atol=1e-9):
        return False
    return same_law(full, found, K, RARE)


@cache
def simulated(name, runs):
    one = cases()[name]
    steps = [round(time * DIM) for time in TIMES]
    record = simulate(one.setting, steps, runs, seed(2))
    moving = 4 if one.problem.teacher.is_moving else 2
    return flat(record.overlaps[:, :, :, :moving], record.readout)


def reduced(name, runs, problem=None, form="reduced"):
    one = cases()[name]
    problem = one.problem if problem is None else problem
    run = sv.run(
        problem, weights_of(name), sv.Micro(runs=runs, seed=seed(3), form=form), times=TIMES, keep_blocks=True
    )  # fmt: skip
    assert run.success
    return flat(moving_rows(run, one.problem), run.readout)


def weights_of(name):
    one = cases()[name]
    _, V, D = vectors(DIM)
    return sv.overlaps.Weights(
        one.setting.student, V if one.problem.teacher.width else None, directions=D if one.problem.mixture else None
    )


def moving_rows(run, problem):
    """(run, time, block, moving, row) overlaps."""
    p, blocks = problem.student.width, run.blocks
    parts = [blocks.student, blocks.cross]
    if problem.extras:
        parts.append(blocks.extra[..., :p].swapaxes(-1, -2))
    rows = np.concatenate(parts, axis=-1)
    if not problem.teacher.is_moving:
        return rows
    n = p + problem.teacher.width
    teacher = [blocks.cross.swapaxes(-1, -2), blocks.teacher]
    if problem.extras:
        teacher.append(blocks.extra[..., p:n].swapaxes(-1, -2))
    return np.concatenate([rows, np.concatenate(teacher, axis=-1)], axis=-2)


def flat(rows, readout):
    """(run, entry) all that moves, each entry once."""
    moving, n = rows.shape[-2:]
    first, second = zip(*((i, j) for i in range(moving) for j in range(i, n)), strict=True)
    return np.concatenate([rows[..., first, second].reshape(len(rows), -1), readout.reshape(len(readout), -1)], axis=1)

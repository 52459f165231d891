"""The equations of classes, tasks, masks, noise and moving teachers are the limit of SGD with full weights.

Means over runs of `reference/case_sgd.py`, which knows nothing of the library, at dim 300: within 5 standard errors plus 3/dim,
which is what a finite size does to means. The same test fails where a feature is left out.
"""

from functools import cache

import numpy as np
import pytest

import solvable as sv
from described import Case, tuples, vectors
from gate import only
from reference.case_sgd import Setting, simulate
from seeds import seed

DIM, RUNS, TIMES = 300, 32, (0.8, 2.0)
EIGENVALUES = (1.5, 0.5)
FACTORS = ((0.8, 0.5), (1.2, 1.0), (0.6, 1.5))
MEANS, LABELS, SHARES = ((1.5, 0.0), (-1.5, 0.5), (0.3, 1.2)), (1.0, -1.0, 0.5), (0.5, 0.3, 0.2)
SPIKES = ((3.0, 0.0), (0.0, 2.0), (0.0, 0.0))
TASKS = ((1.2, 0.0), (0.2, -0.9))


def case(without, *, unit="erf", rate=0.8, classes=False, tasks=(), blocks=2, problem=None, training=None, **setting):
    """`setting` in the words of the reference, `problem` and `training` the same in those of the library."""
    W, V, D = vectors(DIM)
    activation = sv.problems.Hermite(coefficients=(0.0, 0.8, 0.4)) if unit == "hermite" else unit
    eigenvalues, factors = np.array(EIGENVALUES if blocks == 2 else (1.0,)), np.array(FACTORS)[:, :blocks]
    known = {
        "student": W, "teacher": V, "teacher_readout": np.array([[0.9, -0.5]]), "readout": np.array([[0.7, 0.4]]), "rate": rate,
        "sizes": np.full(blocks, DIM // blocks), "variances": eigenvalues[None], "unit": unit, "teacher_unit": unit,
    }  # fmt: skip
    mixture = None
    if classes:
        mixture = sv.Mixture(
            probabilities=SHARES, means=MEANS, vectors=tuples(D), variances=tuples(factors), labels=LABELS,
            spikes=tuples(setting["spikes"]) if "spikes" in setting else None,
        )  # fmt: skip
        known |= {
            "variances": factors * eigenvalues, "directions": D, "means": np.array(MEANS), "labels": np.array(LABELS),
            "class_probability": lambda alpha: SHARES,
        }  # fmt: skip
    described = sv.Problem(
        teacher=sv.Teacher(
            width=2, activation=activation, overlap="sampled", **({} if tasks else {"readout": (0.9, -0.5)})
        ),
        student=sv.Student(width=2, activation=activation, readout=(0.7, 0.4)),
        inputs=sv.Inputs(dim=DIM, spectrum=sv.Spectrum(eigenvalues=tuple(eigenvalues))),
        training=sv.Training(learning_rate=rate, loss_factor=0.5, **(training or {})),
        mixture=mixture,
        tasks=tasks,
    ).replace(**(problem or {}))
    return Case(described, Setting(**known | setting), without)


@cache
def cases():
    trained = {"train_readout": True, "readout_rate": 0.5}
    on_sphere = vectors(DIM)[0] * np.sqrt(DIM) / np.linalg.norm(vectors(DIM)[0], axis=1, keepdims=True)
    replayed = {
        "tasks": sv.Task.sequence(TASKS, [1.0], replay=0.4), "teacher_readout": np.array(TASKS), "heads": (0, 1),
        "readout": np.array([[0.7, 0.4], [0.3, 0.6]]), "problem": {"student__readout": ((0.7, 0.4), (0.3, 0.6))},
        "task_probability": lambda alpha: (1.0, 0.0) if alpha < 1 else (0.4, 0.6),
    }  # fmt: skip
    drift = {"drift": 0.6, "drift_covariance": np.eye(2), "problem": {"teacher__drift": 0.6}}
    return {
        "classes, erf": case(
            {"mixture__means": tuples(0.6 * np.array(MEANS))}, classes=True, training=trained, readout_rate=0.5
        ),
        "classes, erf, isotropic": case(
            {"mixture__labels": (-1.0, 1.0, 0.5)}, classes=True, blocks=1, training={"batch": 2}, batch=2
        ),
        "classes, quadratic": case(
            {"mixture__labels": LABELS}, unit="quadratic", rate=0.05, classes=True, training=trained, readout_rate=0.5,
            problem={"mixture__labels": (4.0, -4.0, 3.0)}, labels=np.array([4.0, -4.0, 3.0]),
        ),
        "classes, linear, sphere": case(
            {"mixture__labels": (-1.0, 1.0, 0.5)}, unit="linear", rate=0.3, classes=True, problem={"student__norm": "sphere"},
            student=on_sphere, sphere=True,
        ),
        "classes, relu": case({"mixture__means": tuples(0.6 * np.array(MEANS))}, unit="relu", rate=0.3, classes=True),
        "spikes": case({"mixture__spikes": None}, classes=True, spikes=np.array(SPIKES)),
        "tasks, heads, replay": case(
            {"tasks": sv.Task.sequence(TASKS, [1.0])}, training=trained, readout_rate=0.5, **replayed
        ),
        "dropout": case(
            {"training__dropout": None}, training=trained | {"dropout": {"keep": 0.6}}, keep=0.6, mask_scale=1 / 0.6,
            readout_rate=0.5,
        ),
        "input noise": case(
            {"training__input_noise": 0.0}, training={"input_noise": (0.5, 2.0)}, input_noise=np.array([0.5, 2.0])
        ),
        "flips": case({"training__label_flips": 0.0}, training={"label_flips": 0.3}, flips=0.3),
        "drift": case({"teacher__drift": 0.3}, **drift),
        "rotation": case({"teacher__rotation": -1.0}, rotation=1.0, problem={"teacher__rotation": 1.0}),
        "classes, product": case(
            {"teacher__target": "additive"}, classes=True, training={"label_flips": 0.2}, flips=0.2,
            target=lambda z: z.prod(axis=-1),
            problem={"teacher__target": "product", "teacher__readout": "mean"},
        ),
        "classes, log-cosh": case(
            {"training__loss": "squared"}, classes=True, training={"loss": "log-cosh", "label_noise": 0.5}, label_noise=0.5,
            push=lambda y, output: 2 * np.tanh(y - output), problem={"mixture__labels": (4.0, -4.0, 3.0)},
            labels=np.array([4.0, -4.0, 3.0]),
        ),
        "classes, hermite, changing eigenvalues": case(
            {"inputs__spectrum__eigenvalues": EIGENVALUES}, unit="hermite", rate=0.2, classes=True,
            problem={"inputs__spectrum__eigenvalues": (sv.Schedule(times=(0, 1), rates=(1.5, 0.3)), 0.5)},
            stretch=lambda alpha: np.array([1.0 if alpha < 1 else 0.2, 1.0]),
        ),
        "anchor": case({"training__anchor": 0.7}, training={"anchor": 1.5, "weight_decay": 0.2}, anchor=1.5, decay=0.2),
    }  # fmt: skip


NAMES = (
    "classes, erf", "classes, erf, isotropic", "classes, quadratic", "classes, linear, sphere", "classes, relu", "spikes",
    "classes, product", "classes, log-cosh", "classes, hermite, changing eigenvalues",
    "tasks, heads, replay", "dropout", "input noise", "flips", "drift", "rotation", "anchor",
)  # fmt: skip
QUICK = ("classes, erf", "classes, product", "tasks, heads, replay", "dropout", "drift", "anchor")


@cache
def simulated(name):
    """(run, entry) all overlaps in all blocks together, and readouts."""
    record = simulate(cases()[name].setting, [round(time * DIM) for time in TIMES], RUNS, seed(2))
    return np.concatenate([record.overlaps.sum(axis=2).reshape(RUNS, -1), record.readout.reshape(RUNS, -1)], axis=1)


def solved(name, problem):
    """The same from the equations."""
    one = cases()[name]
    _, V, D = vectors(DIM)
    start = sv.overlaps.Weights(one.setting.student, V, directions=D if problem.mixture else None)
    run = sv.run(problem, start, sv.Macro(), times=TIMES, keep_blocks=True)
    assert run.success
    states = np.stack([run.at(time).stacked.sum(axis=0) for time in TIMES])
    return np.concatenate([states.ravel(), run.readout.ravel()])


def agree(name, problem):
    full, limit = simulated(name), solved(name, problem)
    error = full.std(axis=0) / np.sqrt(RUNS)
    return bool((np.abs(full.mean(axis=0) - limit) <= 5 * error + 3 / DIM).all())


@pytest.mark.statistical
@pytest.mark.parametrize("name", only(NAMES, *QUICK))
def test_the_equations_are_the_limit_of_full_weights(name) -> None:
    assert agree(name, cases()[name].problem)


@pytest.mark.statistical
@pytest.mark.parametrize("name", only(NAMES, *QUICK))
def test_a_feature_that_is_left_out_is_missed(name) -> None:
    assert not agree(name, cases()[name].problem.replace(**cases()[name].without))

"""Twelve rules of learning, three units, isotropic inputs and two blocks: the equations and finite-size SGD are those of NumPy.

Means over runs of `reference/case_sgd.py`, which knows nothing of the library, at dim 300: those of the equations within 4 standard
errors, 3/dim and the error that Macro tells of itself; those of Micro, without such slack, within 5.5 for the worst of 28. The
first fails where the rule is left out. The gate has some of the 72, `make test` a few.
"""

from functools import cache
from itertools import product

import numpy as np
import pytest

import solvable as sv
from gate import first
from reference.case_sgd import Setting, simulate
from reference.rules import RULES, Spelled
from seeds import seed

DIM, RUNS, TIMES, K, WORST = 300, 48, (0.8, 2.0), 4, 5.5
RATES = {"linear": 0.5, "erf": 0.8, "quadratic": 0.12}
GATE = {
    ("correlation", "quadratic", 1), ("huber", "linear", 2), ("perceptron", "linear", 1), ("logistic", "erf", 2),
    ("clipped", "erf", 2), ("normalised", "quadratic", 1), ("repeats", "erf", 1), ("own", "erf", 2),
}  # fmt: skip
QUICK = {("huber", "linear", 2), ("logistic", "erf", 2), ("normalised", "quadratic", 1), ("repeats", "erf", 1)}
GENTLE = {  # squares of squares have tails that one sample can ride to infinity
    ("lookahead", "quadratic"): (
        Spelled({"lookahead": 0.3, "loss": "correlation"}, {"lookahead": 0.3, "push": lambda y, o: 2 * y + 0 * o}), 0.05,
    ),
    ("repeats", "quadratic"): (Spelled({"repeats": 2}, {"repeats": 2}), 0.06),
}  # fmt: skip
ALL = [
    pytest.param(*one, marks=marks, id=f"{one[0]}, {one[1]}, {one[2]} block(s)")
    for one in product(RULES, RATES, (1, 2))
    for marks in [() if one in QUICK else pytest.mark.full if one in GATE else pytest.mark.slow]
]


@cache
def vectors():
    random = np.random.default_rng(seed(1))
    teachers = random.standard_normal((2, DIM))
    return 0.6 * random.standard_normal((2, DIM)) + 0.4 * teachers, teachers


def spelled(name, unit):
    """The rule and its rate."""
    return GENTLE.get((name, unit), (RULES[name], RATES[unit]))


def problem_of(name, unit, blocks):
    rule, rate = spelled(name, unit)
    return sv.Problem(
        teacher=sv.Teacher(
            width=2,
            activation=unit,
            overlap="sampled",
            readout=(0.9, -0.5),
            target="sign" if rule.signs else "additive",
        ),
        student=sv.Student(width=2, activation=unit, readout=(0.7, 0.4)),
        inputs=sv.Inputs(dim=DIM, spectrum=sv.Spectrum(eigenvalues=(1.5, 0.5)[:blocks] if blocks == 2 else (1.0,))),
        training=sv.Training(learning_rate=rate, loss_factor=0.5, **rule.training),
    )


def plain(problem):
    """Without the rule, or with squared loss."""
    if problem.training.is_shaped:
        return problem.replace(training__rule=None, training__lookahead=0.0, training__repeats=1)
    return problem.replace(training__loss="squared")


@cache
def simulated(name, unit, blocks):
    """(run, entry) overlaps of students with students and teachers, in all blocks together."""
    (W, V), (rule, rate) = vectors(), spelled(name, unit)
    setting = Setting(
        student=W, teacher=V, teacher_readout=np.array([[0.9, -0.5]]), readout=np.array([[0.7, 0.4]]), rate=rate,
        sizes=np.full(blocks, DIM // blocks), variances=np.array([[1.5, 0.5][:blocks] if blocks == 2 else [1.0]]), unit=unit,
        teacher_unit=unit, signs=rule.signs, **rule.setting,
    )  # fmt: skip
    record = simulate(setting, [round(time * DIM) for time in TIMES], RUNS, seed(2))
    return record.overlaps.sum(axis=2)[:, :, :2].reshape(RUNS, -1)


def followed(problem, level):
    run = sv.run(problem, sv.overlaps.Weights(*vectors()), level, times=TIMES, progress=False)
    assert run.success
    rows = np.concatenate([run.student_overlap, run.cross_overlap], axis=-1).reshape(len(run.risk), -1)
    return rows, float(np.nan_to_num(run.overlap_error).max())


@pytest.mark.statistical
@pytest.mark.parametrize(("name", "unit", "blocks"), ALL)
def test_equations_and_sgd_are_those_of_full_weights(name, unit, blocks):
    problem, full = problem_of(name, unit, blocks), simulated(name, unit, blocks)
    (limit, error), (runs, _) = followed(problem, sv.Macro()), followed(problem, sv.Micro(runs=RUNS, seed=seed(3)))
    spread = full.std(axis=0, ddof=1) / np.sqrt(RUNS)
    assert (np.abs(full.mean(axis=0) - limit[0]) < K * spread + 3 / DIM + error).all()
    both = np.sqrt(spread**2 + runs.var(axis=0, ddof=1) / RUNS)
    assert (np.abs(full.mean(axis=0) - runs.mean(axis=0)) < WORST * both + 1e-12).all()
    other, _ = followed(plain(problem), sv.Macro())
    assert (np.abs(full.mean(axis=0) - other[0]) > K * spread + 3 / DIM + error).any()


MEANS, LABELS, SHARES = ((1.5, 0.0), (-1.5, 0.5), (0.3, 1.2)), (1.0, -1.0, 1.0), (0.5, 0.3, 0.2)
FACTORS = ((0.8, 0.5), (1.2, 1.0), (0.6, 1.5))


def classes(**changes):
    """Labels of three classes, learned by logistic loss, as a problem and as arrays."""
    W, D = vectors()
    width, training, setting = changes.pop("width", 2), changes.pop("training", {}), changes.pop("setting", {})
    unit, a = changes.pop("unit", "erf"), (0.9, 0.6)[:width]
    problem = sv.Problem(
        student=sv.Student(width=width, activation=unit, readout=a),
        inputs=sv.Inputs(dim=DIM, spectrum=sv.Spectrum(eigenvalues=(1.5, 0.5))),
        mixture=sv.Mixture(
            probabilities=SHARES, means=MEANS, vectors=tuple(map(tuple, D.tolist())), variances=FACTORS, labels=LABELS
        ),
        training=sv.Training(learning_rate=1.0, loss="logistic", **training),
    )
    known = Setting(
        student=W[:width], readout=np.array([a]), rate=1.0, sizes=np.array([DIM // 2, DIM // 2]), unit=unit, loss_factor=1.0,
        variances=np.array(FACTORS) * [1.5, 0.5], directions=D, means=np.array(MEANS), labels=np.array(LABELS),
        class_probability=lambda alpha: SHARES, push=RULES["logistic"].setting["push"], **setting,
    )  # fmt: skip
    return problem, known


@pytest.mark.statistical
@pytest.mark.parametrize(
    "changes",
    first(
        [
            {"width": 1},
            {"unit": "linear"},
            {
                "training": {"dropout": {"keep": 0.7}, "rule": {"norm": 0.4}, "label_flips": 0.1},
                "setting": {"keep": 0.7, "mask_scale": 1 / 0.7, "flips": 0.1, "rule": RULES["clipped"].setting["rule"]},
            },
            {"training": {"input_noise": 0.5, "repeats": 2}, "setting": {"input_noise": 0.5, "repeats": 2}},
        ]
    ),
    ids=["one student", "linear students", "dropout, clipped, flips", "input noise, repeats"],
)
def test_rules_and_classes_go_together(changes):
    """As above, on classes; the control is squared loss."""
    problem, setting = classes(**changes)
    p = problem.student.width
    record = simulate(setting, [round(time * DIM) for time in TIMES], RUNS, seed(2))
    full = record.overlaps.sum(axis=2)[:, :, :p].reshape(RUNS, -1)
    start = sv.overlaps.Weights(setting.student, None, directions=setting.directions)

    def states(problem, level):
        run = sv.run(problem, start, level, times=TIMES, keep_blocks=True, progress=False)
        rows = [[run.at(time, i).stacked.sum(axis=0)[:p].ravel() for time in TIMES] for i in range(len(run.risk))]
        return np.array(rows).reshape(len(rows), -1), float(np.nan_to_num(run.overlap_error).max())

    (limit, error), (runs, _) = states(problem, sv.Macro()), states(problem, sv.Micro(runs=RUNS, seed=seed(3)))
    spread = full.std(axis=0, ddof=1) / np.sqrt(RUNS)
    assert (np.abs(full.mean(axis=0) - limit[0]) < K * spread + 3 / DIM + error).all()
    both = np.sqrt(spread**2 + runs.var(axis=0, ddof=1) / RUNS)
    assert (np.abs(full.mean(axis=0) - runs.mean(axis=0)) < WORST * both + 1e-9).all()
    other, _ = states(problem.replace(training__loss="squared"), sv.Macro())
    assert (np.abs(full.mean(axis=0) - other[0]) > K * spread + 3 / DIM + error).any()

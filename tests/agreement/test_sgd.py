"""The deterministic limit against full-weight SGD at finite N: every unit, rule and kind of spectrum.

All runs of a case start from the same weights, so that they differ only by their inputs. In every overlap of every
block, in every total and in every readout

    |mean over the runs - Macro| <= K standard errors + BIAS / N

must hold. The second part allows for the finite size: means at N differ from the limit at order 1/N. Measured with
thousands of runs at N = 160 and N = 320, the largest N x difference of a case lies between 0.1 and 3 at both.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
import referee

import solvable as sv
from gate import first, only
from seeds import seed

K = 5.5
BIAS = 2.0
RUNS = 80

FOUR = sv.Spectrum(eigenvalues=(2.0, 1.2, 0.6, 0.2), weights=(1, 2, 3, 4))
FOUR_EQUAL = sv.Spectrum(eigenvalues=(0.7,) * 4, weights=(1, 2, 3, 4))
SIXTEEN = sv.PowerLaw(beta=0.3, distinct=16)
SIXTEEN_EQUAL = sv.Spectrum(eigenvalues=(1.0,) * 16)


class Case(NamedTuple):
    """A problem, when to look, and `matters`: changes of the description that the comparison must notice."""

    problem: sv.Problem
    times: tuple[float, ...]
    matters: dict[str, dict]


def case(unit, widths, readouts, training, matters, *, norm="free", dim=600, spectrum=None, times=(1.0, 2.0, 4.0)):
    """`widths` and `readouts` of student and teacher."""
    problem = sv.Problem(
        student=sv.Student(width=widths[0], activation=unit, readout=readouts[0], norm=norm),
        teacher=sv.Teacher(width=widths[1], activation=unit, readout=readouts[1], overlap="sampled"),
        inputs=sv.Inputs(dim=dim, spectrum=spectrum),
        training=sv.Training(**training),
    )
    return Case(problem, times, matters)


NO_NOISE = {"training__label_noise": 0.0}
NO_DECAY = {"training__weight_decay": 0.0}
OTHER_BATCH = {"training__batch": 2}
FREE = {"student__norm": "free"}
FIXED_READOUT = {"training__train_readout": False, "training__readout_rate": None}
RAMP = sv.Schedule(times=(0, 1, 3), rates=(0.2, 1.6, 0.1), shape="linear")
LINEAR_RAMP = sv.Schedule(times=(0, 1, 3), rates=(0.05, 0.3, 0.1), shape="linear")

CASES = {
    "quadratic": case(
        "quadratic", (3, 2), ("mean", "mean"), {"learning_rate": 0.2},
        {"loss factor": {"training__loss_factor": 0.5}},
    ),
    "quadratic, 4 blocks, noise, decay, half loss": case(
        "quadratic", (2, 1), ("sqrt", "unit"),
        {"learning_rate": 0.12, "label_noise": 2.0, "weight_decay": 0.5, "loss_factor": 0.5},
        {"noise": NO_NOISE, "decay": NO_DECAY, "spectrum": {"inputs__spectrum": FOUR_EQUAL}},
        spectrum=FOUR,
    ),
    "quadratic, 16 blocks, batch, array readouts": case(
        "quadratic", (3, 2), ((0.6, -0.3, 0.3), (0.8, -0.4)), {"learning_rate": 0.2, "batch": 4},
        {"batch": OTHER_BATCH, "readout": {"student__readout": "mean"}, "spectrum": {"inputs__spectrum": SIXTEEN_EQUAL}},
        spectrum=SIXTEEN, dim=400, times=(1.0, 3.0),
    ),
    "quadratic, sphere, noise, half loss": case(
        "quadratic", (3, 1), ("mean", "mean"), {"learning_rate": 0.4, "label_noise": 1.0, "loss_factor": 0.5},
        {"noise": NO_NOISE, "sphere": FREE},
        norm="sphere",
    ),
    "quadratic, sphere, 4 blocks, trained readout": case(
        "quadratic", (2, 2), ("mean", "unit"), {"learning_rate": 0.08, "train_readout": True, "readout_rate": 0.16},
        {"sphere": FREE, "readout": FIXED_READOUT, "readout rate": {"training__readout_rate": None}},
        norm="sphere", spectrum=FOUR,
    ),
    "quadratic, trained readout, steps": case(
        "quadratic", (2, 1), ("mean", "mean"),
        {"learning_rate": sv.Schedule(times=(0, 1.5, 3), rates=(0.12, 0.03, 0.15)), "train_readout": True},
        {"steps": {"training__learning_rate": 0.12}, "readout": FIXED_READOUT},
    ),
    "linear, noise, steps, half loss": case(
        "linear", (2, 3), ("sqrt", "sqrt"),
        {"learning_rate": sv.Schedule(times=(0, 1.5), rates=(0.6, 0.2)), "label_noise": 0.5, "loss_factor": 0.5},
        {"noise": NO_NOISE, "steps": {"training__learning_rate": 0.6}},
    ),
    "linear, 4 blocks, batch, decay, noise": case(
        "linear", (2, 1), ("unit", "unit"), {"learning_rate": 0.5, "batch": 4, "weight_decay": 0.2, "label_noise": 0.5},
        {"batch": OTHER_BATCH, "decay": NO_DECAY, "noise": NO_NOISE},
        spectrum=FOUR, dim=400, times=(1.0, 3.0),
    ),
    "linear, 16 blocks, trained readout, ramp": case(
        "linear", (3, 2), ((0.5, 1.0, -0.5), (1.0, -0.5)),
        {"learning_rate": LINEAR_RAMP, "train_readout": True, "readout_rate": 0.3},
        {
            "ramp": {"training__learning_rate": LINEAR_RAMP.replace(shape="steps")},
            "readout": FIXED_READOUT,
            "spectrum": {"inputs__spectrum": SIXTEEN_EQUAL},
        },
        spectrum=SIXTEEN, dim=640,
    ),
    "linear, sphere, 4 blocks": case(
        "linear", (2, 2), ("unit", "unit"), {"learning_rate": 0.3},
        {"sphere": FREE, "spectrum": {"inputs__spectrum": FOUR_EQUAL}},
        norm="sphere", spectrum=FOUR,
    ),
    "erf, ramp": case(
        "erf", (2, 1), ("unit", "unit"), {"learning_rate": RAMP},
        {"ramp": {"training__learning_rate": RAMP.replace(shape="steps")}, "loss factor": {"training__loss_factor": 0.5}},
    ),
    "erf, 4 blocks, noise, half loss": case(
        "erf", (3, 2), ("sqrt", "sqrt"), {"learning_rate": 2.0, "label_noise": 0.2, "loss_factor": 0.5},
        {"noise": NO_NOISE, "spectrum": {"inputs__spectrum": FOUR_EQUAL}},
        spectrum=FOUR,
    ),
    "erf, 16 blocks, batch, decay": case(
        "erf", (2, 2), ("unit", "unit"), {"learning_rate": 2.0, "batch": 4, "weight_decay": 0.1},
        {"batch": OTHER_BATCH, "decay": NO_DECAY, "spectrum": {"inputs__spectrum": SIXTEEN_EQUAL}},
        spectrum=SIXTEEN, dim=400, times=(1.0, 3.0),
    ),
    "erf, sphere, 4 blocks, readout with its own steps": case(
        "erf", (2, 2), ((0.6, -0.9), (1.0, -1.0)),
        {"learning_rate": 1.0, "train_readout": True, "readout_rate": sv.Schedule(times=(0, 1.5), rates=(0.2, 1.0))},
        {"sphere": FREE, "readout": FIXED_READOUT, "readout steps": {"training__readout_rate": 0.2}},
        norm="sphere", spectrum=FOUR,
    ),
}  # fmt: skip

QUICK = ("quadratic, sphere, 4 blocks, trained readout", "linear, noise, steps, half loss", "erf, ramp")
every_case = pytest.mark.parametrize("name", only(CASES, *QUICK))
every_change = pytest.mark.parametrize(
    ("name", "change"),
    only(
        [(name, change) for name, one in CASES.items() for change in one.matters],
        *((name, change) for name in QUICK for change in CASES[name].matters),
    ),
)


@pytest.mark.statistical
@every_case
def test_mean_of_sgd_is_macro(name):
    """Overlaps of every block, their totals and the readout, at every time."""
    assert excess(name, CASES[name].problem) <= 1


@pytest.mark.statistical
@every_case
def test_order_rate_squared_is_needed(name):
    """Macro without its order rate^2 fails the same comparison: the rates are large enough for the tests to see it."""
    assert excess(name, CASES[name].problem, small_rate=True) > 1


@pytest.mark.statistical
@every_change
def test_every_part_of_the_description_is_needed(name, change):
    """Macro of a problem that differs by one feature fails the same comparison."""
    assert excess(name, CASES[name].problem.replace(**CASES[name].matters[change])) > 1


@pytest.mark.statistical
@pytest.mark.parametrize(("name", "factor"), first([("erf, ramp", 1.1), ("linear, noise, steps, half loss", 0.9)]))
def test_wrong_rate_is_caught(name, factor):
    """SGD whose rate is 10 % off fails the comparison."""
    assert excess(name, CASES[name].problem, rate_factor=factor) > 1


@pytest.mark.statistical
@pytest.mark.full
@pytest.mark.parametrize("name", ["quadratic, 4 blocks, noise, decay, half loss", "erf, 16 blocks, batch, decay"])
def test_risk_is_the_mean_squared_error_on_fresh_inputs(name):
    """The risk that Macro reports, against its definition: the loss of the last weights on new inputs without noise. The
    standard error is between 1 and 2 % of the risk, more than the finite-size bias."""
    problem, record = CASES[name].problem, simulated(name)
    risks = referee.risk(
        problem, record.weights, weights_of(problem)[1], record.readout[:, -1], samples=500, seed=seed(3)
    )
    standard_error = risks.std(ddof=1) / np.sqrt(RUNS)
    assert standard_error < 0.02 * risks.mean()
    assert abs(risks.mean() - predicted(name, problem).risk[0, -1]) <= K * standard_error


def excess(name, problem, rate_factor=1.0, **level):
    """Largest |mean of the case's SGD - Macro of `problem`| in units of what is allowed."""
    record, macro = simulated(name, rate_factor), predicted(name, problem, **level)
    assert macro.success
    pairs = [
        (record.student, macro.blocks.student[0]),
        (record.cross, macro.blocks.cross[0]),
        (record.student.sum(axis=2), macro.student_overlap[0]),
        (record.cross.sum(axis=2), macro.cross_overlap[0]),
        (record.readout, macro.readout[0]),
    ]
    worst = 0.0
    for runs, limit in pairs:
        standard_error = runs.std(axis=0, ddof=1) / np.sqrt(RUNS)
        allowed = K * standard_error + BIAS / problem.inputs.dim
        worst = max(worst, np.max(np.abs(runs.mean(axis=0) - limit) / allowed))
    return worst


@cache
def simulated(name, rate_factor=1.0):
    problem, times, _ = CASES[name]
    return referee.sgd(problem, *weights_of(problem), times, RUNS, seed=seed(2), rate_factor=rate_factor)


def predicted(name, problem, **level):
    """Macro of `problem` from the weights of the case."""
    start = sv.measure(problem, *weights_of(CASES[name].problem))
    return sv.run(problem, start, sv.Macro(**level), times=CASES[name].times, keep_blocks=True)


def weights_of(problem):
    """Teachers with Gaussian rows; students that know something of them, more in some blocks than in others. On the
    sphere the students are normalised."""
    random = np.random.default_rng(seed(1))
    p, q, N = problem.student.width, problem.teacher.width, problem.inputs.dim
    teacher = random.standard_normal((q, N))
    _, sizes = referee.blocks_of(problem.inputs)
    by_block = np.repeat(random.uniform(0.5, 1.3, (len(sizes), p)), sizes, axis=0).T
    W = by_block * (0.5 * random.uniform(-1, 1, (p, q)) @ teacher + 0.7 * random.standard_normal((p, N)))
    if problem.student.norm == "sphere":
        W *= np.sqrt(N / np.sum(W**2, axis=1, keepdims=True))
    return W, teacher

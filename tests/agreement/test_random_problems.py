"""Problems drawn at random, every part of the description with every other: the means of SGD three times.

Micro against full weights in NumPy (`referee.py`) at a small dim, where both have the same law; Macro against Micro at a large dim,
from the same overlaps. In every overlap, readout and risk

    |difference of means| <= K standard errors (+ 3 x the error that the library reports + BIAS / dim, for Macro)

must hold. There are many entries and heavy tails: what is beyond must be so again in four times as many fresh runs. The
problems are always the same, the noise in their runs follows from the seeds of all tests.
"""

from typing import NamedTuple

import numpy as np
import pytest
import referee

import seeds
import solvable as sv

K = 4.5
BIAS = 4.0  # means at finite dim differ from the limit by some number over dim
TIMES = (0.5, 2.0)
SMALL = 60

SOFTPLUS = sv.Activation("softplus", lambda z: np.logaddexp(0, z), lambda z: 1 / (1 + np.exp(-z)))
UNITS = ("linear", "quadratic", "erf", "relu", "tanh", "hermite", "own")
GATE = (0, 6, 11, 15, 16, 19)  # quadratic, erf, relu of a product, hermite, relu, own; quick ones


class Sizes(NamedTuple):
    """Runs of the referee, of Micro at the small dim and at the large one, and the large dim."""

    referee: int
    small: int
    large: int
    dim: int


FEW = Sizes(referee=64, small=128, large=16, dim=1200)
MANY = Sizes(referee=160, small=320, large=24, dim=2400)


def drawn(seed: int) -> tuple[sv.Problem, np.ndarray, np.ndarray]:
    """A problem at the small dim with weights to start from, students that know something of the teachers."""
    random = np.random.default_rng(seed)
    pick = lambda *of: of[random.integers(len(of))]
    p, q, blocks = int(random.integers(1, 6)), int(random.integers(1, 6)), int(random.integers(1, 4))
    student = pick(*UNITS)
    teacher = student if random.random() < 0.6 else pick(*UNITS)
    target, loss = "additive", pick(*["squared"] * 7, "log-cosh")
    if random.random() < 0.2:
        q = min(q, 3)
        target = pick("product", sv.problems.Target("folded", q, lambda z: np.abs(z[:, 0]) - z[:, -1] ** 2))
    spectrum = None
    if blocks > 1:
        values = np.round(random.uniform(0.3, 1.6, blocks), 2)
        spectrum = sv.Spectrum(eigenvalues=tuple(values), weights=(1, 2, 3)[:blocks])
    training = {
        "learning_rate": 1.0,
        "loss_factor": pick(0.5, 1.0),
        "loss": loss,
        "batch": pick(1, 1, 1, 4),
        "label_noise": pick(0.0, 0.3),
        "weight_decay": pick(0.0, 0.0, 0.4),
        "train_readout": pick(False, False, True),
    }
    problem = sv.Problem(
        student=sv.Student(
            width=p, activation=_unit(student, random), readout=_readout(random, p), norm=pick("free", "free", "sphere")
        ),
        teacher=sv.Teacher(
            width=q, activation=_unit(teacher, random), readout=_readout(random, q), target=target, overlap="sampled"
        ),
        inputs=sv.Inputs(dim=SMALL, spectrum=spectrum),
        training=sv.Training(**training),
    )
    W, B = _weights(problem, random)
    return problem.replace(training__learning_rate=_rate(problem, W, B, random)), W, B


def _unit(name, random):
    if name == "hermite":
        sizes = random.uniform(-1, 1, 4) * [0.3, 1.0, 0.4, 0.2]
        return sv.problems.Hermite(coefficients=tuple(np.round(sizes[: random.integers(2, 5)], 3)))
    return SOFTPLUS if name == "own" else name


def _readout(random, width):
    signs = random.choice([-1.0, 1.0], width)
    return tuple(np.round(signs * random.uniform(0.4, 1.2, width) / np.sqrt(width), 3))


def _weights(problem, random):
    p, q = problem.student.width, problem.teacher.width
    B = random.standard_normal((q, SMALL))
    W = 0.5 * random.uniform(-1, 1, (p, q)) / np.sqrt(q) @ B + 0.7 * random.standard_normal((p, SMALL))
    if problem.student.norm == "sphere":
        W *= np.sqrt(SMALL / np.sum(W**2, axis=1, keepdims=True))
    return W, B


def _rate(problem, W, B, random):
    """A rate that moves the state well within the time and lets no run diverge: a part of what drift and noise allow."""
    start = sv.measure(problem, W, B)
    found = sv.dynamics.moments(sv.dynamics.field_covariance(problem, start), problem, start.readout)
    largest = problem.inputs.eigenvalues.max()
    drift = largest * np.linalg.norm(found.drift, 2)
    noise = largest * np.trace(found.noise) / problem.training.batch / np.trace(start.student_overlap)
    rate = round(float(random.uniform(0.1, 0.35) / max(drift, np.sqrt(noise))), 4)
    kind = random.integers(4)
    if kind > 1:
        return rate
    times = (0.0, 0.7, 1.4)
    rates = tuple(np.round(rate * np.array([1.0, 0.3, 0.8]), 4))
    return sv.Schedule(times=times, rates=rates, shape="steps" if kind else "linear")


def check(seed: int, sizes: Sizes) -> None:
    problem, W, B = drawn(seed)
    start = sv.measure(problem, W, B)
    for again, many in enumerate((sizes, Sizes(*(4 * n for n in sizes[:3]), sizes.dim))):
        wrong = {
            **micro_against_weights(problem, start, W, B, many, seeds.seed(again)),
            **macro_against_micro(problem, start, many, seeds.seed(again)),
        }
        if not wrong:
            return
    pytest.fail(f"{problem.to_json()}: {wrong}")


def micro_against_weights(problem, start, W, B, sizes, seed, rate_factor=1.0):
    """What differs at the small dim: the largest excess of each quantity, in units of what is allowed."""
    record = referee.sgd(problem, W, B, TIMES, sizes.referee, seed=seed, rate_factor=rate_factor)
    micro = sv.run(problem, start, sv.Micro(runs=sizes.small, seed=seed), times=TIMES, progress=False)
    assert micro.success
    risks = referee.risk(problem, record.weights, B, record.readout[:, -1], samples=400, seed=seed)
    pairs = {
        "student_overlap": (record.student.sum(axis=2), micro.student_overlap),
        "cross_overlap": (record.cross.sum(axis=2), micro.cross_overlap),
        "readout": (record.readout, micro.readout),
        "risk": (risks, micro.risk[:, -1]),
    }
    wrong = {}
    for name, (full, reduced) in pairs.items():
        scatter = sum(x.var(axis=0, ddof=1) / len(x) for x in (full, reduced))
        allowed = K * np.sqrt(scatter) + (micro.risk_error.max() if name == "risk" else 0.0) + 1e-9
        excess = np.max(np.abs(full.mean(axis=0) - reduced.mean(axis=0)) / allowed)
        if not excess <= 1:
            wrong[f"Micro, {name}"] = round(float(excess), 2)
    return wrong


def macro_against_micro(problem, start, sizes, seed, **changes):
    """What differs at the large dim, with Macro of a problem changed by `changes`."""
    problem = problem.replace(inputs__dim=sizes.dim)
    micro = sv.run(problem, start, sv.Micro(runs=sizes.large, seed=seed), times=TIMES, progress=False)
    macro = sv.run(problem.replace(**changes), start, sv.Macro(), times=TIMES)
    assert micro.success
    assert macro.success
    wrong = {}
    for name in ("student_overlap", "cross_overlap", "readout", "risk"):
        found, expected = micro.mean(name), getattr(macro, name)[0]
        reported = macro.risk_error[0] + micro.risk_error.max() if name == "risk" else macro.overlap_error[0]
        reported = reported.reshape(-1, *[1] * (expected.ndim - 1))
        size = max(1.0, np.abs(expected).max())
        allowed = K * found.standard_error + 3 * reported + BIAS * size / sizes.dim
        excess = np.max(np.abs(found.mean - expected) / allowed)
        if not excess <= 1:
            wrong[f"Macro, {name}"] = round(float(excess), 2)
    return wrong


@pytest.mark.statistical
@pytest.mark.parametrize("seed", GATE)
def test_a_few_random_problems(seed) -> None:
    check(seed, FEW)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("seed", range(100, 300))
def test_two_hundred_random_problems(seed) -> None:
    check(seed, MANY)


@pytest.mark.statistical
def test_what_is_wrong_is_caught() -> None:
    """The comparison can fail: SGD at a rate 20 % off, and Macro of a problem with another batch, spectrum or noise."""
    problem, W, B = drawn(GATE[0])
    start = sv.measure(problem, W, B)
    assert (problem.inputs.blocks, problem.training.batch) == (2, 4)
    assert micro_against_weights(problem, start, W, B, MANY, seeds.seed(0), rate_factor=1.2)
    for changes in (
        {"training__batch": 1},
        {"inputs__spectrum": problem.inputs.spectrum.replace(eigenvalues=(1.0, 1.0))},
        {"training__label_noise": 10.0},
    ):
        assert macro_against_micro(problem, start, MANY, seeds.seed(0), **changes)

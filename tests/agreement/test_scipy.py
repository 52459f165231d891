"""The deterministic limit against an independent integration: SciPy's DOP853 on a NumPy right-hand side whose moments are
integrals over all fields at once, by Gauss-Hermite rules written here. No closed form enters.

    e = label - sum_k a_k g(z_k),    F_k = 2 c a_k g'(z_k) e,    D = <F z^T> C^-1 (Stein's lemma),    S = <F F^T>
    dOmega^b = A^b Omega^b + (A^b Omega^b)^T + f_b lambda_b rate^2 S / batch,    A^b = rate lambda_b D + Gamma
    da_k = readout rate x <2 c g(z_k) e>

Gamma is the decay and, on the sphere, what keeps the norms. The label noise is one more Gaussian field. A rule of n nodes
is exact for polynomials of degree below 2n: for linear and quadratic units (degree six at most) nothing but the two
integrators differs. For erf units the rule's error shrinks geometrically with the number of nodes.
"""

import itertools
from functools import cache

import numpy as np
import pytest
import referee
from scipy.integrate import solve_ivp

import solvable as sv

TIMES = (1.0, 4.0, 8.0)
ONE = sv.Spectrum(eigenvalues=(1.3,))
FOUR = sv.Spectrum(eigenvalues=(2.0, 1.2, 0.6, 0.2), weights=(1, 2, 3, 4))
SIXTEEN = sv.PowerLaw(beta=0.5, distinct=16)
STEPS = sv.Schedule(times=(0, 2.0, 5.0), rates=(0.15, 0.02, 0.2))
RAMP = sv.Schedule(times=(0, 3.0, 6.0), rates=(0.02, 0.2, 0.1), shape="linear")


def problem(unit, widths, spectrum=None, readouts=("mean", "mean"), norm="free", **training):
    return sv.Problem(
        student=sv.Student(width=widths[0], activation=unit, readout=readouts[0], norm=norm),
        teacher=sv.Teacher(width=widths[1], activation=unit, readout=readouts[1], overlap="sampled"),
        inputs=sv.Inputs(dim=160, spectrum=spectrum),
        training=sv.Training(**training),
    )


POLYNOMIAL = {
    "quadratic": problem("quadratic", (2, 1), learning_rate=0.2),
    "quadratic, 1 block of eigenvalue 1.3, decay": problem(
        "quadratic", (2, 1), ONE, learning_rate=0.1, weight_decay=0.3
    ),
    "quadratic, 4 blocks, noise, decay, batch, half loss": problem(
        "quadratic", (2, 2), FOUR, ("sqrt", "mean"),
        learning_rate=0.15, label_noise=0.5, weight_decay=0.1, batch=3, loss_factor=0.5,
    ),
    "quadratic, sphere, trained readout, noise": problem(
        "quadratic", (2, 1), norm="sphere", learning_rate=0.2, train_readout=True, readout_rate=0.1, label_noise=0.5
    ),
    "quadratic, 4 blocks, sphere, decay, steps": problem(
        "quadratic", (2, 1), FOUR, norm="sphere", learning_rate=STEPS, weight_decay=0.2
    ),
    "quadratic, trained readout, ramp and steps": problem(
        "quadratic", (2, 1), learning_rate=RAMP, train_readout=True, readout_rate=STEPS
    ),
    "linear, 16 blocks": problem("linear", (2, 2), SIXTEEN, ("unit", (1.0, -0.5)), learning_rate=0.2),
    "linear, 4 blocks, noise, steps": problem(
        "linear", (2, 1), FOUR, ("unit", "unit"), learning_rate=STEPS, label_noise=1.0
    ),
}  # fmt: skip
ERF = {
    "erf": problem("erf", (2, 1), readouts=("unit", "unit"), learning_rate=0.5),
    "erf, 4 blocks": problem("erf", (2, 1), FOUR, ("sqrt", "unit"), learning_rate=1.0, loss_factor=0.5),
    "erf, 4 blocks, trained readout, noise": problem(
        "erf", (1, 1), FOUR, learning_rate=0.5, train_readout=True, label_noise=0.1
    ),
    "erf, 4 blocks, sphere, steps": problem("erf", (1, 1), FOUR, ("unit", "unit"), norm="sphere", learning_rate=STEPS),
}  # fmt: skip


@pytest.mark.parametrize("name", POLYNOMIAL)
def test_polynomial_units(name):
    """Overlaps of every block, readout and risk agree to the accuracy of the integrators (measured: 3e-11)."""
    assert difference(POLYNOMIAL[name], nodes=4) < 1e-9


@pytest.mark.parametrize("name", ERF)
def test_erf_units(name):
    """The difference is the quadrature's own: twice the nodes shrink it more than a hundredfold, and then it is small
    (measured: 4e-8). It shrinks more slowly for fields of larger variance, as on the sphere."""
    nodes = 40 if ERF[name].student.norm == "sphere" else 20
    coarse, fine = difference(ERF[name], nodes=nodes // 2), difference(ERF[name], nodes=nodes)
    assert fine < 1e-7
    assert fine < 0.01 * coarse


def difference(problem, nodes):
    """Largest difference between Macro and SciPy, over all times, in overlaps of blocks, readout and risk."""
    p, start = problem.student.width, start_of(problem)
    macro = sv.run(problem, start, sv.Macro(rtol=1e-10), times=TIMES, keep_blocks=True)
    assert macro.success
    worst = 0.0
    for i, (Omega, a) in enumerate(integrated(problem, start, nodes)):
        pairs = [
            (macro.blocks.student[0, i], Omega[:, :p, :p]),
            (macro.blocks.cross[0, i], Omega[:, :p, p:]),
            (macro.readout[0, i], a),
            (macro.risk[0, i], moments(problem, Omega, a, nodes)[0]),
        ]
        worst = max(worst, *(np.abs(ours - theirs).max() for ours, theirs in pairs))
    return worst


def start_of(problem):
    """Teachers of norm^2 about 1/2, students that know something of them, more in the first blocks than in the last."""
    random = np.random.default_rng(5)
    p, q, N = problem.student.width, problem.teacher.width, problem.inputs.dim
    V = np.sqrt(0.5) * random.standard_normal((q, N))
    W = np.linspace(1.2, 0.5, N) * (random.uniform(-1, 1, (p, q)) @ V + 0.5 * random.standard_normal((p, N)))
    if problem.student.norm == "sphere":
        W *= np.sqrt(N / np.sum(W**2, axis=1, keepdims=True))
    return sv.measure(problem, W, V)


def integrated(problem, start, nodes):
    """Overlaps of all units in all blocks, and readouts, at TIMES. Every piece between outputs and corners of the rates is
    integrated by itself, so that no interpolation enters."""
    training, shape = problem.training, start.stacked.shape
    readout_rate = training.learning_rate if training.readout_rate is None else training.readout_rate
    rates = training.learning_rate, readout_rate if training.train_readout else 0.0
    corners = {time for rate in rates if isinstance(rate, sv.Schedule) for time in rate.times}
    y, found = np.concatenate([start.stacked.ravel(), start.readout]), []
    for begin, end in itertools.pairwise(sorted({0.0, *TIMES, *corners})):

        def slope(t, y, inside=0.5 * (begin + end)):
            eta, eta_a = (referee.rate_at(rate, inside if stepwise(rate) else t) for rate in rates)
            Omega, a = y[: np.prod(shape)].reshape(shape), y[np.prod(shape) :]
            change, drift = right_hand_side(problem, Omega, a, eta, nodes)
            return np.concatenate([change.ravel(), eta_a * drift])

        y = solve_ivp(slope, (begin, end), y, method="DOP853", rtol=1e-10, atol=1e-12).y[:, -1]
        if end in TIMES:
            found.append((y[: np.prod(shape)].reshape(shape), y[np.prod(shape) :]))
    return found


def stepwise(rate):
    return isinstance(rate, sv.Schedule) and rate.shape == "steps"


def right_hand_side(problem, Omega, a, eta, nodes):
    """dOmega/dalpha (blocks, n, n) and the drift of the readout without its rate."""
    p, training = problem.student.width, problem.training
    eigenvalues, sizes = referee.blocks_of(problem.inputs)
    _, D, S, drift = moments(problem, Omega, a, nodes)
    students = np.diag(np.arange(len(D)) < p).astype(float)
    spread = (sizes / sizes.sum() * eigenvalues)[:, None, None] * eta**2 * S / training.batch
    Gamma = -eta * training.weight_decay * students

    def change(Gamma):
        half = (eta * eigenvalues[:, None, None] * D + Gamma) @ Omega
        return half + half.transpose(0, 2, 1) + spread

    if problem.student.norm == "sphere":
        growth, norms = np.diag(change(Gamma).sum(axis=0)), np.diag(Omega.sum(axis=0))
        Gamma = Gamma - students * growth / (2 * norms)
    return change(Gamma), drift


def moments(problem, Omega, a, nodes):
    """risk, D (n, n), S (n, n) with empty rows for the teachers, and the drift of the readout (p,)."""
    p, c, Delta = problem.student.width, problem.training.loss_factor, problem.training.label_noise
    g, slope = referee.UNITS[problem.student.activation]
    C = np.tensordot(referee.blocks_of(problem.inputs)[0], Omega, axes=1)
    points, weights = rule(len(C), nodes)
    z = points[:, :-1] @ np.linalg.cholesky(C).T
    clean = g(z[:, p:]) @ referee.readout_of(problem.teacher) - g(z[:, :p]) @ a
    e = clean + np.sqrt(Delta) * points[:, -1]
    F = np.zeros_like(z)
    F[:, :p] = 2 * c * a * slope(z[:, :p]) * e[:, None]
    weighted = weights[:, None] * F
    D = np.linalg.solve(C, z.T @ weighted).T
    return c * weights @ clean**2, D, F.T @ weighted, 2 * c * (weights * e) @ g(z[:, :p])


@cache
def rule(fields, nodes):
    """Points (m, fields + 1) and weights (m,) of a tensor rule: `nodes` for every field, two for the label noise, in which
    nothing is more than quadratic."""
    rules = [np.polynomial.hermite_e.hermegauss(count) for count in (*[nodes] * fields, 2)]
    points = np.stack(np.meshgrid(*[x for x, _ in rules], indexing="ij"), axis=-1).reshape(-1, fields + 1)
    weights = np.prod(np.stack(np.meshgrid(*[w / w.sum() for _, w in rules], indexing="ij")), axis=0).ravel()
    return points, weights

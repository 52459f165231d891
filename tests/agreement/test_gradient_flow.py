"""At vanishing rate the deterministic limit is gradient flow on the population risk, of the weights themselves.

SGD moves by -rate x gradient of the loss in each step and alpha counts N steps, so the weights of any small network obey

    dW/dalpha = -rate (N grad_W risk + decay W),    da/dalpha = -readout rate x grad_a risk

and on the sphere the part of every row's motion along the row is taken out. Here N = 12. The risk is written below as a
function of the weights, and its gradient is taken by a step in the imaginary direction, Im risk(W + ih)/h, which
subtracts nothing and is exact to rounding. The overlaps of these weights must be those of Macro(small_rate=True).
"""

import itertools

import numpy as np
import pytest
import referee
from scipy.integrate import solve_ivp

import solvable as sv

N = 12
TIMES = (1.0, 3.0, 9.0)
THREE = sv.Spectrum(eigenvalues=(1.8, 0.9, 0.3))


def problem(unit, widths, spectrum=None, readouts=("mean", "mean"), norm="free", **training):
    return sv.Problem(
        student=sv.Student(width=widths[0], activation=unit, readout=readouts[0], norm=norm),
        teacher=sv.Teacher(width=widths[1], activation=unit, readout=readouts[1], overlap="sampled"),
        inputs=sv.Inputs(dim=N, spectrum=spectrum),
        training=sv.Training(**training),
    )


CASES = {
    "quadratic": problem("quadratic", (3, 2), learning_rate=0.2),
    "quadratic, spectrum, decay": problem("quadratic", (2, 3), THREE, learning_rate=0.2, weight_decay=0.1),
    "quadratic, spectrum, sphere, trained readout": problem(
        "quadratic", (2, 1), THREE, norm="sphere", learning_rate=0.1, train_readout=True, readout_rate=0.3
    ),
    "linear": problem("linear", (2, 3), readouts=("unit", "sqrt"), learning_rate=0.2, loss_factor=0.5),
    "linear, spectrum, trained readout": problem("linear", (3, 2), THREE, learning_rate=0.3, train_readout=True),
    "erf": problem("erf", (2, 2), readouts=("unit", (1.0, -0.5)), learning_rate=0.3),
    "erf, spectrum": problem("erf", (3, 2), THREE, ("sqrt", "unit"), learning_rate=0.5, loss_factor=0.5),
    "erf, spectrum, sphere": problem("erf", (2, 1), THREE, ("unit", "unit"), norm="sphere", learning_rate=0.3),
}


@pytest.mark.parametrize("name", CASES)
def test_overlaps_follow_gradient_flow(name):
    """Overlaps of every block, readout and risk (measured: within 1e-11); with the order rate^2 they do not."""
    assert difference(CASES[name], small_rate=True) < 1e-9
    assert difference(CASES[name], small_rate=False) > 1e-3


@pytest.mark.parametrize("name", ["quadratic", "linear, spectrum, trained readout", "erf, spectrum"])
def test_flow_is_approached_as_the_rate(name):
    """At equal rate x alpha the distance of Macro from the flow is proportional to the rate, within 1 %."""

    def distance(rate):
        slow = CASES[name].replace(training__learning_rate=rate)
        start, times = sv.measure(slow, *weights_of(slow)), np.array([0.5, 2.0]) / rate
        flow, limit = (sv.run(slow, start, sv.Macro(small_rate=small), times=times) for small in (True, False))
        return np.abs(flow.student_overlap - limit.student_overlap).max()

    assert distance(1e-3) / distance(1e-4) == pytest.approx(10, rel=0.01)


def difference(problem, small_rate):
    """Largest difference between Macro and the flow of the weights, over all times, in blocks, readout and risk."""
    W, V = weights_of(problem)
    level = sv.Macro(rtol=1e-10, small_rate=small_rate)
    macro = sv.run(problem, sv.measure(problem, W, V), level, times=TIMES, keep_blocks=True)
    assert macro.success
    edges = np.cumsum(referee.blocks_of(problem.inputs)[1])[:-1]
    worst = 0.0
    for i, (weights, a) in enumerate(flow(problem, W, V)):
        blocks = list(zip(np.split(weights, edges, axis=1), np.split(V, edges, axis=1), strict=True))
        pairs = [
            (macro.blocks.student[0, i], [w @ w.T / N for w, _ in blocks]),
            (macro.blocks.cross[0, i], [w @ v.T / N for w, v in blocks]),
            (macro.readout[0, i], a),
            (macro.risk[0, i], risk(problem, weights, V, a)),
        ]
        worst = max(worst, *(np.abs(ours - np.array(theirs)).max() for ours, theirs in pairs))
    return worst


def flow(problem, W, V):
    """Weights and readout at TIMES."""
    training, p = problem.training, problem.student.width
    readout_rate = training.learning_rate if training.readout_rate is None else training.readout_rate
    readout_rate = readout_rate if training.train_readout else 0.0

    def slope(_, y):
        W, gradient = y[:-p].reshape(p, N), gradient_of(problem, y, V)
        dW = -training.learning_rate * (N * gradient[:-p].reshape(p, N) + training.weight_decay * W)
        if problem.student.norm == "sphere":
            dW -= W * np.sum(W * dW, axis=1, keepdims=True) / np.sum(W * W, axis=1, keepdims=True)
        return np.concatenate([dW.ravel(), -readout_rate * gradient[-p:]])

    y, found = np.concatenate([W.ravel(), referee.readout_of(problem.student)]), []
    for begin, end in itertools.pairwise((0.0, *TIMES)):
        y = solve_ivp(slope, (begin, end), y, method="DOP853", rtol=1e-10, atol=1e-12).y[:, -1]
        found.append((y[:-p].reshape(p, N), y[-p:]))
    return found


def gradient_of(problem, y, V):
    """Gradient of the risk in the weights and readout y = (W, a), all directions at once."""
    p, tiny = problem.student.width, 1e-30
    moved = y + 1j * tiny * np.eye(y.size)
    return risk(problem, moved[:, :-p].reshape(-1, p, N), V, moved[:, -p:]).imag / tiny


def risk(problem, W, V, a):
    """loss factor x <e^2>, e = sum_l a*_l g(v_l x / sqrt N) - sum_k a_k g(w_k x / sqrt N), for W (..., p, N), a (..., p)."""
    root = np.sqrt(np.repeat(*referee.blocks_of(problem.inputs)) / N)
    W, V, a_star = W * root, V * root, referee.readout_of(problem.teacher)
    if problem.student.activation == "linear":  # e = v x, x white
        v = a_star @ V - np.einsum("...k,...kn->...n", a, W)
        mean = np.einsum("...n,...n->...", v, v)
    elif problem.student.activation == "quadratic":  # e = x^T M x
        M = np.einsum("l,lm,ln->mn", a_star, V, V) - np.einsum("...k,...km,...kn->...mn", a, W, W)
        mean = np.einsum("...nn->...", M) ** 2 + 2 * np.einsum("...mn,...nm->...", M, M)
    else:  # <g(z) g(z')> = (2/pi) arcsin(<zz'> / sqrt((1 + <zz>)(1 + <z'z'>)))
        rows = np.concatenate([W, np.broadcast_to(V, (*W.shape[:-2], *V.shape))], axis=-2)
        s = np.concatenate([-a, np.broadcast_to(a_star, (*a.shape[:-1], a_star.size))], axis=-1)
        C = rows @ np.swapaxes(rows, -1, -2)
        size = np.sqrt(1 + np.einsum("...ii->...i", C))
        averages = 2 / np.pi * np.arcsin(C / (size[..., :, None] * size[..., None, :]))
        mean = np.einsum("...i,...ij,...j->...", s, averages, s)
    return problem.training.loss_factor * mean


def weights_of(problem):
    """Gaussian teachers; students that know something of them, normalised on the sphere."""
    random = np.random.default_rng(7)
    p, q = problem.student.width, problem.teacher.width
    V = random.standard_normal((q, N))
    W = random.uniform(-0.5, 0.5, (p, q)) @ V + 0.7 * random.standard_normal((p, N))
    if problem.student.norm == "sphere":
        W *= np.sqrt(N / np.sum(W**2, axis=1, keepdims=True))
    return W, V

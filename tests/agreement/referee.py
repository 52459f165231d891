"""A referee for the deterministic limit: one-pass SGD of the full weights, many runs at once, in plain NumPy.

Written from the definition of one step and of nothing else: of the library it reads only the words and numbers of a
problem. One step, at alpha = step / N, on a batch of fresh inputs x ~ N(0, Sigma), Sigma diagonal:

    fields     z = W x / sqrt(N),  z* = W* x / sqrt(N)
    error      e = sum_l a*_l g(z*_l) + sqrt(noise) zeta - sum_k a_k g(z_k),      loss c e^2 (log-cosh: tanh e for e below)
    weights    w_k <- (1 - eta decay / N) w_k + (eta / B) sum_batch 2 c a_k g'(z_k) e x / sqrt(N);  sphere: |w_k|^2 = N
    readout    a_k <- a_k + (eta_a / N B) sum_batch 2 c g(z_k) e,                 all from the old weights and readout
"""

from typing import NamedTuple

import numpy as np
from scipy.special import erf

UNITS = {
    "linear": (lambda z: z, np.ones_like),
    "quadratic": (lambda z: z**2, lambda z: 2 * z),
    "cubic": (lambda z: z**3 - 2 * z, lambda z: 3 * z**2 - 2),
    "relu": (lambda z: np.maximum(z, 0), lambda z: (z > 0) * 1.0),
    "tanh": (np.tanh, lambda z: np.cosh(z) ** -2.0),
    "erf": (lambda z: erf(z / np.sqrt(2)), lambda z: np.sqrt(2 / np.pi) * np.exp(-(z**2) / 2)),
    "softplus": (lambda z: np.log(1 + np.exp(z)), lambda z: 1 / (1 + np.exp(-z))),
}


class Record(NamedTuple):
    """Overlaps of each block, student (run, time, block, p, p) and cross (run, time, block, p, p*); readout (run, time, p);
    the last weights (run, p, N)."""

    student: np.ndarray
    cross: np.ndarray
    readout: np.ndarray
    weights: np.ndarray


def blocks_of(inputs):
    """Eigenvalue and size of every block."""
    spectrum = inputs.spectrum
    if spectrum is None:
        return np.ones(1), np.array([inputs.dim])
    if spectrum.kind == "power-law":
        values = np.arange(1, spectrum.distinct + 1) ** -(1.0 + spectrum.beta)
        return values / values.mean(), np.full(spectrum.distinct, inputs.dim // spectrum.distinct)
    values = np.array(spectrum.eigenvalues)
    weights = np.ones(len(values)) if spectrum.weights is None else np.array(spectrum.weights)
    return values, np.rint(inputs.dim * weights / weights.sum()).astype(int)


def readout_of(network):
    named = {"mean": 1 / network.width, "sqrt": network.width**-0.5, "unit": 1.0}
    return np.full(network.width, named.get(network.readout) if isinstance(network.readout, str) else network.readout)


def unit_of(network):
    """Value and slope: by name, or from the coefficients in Hermite polynomials up to the third, 1, z, z^2 - 1, z^3 - 3 z."""
    if hasattr(network.activation, "coefficients"):
        a, b, c, d = (*network.activation.coefficients, 0, 0, 0, 0)[:4]
        return (
            lambda z: a + b * z + c * (z**2 - 1) + d * (z**3 - 3 * z),
            lambda z: b + 2 * c * z + d * (3 * z**2 - 3),
        )
    return UNITS[network.activation if isinstance(network.activation, str) else network.activation.name]


def labels_of(teacher, fields):
    """Labels without noise, from fields (..., p*)."""
    if teacher.target == "product":
        return fields.prod(axis=-1)
    if teacher.target != "additive":
        return teacher.target.function(fields.reshape(-1, fields.shape[-1])).reshape(fields.shape[:-1])
    return unit_of(teacher)[0](fields) @ readout_of(teacher)


def rate_at(rate, alpha):
    """A constant, or a schedule: steps hold from their time on, a linear one is joined by lines."""
    if isinstance(rate, float):
        return rate
    if rate.shape == "linear":
        return np.interp(alpha, rate.times, rate.rates)
    return rate.rates[np.searchsorted(rate.times, alpha, side="right") - 1]


def sgd(problem, weights, teacher_weights, times, runs, seed, rate_factor=1.0):
    """Follow `runs` independent runs from the same weights (p, N); record at `times` (steps/N, increasing)."""
    random, training, N = np.random.default_rng(seed), problem.training, problem.inputs.dim
    g, slope = unit_of(problem.student)
    eigenvalues, sizes = blocks_of(problem.inputs)
    scale, edges = np.sqrt(np.repeat(eigenvalues, sizes)), np.cumsum(sizes)[:-1]
    B, c, sphere = training.batch, training.loss_factor, problem.student.norm == "sphere"
    readout_rate = training.learning_rate if training.readout_rate is None else training.readout_rate

    W, a = np.tile(weights, (runs, 1, 1)), np.tile(readout_of(problem.student), (runs, 1))
    steps = np.rint(np.array(times) * N).astype(int)
    kept = []
    for step in range(steps[-1] + 1):
        if step in steps:
            kept.append((*_overlaps(W, teacher_weights, edges), a))
        if step == steps[-1]:
            break
        eta = rate_factor * rate_at(training.learning_rate, step / N)
        x = random.standard_normal((runs, B, N))
        x *= scale
        z = x @ W.transpose(0, 2, 1) / np.sqrt(N)  # (run, batch, p)
        fields = x @ teacher_weights.T / np.sqrt(N)
        label = labels_of(problem.teacher, fields) + np.sqrt(training.label_noise) * random.standard_normal((runs, B))
        error = (label - np.einsum("rk,rbk->rb", a, g(z)))[..., None]
        error = np.tanh(error) if training.loss == "log-cosh" else error
        F = 2 * c * a[:, None] * slope(z) * error
        W *= 1 - eta * training.weight_decay / N
        W += np.einsum("rbk,rbn->rkn", eta / (B * np.sqrt(N)) * F, x)
        if sphere:
            W *= np.sqrt(N / np.einsum("rkn,rkn->rk", W, W))[..., None]
        if training.train_readout:
            a = a + rate_factor * rate_at(readout_rate, step / N) / N * (2 * c * g(z) * error).mean(axis=1)
    student, cross, readout = (np.stack(part, axis=1) for part in zip(*kept, strict=True))
    return Record(student, cross, readout, W)


def risk(problem, weights, teacher_weights, readout, samples, seed):
    """(run,) c times the mean squared error without noise, over `samples` fresh inputs for each run."""
    random, N = np.random.default_rng(seed), problem.inputs.dim
    g, _ = unit_of(problem.student)
    scale = np.sqrt(np.repeat(*blocks_of(problem.inputs)))
    risks = []
    for W, a in zip(weights, readout, strict=True):
        x = random.standard_normal((samples, N)) * scale / np.sqrt(N)
        error = labels_of(problem.teacher, x @ teacher_weights.T) - g(x @ W.T) @ a
        risks.append(problem.training.loss_factor * np.mean(error**2))
    return np.array(risks)


def _overlaps(W, teacher_weights, edges):
    """Overlaps of each block, (run, block, p, p) and (run, block, p, p*)."""
    N = W.shape[-1]
    parts = list(zip(np.split(W, edges, axis=-1), np.split(teacher_weights, edges, axis=-1), strict=True))
    student = np.stack([w @ w.transpose(0, 2, 1) / N for w, _ in parts], axis=1)
    return student, np.stack([w @ v.T / N for w, v in parts], axis=1)

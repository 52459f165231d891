"""Averages over samples that rates which follow the state ask for: Gaussian quadrature over the fields, in plain NumPy.

Given its case (class, task, mask, flip) a sample's fields z are normal with mean h and covariance C, both of the present weights,
and F is a function of them that `case_sgd.gradient` knows. With the probability p of each case, its variances l_b (and s_b, which
only students see), shares f_b of the dimensions and the rows Omega^b of students, teachers and directions,

    risk    = sum over tests of p c <(y - output)^2>
    square  = (1/B) sum p sum_b f_b (l_b + s_b) tr <F F^T>                  mean of |batch gradient|^2
    A^b     = sum p [<F (z - h)^T> C^-1 diag(l_b + s_b [student]) on fields,  M_j <F> + tau_j D n_j on direction j]
    P       = sum_b tr A^b Omega^b A^bT,   bend = -(1/B) sum_b f_b tr( (sum p l_b D_SS) (sum p l_b <F F^T>) )

and the risk falls by eta P - eta^2 bend / 2 per unit of alpha, most at eta = P / bend. It is for smooth F of few fields
(`averages_are_cheap`).
"""

from itertools import product
from typing import NamedTuple

import numpy as np

from reference.case_sgd import functions_of, gradient, labels_of

NODES, NOISE = (
    {1: 12, 2: 12, 3: 6},
    2,
)  # per field, by their number; of the label's noise, exact where F is linear in it


class Population(NamedTuple):
    """(run,) each; `best` is infinite where the second order does not bound the rate."""

    risk: np.ndarray
    square: np.ndarray
    best: np.ndarray


def averages_are_cheap(problem):
    """Whether a few nodes average samples of this problem well, and nodes and cases are few."""
    training, student, teacher = problem.training, problem.student, problem.teacher
    masks = 1 if training.dropout is None else 2**student.width
    flips = 2 if training.label_flips else 1
    classes = 1 if problem.mixture is None else problem.mixture.classes
    polynomial = training.loss in ("squared", "correlation") and not training.lookahead  # in the noise
    units = (student.activation, teacher.activation)
    exact = polynomial and all(unit in ("linear", "quadratic") or hasattr(unit, "coefficients") for unit in units)
    return (
        "relu" not in units
        and teacher.target in ("additive", "product")
        and training.rule is None
        and (polynomial or (training.loss in ("squared", "log-cosh") and training.label_noise == 0))
        and student.width + teacher.width <= (3 if exact else 2)
        and flips * masks * max(len(problem.tasks), 1) * classes <= 4
    )


def population(one, W, V, heads, bias):
    """The numbers of one state of many runs. `one` is a setting of one time."""
    N, p, q = W.shape[2], W.shape[1], V.shape[1]
    shares = one.sizes / N
    parts = np.split(np.concatenate([W, V, np.broadcast_to(one.directions, (len(W), *one.directions.shape))], axis=1),
                     np.cumsum(one.sizes)[:-1], axis=2)  # fmt: skip
    omega = np.stack([part @ part.transpose(0, 2, 1) / N for part in parts])  # (block, run, row, row)
    along = omega.sum(axis=0)[:, : p + q, p + q :]  # overlaps with directions
    learner = np.arange(p + q) < p
    gains = np.zeros((len(shares), len(W), p, p + q + len(one.directions)))
    slopes, squares = np.zeros((2, len(shares), len(W), p, p))
    risk = np.zeros(len(W))
    for probability, kind, task, mask, sign in _cases(one, p):
        spread = one.variances[kind][:, None] + one.input_noise[:, None] * learner  # (block, field)
        C = sum(np.where(np.multiply.outer(learner, learner), (level + extra) * rows, level * rows) for level, extra, rows in
                zip(one.variances[kind], one.input_noise, omega[:, :, : p + q, : p + q], strict=True))  # fmt: skip
        h = along @ one.means[kind]
        C = C + np.einsum("rij,j,rkj->rik", along, one.spikes[kind], along)
        head = one.heads[task]
        a, b = (mask * heads[:, head])[:, None], bias[:, head, None]
        z, noise, weight = _nodes(h, C, one.label_noise)
        label = sign * labels_of(one, np.array(kind), np.array(task), z[..., p:]) + noise
        size = np.broadcast_to((shares * (one.variances[kind] + one.input_noise)).sum(), (*z.shape[:2], 1))
        F = gradient(one, np.broadcast_to(a, (*z.shape[:2], p)), b, z[..., :p], label, size)[0]
        mean, S = np.einsum("n,rnk->rk", weight, F), np.einsum("n,rnk,rnl->rkl", weight, F, F)
        D = np.einsum("n,rnk,rni->rki", weight, F, z - h[:, None]) @ np.linalg.inv(C)
        columns = mean[..., None] * one.means[kind] + np.einsum("rki,rij->rkj", D, along) * one.spikes[kind]
        for i, variances in enumerate(spread):
            gains[i] += probability * np.concatenate([D * variances, columns], axis=2)
            slopes[i] += probability * variances[0] * D[..., :p]
            squares[i] += probability * variances[0] * S
    for probability, kind, task, _, _ in _cases(one.but(keep=1.0, flips=0.0), p):
        C = np.einsum("b,brij->rij", one.variances[kind], omega[:, :, : p + q, : p + q])
        C = C + np.einsum("rij,j,rkj->rik", along, one.spikes[kind], along)
        z, _, weight = _nodes(along @ one.means[kind], C, 0.0)
        a, g = one.test_mask * heads[:, one.heads[task], None], functions_of(one.unit)[0]
        error = labels_of(one, np.array(kind), np.array(task), z[..., p:]) - (a * g(z[..., :p])).sum(axis=-1)
        risk += probability * one.loss_factor * (error - bias[:, one.heads[task], None]) ** 2 @ weight
    falls = np.einsum("brki,brij,brkj->r", gains, omega, gains)
    bends = -np.einsum("b,brkl,brlk->r", shares, slopes, squares) / one.batch
    best = np.where(bends > 0, falls / np.where(bends > 0, bends, 1.0), np.inf)
    return Population(risk, np.einsum("b,brkk->r", shares, squares) / one.batch, best)


def _cases(one, p):
    """Probability, class, task, mask and sign of the label, of all that may happen to a sample."""
    masks = list(product((1, 0), repeat=p)) if one.keep < 1 else [(1,) * p]
    signs = [(1 - one.flips, 1.0), (one.flips, -1.0)] if one.flips else [(1.0, 1.0)]
    for (kind, of_kind), (task, of_task), kept, (chance, sign) in product(
        enumerate(one.class_probability), enumerate(one.task_probability), masks, signs
    ):
        among = one.keep ** sum(kept) * (1 - one.keep) ** (p - sum(kept))
        probability = of_kind * of_task * chance * (among if one.keep < 1 else 1.0)
        if probability:
            yield probability, kind, task, one.mask_scale * np.array(kept), sign


def _nodes(h, C, label_noise):
    """(run, node, field) fields, (node,) noise of the label, and weights."""
    fields = h.shape[1]
    axes = [np.polynomial.hermite_e.hermegauss(NODES[fields])] * fields
    axes += [np.polynomial.hermite_e.hermegauss(NOISE)] if label_noise else []
    points = np.stack([x.ravel() for x in np.meshgrid(*(x for x, _ in axes), indexing="ij")], axis=-1)
    weight = np.prod(np.stack([w.ravel() for w in np.meshgrid(*(w for _, w in axes), indexing="ij")]), axis=0)
    roots = np.linalg.cholesky(C)
    z = h[:, None] + points[:, :fields] @ roots.transpose(0, 2, 1)
    noise = np.sqrt(label_noise) * points[:, -1] if label_noise else np.zeros(len(points))
    return z, noise, weight / weight.sum()

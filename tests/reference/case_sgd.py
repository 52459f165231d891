"""One-pass SGD of full weights on classes, tasks, masks, noise and drift: many runs at once, in plain NumPy.

Written from the definition of one step and of nothing else; it takes arrays and knows no problem of the library. A step, at
alpha = step / N, draws for every sample of its batch a class c, a task t, a mask and whether the label is flipped, then

    inputs     x = sum_j (M_cj + sqrt(tau_cj) zeta_j) m_j / sqrt(N) + sqrt(lambda_bc) xi,   students see x + sqrt(sigma_b) xi'
    fields     z = W x / sqrt(N)
    label      y = +-(y_c + sum_l a*_tl g(z*_l)) + sqrt(noise) zeta, or the product of all z*_l in place of the sum
    error      e = y - sum_k a_k g(z_k) - b_t,  a = mask times the head of task t,  loss c e^2 (or another, whose push is given)
    weights    w_k <- w_k - (eta / N) (decay w_k + anchor (w_k - w_k(0))) + (eta / B) sum_batch 2 c a_k g'(z_k) e x / sqrt(N)
               sphere: |w_k|^2 = N
    readout    head_tk <- head_tk + (eta_a / N B) sum over the samples of head t of 2 c mask_k g(z_k) e, biases b_t with 1 for g
    teachers   the first two turn by rotation / N, then w* <- (1 - drift / N) w* + sqrt(2 drift / N) normals of covariance T0

all from the weights and readouts before the step. With momentum the last term of the weights' step goes into velocities and these
move the weights, v <- beta v + (eta / B) sum ..., w <- w + v; slow ones have beta = 1 - kappa / N, get kappa times as much and
move weights by v / N; decay and anchor use the rate eta / (1 - beta) of fast ones; readouts have velocities likewise. Nesterov's
fields are those of w + (what is left of v). An average moves after each step by the share `average_rate / N` to the weights, or by
1 / (1 + the number of steps since the first at alpha = average_begin or later),
until when it is the weights; a snapshot is the weights until its time.

A rule may replace F_k = a_k g'(z_k) push; a look-ahead takes F at
z_k + rho F_k |x|^2/N, repeats add up F along z <- z + (eta / B) F |x|^2/N. Where only some coordinates learn, the others keep their
weights. A pace multiplies the rate eta of the weights by a function of the state before the step (`moments.py`).

Numbers named in `SCHEDULED` may be functions of alpha.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import erf

SCHEDULED = (
    "rate", "readout_rate", "decay", "label_noise", "batch", "keep", "beta", "kappa", "class_probability", "task_probability",
    "stretch",
)  # fmt: skip

UNITS = {
    "linear": (lambda z: z, np.ones_like),
    "quadratic": (lambda z: z**2, lambda z: 2 * z),
    "relu": (lambda z: np.maximum(z, 0), lambda z: (z > 0) * 1.0),
    "tanh": (np.tanh, lambda z: np.cosh(z) ** -2.0),
    "hermite": (lambda z: 0.8 * z + 0.4 * (z**2 - 1), lambda z: 0.8 + 0.8 * z),
    "hermite3": (lambda z: (z**3 - 3 * z) / np.sqrt(6), lambda z: (z**2 - 1) * np.sqrt(1.5)),
    "erf": (lambda z: erf(z / np.sqrt(2)), lambda z: np.sqrt(2 / np.pi) * np.exp(-(z**2) / 2)),
}


@dataclass(frozen=True)
class Setting:
    """What is learned, from what, and how. `sizes` of the blocks add up to N; `variances` (class, block) are those of the inputs,
    not factors; class and task probabilities are functions of alpha. `readout` is (head, p), `teacher_readout` (task, q)."""

    student: np.ndarray  # (p, N)
    readout: np.ndarray
    rate: float
    sizes: np.ndarray
    variances: np.ndarray
    teacher: np.ndarray | None = None  # (q, N)
    teacher_readout: np.ndarray | None = None
    unit: object = "erf"  # a name, or a pair of functions, value and slope
    teacher_unit: object = "erf"
    loss_factor: float = 0.5
    class_probability: object = (1.0,)
    directions: np.ndarray | None = None  # (d, N), entries of order one
    means: np.ndarray | None = None  # (class, d)
    spikes: np.ndarray | None = None  # (class, d)
    labels: np.ndarray | float = 0.0  # (class,)
    task_probability: object = (1.0,)
    heads: tuple[int, ...] = (0,)  # of the tasks
    keep: object = 1.0
    mask_scale: float = 1.0  # of units that are kept
    test_mask: float = 1.0  # of all units in tests
    input_noise: np.ndarray | float = 0.0  # (block,), variances
    flips: float = 0.0
    label_noise: float = 0.0
    drift: float = 0.0
    drift_covariance: np.ndarray | None = None  # (q, q)
    rotation: float = 0.0
    anchor: float = 0.0
    decay: float = 0.0
    sphere: bool = False
    batch: int = 1
    readout_rate: float = 0.0
    push: object = lambda y, output: 2 * (y - output)  # minus the slope of the loss in the output, without loss factor
    loss: object = lambda y, output: (y - output) ** 2  # without loss factor, where it is reported
    target: object = None  # labels as a function of the teachers' fields (..., q), in place of the sum over units
    signs: bool = False  # labels are signs of what they would be
    rule: object = lambda F, z, y, output, size: F  # what becomes of F (run, sample, p)
    lookahead: float = 0.0
    repeats: int = 1
    beta: object = 0.0
    kappa: object = 0.0
    nesterov: bool = False
    average_rate: float = 0.0
    average_begin: float | None = None
    snapshot: float | None = None  # time; the anchor is then the snapshot
    adagrad: float = 0.0  # offset of AdaGrad-Norm; the rate is then eta / sqrt(offset^2 + G), G before the step
    pace: object = None  # (run,) factor on the rate: a function of alpha, this setting, W, V, readouts, biases and G
    clip: float = 0.0  # length to which the gradient (1 / B) sum F x / sqrt(N) of all students is shortened
    roles: tuple[str, ...] = ()  # of "velocity", "average", "snapshot" those that are recorded
    bias: float = 0.0  # of all heads at the start; it learns if `train_bias` says so, at the rate of the readout
    train_bias: bool = False
    teacher_bias: float = 0.0  # added to labels, before signs are taken
    train_readout: bool = True
    stretch: object = 1.0  # (block,) factors on the variances
    trained: np.ndarray | None = None  # (N,) which coordinates learn

    def but(self, **changes):
        return replace(self, **changes)

    def at(self, alpha):
        """The numbers of one time, and the variances times their stretch."""
        now = {name: getattr(self, name) for name in SCHEDULED}
        now = {name: value(alpha) if callable(value) else value for name, value in now.items()}
        return self.but(**now, variances=self.variances * now["stretch"])


class Record(NamedTuple):
    """Overlaps (run, time, block, row, row) of students, teachers, directions, anchors and `roles`; readouts (run, time, head, p)
    and their velocities; sums of squared gradients (run, time); biases (run, time, head) and their velocities; (run, time) risk,
    each on TESTS fresh inputs."""

    overlaps: np.ndarray
    readout: np.ndarray
    readout_velocity: np.ndarray
    accumulated: np.ndarray
    bias: np.ndarray
    bias_velocity: np.ndarray
    risk: np.ndarray


TESTS = 100


def simulate(setting, steps, runs, seed):
    """Follow so many independent runs, and record them after the given numbers of steps."""
    one, random = completed(setting), np.random.default_rng(seed)
    tests = random.spawn(1)[0]  # so that looks change no run
    W, V = np.tile(one.student, (runs, 1, 1)), np.tile(one.teacher, (runs, 1, 1))
    heads, kept = np.tile(one.readout, (runs, 1, 1)), []
    more = {"velocity": 0 * W, "average": W.copy(), "snapshot": W.copy(), "readout": 0 * heads, "G": np.zeros(runs)}
    more |= {"bias": np.full(heads.shape[:2], one.bias), "bias velocity": np.zeros(heads.shape[:2])}
    for step in range(max(steps) + 1):
        if step in steps:
            kept.append(
                (
                    _overlaps(one, W, V, more),
                    heads.copy(),
                    more["readout"].copy(),
                    more["G"].copy(),
                    more["bias"].copy(),
                    more["bias velocity"].copy(),
                    _risk(one.at(step / one.student.shape[1]), W, V, heads, more["bias"], tests),
                )
            )
        if step < max(steps):
            W, heads = _learn(one.at(step / one.student.shape[1]), step, W, V, heads, more, random)
            V = _drift(one, V, random)
            _remember(one, step, W, more)
    return Record(*(np.stack(part, axis=1) for part in zip(*kept, strict=True)))


def _remember(one, step, W, more):
    """Averages and snapshots after a step."""
    N = W.shape[2]
    first = np.ceil(N * (one.average_begin or 0.0) - 1e-9)
    since = step + 1 - first
    share = one.average_rate / N or 1 / (1 + max(since, 0.0))
    more["average"] += (1.0 if step < first else share) * (W - more["average"])
    if one.snapshot is not None and step < one.snapshot * N:
        more["snapshot"] = W.copy()


def completed(one):
    """With arrays of no rows for what there is none of."""
    N = one.student.shape[1]
    classes = len(one.variances)
    directions = np.zeros((0, N)) if one.directions is None else one.directions
    none = np.zeros((classes, len(directions)))
    return one.but(
        teacher=np.zeros((0, N)) if one.teacher is None else one.teacher,
        teacher_readout=np.zeros((len(one.heads), 0)) if one.teacher_readout is None else one.teacher_readout,
        directions=directions,
        means=none if one.means is None else one.means,
        spikes=none if one.spikes is None else one.spikes,
        labels=np.broadcast_to(one.labels, (classes,)),
        input_noise=np.broadcast_to(one.input_noise, one.sizes.shape),
    )


def _learn(one, step, W, V, heads, more, random):
    """Weights and readouts after a step; velocities are changed in place."""
    runs, N, p = len(W), W.shape[2], W.shape[1]
    shape, scale = (runs, one.batch), 1 / np.sqrt(N)
    kind, task = cases(one, shape, random)
    head = np.array(one.heads)[task]
    mask = one.mask_scale * (random.random((*shape, p)) < one.keep)
    x, seen = inputs(one, kind, random)
    beta, kick, share = (1 - one.kappa / N, one.kappa, 1 / N) if one.kappa else (one.beta, 1.0, 1.0)
    at = W + beta * share * more["velocity"] if one.nesterov else W
    z, fields = seen @ at.transpose(0, 2, 1) * scale, x @ V.transpose(0, 2, 1) * scale
    y = labels_of(one, kind, task, fields)
    y = np.where(random.random(shape) < one.flips, -y, y) + np.sqrt(one.label_noise) * random.standard_normal(shape)
    a, b = mask * heads[np.arange(runs)[:, None], head], more["bias"][np.arange(runs)[:, None], head]
    size = (seen**2).sum(axis=-1, keepdims=True) / N
    F, pushed, push = gradient(one, a, b, z, y, size)
    used = F
    for _ in range(1, one.repeats):
        z = z + one.rate / one.batch * size * used
        used, *further = gradient(one, a, b, z, y, size)
        F, pushed, push = F + used, pushed + further[0], push + further[1]
    pull = one.decay * W + one.anchor * (W - (one.student if one.snapshot is None else more["snapshot"]))
    slope = scale / one.batch * F.transpose(0, 2, 1) @ seen
    if one.trained is not None:
        slope, pull = slope * one.trained, pull * one.trained
    square = (slope**2).sum(axis=(1, 2))
    rate = one.rate / np.sqrt(one.adagrad**2 + more["G"]) if one.adagrad else np.full(runs, one.rate)
    if one.clip:
        rate = rate * np.minimum(1.0, one.clip / np.sqrt(np.maximum(square, 1e-300)))
    if one.pace is not None:
        rate = rate * np.maximum(one.pace(step / N, one, W, V, heads, more["bias"], more["G"]), 0.0)
    more["G"], rate = more["G"] + square / N, rate[:, None, None]
    more["velocity"] = beta * more["velocity"] + kick * rate * slope
    W = W - rate / (1 - one.beta) / N * pull + share * more["velocity"]
    if one.sphere:
        W = W * np.sqrt(N / (W**2).sum(axis=2, keepdims=True))
    belongs = head[..., None] == np.arange(heads.shape[1])  # (run, sample, head)
    gain, rate = (
        np.einsum("rst,rsk->rtk", belongs.astype(float), mask * pushed),
        kick * one.readout_rate / (N * one.batch),
    )
    more["readout"] = beta * more["readout"] + one.train_readout * rate * gain
    alone = np.einsum("rst,rs->rt", belongs.astype(float), push)
    more["bias velocity"] = beta * more["bias velocity"] + one.train_bias * rate * alone
    more["bias"] = more["bias"] + share * more["bias velocity"]
    return W, heads + share * more["readout"]


def functions_of(unit):
    """Value and slope."""
    return UNITS[unit] if isinstance(unit, str) else unit


def labels_of(one, kind, task, fields):
    """Labels of these classes and tasks from the teachers' fields (..., q), without flips and noise."""
    if one.target is None:
        taught = (one.teacher_readout[task] * functions_of(one.teacher_unit)[0](fields)).sum(axis=-1)
    else:
        taught = one.target(fields)
    y = one.labels[kind] + taught + one.teacher_bias
    return np.where(y > 0, 1.0, -1.0) if one.signs else y


def gradient(one, a, b, z, y, size):
    """F of every student, as rule and look-ahead have it, what pushes the readouts, and the push alone, at these fields."""
    found = _gradient_at(one, a, b, z, y, size)
    return _gradient_at(one, a, b, z + one.lookahead * size * found[0], y, size) if one.lookahead else found


def _gradient_at(one, a, b, z, y, size):
    g, slope = functions_of(one.unit)
    output = (a * g(z)).sum(axis=-1) + b
    push = one.loss_factor * one.push(y, output)
    return one.rule(a * slope(z) * push[..., None], z, y, output, size), g(z) * push[..., None], push


def inputs(one, kind, random):
    """(run, sample, N) as teachers and as students see them."""
    N = one.student.shape[1]
    zeta = random.standard_normal((*kind.shape, len(one.directions)))
    centre = (one.means[kind] + np.sqrt(one.spikes[kind]) * zeta) @ one.directions / np.sqrt(N)
    roots = np.repeat(np.sqrt(one.variances), one.sizes, axis=1)
    x = centre + roots[kind] * random.standard_normal((*kind.shape, N))
    if not one.input_noise.any():
        return x, x
    return x, x + np.repeat(np.sqrt(one.input_noise), one.sizes) * random.standard_normal(x.shape)


def cases(one, shape, random):
    """Class and task of every sample."""
    kind = random.choice(len(one.variances), size=shape, p=one.class_probability)
    return kind, random.choice(len(one.heads), size=shape, p=one.task_probability)


def _risk(one, W, V, heads, bias, random):
    """(run,) c times the mean squared error on TESTS fresh inputs, of the mix of classes and tasks at present, without masks,
    flips and noise."""
    runs, scale = np.arange(len(W))[:, None], 1 / np.sqrt(W.shape[2])
    kind, task = cases(one, (len(W), TESTS), random)
    x, _ = inputs(one.but(input_noise=np.zeros(len(one.sizes))), kind, random)
    head = np.array(one.heads)[task]
    z = functions_of(one.unit)[0](x @ W.transpose(0, 2, 1) * scale)
    output = one.test_mask * (heads[runs, head] * z).sum(axis=-1) + bias[runs, head]
    return one.loss_factor * ((labels_of(one, kind, task, x @ V.transpose(0, 2, 1) * scale) - output) ** 2).mean(axis=1)


def _drift(one, V, random):
    """Teachers after a step."""
    N = V.shape[2]
    if one.rotation:
        c, s = np.cos(one.rotation / N), np.sin(one.rotation / N)
        first, second = V[:, :1], V[:, 1:2]
        V = np.concatenate([c * first + s * second, c * second - s * first, V[:, 2:]], axis=1)
    if not one.drift:
        return V
    walk = np.einsum("lm,rmn->rln", np.linalg.cholesky(one.drift_covariance), random.standard_normal(V.shape))
    return (1 - one.drift / N) * V + np.sqrt(2 * one.drift / N) * walk


def _overlaps(one, W, V, more):
    """(run, block, row, row) of students, teachers, directions, anchors (if there are any) and the `roles`."""
    N = W.shape[2]
    fixed = np.concatenate([one.directions, one.student if one.anchor and one.snapshot is None else one.student[:0]])
    others = [more[role] for role in one.roles]
    rows = np.concatenate([W, V, np.broadcast_to(fixed, (len(W), *fixed.shape)), *others], axis=1)
    parts = np.split(rows, np.cumsum(one.sizes)[:-1], axis=2)
    return np.stack([part @ part.transpose(0, 2, 1) / N for part in parts], axis=1)

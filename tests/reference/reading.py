"""A problem's words and numbers as the arrays that `case_sgd.py` takes: nothing of the library computes here.

A user's own functions (units, targets, losses, rates) are those of the problem. An own `Rule` works on one sample at a time, so
its name stands for a function of arrays in `RULES`.
"""

import numpy as np

import solvable as sv
from reference.case_sgd import UNITS, Setting
from reference.moments import population
from reference.reuse import Data


def number(given):
    """A float, or a function of alpha for a schedule: steps hold from their time on, linear ones are joined by lines."""
    if not isinstance(given, sv.Schedule):
        return float(given)
    times, values = np.array(given.times), np.array(given.rates)
    if given.shape == "linear":
        return lambda alpha: float(np.interp(alpha, times, values))
    return lambda alpha: float(values[np.searchsorted(times, alpha + 1e-12, side="right") - 1])


def whole(given):
    """A batch: the nearest whole number at each time, upwards from a half."""
    value = number(given)
    return (lambda alpha: int(np.floor(value(alpha) + 0.5 + 1e-9))) if callable(value) else int(value)


def count(given, dim):
    """A number of samples, which may be given per dimension."""
    return max(1, round(given.ratio * dim)) if isinstance(given, sv.Ratio) else given


def together(numbers, factor=1.0):
    """An array, or a function of alpha for an array, of numbers of which some are schedules."""
    parts = [number(one) for one in numbers]
    if not any(map(callable, parts)):
        return np.array(parts) * factor
    return lambda alpha: np.array([part(alpha) if callable(part) else part for part in parts]) * factor


def unit(activation):
    """Value and slope of a unit."""
    if isinstance(activation, str):
        return UNITS[activation]
    if hasattr(activation, "coefficients"):
        series = np.polynomial.HermiteE(activation.coefficients)
        return series, series.deriv()
    return activation.function, activation.derivative


def readout(network):
    """(width,), or (head, width) where it is given for each head."""
    named = {"mean": 1 / max(network.width, 1), "sqrt": max(network.width, 1) ** -0.5, "unit": 1.0}
    values = named[network.readout] if isinstance(network.readout, str) else np.array(network.readout, dtype=float)
    return values if np.ndim(values) == 2 else np.broadcast_to(values, (network.width,)).astype(float)


def blocks(inputs):
    """Eigenvalues, which may be schedules, and how many dimensions each has."""
    spectrum = inputs.spectrum
    if spectrum is None:
        return (1.0,), np.array([inputs.dim])
    if spectrum.kind == "power-law":
        values = np.arange(1, spectrum.distinct + 1) ** -(1.0 + spectrum.beta)
        return tuple(values / values.mean()), np.full(spectrum.distinct, inputs.dim // spectrum.distinct)
    weights = np.ones(len(spectrum.eigenvalues)) if spectrum.weights is None else np.array(spectrum.weights)
    return spectrum.eigenvalues, np.rint(inputs.dim * weights / weights.sum()).astype(int)


def sigmoid(x):
    return 1 / (1 + np.exp(-np.clip(x, -500, 500)))


def pushes(loss):
    """Minus the slope of the loss in the output, without loss factor: a function of label and output."""
    name = loss if isinstance(loss, str) else loss.name
    bound = getattr(loss, "threshold", 1.0)
    sharp = getattr(loss, "sharpness", 4.0)
    named = {
        "squared": lambda y, o: 2 * (y - o),
        "log-cosh": lambda y, o: 2 * np.tanh(y - o),
        "huber": lambda y, o: 2 * np.clip(y - o, -bound, bound),
        "absolute": lambda y, o: 2 * np.sign(y - o),
        "correlation": lambda y, o: 2 * y + 0 * o,
        "logistic": lambda y, o: y * sigmoid(-y * o),
        "hinge": lambda y, o: y * sigmoid(sharp * (1 - y * o)),
        "perceptron": lambda y, o: y * (y * o < 0),
    }
    if isinstance(loss, sv.problems.Loss):
        return (lambda y, o: loss.push(y - o)) if loss.of == "residual" else (lambda y, o: y * loss.push(y * o))
    return named[name]


def losses(loss):
    """The loss itself, without loss factor: a function of label and output."""
    name = loss if isinstance(loss, str) else loss.name
    bound = getattr(loss, "threshold", 1.0)
    sharp = getattr(loss, "sharpness", 4.0)
    named = {
        "squared": lambda y, o: (y - o) ** 2,
        "log-cosh": lambda y, o: 2 * (np.logaddexp(y - o, o - y) - np.log(2)),
        "huber": lambda y, o: np.where(np.abs(y - o) < bound, (y - o) ** 2, bound * (2 * np.abs(y - o) - bound)),
        "absolute": lambda y, o: 2 * np.abs(y - o),
        "correlation": lambda y, o: -2 * y * o,
        "logistic": lambda y, o: np.logaddexp(0, -y * o),
        "hinge": lambda y, o: np.logaddexp(0, sharp * (1 - y * o)) / sharp,
        "perceptron": lambda y, o: np.maximum(-y * o, 0),
    }
    if isinstance(loss, sv.problems.Loss):
        return lambda y, o: loss.function(y - o if loss.of == "residual" else y * o)
    return named[name]


def _clipped(bound):
    return lambda F, z, y, output, size: (
        F * np.minimum(1.0, bound / np.maximum(np.sqrt(size * (F**2).sum(axis=-1, keepdims=True)), 1e-300))
    )


def _normalised(F, z, y, output, size):
    return F / np.maximum(np.sqrt(size * (F**2).sum(axis=-1, keepdims=True)), 1e-300)


def rule(given, own):
    """What becomes of F."""
    if given is None:
        return lambda F, z, y, output, size: F
    if isinstance(given, sv.Rule):
        return own[given.name]
    return _normalised if given == "normalised" else _clipped(given.norm)


def rates(given):
    """Fields of a setting for a rate that follows the state."""
    kind = None if given is None else given.kind
    if kind == "adagrad":
        return {"adagrad": given.offset}
    if kind == "clip-batches":
        return {"clip": given.norm}
    factors = {
        "polyak": lambda alpha, state, G: 2 * state.risk / state.square,
        "line-search": lambda alpha, state, G: np.minimum(state.best, given.largest),
        "custom": lambda alpha, state, G: np.vectorize(given.function, otypes=[float])(
            alpha + given.begin, state.risk, state.square, G
        ),
    }
    if kind is None:
        return {}
    return {"pace": lambda alpha, one, *state: factors[kind](alpha, population(one, *state[:-1]), state[-1])}


def setting_of(problem, W, V=None, trained=None, own=None, directions=None):
    """The setting of a problem that starts from these students and teachers; `own` are rules of arrays by the names of own ones,
    `trained` a mask of coordinates, `directions` those of a mixture that has no vectors."""
    training, student, teacher, mixture = problem.training, problem.student, problem.teacher, problem.mixture
    eigenvalues, sizes = blocks(problem.inputs)
    dim = problem.inputs.dim
    factor = dim if training.learning_rate is None else 1.0
    rate = training.step if training.learning_rate is None else training.learning_rate
    second = rate if training.readout_rate is None else training.readout_rate
    tasks, masks, momentum = problem.tasks, training.dropout, training.momentum
    heads = tuple(i if task.head is None else task.head for i, task in enumerate(tasks)) or (0,)
    average, blurred = training.average, np.array(training.input_noise, dtype=float)
    drifts = np.array(teacher.overlap) if isinstance(teacher.overlap, tuple) else np.eye(teacher.width)
    scaled = lambda value: (lambda alpha: factor * value(alpha)) if callable(value) else factor * value
    fields = {
        "student": W,
        "teacher": V,
        "readout": np.array(np.broadcast_to(readout(student), (1 + max(heads), student.width))),
        "teacher_readout": np.array([task.readout for task in tasks] or [readout(teacher)], dtype=float),
        "rate": scaled(number(rate)),
        "readout_rate": scaled(number(second)),
        "sizes": sizes,
        "variances": np.ones((1, len(sizes))),
        "stretch": together(eigenvalues),
        "unit": unit(student.activation),
        "teacher_unit": unit(teacher.activation),
        "loss_factor": training.loss_factor,
        "heads": heads,
        "task_probability": together([task.probability for task in tasks] or [1.0]),
        "input_noise": np.array(np.broadcast_to(blurred, len(sizes))),
        "flips": training.label_flips,
        "label_noise": number(training.label_noise),
        "drift": teacher.drift,
        "drift_covariance": drifts,
        "rotation": teacher.rotation,
        "anchor": training.anchor,
        "decay": number(training.weight_decay),
        "sphere": student.norm == "sphere",
        "batch": 1 if training.samples is not None else whole(count(training.batch, dim)),
        "push": pushes(training.loss),
        "loss": losses(training.loss),
        "signs": teacher.target == "sign",
        "rule": rule(training.rule, own or {}),
        "lookahead": training.lookahead,
        "repeats": training.repeats,
        "snapshot": training.snapshot,
        "roles": tuple(role for role in ("velocity", "average", "snapshot") if role in problem.extras),
        "bias": student.bias,
        "train_bias": training.train_bias,
        "teacher_bias": teacher.bias,
        "train_readout": training.train_readout,
        "trained": None if trained is None else np.array(trained, dtype=float),
    }
    if mixture is not None:
        variances = np.ones(mixture.classes) if mixture.variances is None else np.array(mixture.variances)
        fields |= {
            "class_probability": together(mixture.probabilities),
            "directions": np.array(mixture.vectors) if directions is None else directions,
            "means": np.array(mixture.means),
            "spikes": None if mixture.spikes is None else np.array(mixture.spikes),
            "labels": 0.0 if mixture.labels is None else np.array(mixture.labels),
            "variances": np.broadcast_to(variances.reshape(mixture.classes, -1), (mixture.classes, len(sizes))),
        }
    if masks is not None:
        keep = number(masks.keep)
        tested = 1.0 if masks.scale == "train" else keep if masks.test_factor is None else masks.test_factor
        fields |= {"keep": keep, "mask_scale": 1 / keep if masks.scale == "train" else 1.0, "test_mask": tested}
    if momentum is not None:
        share = {"beta": number(momentum.beta)} if momentum.kappa is None else {"kappa": number(momentum.kappa)}
        fields |= share | {"nesterov": momentum.nesterov}
    if average is not None:
        fields |= {"average_rate": average.rate} if average.begin is None else {"average_begin": average.begin}
    if teacher.target == "product":
        fields["target"] = lambda z: z.prod(axis=-1)
    elif teacher.target not in ("additive", "sign"):
        fields["target"] = lambda z: teacher.target.function(z.reshape(-1, z.shape[-1])).reshape(z.shape[:-1])
    assert dim == W.shape[1]
    return Setting(**fields | rates(training.rate_rule))


def data_of(problem):
    """The data set of a problem, or its fresh batches."""
    training, dim = problem.training, problem.inputs.dim
    if training.samples is None:
        size = count(training.batch, dim)
        return Data("repeated", size, size, training.repeats)
    size = count(training.samples, dim)
    batch = size if training.batch is None else count(training.batch, dim)
    selection = training.selection or ("all" if training.batch is None else "subsets")
    return Data(selection, size, batch, training.repeats)

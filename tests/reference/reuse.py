"""Training on drawn data sets in plain NumPy, many at once: written from the definition, to be compared with `sv.Empirical`."""

from typing import NamedTuple

import numpy as np

from reference.case_sgd import cases, completed, functions_of, gradient, inputs, labels_of


class Data(NamedTuple):
    """How many samples there are (of `repeated` ones: in each fresh batch), and how a step takes `batch` of them. A fresh batch is
    used `repeats` times; persistent samples are drawn anew with the chance 1/repeats."""

    selection: str
    samples: int
    batch: int
    repeats: int = 1


def train(one, data, steps, runs, seed):
    """Gradient descent on drawn data sets: (run, step, entry) training loss, overlaps of students and teachers, readouts, bias.

    `one` is a `case_sgd.Setting` whose functions of time count in steps and whose rate is the step times N; a step is

        v <- beta v + (step / divisor) sum_s m_s F(s) x_s sqrt(N),   w <- (1 - step decay / (1 - beta)) w + v

    with multiplicities m_s; readouts and the bias likewise. The loss is the mean over all samples, with its factor."""
    random, one = np.random.default_rng(seed), completed(one)
    p, N = one.student.shape
    W, V, velocity = np.tile(one.student, (runs, 1, 1)), one.teacher, np.zeros((runs, p, N))
    a, b = np.tile(one.readout[0], (runs, 1)), np.full(runs, one.bias)
    speed, fresh, found = np.zeros((runs, p + 1)), data.selection == "repeated", []
    x, y = _sample(one.at(0), data.samples, runs, random)
    choice = _choices(data, runs, random)
    for t in range(steps + 1):
        now = one.at(t)
        if fresh and t and t % data.repeats == 0:
            x, y = _sample(now, data.samples, runs, random)
        units = functions_of(one.unit)[0](x @ W.swapaxes(1, 2) / np.sqrt(N))
        loss = one.loss_factor * one.loss(y, (a[:, None] * units).sum(axis=-1) + b[:, None]).mean(axis=1)
        Q, R = W @ W.swapaxes(1, 2) / N, W @ V.T / N
        found.append(np.column_stack([loss, Q[:, *np.triu_indices(p)], R.reshape(runs, -1), a, b]))
        times, divisor = next(choice)
        eta, second = now.rate / N, now.readout_rate / N
        z = x @ (W + one.nesterov * now.beta * velocity).swapaxes(1, 2) / np.sqrt(N)
        F, pushed, push = gradient(now, a[:, None], b[:, None], z, y, np.ones((runs, x.shape[1], 1)))
        velocity = now.beta * velocity + eta * np.sqrt(N) / divisor * (times[..., None] * F).swapaxes(1, 2) @ x
        gain = np.column_stack([(times[..., None] * pushed).sum(axis=1), (times * push).sum(axis=1)])
        learns = np.append(np.full(p, one.train_readout), one.train_bias)
        speed = now.beta * speed + second / divisor * learns * gain
        W, a, b = (1 - eta * now.decay / (1 - now.beta)) * W + velocity, a + speed[:, :p], b + speed[:, p]
        if one.sphere:
            W = W * np.sqrt(N / (W**2).sum(axis=-1, keepdims=True))
    return np.stack(found, axis=1)


def _sample(one, count, runs, random):
    """Inputs (run, sample, N) and their labels, with flips and noise that are drawn once."""
    shape, N = (runs, count), one.student.shape[1]
    kind, task = cases(one, shape, random)
    x, _ = inputs(one, kind, random)
    y = labels_of(one, kind, task, x @ one.teacher.T / np.sqrt(N))
    return x, np.where(random.random(shape) < one.flips, -y, y) + np.sqrt(one.label_noise) * random.standard_normal(
        shape
    )


def _choices(data: Data, runs: int, random: np.random.Generator):
    """How often every sample (run, sample) is taken, and the divisor, step by step."""
    n, B, selection, t = data.samples, data.batch, data.selection, 0
    parts = np.array_split(np.arange(n), -(-n // B))
    inside = random.random((runs, n)) < B / n
    while True:
        part = parts[t % len(parts)]
        if selection == "subsets":
            yield random.permuted(np.tile(np.arange(n) < B, (runs, 1)), axis=1).astype(float), B
        elif selection == "drawn":
            yield np.array([np.bincount(one, minlength=n) for one in random.integers(0, n, (runs, B))]), B
        elif selection == "shuffled":
            if part is parts[0]:
                order = random.permuted(np.tile(np.arange(n), (runs, 1)), axis=1)
            yield np.isin(order, part).astype(float), len(part)
        elif selection == "partition":
            yield np.tile(np.isin(np.arange(n), part).astype(float), (runs, 1)), len(part)
        elif selection == "persistent":
            yield inside.astype(float), B
            anew = random.random((runs, n)) < 1 / data.repeats
            inside = np.where(anew, random.random((runs, n)) < B / n, inside)
        else:
            yield np.ones((runs, n)), n
        t += 1

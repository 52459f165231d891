"""Training on drawn data sets in plain NumPy, many at once: written from the definition, to be compared with `sv.Empirical`.

A setting is a table: `unit` (function, slope), `rows` (students, teacher, directions; w/sqrt(dim)), `roots` of the eigenvalues,
`samples` (of the data set, or of a fresh batch), `selection`, `batch`, `repeats`, `step`, and what else is not zero.
"""

import numpy as np

from reference.case_sgd import cases, completed, functions_of, gradient, inputs, labels_of

STUDENTS = 2


def train(setting: dict, steps: int, runs: int, seed: int) -> np.ndarray:
    """(step, run, entry) training loss, overlaps of the students, overlaps with the teacher, readouts."""
    s = {"beta": 0.0, "decay": 0.0, "readout_step": 0.0, "factor": 1.0, "sphere": False, "nesterov": False} | setting
    random, (function, slope) = np.random.default_rng(seed), s["unit"]
    loss, push = s.get("loss", (np.square, lambda e: 2 * e))
    w, teacher = np.repeat(s["rows"][None, :STUDENTS], runs, 0), s["rows"][STUDENTS]
    a, v, va = np.repeat(s["readout"][None], runs, 0), np.zeros_like(w), np.zeros((runs, STUDENTS))
    X, y = _draw(s, runs, random)
    choice, found = _choices(s, runs, random), []
    for t in range(steps + 1):
        if s["selection"] == "repeated" and t and t % s["repeats"] == 0:
            X, y = _draw(s, runs, random)
        error = y - np.einsum("rik,rk->ri", function(X @ w.swapaxes(1, 2)), a)
        Q, R = w @ w.swapaxes(1, 2), w @ teacher
        found.append(np.column_stack([s["factor"] * loss(error).mean(axis=1), Q[:, 0], Q[:, 1, 1:], R, a]))
        h = X @ (w + s["nesterov"] * s["beta"] * v).swapaxes(1, 2)
        times, divisor = next(choice)
        pushed = times * s["factor"] * push(y - np.einsum("rik,rk->ri", function(h), a))
        F = pushed[..., None] * slope(h) * a[:, None]
        v = s["beta"] * v + s["step"] / divisor * F.swapaxes(1, 2) @ X
        va = s["beta"] * va + s["readout_step"] / divisor * np.einsum("ri,rik->rk", pushed, function(h))
        w, a = (1 - s["step"] * s["decay"] / (1 - s["beta"])) * w + v, a + va
        if s["sphere"]:
            w = w / np.sqrt((w**2).sum(axis=-1, keepdims=True))
    return np.array(found)


def _draw(s: dict, runs: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Samples (run, sample, dim) and their labels, with noise that is drawn once."""
    shape = (runs, s["samples"])
    X, shift = random.standard_normal((*shape, s["roots"].size)) * s["roots"], 0.0
    if "mixture" in s:
        m = s["mixture"]
        c = random.choice(len(m.probabilities), shape, p=m.probabilities)
        along = np.array(m.means)[c] + np.sqrt(m.spikes)[c] * random.standard_normal((*shape, 2))
        X = X * np.sqrt(m.variances)[c][..., None] + along @ s["rows"][STUDENTS + 1 :]
        shift = np.array(m.labels)[c]
    y = s["unit"][0](X @ s["rows"][STUDENTS]) + shift + np.sqrt(s.get("noise", 0.0)) * random.standard_normal(shape)
    return X, np.where(random.random(shape) < s.get("flips", 0.0), -y, y)


def _choices(s: dict, runs: int, random: np.random.Generator):
    """How often every sample (run, sample) is taken, and the divisor, step by step."""
    n, B, selection, t = s["samples"], s.get("batch", s["samples"]), s["selection"], 0
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
            anew = random.random((runs, n)) < 1 / s["repeats"]
            inside = np.where(anew, random.random((runs, n)) < B / n, inside)
        else:
            yield np.ones((runs, n)), n
        t += 1


def descend(one, data, steps, runs, seed):
    """Gradient descent on drawn data sets: (run, step, entry) training loss, overlaps of students and teachers, readouts, bias.

    `one` is a `case_sgd.Setting` whose functions of time count in steps and whose rate is the step times N; `data` has samples,
    selection, batch and repeats. A step is

        v <- beta v + (step / divisor) sum_s m_s F(s) x_s sqrt(N),   w <- (1 - step decay / (1 - beta)) w + v

    with multiplicities m_s; readouts and the bias likewise. The loss is the mean over all samples, with its factor."""
    random, one = np.random.default_rng(seed), completed(one)
    p, N = one.student.shape
    W, V, velocity = np.tile(one.student, (runs, 1, 1)), one.teacher, np.zeros((runs, p, N))
    a, b = np.tile(one.readout[0], (runs, 1)), np.full(runs, one.bias)
    speed, fresh, found = np.zeros((runs, p + 1)), data["selection"] == "repeated", []
    x, y = _sample(one.at(0), data["batch"] if fresh else data["samples"], runs, random)
    choice = _choices(data | {"samples": x.shape[1]}, runs, random)
    for t in range(steps + 1):
        now = one.at(t)
        if fresh and t and t % data["repeats"] == 0:
            x, y = _sample(now, data["batch"], runs, random)
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

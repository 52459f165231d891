"""Training on drawn data sets in plain NumPy, many at once: written from the definition, to be compared with `sv.Empirical`.

A setting is a table: `unit` (function, slope), `rows` (students, teacher, directions; w/sqrt(dim)), `roots` of the eigenvalues,
`samples` (of the data set, or of a fresh batch), `selection`, `batch`, `repeats`, `step`, and what else is not zero.
"""

import numpy as np

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

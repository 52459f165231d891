"""Finite-size SGD: CPU time per sample of the reduced process against full weights, at any width and dim, all in one run.

`plain` is the loop that papers ship, NumPy and one sample at a time; `compiled` is the same loop in Numba, one thread.
"""

import os
import tempfile
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # one core for everyone, and no threads that spin in others' time

import numpy as np
from common import interleaved
from numba import njit

import solvable as sv
from solvable.micro.full import AHEAD, GaussianRows

RATE = 0.01


def problem_of(p, q, dim):
    return sv.problems.convention("bocchi2026").problem(p=p, p_star=q, eta=RATE).replace(inputs__dim=dim)


def reduced(p, q, dim, steps, pieces=1, shape="steps"):
    """Eight runs, one core; the rate in so many pieces."""
    problem = problem_of(p, q, dim)
    if pieces > 1:
        times, rates = np.linspace(0, steps / dim, pieces, endpoint=False), RATE * (1 + np.arange(pieces) % 2 / 10)
        schedule = sv.Schedule(times=tuple(times), rates=tuple(rates), shape=shape)
        problem = problem.replace(training__learning_rate=schedule)
    start, level = sv.start(problem, seed=0), sv.Micro(runs=8, form="reduced", threads=1)
    return lambda: sv.run(problem, start, level, times=[steps], clock="steps"), 8 * steps


def cases(p, q, dim, steps, unit="quadratic", **changes):
    """Eight runs, one core, of a problem with other features."""
    problem = problem_of(p, q, dim).replace(student__activation=unit, teacher__activation=unit, **changes)
    start, level = sv.start(problem, seed=0), sv.Micro(runs=8, threads=1)
    return lambda: sv.run(problem, start, level, times=[steps], clock="steps"), 8 * steps


def threshold(unit, quantity="risk", above=None, steps=50_000, **changes):
    """Eight runs far from a threshold, and the same runs without one."""
    problem = sv.Problem(
        teacher=sv.Teacher(width=3, activation=unit), student=sv.Student(width=6, activation=unit),
        inputs=sv.Inputs(dim=10**4), training=sv.Training(learning_rate=RATE, loss_factor=0.5),
    ).replace(**changes)  # fmt: skip
    start, level, words = sv.start(problem, seed=0), sv.Micro(runs=8, threads=1), {"times": [steps], "clock": "steps"}
    stop = sv.when("risk", below=0.05, relative=True) if above is None else sv.when(quantity, above=above)
    with_it = lambda: sv.run(problem, start, level, stop=stop, **words)  # noqa: E731
    return {
        "without": (lambda: sv.run(problem, start, level, **words), 8 * steps),
        "with a threshold": (with_it, 8 * steps),
    }


def thresholds():
    """What may be watched, by name."""
    ramp = sv.Schedule(times=(0.0, 10.0), rates=(1.0, 1.3), shape="linear")
    return {
        "risk": {},
        "norm": {"quantity": "norm", "above": 9.0},
        "readout": {"quantity": "readout", "above": 9.0, "training__train_readout": True},
        "risk, trained readouts": {"training__train_readout": True},
        "risk, scheduled eigenvalue": {"inputs__spectrum": sv.Spectrum(eigenvalues=(ramp,), weights=(1.0,))},
        **{f"risk, {name}": features(3)[name] for name in ("two tasks", "four classes", "fast momentum")},
    }


def features(q):
    """What they may be, by name; a task asks about one teacher."""
    readouts = [tuple(float(i == k) for i in range(q)) for k in range(2)]
    classes = {"mixture": sv.Mixture.xor(1.0)}
    tasks = {"tasks": tuple(sv.Task(readout=readout, probability=0.5) for readout in readouts)}
    return {
        "plain": {},
        "four classes": classes,
        "two tasks": tasks,
        "four classes and two tasks": classes | tasks,
        "four classes and two tasks, batches of 5": classes | tasks | {"training__batch": 5},
        "dropout": {"training__dropout": {"keep": 0.7}},
        "input noise": {"training__input_noise": 0.1},
        "drifting teachers": {"teacher__drift": 0.1},
        "correlation loss": {"training__loss": "correlation"},
        "clipped": {"training__rule": {"norm": 1.0}},
        "each sample twice": {"training__repeats": 2},
        "clipped, batches of 5": {"training__rule": {"threshold": 1.0}, "training__batch": 5},
        "slow momentum": {"training__momentum": sv.Momentum(kappa=1.0)},
        "fast momentum": {"training__momentum": 0.5},
        "average": {"training__average": sv.problems.Average(rate=1.0)},
        "AdaGrad": {"training__rate_rule": sv.problems.AdaGrad(offset=1.0)},
    }


def plain(p, q, dim, steps):
    random = np.random.default_rng(0)
    W, teacher = random.standard_normal((p, dim)), random.standard_normal((q, dim))

    def call():
        for _ in range(steps):
            x = random.standard_normal(dim)
            h = W @ x / np.sqrt(dim)
            error = np.mean((teacher @ x / np.sqrt(dim)) ** 2) - np.mean(h**2)
            W.__iadd__(np.outer(4 * RATE / p * error * h, x) / np.sqrt(dim))

    return call, steps


@njit(fastmath=True)
def _loop(W, teacher, steps, random, x):
    p, dim = W.shape
    root = np.sqrt(dim)
    h = np.empty(p)
    for _ in range(steps):
        for i in range(dim):
            x[i] = random.standard_normal()
        error = 0.0
        for m in range(len(teacher)):
            u = 0.0
            for i in range(dim):
                u += teacher[m, i] * x[i]
            error += u * u / dim / len(teacher)
        for k in range(p):
            total = 0.0
            for i in range(dim):
                total += W[k, i] * x[i]
            h[k] = total / root
            error -= h[k] * h[k] / p
        for k in range(p):
            f = 4 * RATE / p * error * h[k] / root
            for i in range(dim):
                W[k, i] += f * x[i]


def compiled(p, q, dim, steps):
    random = np.random.default_rng(0)
    W, teacher, x = random.standard_normal((p, dim)), random.standard_normal((q, dim)), np.empty(dim)
    return lambda: _loop(W, teacher, steps, random, x), steps


def full(p, q, dim, steps):
    problem = problem_of(p, q, dim)
    start, level = sv.start(problem, seed=0), sv.Micro(form="full")
    return lambda: sv.run(problem, start, level, times=[steps], clock="steps"), steps


def drawing(dim, steps):
    """What the Gaussian inputs of `full` cost by themselves."""
    rows = GaussianRows(problem_of(6, 3, dim), np.random.SeedSequence(0))

    def call():
        for _ in range(steps // AHEAD):
            rows.take(AHEAD)

    return call, steps // AHEAD * AHEAD


def drawing_by_numpy(dim, steps):
    random = np.random.default_rng(0)

    def call():
        for _ in range(steps // AHEAD):
            random.standard_normal((AHEAD, dim))

    return call, steps // AHEAD * AHEAD


def reading(path, count):
    """What rows cost to read and prepare."""
    data = sv.Data(path)
    data.preparation  # noqa: B018  (measured once, like the basis below)

    def call():
        reader = data.reader(np.random.SeedSequence(0))
        while len(reader.take(AHEAD)):
            pass

    return call, count


def streaming(path, p, q, count):
    data = sv.Data(path)
    data.basis  # noqa: B018
    problem = problem_of(p, q, data.dim).replace(inputs__spectrum=data.inputs.spectrum, teacher__overlap="sampled")
    start = sv.start(problem, seed=0)
    return lambda: sv.run(problem, start, sv.Micro(data=data), times=[count], clock="steps"), count


def measure(title, contestants, ours, repeats=5):
    """Contestants are pairs of a call and the number of its samples."""
    seconds = interleaved({name: call for name, (call, _) in contestants.items()}, repeats)
    each = {name: seconds[name] / contestants[name][1] * 1e9 for name in contestants}
    print(f"\n{title}")
    for name, nanoseconds in sorted(each.items(), key=lambda item: item[1]):
        ratio = "" if name == ours else f"   {nanoseconds / each[ours]:9.2f} x {ours}"
        print(f"  {name:45s} {nanoseconds:12.1f} ns per sample{ratio}")


if __name__ == "__main__":
    measure(
        "six students, three teachers, dim 10^4",
        {
            "reduced": reduced(6, 3, 10**4, 100_000),
            "full weights, compiled loop": compiled(6, 3, 10**4, 300),
            "full weights, plain NumPy": plain(6, 3, 10**4, 200),
            "full weights, ours": full(6, 3, 10**4, 1000),
        },
        "reduced",
    )
    measure(
        "any dim",
        {f"dim 10^{n}": reduced(6, 3, 10**n, 100_000) for n in (3, 4, 6, 9)},
        "dim 10^3",
    )
    measure(
        "schedules, six students, three teachers, dim 10^4",
        {f"{pieces} pieces": reduced(6, 3, 10**4, 100_000, pieces) for pieces in (1, 600)}
        | {"600 linear pieces": reduced(6, 3, 10**4, 100_000, 600, "linear")},
        "1 pieces",
    )
    for unit in ("tanh", "erf", "quadratic", "relu"):
        for name, words in thresholds().items():
            measure(f"a threshold far away: {name}, {unit}", threshold(unit, **words), "without")
    measure(
        "any width, three teachers, dim 10^4",
        {f"width {p}": reduced(p, 3, 10**4, 1_000_000 // p + 10_000) for p in (1, 6, 20, 50)},
        "width 6",
    )
    for unit in ("quadratic", "erf"):
        made = {
            name: cases(6, 3, 10**4, 10_000 if "batch" in name else 50_000, unit, **changes)
            for name, changes in features(3).items()
        }
        for batches in ("four classes and two tasks, batches of 5", "clipped, batches of 5"):
            made[batches] = made[batches][0], 5 * made[batches][1]
        measure(f"classes, tasks, masks and noise, six students, three teachers, {unit}", made, "plain")
    measure(
        "full weights against their inputs alone, dim 10^4, drawn",
        {
            "drawing alone": drawing(10**4, 4096),
            "drawing alone, NumPy": drawing_by_numpy(10**4, 4096),
            "learning on them": full(6, 3, 10**4, 4096),
        },
        "drawing alone",
    )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.npy"
        np.save(file, np.random.default_rng(0).standard_normal((16384, 1024)))
        measure(
            "full weights against their inputs alone, dim 1024, read from a file (not counting its measured covariance)",
            {"reading alone": reading(file, 16384), "learning on them": streaming(file, 6, 3, 16384)},
            "reading alone",
        )

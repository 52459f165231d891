"""A network trained by PyTorch or JAX on handwritten digits, laid over the theory of their spectrum.

    python examples/beside_training.py pytorch beside.png
    python examples/beside_training.py jax beside.png

The inputs are real: 8 x 8 grey values that ship with scikit-learn. The labels come from a teacher, a network of the same kind,
because only then is it known what there is to learn. Nothing is fitted: theory is told the covariance of the inputs, the rate and
the overlaps of the first weights.

Beside `solvable[plot]` it needs scikit-learn and the framework, torch or jax: `pip install scikit-learn torch`.
"""

import sys
from importlib.util import find_spec

import numpy as np
from sklearn.datasets import load_digits

import solvable as sv

LR, STEPS, WIDTH = 0.01, 12_000, 2
KEPT = np.unique(np.geomspace(1, STEPS, 30).astype(int) - 1)


def train_in_pytorch(rows, weights, teacher, log):
    """Single samples, half the squared error, fields w·x as in most code, the mean of the units as the output."""
    import torch

    rows, teacher = torch.tensor(rows), torch.tensor(teacher)
    layer = torch.nn.Linear(rows.shape[1], WIDTH, bias=False)
    layer.weight = torch.nn.Parameter(torch.tensor(weights))
    optimiser = torch.optim.SGD(layer.parameters(), lr=LR)
    for step, i in enumerate(np.random.default_rng(1).integers(len(rows), size=STEPS)):
        log(step, layer.weight)
        output, label = (torch.erf(fields / 2**0.5).mean() for fields in (layer(rows[i]), teacher @ rows[i]))
        optimiser.zero_grad()
        ((output - label) ** 2 / 2).backward()
        optimiser.step()


def train_in_jax(rows, weights, teacher, log):
    """The same in JAX."""
    import jax

    def loss(weights, x):
        output, label = (jax.scipy.special.erf(units @ x / 2**0.5).mean() for units in (weights, teacher))
        return (output - label) ** 2 / 2

    update = jax.jit(lambda weights, x: weights - LR * jax.grad(loss)(weights, x))
    for step, i in enumerate(np.random.default_rng(1).integers(len(rows), size=STEPS)):
        log(step, weights)
        weights = update(weights, rows[i])


def described(data, rate):
    """The same in the words of theory: inputs are Gaussian, with the covariance of the rows."""
    return sv.Problem(
        teacher=sv.Teacher(width=1, activation="erf", overlap="sampled"),
        student=sv.Student(width=WIDTH, activation="erf"),
        inputs=data.inputs,
        training=sv.Training(learning_rate=rate, loss_factor=0.5),
    )


def main(framework="pytorch", file="beside_training.png"):
    if framework not in ("pytorch", "jax"):
        sys.exit(f"framework: {framework!r} given, must be pytorch or jax")
    module = {"pytorch": "torch", "jax": "jax"}[framework]
    if find_spec(module) is None:
        sys.exit(f"{framework}: is not installed; pip install {module}")
    data = sv.Data(load_digits().data)  # centred, and scaled to variance one on average over the pixels
    rows = data.prepared(data.rows).astype(np.float32)
    random = np.random.default_rng(0)
    weights, teacher = (random.normal(0, data.dim**-0.5, (k, data.dim)).astype(np.float32) for k in (WIDTH, 1))
    log = sv.results.WeightLog(steps=KEPT)
    {"pytorch": train_in_pytorch, "jax": train_in_jax}[framework](rows, weights, teacher, log)

    problem = described(data, LR * data.dim)
    trained = log.trajectory(problem, teacher, plain=True, basis=data.basis)
    first, times = trained.at(0), np.geomspace(1, STEPS, 100)
    theory = sv.run(problem, first, sv.Macro(), times=times, clock="steps")
    gaussian = sv.run(problem, first, sv.Micro(runs=20), times=np.unique(times.round()), clock="steps")
    with sv.plot.style():
        names = ["theory", "SGD, Gaussian inputs", f"{framework}, digits"]
        ax = sv.plot.compare(theory, gaussian, trained, labels=names)
        ax.set(xscale="log", yscale="log", xlim=(1, STEPS))
        ax.figure.savefig(file)
    last = theory.mean("risk")[0][-1], trained.risk[0, -1]
    print(f"risk after {STEPS} steps: {framework} {last[1]:.2e}, theory {last[0]:.2e}")


if __name__ == "__main__":
    main(*sys.argv[1:])

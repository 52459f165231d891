"""Samples in classes, and fresh batches: against rows written out, and against one-pass SGD of `Micro`."""

import numpy as np
import pytest

import solvable as sv
from comparing import chances, scores
from gate import first
from seeds import seed
from solvable.empirical.engines import ClassEngine, DenseEngine

CLASSES = sv.Mixture(
    probabilities=(0.3, 0.7), means=((1.0, 0.0), (0.5, -1.0)), labels=(1.0, -1.0), variances=(1.0, 0.5),
    spikes=((0.1, 0.0), (0.0, 0.2)),
)  # fmt: skip


def test_samples_of_classes_are_rows_with_means() -> None:
    random = np.random.default_rng(0)
    plain, directions, means = (random.standard_normal(shape) for shape in ((20, 9), (2, 9), (20, 2)))
    scales, rows, columns = random.random(20), random.standard_normal((3, 9)), random.standard_normal((20, 3))
    engine = ClassEngine(DenseEngine(plain), scales, means, directions)
    whole = scales[:, None] * plain + means @ directions
    assert engine.fields(rows) == pytest.approx(whole @ rows.T, abs=1e-13)
    assert engine.pull(columns) == pytest.approx(columns.T @ whole, abs=1e-13)


@pytest.mark.statistical
@pytest.mark.parametrize("mixture", first([CLASSES, None]), ids=["classes", "plain"])
@pytest.mark.parametrize(
    "spectrum", [None, sv.Spectrum(eigenvalues=(1.6, 0.6), weights=(0.4, 0.6))], ids=["one", "two"]
)
def test_fresh_batches_used_once_are_one_pass(mixture, spectrum) -> None:
    """The reduced process of `Micro` shares nothing with what is compared, but the problem."""
    problem = sv.Problem(
        teacher=sv.Teacher(width=1, activation="erf"),
        student=sv.Student(width=2, activation="erf"),
        inputs=sv.Inputs(dim=20, spectrum=spectrum),
        training=sv.Training(learning_rate=16.0, batch=12, weight_decay=0.2, label_noise=0.1, train_readout=True),
        mixture=mixture,
    )
    start = sv.start(problem, seed=0)
    runs, steps = 600, 4
    one = sv.run(problem, start, sv.Micro(runs=runs, seed=seed(0)), times=[1, steps], clock="steps", progress=False)
    two = sv.run(problem, start, sv.Empirical(runs=runs, seed=seed(1)), times=[1, steps], progress=False)
    assert two.base == "steps"
    pair = [
        np.concatenate(
            [
                *(getattr(run, name).reshape(runs, -1) for name in ("student_overlap", "cross_overlap", "readout")),
                np.log(run.risk),
            ],
            axis=1,
        )
        for run in (one, two)
    ]  # fmt: skip
    means, _ = scores(*pair)
    assert np.abs(means).max() < 5.5
    assert chances(*pair).min() > 1e-7

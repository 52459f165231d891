"""Training in steps against NumPy on drawn data sets, written from the definition: every selection, each with other settings."""

import numpy as np
import pytest

import solvable as sv
from comparing import same_law
from gate import only
from reference.case_sgd import Setting
from reference.reading import data_of, setting_of
from reference.reuse import Data, train
from seeds import seed
from solvable.empirical.descent import prepare, trajectory
from solvable.levels import Lane, Plan
from solvable.levels.jobs import run_jobs
from solvable.numerics.progress import silent
from solvable.numerics.threads import one_blas_thread

TWO = sv.Spectrum(eigenvalues=(1.6, 0.6), weights=(0.4, 0.6))
CLASSES = sv.Mixture(
    probabilities=(0.3, 0.7), means=((1.0, 0.0), (0.0, -1.0)), labels=(1.0, -1.0), variances=(1.0, 0.5),
    spikes=((0.1, 0.0), (0.0, 0.2)),
)  # fmt: skip
# unit and words of the problem
CASES = {
    "all": ("erf", {"samples": 20, "weight_decay": 0.2, "label_noise": 0.1}),
    "subsets": ("tanh", {"samples": 20, "batch": 7, "label_noise": 0.1, "loss_factor": 0.5, "norm": "sphere"}),
    "drawn": (
        "relu", {"samples": 20, "batch": 8, "label_noise": 0.1, "step": 0.2, "momentum": 0.5, "weight_decay": 0.3},
    ),
    "shuffled": ("erf", {"samples": 20, "batch": 6, "label_noise": 0.1, "step": 1.0}),
    "quadratic": ("quadratic", {"samples": 20, "label_noise": 0.1, "step": 0.01}),
    "partition": (
        "erf", {"samples": 20, "batch": 6, "label_noise": 0.1, "momentum": 0.4, "train_readout": True, "readout_rate": 0.3},
    ),
    "persistent": (
        "tanh", {"samples": 20, "batch": 8, "repeats": 3, "label_flips": 0.2, "loss": "log-cosh", "spectrum": TWO},
    ),
    "repeated": (
        "erf", {"batch": 12, "repeats": 2, "label_noise": 0.1, "spectrum": TWO, "mixture": CLASSES, "norm": "sphere"},
    ),
    "nesterov": (
        "tanh", {"samples": 20, "label_noise": 0.1, "momentum": sv.Momentum(beta=0.6, nesterov=True), "step": 0.3},
    ),
}  # fmt: skip


def both(name: str, dim: int = 15) -> tuple[sv.Problem, sv.Overlaps, Setting, Data]:
    """A case as a problem with its start, and as the referee takes it."""
    unit, words = CASES[name]
    words, selection = {"step": 0.6} | words, "all" if name in ("quadratic", "nesterov") else name
    problem = sv.Problem(
        teacher=sv.Teacher(width=1, activation=unit),
        student=sv.Student(width=2, activation=unit, norm=words.pop("norm", "free")),
        inputs=sv.Inputs(dim=dim, spectrum=words.pop("spectrum", None)),
        mixture=words.pop("mixture", None),
        training=sv.Training(selection=selection, **words),
    )
    start, sizes = sv.start(problem, seed=1), problem.inputs.block_sizes
    parts = []
    for gram, size in zip(start.stacked, sizes, strict=True):
        values, vectors = np.linalg.eigh(gram)
        parts.append(np.zeros((len(gram), size)))
        parts[-1][:, : len(gram)] = vectors * np.sqrt(dim * np.maximum(values, 0))
    rows = np.concatenate(parts, axis=1)
    return problem, start, setting_of(problem, rows[:2], rows[2:3], directions=rows[3:]), data_of(problem)


def follow(problem: sv.Problem, start: sv.Overlaps, form: str, steps: int, runs: int, number: int) -> np.ndarray:
    """(run, step, entry) as `train` returns it."""
    level, plan, lanes = sv.Empirical(runs=runs, seed=number), Plan(np.arange(steps + 1.0)), [Lane(problem, start)]
    records, losses, walks, _ = prepare(level, lanes, plan, form)
    with one_blas_thread():
        run_jobs(walks, [1.0] * runs, None, silent)
    run = trajectory(level, lanes, records, losses, form, plan)
    Q, readout = run.student_overlap, np.broadcast_to(run.readout, (*run.risk.shape, 2))
    bias = np.zeros((*run.risk.shape, 1))
    parts = [run.training_loss[..., None], Q[..., 0, :], Q[..., 1, 1:], run.cross_overlap[..., 0], readout, bias]
    return np.concatenate(parts, axis=-1)


def entries(found: np.ndarray) -> np.ndarray:
    """(run, entry) after none, one, two, four and six steps; losses as logarithms."""
    found[..., 0] = np.log(found[..., 0])
    return found[:, [0, 1, 2, 4, 6]].reshape(len(found), -1)


def compared(name: str, form: str, runs: int) -> bool:
    problem, start, setting, data = both(name)
    one, two = follow(problem, start, form, 6, runs, seed(0)), train(setting, data, 6, 2 * runs, seed(1))
    return same_law(entries(one), entries(two), k=6.5, rare=1e-8)


@pytest.mark.statistical
@pytest.mark.parametrize("name", only(CASES, "subsets", "quadratic", "nesterov"))
def test_training_is_that_of_the_definition(name: str) -> None:
    assert compared(name, "coordinates", 150)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("all", {"label_noise": 0.0}), ("all", {"decay": 0.0}), ("subsets", {"sphere": False}), ("drawn", {"batch": 3}),
        ("shuffled", {"batch": 20}), ("quadratic", {"rate": 0.045}), ("partition", {"beta": 0.0}),
        ("partition", {"readout_rate": 0.0}),
        ("persistent", {"flips": 0.0}), ("persistent", {"selection": "all"}), ("repeated", {"repeats": 1}),
        ("nesterov", {"nesterov": False}),
    ],
)  # fmt: skip
def test_the_comparison_can_fail(name: str, change: dict) -> None:
    """At the size at which the gate compares."""
    _, _, setting, data = both(name)
    of_data = {field: value for field, value in change.items() if field in Data._fields}
    wrong = setting.but(**{field: value for field, value in change.items() if field not in of_data})
    one, two = train(setting, data, 6, 150, seed(2)), train(wrong, data._replace(**of_data), 6, 300, seed(2))
    one, two = entries(one), entries(two)
    assert not same_law(one, two, k=6.5, rare=1e-8)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("form", ["coordinates", "frames", "dense", "gram"])
@pytest.mark.parametrize("name", CASES)
def test_training_is_that_of_the_definition_in_thousands_of_runs(name: str, form: str) -> None:
    if form == "gram" and name in ("partition", "persistent", "repeated"):
        pytest.skip("the Gram matrix is for isotropic inputs and samples that stay together")
    assert compared(name, form, 4000)

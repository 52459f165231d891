"""The four classes of refinetti2021's figures against SGD and samples in plain NumPy; how starts that never learn are counted."""

import numpy as np
import pytest

import solvable as sv
from reference.case_sgd import UNITS, Setting, simulate
from seeds import seed
from solvable.dynamics.classification import classification_error
from solvable.papers.refinetti2021 import widths
from solvable.papers.refinetti2021.settings import MEANS, SIGNS, aligned, leaning_start, problem, random_start

DIM, RUNS, TIMES = 60, 64, (2.0, 8.0)


@pytest.mark.statistical
@pytest.mark.parametrize("unit", ["relu", "quadratic"])
def test_full_weights_learn_the_classes_as_micro_does(unit) -> None:
    """Overlaps with the means and readouts of both, within 5 standard errors; at another variance they are not."""
    random = np.random.default_rng(seed(1))
    W, heads, directions = 0.5 * random.standard_normal((4, DIM)), 0.5 * SIGNS, np.sqrt(DIM) * np.eye(2, DIM)
    W[:, :2] += 0.3 * np.sqrt(DIM) * MEANS
    setting = Setting(
        student=W, readout=heads[None], rate=0.1, sizes=np.array([DIM]), variances=np.full((4, 1), 0.2), unit=unit,
        directions=directions, means=MEANS, labels=SIGNS, class_probability=lambda alpha: [0.25] * 4, readout_rate=0.1,
    )  # fmt: skip
    record = simulate(setting, [round(time * DIM) for time in TIMES], RUNS, seed(2))
    full = np.concatenate(
        [record.overlaps[:, :, 0, :4, 4:].reshape(RUNS, -1), record.readout.reshape(RUNS, -1)], axis=1
    )
    far = []
    for variance in (0.2, 0.4):
        here = problem(unit, 4, variance, 0.1, DIM)
        start = sv.measure(here, W, readout=heads, directions=directions)
        micro = sv.run(here, start, sv.Micro(runs=RUNS, seed=seed(3)), times=TIMES, progress=False)
        both = np.concatenate([micro.direction_overlap.reshape(RUNS, -1), micro.readout.reshape(RUNS, -1)], axis=1)
        error = np.hypot(full.std(axis=0), both.std(axis=0)) / np.sqrt(RUNS)
        far.append((np.abs(full.mean(axis=0) - both.mean(axis=0)) / error).max())
    assert far[0] < 5 < far[1]


@pytest.mark.statistical
@pytest.mark.parametrize("unit", ["relu", "quadratic"])
def test_errors_of_aligned_networks_are_those_of_samples(unit) -> None:
    """Only the plane of the means is looked at: 400 000 points, within 5 standard errors."""
    here = problem(unit, 4, 0.3, 0.1, 100)
    random = np.random.default_rng(seed(4))
    kind = random.integers(4, size=400_000)
    x = MEANS[kind] + np.sqrt(0.3) * random.standard_normal((len(kind), 2))
    wrong = (UNITS[unit][0](x @ MEANS.T) @ SIGNS * SIGNS[kind] < 0).mean()
    assert classification_error(here, aligned(here)) == pytest.approx(wrong, abs=5 * np.sqrt(wrong / len(kind)))


def test_starts() -> None:
    here = problem("relu", 4, 0.2, 0.1, 1000)
    leaning = leaning_start(here, 0.1, 0.2)
    assert leaning.direction_overlap / 0.1 == pytest.approx(0.2 * MEANS)
    assert leaning.student_overlap == pytest.approx(0.01 * np.eye(4))
    one, two = (random_start(here, 0.1, number) for number in (1, 2))
    assert np.diag(one.student_overlap) == pytest.approx(np.full(4, 0.01), rel=0.3)
    assert (one.readout != two.readout).all()


def made(narrow, wide):
    """Data of the figure in which two widths end at these errors, and a start learns at time 10 if its error is below 0.2."""
    import xarray

    last = np.array([[narrow, wide]] * 2)
    risk = np.where(last < 0.2, 0.1, 1.0)[..., None] * np.ones(3)
    risk[..., 0] = 1.0
    return xarray.Dataset(
        {
            "risk": (("unit", "width", "start", "time"), risk),
            "equations": (("width", "start", "time"), risk[1]),
            "last": (("unit", "width", "start"), last),
            "last_equations": (("width", "start"), last[1]),
        },
        {"unit": ["relu", "quadratic"], "width": [4, 12], "time": [0.0, 10.0, 20.0]},
        {"oracle": 0.1, "way": 0.9, "variance": 0.2, "dim": 100},
    )


def test_starts_that_never_learn_are_counted() -> None:
    """Half of the narrow networks stay at chance: the best are as good, the mean is not, and both are told."""
    found = {claim.claim: claim for claim in widths.claims(made([0.11, 0.5, 0.11, 0.5], [0.11] * 4))}
    best = next(claim for text, claim in found.items() if "best of 4 ReLU" in text)
    assert best.verdict == "holds"
    assert best.found == pytest.approx(0.0)
    assert "of all starts 0.305 ± 0.1 and 0.110 ± 0" in best.evidence
    assert "50% and 100% learn" in best.evidence
    over_all = next(claim for text, claim in found.items() if text.startswith("over all starts"))
    assert over_all.found == pytest.approx(0.195)
    speed = widths._of_units(made([0.11, 0.5, 0.11, 0.5], [0.11] * 4))[0]
    assert speed.tolist() == [[0.1, 0.0, 0.1, 0.0], [0.1] * 4]


def test_wider_networks_whose_best_is_better_fail_the_claim() -> None:
    claims = widths.claims(made([0.13, 0.5, 0.14, 0.13], [0.11] * 4))
    assert [claim.verdict for claim in claims if "best of 4" in claim.claim] == ["fails", "fails"]

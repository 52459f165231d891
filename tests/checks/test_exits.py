"""Exit times of all levels side by side, and their means with confidence intervals."""

import numpy as np
import pytest

import solvable as sv
from seeds import seed


def problem_of(**changes):
    return sv.problems.convention("arnaboldi2023").problem(p=2, gamma=0.1, d=1000).replace(**changes)


@pytest.mark.statistical
def test_exit_times_of_all_levels_agree() -> None:
    report = sv.checks.exit_times_agree(
        problem_of(), sv.start(problem_of(), seed=seed(0)), until=3000, runs=200, seed=seed(0), allowed=5
    )
    assert set(report.values) == {"diffusion", "equations from noisy starts"}
    assert report.passed, str(report)
    generic = problem_of(student__readout=(0.7, 0.3))  # the theory has no noisy starts for it
    other = sv.checks.exit_times_agree(
        generic, sv.start(generic, seed=seed(0)), until=3000, runs=100, seed=seed(0), allowed=5
    )
    assert set(other.values) == {"diffusion"}
    assert other.passed, str(other)
    with pytest.raises(ValueError, match="raise until"):
        sv.checks.exit_times_agree(problem_of(), sv.start(problem_of(), seed=seed(0)), until=1, runs=4)


@pytest.mark.statistical
def test_mean_exit_times() -> None:
    problem, stop = problem_of(), sv.when("risk", below=0.9, relative=True)
    start = sv.start(problem, seed=seed(0))
    run = sv.run(problem, start, sv.Meso(runs=100, seed=seed(1)), until=3000, stop=stop, progress=False)
    mean = run.mean_exit_time()
    times = run.exit_time()
    assert mean.mean == pytest.approx(times.mean())
    assert (mean.high - mean.low) / 2 == pytest.approx(1.984 * times.std(ddof=1) / 10, rel=1e-3)
    assert (mean.runs, mean.never) == (100, 0)
    early = sv.run(
        problem, start, sv.Meso(runs=100, seed=seed(1)), until=float(np.median(times)), stop=stop, progress=False
    ).mean_exit_time()
    assert early.runs + early.never == 100
    assert 25 < early.never < 75  # half, within five standard errors
    assert np.isnan(early.mean)  # those that passed are no fair sample
    batch = sv.levels.run_batch(problem, start, sv.Macro(), until=3000, learning_rates=[0.05, 0.1], stop=stop)
    with pytest.raises(ValueError, match="the runs differ in learning_rate"):
        batch.mean_exit_time()
    one = sv.run(problem, start, sv.Macro(), until=3000, stop=stop).mean_exit_time()
    assert np.isnan(one.low)
    with pytest.raises(ValueError, match="confidence: 95"):
        run.mean_exit_time(confidence=95)

"""The third Hermite unit in closed form: equal to the same polynomial by series and nodes, at every level."""

import numpy as np
import pytest

import solvable as sv
from seeds import seed
from solvable.dynamics.exactness import is_closed
from solvable.dynamics.kernel_choice import system
from solvable.dynamics.kernel_data import RISK, SEEN, pack

SERIES = sv.problems.Hermite(coefficients=(0.0, 0.0, 0.0, 6**-0.5))
CLASSES = sv.Mixture(
    probabilities=(0.3, 0.7), means=((1.0, 0.5), (-0.4, 1.0)), spikes=((0.5, 0.0), (0.0, 0.2)), labels=(0.5, -1.0),
    variances=(1.0, 0.6),
)  # fmt: skip


def problem_of(unit: object, p: int = 2, q: int = 1, **changes: object) -> sv.Problem:
    problem = sv.Problem(
        teacher=sv.Teacher(width=q, activation=unit, readout="unit"),
        student=sv.Student(width=p, activation=unit, readout="unit"),
        inputs=sv.Inputs(dim=400),
        training=sv.Training(learning_rate=0.01, label_noise=0.3),
    )
    return problem.replace(**changes)


def in_both_ways(**words: object) -> list[sv.Problem]:
    closed, series = problem_of("hermite3", **words), problem_of(SERIES, **words)
    assert is_closed(closed)
    assert not is_closed(series)
    return [closed, series]


@pytest.mark.parametrize("rank", [5, 2, 1])
def test_moments_equal_those_by_series_and_nodes(rank) -> None:
    """To 1e-12 of the largest, also on singular covariances."""
    factor = np.random.default_rng(rank).standard_normal((5, rank))
    C, readout = factor @ factor.T / 3, np.array([0.4, -0.9, 0.6])
    one, other = (sv.dynamics.moments(C, problem, readout) for problem in in_both_ways(p=3, q=2))
    for name in one._fields:
        expected = getattr(other, name)
        assert getattr(one, name) == pytest.approx(expected, rel=1e-12, abs=1e-12 * np.abs(expected).max()), name


def test_equations_with_means_equal_those_on_nodes() -> None:
    """Nodes are a tensor rule without error."""
    words = {"mixture": CLASSES, "training__train_readout": True, "training__label_noise": 0.0}
    found = []
    for problem in in_both_ways(**words):
        start = sv.start(problem, seed=3)
        equations = system(problem, pack(problem, start), 2**10)
        state, seen = equations.packed.state, np.zeros(SEEN)
        speed, data = np.zeros_like(state), equations.data()
        equations.rhs(0, 0.0, state, speed, *data)
        equations.observe(0, 0.0, state, seen, *data)
        found.append(np.append(speed, seen[RISK]))
    assert found[0] == pytest.approx(found[1], rel=1e-11, abs=1e-12 * np.abs(found[1]).max())


def test_curves_equal_those_by_series_with_either_integrator() -> None:
    spectrum = {"inputs__spectrum": sv.Spectrum(eigenvalues=(0.2, 1.8))}
    closed, series = in_both_ways(**spectrum)
    start = sv.start(closed, seed=1)
    runs = [
        sv.run(problem, start, sv.Macro(rtol=1e-9, method=method), times=[0, 1, 4], progress=False)
        for problem, method in ((closed, "explicit"), (closed, "implicit"), (series, "explicit"))
    ]
    for run in runs[1:]:
        assert run.cross_overlap == pytest.approx(runs[0].cross_overlap, abs=1e-7)
        assert run.risk == pytest.approx(runs[0].risk, rel=1e-6)


@pytest.mark.statistical
def test_levels_agree() -> None:
    """Micro and Meso with Macro within 5.5 standard errors of 32 runs, and 4/dim, in overlaps with the teacher, whose moments are
    of low degree; a rate three times as high is told apart."""
    problem = problem_of("hermite3", inputs__dim=2000, training__label_noise=0.0)
    assert sv.Problem.from_toml(problem.to_toml()) == problem
    start = sv.start(problem, student_overlap=np.eye(2), cross_overlap=[[0.5], [0.3]])
    limit, other = (
        sv.run(one, start, sv.Macro(), times=[4.0]).cross_overlap[0, 0]
        for one in (problem, problem.replace(training__learning_rate=0.03))
    )
    for level in (sv.Micro(runs=32, seed=seed(1)), sv.Meso(runs=32, seed=seed(2))):
        ends = sv.run(problem, start, level, times=[4.0], progress=False).cross_overlap[:, 0]
        allowed = 5.5 * ends.std(axis=0, ddof=1) / np.sqrt(32) + 4 / 2000
        assert (np.abs(ends.mean(axis=0) - limit) < allowed).all()
        assert (np.abs(ends.mean(axis=0) - other) > allowed).any()

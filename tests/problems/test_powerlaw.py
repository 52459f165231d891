"""Power laws read off eigenvalues."""

import numpy as np
import pytest

import solvable as sv
from seeds import seed
from solvable.problems.powerlaw import fit_power_law


@pytest.mark.statistical
@pytest.mark.parametrize("weighted", [True, False])
def test_exact_and_noisy_power_laws(weighted) -> None:
    for beta, L in [(0.3, 1000), (1.0, 256)]:
        values = np.array(sv.PowerLaw(beta=beta, distinct=L).eigenvalues)
        exact = fit_power_law(values, weighted=weighted)
        assert np.isclose(exact.beta, beta)
        assert exact.distinct == L
        assert abs(exact.drift) < 1e-9
        assert np.isclose(exact.participation, L * values.mean() ** 2 / (values**2).mean())
        fits = [
            fit_power_law(
                values * np.exp(0.3 * np.random.default_rng(seed(i)).standard_normal(L)), 5, 200, weighted=weighted
            )
            for i in range(60)
        ]
        found = np.array([one.beta for one in fits])
        assert abs(found.mean() - beta) < 5 * found.std() / np.sqrt(60) + 0.01
        assert (
            0.4 < found.std() / np.mean([one.error for one in fits]) < 2.5
        )  # the error that is told is the one that is seen


def test_a_bend_is_told() -> None:
    ranks = np.arange(1, 401.0)
    bent = fit_power_law(np.where(ranks < 30, ranks**-1.2, 30**1.3 * ranks**-2.5), 2, 400)
    assert bent.drift > 0.8


def test_the_plain_fit_counts_every_eigenvalue_alike() -> None:
    ranks = np.arange(1, 401.0)
    values = np.where(ranks < 30, ranks**-1.2, 30**1.3 * ranks**-2.5)
    plain, weighted = (fit_power_law(values, 2, 400, weighted=one) for one in (False, True))
    slope = np.polyfit(np.log(ranks[1:]), np.log(values[1:]), 1)[0]
    assert plain.beta == pytest.approx(-slope - 1, rel=1e-10)
    assert 1.5 > plain.beta > weighted.beta + 0.3  # most ranks are beyond the bend, where beta is 1.5
    rows = np.random.default_rng(0).standard_normal((500, 20)) * np.sqrt(1 / np.arange(1, 21))
    data = sv.Data(rows)
    assert data.power_law(weighted=False) == fit_power_law(data.eigenvalues, weighted=False)
    assert data.power_law() == fit_power_law(data.eigenvalues, weighted=True) != data.power_law(weighted=False)


@pytest.mark.statistical
def test_data_know_their_power_law() -> None:
    problem = sv.Inputs(dim=64, spectrum=sv.PowerLaw(beta=0.8, distinct=64))
    rows = np.random.default_rng(seed(0)).standard_normal((20_000, 64)) * np.sqrt(problem.eigenvalues)
    assert abs(sv.Data(rows).power_law(2, 40).beta - 0.8) < 0.1


def test_bad_eigenvalues_and_windows() -> None:
    good = 1 / np.arange(1, 50.0)
    for values, text in [(good[:5], "at least 8"), (-good, "not negative"), (good * np.nan, "must be finite")]:
        with pytest.raises(ValueError, match=text):
            fit_power_law(values)
    for window in [(0, 20), (10, 12), (2, 60)]:
        with pytest.raises(ValueError, match="must be ranks between"):
            fit_power_law(good, *window)
    with pytest.raises(ValueError, match="whole number"):
        fit_power_law(good, 2.5, 20)

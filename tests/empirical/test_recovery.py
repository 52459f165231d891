"""Whether samples determine a teacher: certificates, thresholds, and the flow as a second opinion."""

import contextlib

import numpy as np
import pytest

import solvable as sv
from gate import first
from seeds import seed
from solvable.empirical.definite import Undecided, definite_member
from solvable.numerics.symmetric import squares, to_matrix, to_vector

PAPER = sv.problems.convention("saraomannelli2020")


def random_data(d: int, n: int, units: int, number: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(number)
    return random.standard_normal((n, d)), random.standard_normal((units, d))


@pytest.mark.parametrize(("d", "units"), [(3, 1), (5, 1), (5, 2), (6, 4), (7, 3), (4, 4), (3, 6)])
def test_certificates_say_what_they_claim(d: int, units: int) -> None:
    """Checked here without the library: an exact second interpolator, or weights that forbid one."""
    rank, size = min(units, d), d * (d + 1) // 2
    seen = set()
    for n in range(1, size + 3):
        X, W = random_data(d, n, units, 100 * d + n)
        decision = sv.empirical.decide(X, W)
        seen.add(decision.unique)
        A = W.T @ W / units
        if decision.unique:
            if rank == d:
                assert np.linalg.matrix_rank(squares(X)) == size
                continue
            M = np.einsum("s,si,sj->ij", decision.certificate, X, X)  # zero on the teacher's range, positive elsewhere
            assert np.abs(M @ W.T).max() < 1e-9 * np.abs(M).max() * np.abs(W).max()
            assert (np.linalg.eigvalsh(M) > 1e-10 * np.abs(M).max()).sum() == d - rank
        else:
            D = decision.certificate
            share = 1.0
            while np.linalg.eigvalsh(A + share * D)[0] < -1e-12 and share > 1e-9:
                share /= 2
            assert share > 1e-9
            other = A + share * D
            assert np.linalg.norm(other - A) > 1e-6 * share
            assert (
                np.abs(np.einsum("si,ij,sj->s", X, other - A, X)).max()
                < 1e-9 * np.linalg.norm(other - A) * (X**2).sum(axis=1).max()
            )
        if n <= d * rank - rank * (rank - 1) // 2 and rank < d:
            assert not decision.unique
        if n >= size:
            assert decision.unique
    assert seen == {True, False}


def test_verify_refuses_wrong_certificates() -> None:
    X, W = random_data(5, 12, 1, 0)
    decision = sv.empirical.decide(X, W)
    assert decision.unique
    assert sv.empirical.verify(True, decision.certificate, X, W) == decision.margin > 10
    random = np.random.default_rng(1)
    bent = decision.certificate + 0.1 * np.abs(decision.certificate).max() * random.standard_normal(12)
    assert sv.empirical.verify(True, bent, X, W) < 1
    assert sv.empirical.verify(True, -decision.certificate, X, W) < 0
    assert sv.empirical.verify(False, np.eye(5), X, W) < 1
    few = X[:6]
    not_unique = sv.empirical.decide(few, W)
    assert not not_unique.unique
    assert sv.empirical.verify(False, not_unique.certificate, X, W) < 1  # more samples see it
    with pytest.raises(ValueError, match="certificate: shape"):
        sv.empirical.verify(True, np.eye(5), X, W)


def test_one_of_two_spaces_holds_a_definite_matrix() -> None:
    """Both sides of the alternative, in spaces where the answer is built in."""
    random = np.random.default_rng(0)
    for k in (2, 4, 7):
        size = k * (k + 1) // 2
        for p in (1, 2, size // 2, size - 1):
            spread = random.standard_normal((k, k))
            seed = spread @ spread.T + 0.1 * np.eye(k)
            basis = np.linalg.qr(np.column_stack([to_vector(seed), random.standard_normal((size, p - 1))]))[0].T
            inside, found = definite_member(basis)
            assert inside
            assert np.linalg.eigvalsh(found)[0] > 0
            assert np.linalg.norm(to_vector(found) - basis.T @ (basis @ to_vector(found))) < 1e-10
            complement = np.linalg.svd(basis, full_matrices=True)[2][p:]
            outside, again = definite_member(complement)
            assert not outside
            assert np.linalg.eigvalsh(again)[0] > 0
    border = to_vector(np.diag([1.0, 0.0]))[None]  # neither it nor its complement holds one
    with pytest.raises(Undecided):
        definite_member(border)


def test_data_that_are_not_in_general_position() -> None:
    """Repeated rows, rows of +-1, other units, near and exact degeneracy: the right answer, or none."""
    random = np.random.default_rng(0)
    teacher = np.eye(5)[:1]
    rows = random.standard_normal((12, 5))
    for n in (4, 7, 12):
        plain = sv.empirical.decide(rows[:n], teacher).unique
        assert sv.empirical.decide(np.repeat(rows[:n], 3, axis=0), teacher).unique == plain
        assert sv.empirical.decide(1e-8 * rows[:n], teacher).unique == plain
        assert sv.empirical.decide(rows[:n] * np.geomspace(1e-3, 1e3, n)[:, None], teacher).unique == plain
        mixed = sv.empirical.decide(np.concatenate([rows[:n], np.zeros((2, 5))]), teacher)
        assert mixed.unique == plain
    signs = np.sign(random.standard_normal((200, 8)))  # x_i^2 = 1: diagonal forms of trace zero are never seen
    assert not sv.empirical.decide(signs, np.eye(8)).unique
    full = np.sign(random.standard_normal((300, 6))) * random.uniform(0.5, 2, (300, 6))
    assert sv.empirical.decide(full, np.eye(6)).unique
    seen_twice = random.standard_normal((21, 6))
    seen_twice[20] = seen_twice[19]
    for scale in (1.0, 10.0, 1000.0):
        assert not sv.empirical.decide(scale * seen_twice, np.eye(6)).unique
    orthogonal = np.concatenate(
        [np.zeros((3, 1)), np.eye(3)], axis=1
    )  # few rows, all orthogonal to the teacher, are enough
    assert sv.empirical.decide(np.concatenate([orthogonal, [[1.0, 0, 0, 0]]]), np.eye(4)[:1]).unique
    with pytest.raises(ValueError, match="though so many can"):
        sv.empirical.fewest_samples(np.ones((15, 5)), np.eye(5))


def test_verify_is_not_fooled() -> None:
    X, W = random_data(5, 12, 1, 0)
    assert sv.empirical.decide(X, W).unique
    lopsided = np.triu(np.ones((5, 5)), 1)
    with pytest.raises(ValueError, match="must be symmetric"):
        sv.empirical.verify(False, lopsided, X, W)
    for nothing, unique in [(np.zeros(12), True), (np.zeros((5, 5)), False)]:
        assert not sv.empirical.verify(unique, nothing, X, W) > 1
    with pytest.raises(ValueError, match="finite numbers"):
        sv.empirical.verify(True, np.full(12, np.nan), X, W)
    whole = np.array([[0.0, 1659, 2736], [1, 2, 3], [4, 5, 6]])
    assert not sv.empirical.verify(True, [1.0, 0, 0], whole, np.eye(3)[0]) > 1  # a sum of one square is not definite
    close = np.array([[1.0, 0, 0, 0, 0], [1.0, 1e-11, 0, 0, 0]])  # rounding may tilt the plane of nearly equal teachers
    plane = np.eye(5)[:2]
    rows = random_data(5, 14, 1, 3)[0]
    sure, unsure = (sv.empirical.decide(rows, teacher).margin for teacher in (plane, close))
    assert unsure < 1e-6 * sure


def test_a_certificate_within_rounding_decides_nothing() -> None:
    """One teacher in two dimensions. Two samples never determine it: (n1.x)(n2.x), with n1 and n2 normal to them, vanishes on both,
    and its part outside the teacher is the product of their parts along it. Three samples always do, unless two are the same.
    Near these borders, down to some thousand times rounding, what is said is true or nothing."""
    teacher = [[1.0, 0.0]]
    assert not sv.empirical.decide([[1e-3, 1.0], [1.0, 1.0]], teacher).unique
    assert sv.empirical.decide([[0.3, 1.0], [0.3, 1.001], [1.0, 1.0]], teacher).unique
    for tiny in 10.0 ** -np.arange(4.0, 13.0):
        for rows, truth in [
            (np.array([[tiny, 1.0], [1.0, 1.0]]), False),
            (np.array([[0.3, 1.0], [0.3, 1.0 + tiny], [1.0, 1.0]]), True),
        ]:
            with contextlib.suppress(ArithmeticError) if tiny < 1e-9 else contextlib.nullcontext():
                assert sv.empirical.decide(rows, teacher).unique == truth
    with pytest.raises(ArithmeticError, match="within rounding"):
        sv.empirical.decide([[1e-12, 1.0], [1.0, 1.0]], teacher)


def test_interrupted_recovery_gives_no_result(monkeypatch) -> None:
    from importlib import import_module

    module = import_module("solvable.empirical.recovery")  # the room has a function of that name

    def interrupted(jobs, totals, threads, report):
        from solvable.levels.jobs import Control

        jobs[0](Control(len(jobs)), 0)

    monkeypatch.setattr(module, "run_jobs", interrupted)
    with pytest.raises(KeyboardInterrupt):
        sv.empirical.recovery(PAPER.problem(m=3, m_star=1, d=3), 5)


def test_more_samples_never_hurt_and_bisection_finds_the_edge() -> None:
    for number in range(5):
        X, W = random_data(5, 15, 2, number)
        answers = [sv.empirical.decide(X[:n], W).unique for n in range(1, 16)]
        assert answers == sorted(answers)
        assert sv.empirical.fewest_samples(X, W) == answers.index(True) + 1
    with pytest.raises(ValueError, match=r"must be at least dim \(dim \+ 1\)/2 = 15"):
        sv.empirical.fewest_samples(X[:14], W)


# mean and standard deviation of N*, 200 to 400 instances each, by another program
TABLE = {
    (4, 1): (6.52, 1.06, 400), (4, 2): (8.78, 0.67, 400), (4, 3): (10, 0.0, 400),
    (8, 1): (14.69, 2.11, 400), (8, 2): (21.59, 2.13, 400), (8, 4): (30.40, 1.53, 400), (8, 6): (34.88, 0.76, 400),
    (16, 1): (32.74, 3.90, 200), (16, 4): (79.52, 4.11, 200), (16, 8): (114.53, 3.27, 200), (16, 12): (131.17, 1.64, 200),
}  # fmt: skip


@pytest.mark.statistical
@pytest.mark.parametrize(("d", "units"), first(TABLE, 7))  # up to dimension 8
def test_threshold_table(d: int, units: int) -> None:
    mean, deviation, many = TABLE[d, units]
    here = sv.empirical.recovery(PAPER.problem(m=d, m_star=units, d=d), 100 if d < 16 else 25, seed=seed(7))
    allowed = 5 * np.hypot(here.standard_error, deviation / np.sqrt(many))
    assert abs(here.mean - mean) <= allowed + 1e-9


def test_extremes_need_all_equations() -> None:
    for d, units in [(4, 3), (4, 4), (4, 9), (6, 5)]:
        found = sv.empirical.recovery(PAPER.problem(m=d, m_star=units, d=d), 3)
        assert (found.fewest == d * (d + 1) // 2).all()
    X, W = random_data(5, 15, 4, 8)
    assert not sv.empirical.decide(X[:14], W).unique
    assert sv.empirical.decide(X, W).unique


@pytest.mark.statistical
def test_probabilities_have_intervals() -> None:
    found = sv.empirical.recovery(PAPER.problem(m=4, m_star=1, d=4), 60, seed=seed(0))
    share, low, high = found.probability(np.array([4, 6, 10]))
    assert share[0] == low[0] == 0.0
    assert share[2] == high[2] == 1.0
    assert (low <= share).all()
    assert (share <= high).all()
    assert low[1] < share[1] < high[1]
    assert np.isclose(high[0], 1 - 0.025 ** (1 / 60))  # Clopper and Pearson at no success
    exact = sv.theory.unique_probability(PAPER.problem(m=4, m_star=1, d=4)).value
    _, low, high = found.probability(5, confidence=1 - 1e-6)
    assert low <= exact <= high
    with pytest.raises(ValueError, match="confidence"):
        found.probability(5, confidence=2)


@pytest.mark.statistical
def test_flow_agrees_with_certificates() -> None:
    """Long gradient flow comes to the teacher where it is the only one: thresholds within one sample, almost always equal."""
    for d, units in [(4, 1), (6, 2)]:
        problem = PAPER.problem(m=d, m_star=units, d=d)
        exact, flow = (sv.empirical.recovery(problem, 15, seed=seed(2), by=by).fewest for by in ("certificate", "flow"))
        assert np.abs(exact - flow).max() <= 1
        assert (exact == flow).mean() > 0.7


@pytest.mark.statistical
def test_flow_does_not_recover_at_the_printed_number() -> None:
    """docs/ERRATA.md S14: d = 16, m* = 4: (13) has 70 samples. Two in a hundred data sets determine the teacher then, so of six at
    most two do, and gradient flow finds it in no other."""
    found = []
    for number in range(6):
        X, W = random_data(16, 70, 4, seed(number))
        found.append(sv.empirical.recovered_by_flow(X, W))
        assert sv.empirical.recovered(X, W) or not found[-1]
    assert sum(found) <= 2


@pytest.mark.statistical
def test_flow_waits_and_needs_none_where_equations_determine_the_teacher() -> None:
    """One rank below full it takes all dim (dim + 1)/2 samples, however badly conditioned they are: some of these flows stand still
    at t = 10^6, on a plateau or within 10^-11 of the teacher."""
    for number in range(3):
        found = sv.empirical.recovery(PAPER.problem(m=4, m_star=3, d=4), 20, seed=seed(number), by="flow").fewest
        assert np.abs(found - 10).max() <= 1
        assert (found == 10).mean() > 0.7
    X, W = random_data(4, 12, 2, 7)  # eight samples determine it; the flow leaves a plateau at t = 10^7
    assert sv.empirical.fewest_samples(X, W) == 8
    assert sv.empirical.recovered_by_flow(X[:8], W)
    assert not sv.empirical.recovered_by_flow(X[:7], W)


def test_rows_are_blamed_only_where_they_depend_on_each_other() -> None:
    X, W = random_data(4, 10, 2, 0)
    with pytest.raises(ArithmeticError, match="10 samples determine the teacher, but `enough` does not find it"):
        sv.empirical.fewest_samples(X, W, lambda rows, teacher: False)
    with pytest.raises(ValueError, match="some depend on others"):
        sv.empirical.fewest_samples(X[[0, 1, 2, 3, 4, 5, 6, 6, 6, 6]], W, sv.empirical.recovered_by_flow)


def test_full_rank_by_flow() -> None:
    X, W = random_data(3, 8, 5, 0)
    assert sv.empirical.recovered_by_flow(X, W, until=1e4)
    assert not sv.empirical.recovered_by_flow(X[:5], W, until=1e4)


@pytest.mark.statistical
def test_tail_of_the_flow_on_samples() -> None:
    """E_n t^2 and E t^2 against the flow, and the population's constants from many samples. What is slowest comes near as 1/log t
    does: within a few percent at t = 10^8, and nearer than at 10^4."""
    X, W = random_data(5, 25, 1, seed(3))
    W = W / np.linalg.norm(W)
    tail = sv.empirical.tail(X, W)
    problem = PAPER.problem(m=5, m_star=1, d=5)
    weights, times = sv.overlaps.Weights(5 * np.eye(5), np.sqrt(5) * W), np.array([1e4, 1e8])
    run = sv.run(problem, weights, sv.Empirical(data=sv.Data(X, prepare=False), rtol=1e-8), times=times)
    for losses, stated in [(run.training_loss[0], tail.training), (run.population_loss[0], tail.population)]:
        early, late = np.abs(losses * times**2 / stated - 1)
        assert late < 0.1
        assert late < 0.7 * early
    assert np.abs(1e8 * (run.matrix[0, 1] - W.T @ W) - tail.matrix).max() < 0.1 * np.abs(tail.matrix).max()
    many = sv.empirical.tail(random_data(5, 200_000, 1, seed(4))[0], W)
    limit = sv.theory.flow_tail(problem).value
    assert np.isclose(many.training, limit, rtol=0.03)
    assert np.isclose(many.population, limit, rtol=0.03)
    few = X[:14]  # fewer than there are symmetric matrices
    tail = sv.empirical.tail(few, W)
    run = sv.run(problem, weights, sv.Empirical(data=sv.Data(few, prepare=False)), times=[1e8])
    assert np.isclose(run.training_loss[0, 0] * 1e16, tail.training, rtol=0.1)
    with pytest.raises(ValueError, match="full rank"):
        sv.empirical.tail(X, np.eye(5))
    with pytest.raises(ValueError, match="do not determine"):
        sv.empirical.tail(X[:5], W)


def test_late_rate_of_the_flow_on_samples() -> None:
    X, W = random_data(4, 20, 7, 5)
    rate = sv.empirical.tail_rate(X, W)
    problem = PAPER.problem(m=4, m_star=7, d=4).replace(teacher__overlap="sampled")
    times = np.linspace(30, 40, 6) / rate
    run = sv.run(
        problem,
        sv.overlaps.Weights(4 * np.eye(4), 2 * W),
        sv.Empirical(data=sv.Data(X, prepare=False), rtol=1e-9),
        times=times,
    )
    slopes = -np.diff(np.log(run.population_loss[0])) / np.diff(times)
    assert np.allclose(slopes, rate, rtol=0.02)
    with pytest.raises(ValueError, match="algebraic"):
        sv.empirical.tail_rate(X, W[:1])
    with pytest.raises(ValueError, match="do not determine"):
        sv.empirical.tail_rate(X[:8], W)


def test_bad_data_are_refused() -> None:
    X, W = random_data(3, 6, 1, 0)
    for rows, teacher, text in [
        (X[0], W, "rows: shape"),
        (X, np.ones((1, 4)), "rows: shape"),
        (X * np.nan, W, "must be finite"),
        (X, 0 * W, "teacher: is zero"),
        (0 * X, W, "rows: are all zero"),
        ("a", W, "must be arrays of numbers"),
    ]:
        with pytest.raises(ValueError, match=text):
            sv.empirical.decide(rows, teacher)
    problem = PAPER.problem(m=3, m_star=1, d=3)
    for change, text in [
        ({"instances": 0}, "instances: 0"),
        ({"by": "guess"}, "by: 'guess'"),
        ({"threads": 0}, "threads: 0"),
        ({"seed": -1}, "seed: -1"),
    ]:
        with pytest.raises(ValueError, match=text):
            sv.empirical.recovery(problem, **change)
    with pytest.raises(ValueError, match=r"inputs\.dim: infinite"):
        sv.empirical.recovery(problem.replace(inputs__dim=None))


def test_matrix_landscape_is_what_it_says() -> None:
    """Force and Jacobian by differences; projection to the nearest positive form."""
    X, W = random_data(4, 7, 2, 0)
    hills = sv.empirical.TrainingLandscape(X, W)
    random = np.random.default_rng(1)
    F = random.standard_normal((4, 4))
    v, h = to_vector(F @ F.T), 1e-6
    gradient = np.array([(hills.energy(v + h * e) - hills.energy(v - h * e)) / (2 * h) for e in np.eye(10)])
    A, G = to_matrix(v), -to_matrix(gradient)
    assert np.allclose(hills.force(v), to_vector(A @ G + G @ A), rtol=1e-5)
    J = np.array([(hills.force(v + h * e) - hills.force(v - h * e)) / (2 * h) for e in np.eye(10)]).T
    assert np.allclose(hills.jacobian(v), J, rtol=1e-5, atol=1e-4)
    bad = to_vector(np.diag([1.0, -2.0, 3.0, 0.5]))
    assert np.allclose(to_matrix(hills.project(bad)), np.diag([1.0, 0.0, 3.0, 0.5]))
    assert hills.energy(hills.solution) < 1e-25

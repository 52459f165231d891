"""Statements of arnaboldi2023 that hold as printed and that no figure judges: equations against exact averages, and orders."""

import math
from fractions import Fraction

import numpy as np
import pytest

import solvable as sv

KEY = "arnaboldi2023"


def problem_of(p, gamma=0.3, Delta=0.0, d=1000, **options):
    return sv.problems.convention(KEY).problem(p=p, gamma=gamma, Delta=Delta, d=d, **options)


def speed(problem, state):
    """Of m and Q in the paper's time, by a very short run of the equations."""
    step = 1e-6
    run = sv.run(problem, state, sv.Macro(rtol=1e-13, atol=1e-16), times=[0, step], clock=KEY)
    return (run.cross_overlap[0, 1] - run.cross_overlap[0, 0]) / step, (
        run.student_overlap[0, 1] - run.student_overlap[0, 0]
    ) / step


def printed_speed(m, Q, gamma, Delta, rho=1.0):
    """(26a) and (26b), with k = 1: m is a column."""
    p, trace, M = len(Q), np.trace(Q), m @ m.T
    psi = 2 * (rho - trace / p) * m + 4 * (rho * m - Q @ m / p)
    drift = 4 * (rho - trace / p) * Q + 8 * (M - Q @ Q / p)
    square = (trace**2 + 2 * np.trace(Q @ Q)) * Q + 4 * trace * Q @ Q + 8 * Q @ Q @ Q
    mixed = (rho * trace + 2 * np.trace(M)) * Q + 2 * trace * M + 2 * rho * Q @ Q + 4 * (M @ Q + Q @ M)
    noise = 3 * rho**2 * Q + 12 * rho * M + square / p**2 - 2 / p * mixed + Delta * Q
    return psi, drift + 4 * gamma / p * noise


def generic(p, seed=0):
    random = np.random.default_rng(seed)
    root = random.standard_normal((p, p + 1)) / np.sqrt(p + 1)
    return root[:, :1], root @ root.T + 0.2 * np.eye(p)


def test_the_population_risk() -> None:
    """(6), with any readouts, and (27), with ones."""
    p, a = 3, np.array([0.4, 1.0, 1.7])
    m, Q = generic(p)
    for readout in (a, np.ones(p)):
        problem = problem_of(p, sphere=False, second_layer=True)
        state = sv.start(problem, student_overlap=Q, cross_overlap=m, readout=readout / p)
        own, cross = np.diag(Q), m[:, 0] ** 2
        stated = 1.5 - np.sum(readout * (own + 2 * cross)) / p
        stated += np.sum(np.outer(readout, readout) * (np.outer(own, own) + 2 * Q**2)) / (2 * p**2)
        run = sv.run(problem, state, sv.Macro(), times=[0])
        assert run.risk[0, 0] == pytest.approx(stated, rel=1e-12)


@pytest.mark.parametrize("p", [1, 3])
def test_the_equations_of_motion(p) -> None:
    """(26) without a sphere, and (21), (30), (31) with one, by the terms of (26)."""
    m, Q = generic(p)
    problem = problem_of(p, Delta=0.4, sphere=False)
    found = speed(problem, sv.start(problem, student_overlap=Q, cross_overlap=m))
    for one, other in zip(found, printed_speed(m, Q, 0.3, 0.4), strict=True):
        assert one == pytest.approx(other, rel=1e-4, abs=1e-4)
    norms = np.sqrt(np.diag(Q))
    m, Q = m / norms[:, None], Q / np.outer(norms, norms)
    problem = problem_of(p, Delta=0.4)
    psi, phi = printed_speed(m, Q, 0.3, 0.4)
    own = np.diag(phi)
    found = speed(problem, sv.start(problem, student_overlap=Q, cross_overlap=m))
    assert found[0] == pytest.approx(psi - m / 2 * own[:, None], rel=1e-4, abs=1e-4)
    assert found[1] == pytest.approx(phi - Q / 2 * (own[:, None] + own[None]), rel=1e-4, abs=1e-4)


def test_one_student_with_and_without_a_sphere() -> None:
    """(7) and (88) on the sphere; (75) and (76) without, at any first norm."""
    gamma, Delta, m = 0.1, 0.4, 0.3
    problem = problem_of(1, gamma, Delta)
    found, _ = speed(problem, sv.start(problem, student_overlap=[[1.0]], cross_overlap=[[m]]))
    assert found[0, 0] == pytest.approx(m * (4 * (1 - 6 * gamma) * (1 - m**2) - 2 * gamma * Delta), rel=1e-5)
    q, rho = 0.7, 1.0
    problem = problem_of(1, gamma, sphere=False)
    found, grown = speed(problem, sv.start(problem, student_overlap=[[q]], cross_overlap=[[m]]))
    assert found[0, 0] == pytest.approx(6 * m * (rho - q), rel=1e-5)
    noise = q * (rho**2 + 5 * q**2 - 2 * rho * q) + 4 * m**2 * (rho - 2 * q)
    assert grown[0, 0] == pytest.approx(4 * (q * (rho - 3 * q) + 2 * m**2) + 12 * gamma * noise, rel=1e-5)


@pytest.mark.parametrize("p", [2, 5, 20])
def test_the_linearised_speeds(p) -> None:
    """(35), (36) and (37): of (26) at small m and small overlaps between students."""
    gamma, Delta, tiny = 0.3 * p, 0.4, 1e-6
    Q, m = np.eye(p), np.full((p, 1), tiny)
    Q[0, 1] = Q[1, 0] = tiny
    psi, phi = printed_speed(m, Q, gamma, Delta)
    assert psi[0, 0] / tiny == pytest.approx(4 * (1 - 1 / p), rel=1e-4)
    between = -16 / p + 4 * gamma / p * (2 + 2 / p + 24 / p**2 + Delta)
    own = -8 / p + 4 * gamma / p * (2 + 2 / p + 8 / p**2 + Delta)
    assert phi[0, 1] / tiny == pytest.approx(between, rel=1e-4)
    assert phi[0, 0] == pytest.approx(own, rel=1e-9)
    plateau = sv.theory.plateau(problem_of(p, gamma, Delta)).value
    assert plateau.growth * p / gamma == pytest.approx(4 * (1 - 1 / p) - own / 2, rel=1e-9)  # (38)
    assert plateau.decay * p / gamma == pytest.approx(own - between, rel=1e-9)  # (39)


def test_beyond_six_students_growth_implies_decay() -> None:
    """E.2: for p > 6, and not for 6, omega_Q > 0 follows from omega_m > 0: at the rate where growth ends, without label noise."""
    for p in (2, 5, 6, 7, 8, 50):
        last = p / (1 + 1 / p + 4 / p**2)
        plateau = sv.theory.plateau(problem_of(p, last)).value
        assert plateau.growth == pytest.approx(0, abs=1e-12)
        assert (plateau.decay > 0) == (p > 6)


def test_orders_of_the_exit_times() -> None:
    """Sections 2 and 3, E.4: quenched times are not below annealed ones; both grow with rate and label noise and fall with width
    at a fixed ratio of rate and width; the fewest steps fall with width."""

    def annealed(here):
        return sv.theory.annealed_escape_time(here).value * here.training.learning_rate / here.student.width

    def quenched(here):
        mean = sv.theory.quenched_escape_time(here, draws=4000, printed=True).value.mean
        return mean * here.training.learning_rate / here.student.width

    for p in (1, 2, 10):
        assert quenched(problem_of(p, 0.05 * p)) > annealed(problem_of(p, 0.05 * p))
    for time in (annealed, quenched):
        by_rate = [time(problem_of(1, gamma, 0.2)) for gamma in (0.01, 0.08, 0.15)]
        by_noise = [time(problem_of(1, 0.1, Delta)) for Delta in (0, 0.5, 4)]
        by_width = [time(problem_of(p, 0.05 * p)) for p in (1, 2, 5, 20)]
        assert (np.diff(by_rate) > 0).all()
        assert (np.diff(by_noise) > 0).all()
        assert (np.diff(by_width) < 0).all()
    steps = [sv.theory.fewest_steps(problem_of(p, 0.1, 0.3)).value for p in range(1, 30)]
    assert (np.diff(steps) < 0).all()


def test_the_exit_from_no_overlap_is_a_hypergeometric_function() -> None:
    """(52): T/sigma^2 2F2(1, 1; 3/2, 2; -mu T/sigma^2), summed with fractions, against the integral of Dawson's function."""
    gamma, Delta, d, T = 0.05, 0.4, 1000, 0.02
    mu, square = 4 * (1 - 6 * gamma) - 2 * gamma * Delta, gamma * (48 + 4 * Delta) / d
    x, term, total = Fraction(-mu * T / square), Fraction(1), Fraction(0)
    for k in range(200):
        total += term
        term *= Fraction(k + 1) ** 2 * x / ((Fraction(3, 2) + k) * (2 + k) * (k + 1))
        term = term.limit_denominator(10**60)
    stated = T / square * float(total)
    assert gamma * sv.theory.zero_escape_time(problem_of(1, gamma, Delta, d), T).value == pytest.approx(
        stated, rel=1e-9
    )


def test_directions_along_which_the_risk_is_constant() -> None:
    """Appendix B: students turn into any of the d - p - 1 directions orthogonal to all without changing the risk of the plateau."""
    p, d = 3, 8
    axes, problem = np.sqrt(d) * np.eye(d), problem_of(p, d=d)
    at = sv.landscape.population_risk(problem, sv.overlaps.Weights(axes[1 : p + 1], axes[:1]))
    for angle in (0.3, 1.2):
        for k in range(p + 1, d):
            turned = axes[1 : p + 1].copy()
            turned[0] = np.cos(angle) * axes[1] + np.sin(angle) * axes[k]
            assert sv.landscape.population_risk(problem, sv.overlaps.Weights(turned, axes[:1])) == pytest.approx(
                at, rel=1e-12
            )
    away = axes[1 : p + 1].copy()
    away[0] = np.cos(0.3) * axes[1] + np.sin(0.3) * axes[0]
    assert sv.landscape.population_risk(problem, sv.overlaps.Weights(away, axes[:1])) < at - 0.01


def test_readouts_on_the_plateau() -> None:
    """Appendix I: trained readouts go to p/(p + 2); their mean at the rate 1 + 2/p, differences more slowly, at 2/p."""
    p = 10
    problem = problem_of(p, 1e-3, second_layer=True)
    first = 1 + 0.1 * np.where(np.arange(p) % 2, 1, -1)
    start = sv.start(problem, student_overlap=np.eye(p), cross_overlap=np.zeros((p, 1)), readout=first / p)
    times = np.array([0.0, 0.5, 1.0, 60.0])
    readout = p * sv.run(problem, start, sv.Macro(rtol=1e-10), times=times, clock=KEY).readout[0]
    assert readout[-1] == pytest.approx(p / (p + 2), rel=1e-4)
    mean, apart = readout.mean(axis=1) - p / (p + 2), readout[:, 1] - readout[:, 0]
    assert math.log(mean[1] / mean[2]) / 0.5 == pytest.approx(1 + 2 / p, rel=2e-3)
    assert math.log(apart[1] / apart[2]) / 0.5 == pytest.approx(2 / p, rel=2e-2)

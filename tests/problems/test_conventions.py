"""One problem in any paper's units: the dictionaries between the papers, and that they describe the same learning."""

import numpy as np
import pytest

import solvable as sv

PAPERS = {
    "bocchi2026": {"p": 4, "p_star": 2, "eta": 0.1, "N": 100},
    "arnaboldi2023": {"p": 3, "gamma": 0.2, "Delta": 0.3, "d": 50, "sphere": True, "second_layer": True},
    "saraomannelli2020": {"m": 5, "m_star": 2, "d": 6, "n": 9, "Delta": 0.5, "rate": 0.01},
    "worschech2024": {"K": 2, "M": 3, "eta": 0.1, "beta": 0.5, "L": 4, "N": 40, "activation": "erf"},
}


@pytest.mark.parametrize("key", PAPERS)
def test_symbols_round_trip(key: str) -> None:
    convention = sv.problems.convention(key)
    assert convention.symbols(convention.problem(**PAPERS[key])) == PAPERS[key]


def test_unknown_paper_and_misfits(quadratic: sv.Problem) -> None:
    with pytest.raises(ValueError, match="must be one of bocchi2026"):
        sv.problems.convention("newton1687")
    noisy = quadratic.replace(training__label_noise=0.1, student__norm="sphere")
    with pytest.raises(sv.InvalidProblem) as caught:
        sv.problems.convention("bocchi2026").symbols(noisy)
    assert len(caught.value.problems) == 2
    with pytest.raises(sv.InvalidProblem, match=r"teacher.width: is 3, not 1"):
        sv.problems.convention("arnaboldi2023").symbols(quadratic)


def test_arnaboldi_maps_to_bocchi() -> None:
    """At teacher width one, no noise, free norms: eta = gamma/2, t_A = 2 eta alpha / p, R_B = 2 R_A; both learn alike."""
    A, B = sv.problems.convention("arnaboldi2023"), sv.problems.convention("bocchi2026")
    gamma, p = 0.3, 3
    one = A.problem(p=p, gamma=gamma, sphere=False)
    two = B.problem(p=p, p_star=1, eta=gamma / 2)
    assert B.symbols(one)["eta"] == pytest.approx(gamma / 2)
    assert A.symbols(two)["gamma"] == pytest.approx(gamma)
    overlaps = {"student_overlap": np.eye(p), "cross_overlap": np.full((p, 1), 0.1) * [[1], [2], [-1]]}
    times = np.linspace(0, 40, 9)
    first = sv.run(one, sv.start(one, **overlaps), sv.Macro(), times=times)
    second = sv.run(two, sv.start(two, **overlaps), sv.Macro(), times=times)
    assert first.cross_overlap == pytest.approx(second.cross_overlap, rel=1e-12)
    assert B.risk(one, first.risk) == pytest.approx(2 * A.risk(one, first.risk))
    assert B.risk(one, first.risk) == pytest.approx(B.risk(two, second.risk), rel=1e-9)
    assert sv.results.Clock(one, "arnaboldi2023").from_alpha(7.0) == pytest.approx(gamma * 7 / p)
    assert sv.results.Clock(two, "arnaboldi2023").from_alpha(7.0) == pytest.approx(2 * (gamma / 2) * 7 / p)


def test_label_noise_enters_arnaboldis_risk_only() -> None:
    A = sv.problems.convention("arnaboldi2023")
    problem = A.problem(p=2, gamma=0.1, Delta=0.4)
    assert A.risk(problem, 0.75) == pytest.approx(0.75 + 0.2)


def test_dictionary_to_saraomannelli(quadratic: sv.Problem) -> None:
    """t_S = 4 t_B / p, R = 2 E: their eigenvalue flow, integrated on its own, gives our small-rate risk."""
    from scipy.integrate import solve_ivp

    problem = quadratic.replace(inputs=sv.Inputs(), student__width=3, teacher__width=3)
    S = sv.problems.convention("saraomannelli2020")
    clock = sv.results.Clock(problem, "saraomannelli2020")
    assert clock.from_alpha(100.0) == pytest.approx(4 * 0.01 * 100 / 3)
    # students along the teachers with norms q_i: A = diag(q_i) / 3, A* = 1/3, and tr A, tr A* finite
    q = np.array([0.2, 0.5, 1.5])
    start = sv.start(problem, student_overlap=np.diag(q), cross_overlap=np.diag(np.sqrt(q)))
    times = np.array([0.5, 1.0, 3.0])
    ours = sv.run(problem, start, sv.Macro(small_rate=True, rtol=1e-10), times=times, clock="saraomannelli2020")

    def flow(_, lam):
        s = np.sum(1 / 3 - lam)
        return 2 * s * lam + 4 * (1 / 3 - lam) * lam

    lam = solve_ivp(flow, (0, 3), q / 3, t_eval=times, rtol=1e-11, atol=1e-13).y
    E = ((lam - 1 / 3) ** 2).sum(axis=0) + 0.5 * (1 / 3 - lam).sum(axis=0) ** 2
    assert S.risk(problem, ours.risk[0]) == pytest.approx(E, rel=1e-7)


def test_worschech_readouts_and_clock() -> None:
    problem = sv.problems.convention("worschech2024").problem(K=2, M=3, eta=0.1, beta=1.0, L=4)
    assert problem.student.readout_values == pytest.approx([np.sqrt(3) / 2] * 2)
    assert problem.teacher.readout_values == pytest.approx([1 / np.sqrt(3)] * 3)
    assert sv.results.Clock(problem, "worschech2024").from_alpha(5.0) == 5.0
    assert sv.problems.convention("worschech2024").risk(problem, 0.2) == pytest.approx(0.2)


@pytest.mark.parametrize("key", sorted(sv.problems.conventions.CONVENTIONS))
def test_a_problem_without_teacher_has_no_symbols(key) -> None:
    problem = sv.Problem(
        student=sv.Student(width=2, activation="erf"),
        training=sv.Training(learning_rate=0.1),
        mixture=sv.Mixture.xor(1.0),
    )
    with pytest.raises(sv.problems.NotApplicable, match="mixture"):
        sv.problems.convention(key).require(problem)


def test_papers_without_symbols_say_so() -> None:
    for key in ("lee2021", "refinetti2021"):
        with pytest.raises(
            ValueError, match=f"convention: '{key}' given, must be one of .* of this paper there are figures alone"
        ):
            sv.problems.convention(key)

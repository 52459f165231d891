"""Dimensions counted numerically: ranks of derivatives and of tangent vectors."""

import numpy as np
import pytest

import solvable as sv


def setting(p, q, N=None):
    return sv.problems.convention("bocchi2026").problem(p=p, p_star=q, eta=0.1, N=N)


@pytest.mark.parametrize(("N", "p"), [(4, 1), (4, 2), (5, 5), (4, 7), (6, 3)])
def test_degrees_of_freedom_are_the_rank_of_the_map(N, p) -> None:
    """W -> W^T W: the rank of its derivative at random weights."""
    W = np.random.default_rng(0).standard_normal((p, N))
    columns = []
    for k in range(p):
        for n in range(N):
            V = np.zeros((p, N))
            V[k, n] = 1
            columns.append((V.T @ W + W.T @ V).ravel())
    assert sv.theory.degrees_of_freedom(setting(p, 1, N)).value == np.linalg.matrix_rank(np.array(columns))


@pytest.mark.parametrize(("p", "q"), [(1, 1), (3, 3), (6, 3), (5, 1), (4, 2)])
def test_solution_dimension_is_that_of_the_tangent_space(p, q) -> None:
    """Zero-error students are S W* with orthonormal columns S: rank of the velocities of random rotations of S."""
    random = np.random.default_rng(0)
    S = np.linalg.qr(random.standard_normal((p, q)))[0]
    velocities = []
    for _ in range(60):
        A = random.standard_normal((p, p))
        velocities.append(((A - A.T) @ S).ravel())
    assert sv.theory.solution_dimension(setting(p, q)).value == np.linalg.matrix_rank(np.array(velocities), tol=1e-9)


@pytest.mark.parametrize(("p", "q", "N"), [(3, 4, 2), (5, 3, 3), (6, 8, 4)])
def test_more_teachers_than_dimensions_count_as_dimensions(p, q, N) -> None:
    """docs/ERRATA.md B16: W^T W is then any N x N matrix, and students of rank min(p*, N) turn into each other: rank of the
    velocities Omega W."""
    random = np.random.default_rng(0)
    W = random.standard_normal((p, N))
    turns = [a - a.T for a in random.standard_normal((p * p, p, p))]
    rank = np.linalg.matrix_rank(np.array([(turn @ W).ravel() for turn in turns]))
    assert sv.theory.solution_dimension(setting(p, q, N)).value == rank


@pytest.mark.parametrize(("p", "q"), [(1, 3), (2, 3), (2, 5)])
def test_minimisers_with_fewer_students(p, q) -> None:
    """Choose a p-dimensional subspace of the teachers' and a rotation: velocities of U diag(a) O^T under both."""
    random = np.random.default_rng(0)
    frame = np.linalg.qr(random.standard_normal((q, p)))[0].T
    velocities = []
    for _ in range(80):
        A, B = random.standard_normal((p, p)), random.standard_normal((q, q))
        velocities.append(((A - A.T) @ frame + frame @ (B - B.T)).ravel())
    assert sv.theory.solution_dimension(setting(p, q)).value == np.linalg.matrix_rank(np.array(velocities), tol=1e-9)


def test_available_says_what_applies_and_why_not(quadratic: sv.Problem) -> None:
    by_name = {one.name: one for one in sv.theory.available(quadratic, why=True)}
    assert {name for name, one in by_name.items() if not one.applies} == {
        *("late_rate", "optimal_late_rate"),  # there are more students than teachers, and they are not on the sphere
        *("sphere_overlap", "annealed_escape_time", "quenched_escape_time", "noisy_escape_time"),
        *("zero_escape_time", "fewest_steps", "noise_floor"),
        *(
            "flow_tail",
            "flow_rate",
            "flow_jump",
            "flow_integral",
            "flow_bound",
            "flow_approximation",
        ),  # nor do they span the inputs
        *("counted_threshold", "recovery_threshold", "recovery_limit", "statistical_dimension"),
        *("unique_probability", "hidden_ray_probability"),
        *(
            "linear_risk",
            "linear_modes",
            "linear_mean_risk",
            "feature_risk",
            "hidden_feature_risk",
            "hidden_feature_rests",
            "hidden_feature_mean",
            "drift_risk",
            "adagrad_rate",
            "momentum_late_rate",
            "momentum_growth",
            "linear_data_losses",
        ),  # nor linear, nor erf
        *("power_law_risk", "power_law_window", "power_law_ends", "power_law_gap", "power_law_feature_risk"),
        *("erf_plateau", "uniform_plateau", "rowwise_plateau", "plateau_drop", "first_order_risk", "erf_late_risk"),
        *("uniform_escape_time", "overlap_escape_time", "printed_plateau_length"),
    }
    spanning = sv.problems.convention("saraomannelli2020").problem(m=5, m_star=1, d=5)
    applies = {one.name for one in sv.theory.available(spanning)}
    assert {"flow_tail", "flow_bound", "counted_threshold", "recovery_limit", "unique_probability"} <= applies
    assert not {"flow_rate", "hidden_ray_probability"} & applies
    assert str(by_name["late_risk"]).startswith("late_risk(problem, alpha): Risk long after the escape")
    other = quadratic.replace(student__norm="sphere", training__learning_rate=2.0, inputs=sv.Inputs())
    reasons = {one.name: one.reason for one in sv.theory.available(other, why=True) if not one.applies}
    assert set(reasons) == set(by_name)
    assert "student.norm" in reasons["late_risk"]
    erf = sv.problems.convention("worschech2024").problem(K=2, M=2, eta=0.1)
    applies = {one.name for one in sv.theory.available(erf)}
    plateaus = {"erf_plateau", "uniform_plateau", "rowwise_plateau", "uniform_escape_time", "overlap_escape_time"}
    assert (
        applies
        == {"rate_limit", "late_rate", "optimal_late_rate", "plateau_drop", "first_order_risk", "erf_late_risk"}
        | plateaus
    )
    fast = {one.name: one for one in sv.theory.available(quadratic.replace(training__learning_rate=2.0), why=True)}
    assert not fast["late_risk"].applies
    assert fast["rate_limit"].applies


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"student__readout": (1.0, 1.0, -1.0)}, "student.readout"),
        ({"teacher__readout": (1.0, -1.0)}, "teacher.readout"),
        ({"training__weight_decay": 0.1}, "weight_decay"),
        ({"student__width": 1, "teacher__readout": (3.0, 1.0)}, "teacher.readout"),
    ],
)
def test_counting_refuses_what_it_does_not_count(changes, reason) -> None:
    with pytest.raises(sv.theory.NotApplicable, match=reason):
        sv.theory.solution_dimension(setting(3, 2).replace(**changes))


def test_every_prediction_is_listed() -> None:
    listed = {one.name for one in sv.theory.available(setting(3, 2, 10), why=True)}
    functions = {name for name in sv.theory.__all__ if name[0].islower()} - {"available", "forecast"}
    assert listed == functions


ORTHONORMAL = {
    "quadratic": setting(6, 3, 100),
    "as many students": setting(3, 3, 100),
    "fewer students": setting(2, 3, 100),
    "spanning": setting(5, 2, 5),
    "sphere": sv.problems.convention("arnaboldi2023").problem(p=2, gamma=0.1, d=1000),
    "erf": sv.problems.convention("worschech2024").problem(K=2, M=2, eta=0.5, beta=0.0, L=1),
}


@pytest.mark.parametrize("name", ORTHONORMAL)
def test_an_identity_given_as_a_matrix_is_orthonormal(name) -> None:
    """Every prediction applies, or does not, as for the same teacher by name; not so for teachers twice as long."""
    problem = ORTHONORMAL[name].replace(teacher__overlap="orthonormal")
    told = problem.replace(teacher__overlap=np.eye(problem.teacher.width).tolist())
    assert told.teacher.is_orthonormal
    assert sv.theory.available(told, why=True) == sv.theory.available(problem, why=True)
    longer = problem.replace(teacher__overlap=(4 * np.eye(problem.teacher.width)).tolist())
    assert not longer.teacher.is_orthonormal
    assert sv.theory.available(longer, why=True) != sv.theory.available(problem, why=True)
    assert not problem.replace(teacher__overlap="sampled").teacher.is_orthonormal

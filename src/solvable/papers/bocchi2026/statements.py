"""What the paper states, in its order."""

from solvable.papers.bocchi2026.settings import KEY
from solvable.papers.statements import Statement

ONE, TWO, THREE, FOUR, FIVE, SIX = (f"{KEY}/{number}" for number in range(1, 7))
STAIRCASE, ATLAS, NOISE, ESCAPE = (f"{KEY}/{name}" for name in ("staircase", "atlas", "noise", "escape"))
MISPRINTS = "tests/papers/test_bocchi2026_misprints.py::"
MOMENTS = "tests/dynamics/test_moments.py::"
DEFINITION = "a definition"

STATEMENTS = (
    Statement(
        "abstract", "the plateau are saddles with a negative eigenvalue, the solutions marginal minima", claims=(ATLAS,)
    ),
    Statement(
        "section 1", "no algorithm does better than a dummy predictor for M < 0.5 N", none="a result of another paper"
    ),
    Statement("(1)", "the teacher", none=DEFINITION),
    Statement("(2)", "the student", none=DEFINITION),
    Statement("(3)", "the empirical risk, a sum of squares without a factor", none=DEFINITION),
    Statement(
        "(4)", "one-pass SGD", tests=("tests/papers/test_bocchi2026.py::test_plain_sgd_turns_the_frame_as_micro_does",)
    ),
    Statement(
        "(5)",
        "the learning amplitude",
        tests=("tests/papers/test_bocchi2026.py::test_plain_sgd_turns_the_frame_as_micro_does",),
    ),
    Statement(
        "(6)",
        "equations of the overlaps",
        tests=("tests/micro/test_micro.py::test_single_runs_spread_as_one_over_root_dim",),
    ),
    Statement("(7)", "covariance of all fields", tests=(f"{MOMENTS}test_moments_equal_sampling",)),
    Statement("(8)", "the start: orthonormal students, overlaps of variance epsilon^2", none=DEFINITION),
    Statement(
        "section 3",
        "small overlaps between students at the start do not change the behaviour, qualitatively",
        none="no number; section 4.1 is judged with them",
    ),
    Statement("section 4", "simulations at N = 10^4 follow the equations", claims=(ONE,)),
    Statement("figure 1", "p = 6, p* = 3, eta = 0.01, N = 10^4, ten runs", none="section 4 says what is seen on it"),
    Statement(
        "(9)",
        "equations to first order in the overlaps",
        tests=(
            "tests/theory/test_plateau.py::test_norms_are_learned_as_stated",
            "tests/theory/test_plateau.py::test_students_overlaps_decay_at_the_stated_rate",
        ),
    ),
    Statement("(10)", "norms relax to p/(p + 2)", claims=(ONE, ESCAPE)),
    Statement("(11)", "on the plateau overlaps grow, those between students at the rate + omega_Q", claims=(ESCAPE,)),
    Statement("(12)", "omega_rho = 8/(p p*), omega_Q = 16/(p (p + 2))", claims=(ESCAPE,)),
    Statement(
        "section 4.1",
        "the time of reconstruction is controlled by the student with the largest first alignment",
        claims=(ESCAPE,),
    ),
    Statement("section 4.1", "the final descent is on a much shorter timescale", claims=(THREE,)),
    Statement("section 4.1", "the optimal rate grows linearly with p", claims=(TWO,)),
    Statement(
        "section 4.1: analytical",
        "the scaling of the optimal rate does not follow from the equations at small rates",
        none="right; theory.optimal_rate has it from those at any rate",
    ),
    Statement("figure 2", "p = p* = 3, epsilon = 0.01, 20 starts; a linear trend", claims=(TWO,)),
    Statement("(13)", "the mean relative loss falls as 4 epsilon^2 exp(16 t/p*)", claims=(ESCAPE,)),
    Statement(
        "section 4.1", "the timescale p*/16 does not depend on p, the time of escape only weakly", claims=(ESCAPE,)
    ),
    Statement("(14)", "the student as a quadratic form", none=DEFINITION),
    Statement(
        "(15)",
        "zero error: the forms agree",
        tests=("tests/theory/test_solutions.py::test_the_end_is_the_nearest_solution",),
    ),
    Statement(
        "(16)",
        "zero-error solutions are sqrt(p/p*) S W*",
        tests=("tests/theory/test_solutions.py::test_the_end_is_the_nearest_solution",),
    ),
    Statement(
        "section 4.1", "they have p p* - p* (p* + 1)/2 degrees of freedom, some also at equal widths", claims=(SIX,)
    ),
    Statement("section 4.1", "claim: from arbitrary weights the student ends at the closest solution", claims=(FOUR,)),
    Statement("(17)", "the distance of a solution from the start", claims=(THREE,)),
    Statement(
        "(18)", "its minimisation with Lagrange multipliers", none="a step to (19), whose minimality is judged at (17)"
    ),
    Statement(
        "(19)", "the closest solution has S = rho_0 (rho_0^T rho_0)^(-1/2); learning ends there", claims=(THREE,)
    ),
    Statement(
        "(20)",
        "its overlaps with the teacher, sqrt(p/p*) S",
        tests=("tests/theory/test_solutions.py::test_the_end_is_the_nearest_solution",),
    ),
    Statement(
        "(21)",
        "its student overlaps, (p/p*) S S^T",
        tests=(f"{MISPRINTS}test_solutions_in_overlaps_pair_different_teachers",),
    ),
    Statement("(22)", "S(t) remains constant", claims=(FOUR,)),
    Statement("figure 3", "p = 6, p* = 3, eta = epsilon = 0.01: all runs end at zero error", claims=(THREE,)),
    Statement(
        "(23)",
        "the population risk",
        tests=("tests/landscape/test_landscape.py::test_risk_slopes_and_curvature", f"{MISPRINTS}test_printed_risk"),
    ),
    Statement(
        "(24)",
        "its gradient",
        tests=(f"{MISPRINTS}test_slopes_by_the_weights_themselves_have_a_factor_of_the_dimension",),
    ),
    Statement("(25)", "its Hessian", tests=(f"{MISPRINTS}test_printed_hessian",)),
    Statement("section 4.2", "three classes of critical points", claims=(STAIRCASE,)),
    Statement("(26)", "tabula rasa: all overlaps zero", none=DEFINITION),
    Statement(
        "section 4.2",
        "tabula rasa is a maximum; at solutions p* (N - p*) + p* (p* + 1)/2 positive and (N - p*)(p - p*) flat directions",
        claims=(ATLAS,),
    ),
    Statement("(27)", "students without overlap with the teacher", none=DEFINITION),
    Statement("(28)", "critical points of every rank r", claims=(ATLAS,)),
    Statement("(29)", "negative over flat directions of the plateau", claims=(ATLAS,)),
    Statement("(30)", "critical points in the span of the teacher, of every rank s", claims=(ATLAS,)),
    Statement("section 5", "SGD consistently selects the minimiser closest to its start", claims=(ONE, FOUR, NOISE)),
    Statement("(31)", "(6) again", none="see (6)"),
    Statement("(32)", "(5) again", none="see (5)"),
    Statement("(33)", "equation of the overlaps with the teacher", tests=(f"{MISPRINTS}test_printed_equations",)),
    Statement(
        "(34)",
        "equation of the student overlaps, with the order eta^2",
        tests=(f"{MOMENTS}test_quadratic_printed_noise_is_wrong", f"{MISPRINTS}test_printed_equations"),
    ),
    Statement(
        "section 7.2.1",
        "scales p/(2 + r) and p (2 + p*)/(p* (2 + s)) and the equations for them",
        tests=(
            f"{MISPRINTS}test_columns_are_orthonormal_and_their_scale_has_the_rank",
            f"{MISPRINTS}test_correlated_students_need_a_frame_of_the_teachers_span",
        ),
    ),
    Statement(
        "section 7.2.2",
        "eigenvalues of the Hessian with multiplicities at four points; the ratio (29) grows up to p = N",
        claims=(ATLAS,),
    ),
    Statement(
        "section 7.2.3",
        "p* (p - p*) + p* (p* - 1)/2 flat directions are tangent to the solutions",
        tests=("tests/landscape/test_landscape.py::test_the_solutions_have_flat_directions_that_lead_nowhere",),
    ),
    Statement(
        "section 7.3", "risk of the plateau, 1 + 2/p* - p/(p + 2), and how it falls in t/p", claims=(ONE, ESCAPE)
    ),
    Statement("(35)", "(11) again", none="see (11)"),
    Statement("(36)", "(12) again", none="see (12)"),
    Statement("(37)", "(22) again", none="see (22)"),
    Statement("(38)", "equation of rho at small rates", tests=(f"{MISPRINTS}test_printed_equations",)),
    Statement("(39)", "equation of Q at small rates", tests=(f"{MISPRINTS}test_printed_equations",)),
    Statement("(40)", "(38) as H rho", none="(38) written in another way"),
    Statement(
        "(41)",
        "rho(t) = f(rho_0 rho_0^T) rho_0, by assumption",
        tests=("tests/dynamics/test_quadratic_flow.py::test_overlaps_from_orthogonal_students",),
    ),
    *(
        Statement(f"({n})", "a step from (41) to S(t) = S(0)", none="algebra; its end is judged at (22)")
        for n in range(42, 49)
    ),
    Statement("figure 4", "elements of S(t) are constant", none="(22) is judged on it"),
    Statement("section 7.5.1", "N p - p (p - 1)/2 degrees of freedom for p <= N, N (N + 1)/2 beyond", claims=(FIVE,)),
    Statement("figure 5", "degrees of freedom against p", claims=(FIVE,)),
    Statement("section 7.5.2", "dimension of the solutions with min(p*, N); p - 1 for phase retrieval", claims=(SIX,)),
    Statement("figure 6", "dimension of the solutions against p", claims=(SIX,)),
)

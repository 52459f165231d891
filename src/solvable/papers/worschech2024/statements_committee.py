"""What worschech2024 states about erf committees: equations of motion, plateaus, the escape from them and the approach to the
teacher (sections 5, C and D, figures 4 to 6 and 17 to 20). Sections 3, 4, A and B are in `statements_linear.py`."""

from solvable.papers.statements import Statement
from solvable.papers.worschech2024.committees import PRINTS, TEST
from solvable.papers.worschech2024.settings import KEY

AVERAGES = "tests/gaussian/test_averages.py"
POWERS = "tests/agreement/test_power_hierarchy.py::test_blocks_are_the_power_hierarchy"
EQUATIONS = f"{PRINTS}::test_the_printed_equations_of_erf_committees"
HEIGHTS = f"{PRINTS}::test_heights_of_the_plateau_as_printed"
PARTING = f"{PRINTS}::test_the_risk_falls_twice_as_fast_as_students_part"
AT_PLATEAU = f"{PRINTS}::test_the_printed_linearisation_of_the_plateau"
AT_TEACHER = f"{PRINTS}::test_the_printed_linearisation_at_the_teacher"

MOTION = (
    Statement("(89)", "I2 for erf", tests=(f"{AVERAGES}::test_pair_averages_equal_quadrature",)),
    Statement("(90)", "I3 for erf", tests=(f"{AVERAGES}::test_pair_averages_equal_quadrature", EQUATIONS)),
    Statement("(91)", "I4 for erf", tests=(f"{AVERAGES}::test_the_printed_four_field_integral_is_wrong",)),
    Statement("(92)", "the equation of R(l) to first order in the rate", tests=(EQUATIONS,)),
    Statement("(93)", "the equation of Q(l) to first order in the rate", tests=(EQUATIONS,)),
    Statement("(94)", "the generalisation error by arcsines", tests=(EQUATIONS,)),
)  # fmt: skip

PLATEAU = (
    Statement(
        "section 5.1.1", "mean and variance of T(l); for l > 0 the variance does not decrease with N", claims=(f"{KEY}/4",),
        tests=(f"{PRINTS}::test_scatter_of_teachers",),
    ),
    Statement("(13)", "R* and Q* of first order, with averages T and D of the teacher's", claims=(f"{KEY}/4",), tests=(HEIGHTS,)),
    Statement("(97)", "the same as (13)", tests=(HEIGHTS,)),
    Statement("(95)", "M heights by T_nn and d_n of each row", tests=(HEIGHTS, f"{PRINTS}::test_heights_for_sampled_teachers")),
    Statement("section C.2", "for small L (95) gives the plateau of the risk very well (figure 17)", claims=(f"{KEY}/17",)),
    Statement("(96)", "heights of higher order by rows", tests=(HEIGHTS,)),
    Statement("(98)", "heights of higher order, with averages", claims=(f"{KEY}/18",), tests=(HEIGHTS,)),
    Statement("(99)", "the height of the risk", claims=(f"{KEY}/4",), tests=(HEIGHTS,)),
    Statement("figure 4, inset", "Q* = 0.1443 and the risk 0.00711 on the plateau", claims=(f"{KEY}/4",)),
    Statement(
        "figure 4", "M distinct heights of R, one of Q with small deviations",
        tests=(f"{TEST}::test_plateau_is_where_the_equations_wait",),
    ),
    Statement("figure 18, insets", "R*(4) = 6, Q*(4) = 4.75, R*(6) = 105, Q*(6) = 81.8", claims=(f"{KEY}/18",)),
)  # fmt: skip

ESCAPE = (
    Statement(
        "(12)", "the length of the plateau, tau (D - ln(sigma^2)/2 + ln(N)/2)",
        tests=(
            f"{PRINTS}::test_smaller_students_wait_longer_by_the_logarithm",
            f"{PRINTS}::test_the_spread_on_the_plateau_contains_the_dimension",
        ),
    ),
    Statement("(14)", "the reduced linear equation of r", tests=(PARTING,)),
    Statement("(15)", "the escape time", claims=(f"{KEY}/4", f"{KEY}/5"), tests=(PARTING,)),
    Statement(
        "after (15)", "tau grows as M^2/(eta L), illustrated by figure 5", claims=(f"{KEY}/5",),
        tests=(f"{PRINTS}::test_escape_times_as_the_widths_and_eigenvalues_grow",),
    ),
    Statement("(100) to (102)", "the linearised equations around the plateau, G and H", tests=(AT_PLATEAU,)),
    Statement("(103) to (108)", "eigenvalues and eigenvectors of G and H", tests=(AT_PLATEAU,)),
    Statement("(109) to (111)", "the same, reduced to r and s", tests=(AT_PLATEAU,)),
    Statement("(112), (113)", "the equation of r alone, with its rate g_r and one eigenvalue lambda_r", tests=(PARTING,)),
    Statement("(114)", "r grows as exp(eta g_r alpha)", tests=(PARTING,)),
    Statement("(115)", "the risk falls as exp(alpha/tau), with its size", claims=(f"{KEY}/4",), tests=(PARTING,)),
    Statement("(116)", "the escape time, as (15)", claims=(f"{KEY}/19",), tests=(PARTING,)),
    Statement(
        "section C.3", "T(2) is about lambda_+^2/L, proportional to L",
        tests=(f"{PRINTS}::test_escape_times_as_the_widths_and_eigenvalues_grow",),
    ),
    Statement("(117)", "the length of the plateau, as (12)", tests=(f"{TEST}::test_length_of_the_plateau",)),
    Statement(
        "section C.4", "tau = 239 and a length of 2751 for figure 4", claims=(f"{KEY}/4",),
        tests=(
            f"{TEST}::test_length_of_the_plateau", f"{PRINTS}::test_the_spread_on_the_plateau_contains_the_dimension",
        ),
    ),
    Statement(
        "section C.4, spread", "sigma_P = 0.000279, c = 0.0279, B = 0.33, D = 2.47 at alpha_0 = 300",
        none="of one start of the authors'; over eight of ours sigma_P is 0.00013 to 0.00024, B 0.31 to 0.33, D 2.5 to 3.2",
    ),
    Statement(
        "figure 19", "(117) against the equations for L = 2 to 8 and M = 2 to 8",
        none="no number; (117) is 3 to 17 % later than a fall of the risk by 2 %, as the figure shows; docs/ERRATA.md W36",
    ),
)  # fmt: skip

APPROACH = (
    Statement("(16)", "the linearised equations near the teacher", tests=(AT_TEACHER,)),
    Statement(
        "(17)", "the risk near the teacher by two groups of modes, 2 - sqrt(3) and 2 + sqrt(3)",
        tests=(f"{PRINTS}::test_the_fast_rate_near_the_teacher_grows_with_the_width", f"{TEST}::test_approach_to_the_teacher"),
    ),
    Statement(
        "section 5.2", "the smaller rates govern the end, which falls as alpha^(-beta/(1 + beta))",
        claims=(f"{KEY}/6", f"{KEY}/20"),
    ),
    Statement("figure 6 right", "(17) against the equations for L = 9", claims=(f"{KEY}/6",)),
    Statement("(118), (119)", "the linearised equations, G and H", tests=(AT_TEACHER,)),
    Statement(
        "(120)", "their terms of second order in the rate",
        tests=(f"{TEST}::test_stability_of_the_teacher",),
    ),
    Statement("section C.5", "eigenvalues and eigenvectors of G and H", tests=(AT_TEACHER,)),
    Statement("(121)", "the risk to first order", tests=(f"{PRINTS}::test_first_order_near_the_teacher",)),
    Statement(
        "(122)", "the course of (121) from alpha_0 on",
        tests=(f"{PRINTS}::test_first_order_near_the_teacher", f"{TEST}::test_approach_to_the_teacher"),
    ),
    Statement(
        "figure 20", "(121) along the equations and (122) agree excellently",
        none="no number; (122) is below (121) by 15 to 31 % for L = 3 and 6 to 16 % for L = 9, and nearer to the risk itself; "
        "docs/ERRATA.md W43",
    ),
)  # fmt: skip

NUMERICS = (
    Statement(
        "section D",
        "overlaps of order L - 1 grow faster than exponentially with L, so L must be small",
        tests=(POWERS, "tests/numerics/test_implicit.py::test_a_thousand_eigenvalues"),
    ),
)

STATEMENTS: tuple[Statement, ...] = (*MOTION, *PLATEAU, *ESCAPE, *APPROACH, *NUMERICS)

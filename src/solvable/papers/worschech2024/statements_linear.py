"""What sections 3 and 4 and appendices A and B state (the setting, linear students, spectra, features), with figures 1, 2, 3 and 7
to 16, in the order of the paper."""

from solvable.papers.statements import Statement

FIGURE = "worschech2024/"
LINEAR = "tests/theory/test_linear_theory.py::"
POWER = "tests/theory/test_power_law.py::"
PRINTS = "tests/papers/test_worschech2024_linear.py::"
HIERARCHY = "tests/agreement/test_power_hierarchy.py::test_blocks_are_the_power_hierarchy"
SOLUTION = f"{PRINTS}test_solution_of_the_hierarchy"
READOUTS = f"{PRINTS}test_readouts_in_the_loss_and_in_the_noise"
LAST_ORDER = f"{PRINTS}test_sign_of_the_last_order"
INVERSES = f"{PRINTS}test_eigenvectors_and_inverses"
UNTRAINED = f"{PRINTS}test_untrained_coordinates_begin_after_the_trained_ones"
OUTSIDE = f"{PRINTS}test_orders_outside_the_eigenbasis"
ANY_RATE = f"{PRINTS}test_eigenvectors_at_any_rate"
FIELDS = f"{PRINTS}test_fields_of_higher_order"
SUMS = f"{PRINTS}test_printed_sums_over_modes"
DESCENT = f"{PRINTS}test_weights_descend_by_dim_times_the_slope"
EQUATIONS = f"{LINEAR}test_any_widths_rates_and_noise_against_the_equations"
TRAINED = f"{LINEAR}test_some_features_trained"
INTEGRAL = f"{LINEAR}test_integral_over_a_power_law"
FLOW_OUTSIDE = f"{LINEAR}test_features_outside_the_eigenbasis"
PROCESS = "tests/agreement/test_micro_law.py::test_reduced_process_has_the_law_of_full_weights"
COORDINATES = "tests/micro/test_data_runs.py::test_weights_in_the_coordinates_of_the_data"
NO_DATA = "the data set is a large download; figures 3 and 14 have photographs in its place"
DEFINITION = "a definition"


def _judged(where: str, text: str, *figures: int, tests: tuple[str, ...] = ()) -> Statement:
    return Statement(where, text, claims=tuple(f"{FIGURE}{number}" for number in figures), tests=tests)


def _tested(where: str, text: str, *tests: str) -> Statement:
    return Statement(where, text, tests=tests)


SETTING = (
    _judged(
        "figure 1 caption",
        "as L grows the plateau shortens until it disappears, and the end turns from exponential to a power law",
        1,
    ),
    _tested(
        "(1)", "lambda_l = lambda_+ / l^(1 + beta), with sum_l (N/L) lambda_l = N",
        "tests/problems/test_problem.py::test_spectra",
    ),
    _tested(
        "(2)", "the student's output, sqrt(M)/K sum g(x_i)",
        "tests/problems/test_conventions.py::test_worschech_readouts_and_clock",
    ),
    _tested("section 3", "the teacher's output is sum g(y_n)", READOUTS),
    _tested("section 3", "<x^(l) x^(l)> = Q^(l), and R^(l), T^(l) alike", FIELDS),
    _tested("(3)", "one-pass SGD, a fresh input per step", PROCESS),
    _tested("(4)", "equations of the orders, with nu_l = (1/N) sum lambda^l in the noise", HIERARCHY),
    _tested("section 3", "R^(L) = -sum c_l R^(l) closes them: (KM + K^2) L equations", LAST_ORDER, HIERARCHY),
)  # fmt: skip

LINEAR_UNITS = (
    _tested(
        "section 4.1", "the widths of student and teacher do not matter: K = M = 1",
        f"{PRINTS}test_widths_matter_for_linear_units",
    ),
    _tested("(5)", "dR/dalpha and dQ/dalpha as a linear system with A_1 and U", SOLUTION),
    _judged("(6)", "the exact mean loss, a sum over the eigenvalues of A_1 + eta U", 2, 12, tests=(SUMS,)),
    _tested("(7)", "R^(1) and Q^(1) at small rates", SOLUTION),
    _tested("(8)", "the loss at small rates, (1 + sigma^2)/2L sum lambda exp(-2 eta lambda alpha)", EQUATIONS),
    _judged("section 4.1", "without approximation the loss lies consistently above that at small rates", 2),
    _judged("figure 2", "right: (9) beside SGD, N = L = 256, beta = 0.75, eta = 0.1", 2),
    _tested("(9)", "the loss as an integral, by incomplete gamma functions", INTEGRAL),
    _judged(
        "after (9)", "a power law alpha^-s, s = beta/(1 + beta), for 1 < 2 eta lambda_+ alpha < Gamma(1 + s)^(1/s) L^(1 + beta)",
        2, 9,
    ),
    _judged("figure 3 caption", "SGD on some coordinates follows (11): on power-law data and on CIFAR-5m, with its spectrum", 3),
    Statement("figure 3 caption", "beta is about 0.3 for CIFAR-5m", none=NO_DATA),
    _judged("(10)", "the loss where N_l coordinates are trained", 3, tests=(TRAINED,)),
    _judged("(11)", "the same by integrals", 3),
    _judged("section 4.3", "where L^beta > N_l^beta the loss that is left falls as N_l^-beta", 16),
)  # fmt: skip

ORDERS = (
    _tested("(18)", "equations for the orders, with I_3 and I_4", READOUTS, HIERARCHY),
    _tested("(19)", "the loss, with I_2", READOUTS),
    Statement("(20)", "covariance of two fields", none=DEFINITION),
    _tested("(21)", "covariance of three fields, one of a higher order", FIELDS),
    Statement("(22)", "covariance of four fields", none=DEFINITION),
    _tested("(23)", "the loss at K = M = 1, (Q^(1) - 2 R^(1) + T^(1))/2", READOUTS),
    _tested("(24)", "equations of the orders at K = M = 1, with noise T^(l + 1)", f"{PRINTS}test_noise_is_that_of_the_data"),
    _tested("(25)", "those of the last order", LAST_ORDER),
    _tested("(26)", "the same with matrices", SOLUTION),
    _tested("(27)", "the matrices A_1 and U", LAST_ORDER),
    _tested("(28)", "dR/dalpha", SOLUTION),
    _tested("(29)", "dQ/dalpha, A_3 = -2 A_1 - 2 eta U, A_4 = 2 A_1 + eta U", SOLUTION),
    _tested("(30)", "R(alpha)", SOLUTION),
    _tested("(31)", "the eigenvalues of A_1 are -lambda_l", LAST_ORDER),
    _tested("(32)", "its eigenvectors", INVERSES),
    _tested("(33)", "as a Vandermonde matrix", INVERSES),
    _tested("(34)", "R in the end, by eigenvectors", SOLUTION),
    _tested("(35)", "V^-1 u = lambda/L", INVERSES),
    _tested("(36)", "R^(i) tends to T^(i)", SOLUTION),
    _tested("(37)", "what R lacks at alpha", SOLUTION),
    _tested("(38)", "R^(1)(alpha)", SOLUTION),
    _tested("(39)", "dQ/dalpha with R inserted", SOLUTION),
    _tested("(40)", "the inverse of A_1, and -A_3 A_1^-1 u = 2(eta - 1)u", INVERSES, SOLUTION),
    _tested("(41)", "dQ/dalpha once more, with (2 - eta)u", SOLUTION),
    _tested("(42)", "Q(alpha), with exp((eta A_1 - eta A_4) alpha)", SOLUTION),
    _tested("(43)", "its second part", SOLUTION),
    _tested("(44)", "the inverse of A_4", INVERSES),
    _tested("(45)", "Q(alpha) = T + exp(eta A_4 alpha) Q_0 + (exp(eta A_4 alpha) - 2 exp(eta A_1 alpha)) T", SOLUTION),
    _tested("(46)", "Q^(1) at small rates", SOLUTION),
    _tested("(47)", "the loss at small rates", EQUATIONS),
)  # fmt: skip

TIME = (
    _tested("(48)", "the Euler-Maclaurin formula", f"{POWER}test_the_ends_of_the_sum"),
    _judged(
        "section B.2",
        "sum and integral differ most at alpha = 0, by less than a bound that works at N of order ten too; the zeroth order is "
        "enough at rates above 0.001", 7, 8, tests=(f"{POWER}test_the_sum_exceeds_the_integral_most_at_the_start",),
    ),
    _judged(
        "(49)", "for eta > 1/(2 lambda_+ alpha) the difference is less than f(1)/2",
        7, tests=(f"{POWER}test_the_ends_of_the_sum",),
    ),
    _judged(
        "figure 7 caption",
        "1/(2 lambda_+) is about 0.001; from alpha = 1/(2 eta lambda_+) on, about 950 at eta = 0.00001, the zeroth order bounds", 7,
    ),
    _tested("(50)", "the integral", INTEGRAL),
    Statement("(51)", "Gamma(s, z) is about Gamma(s) - z^s/s for z << 1", none="the first terms of a known series"),
    _judged(
        "(52)", "the second gamma function can be left out for alpha > 1/(2 eta lambda_+)",
        9, tests=(f"{POWER}test_the_second_gamma_function_and_the_power_law_itself",),
    ),
    _judged("after (52)", "Gamma((2 beta + 1)/(1 + beta))^((1 + beta)/beta) is at most about one", 9),
    _judged("(53)", "the power law with its prefactor", 9),
)  # fmt: skip

MODES = (
    _tested("(54)", "first and last coefficient of the polynomial of B = a A_1 + epsilon U", ANY_RATE),
    _tested("(55)", "the other coefficients", ANY_RATE),
    _tested("section B.2.1", "entries of the eigenvectors of B", ANY_RATE),
    _judged("(56)", "the loss, (1 + sigma^2)/2L sum b lambda_B exp(-2 eta lambda_B alpha)", 10, tests=(SUMS,)),
    _tested("(57)", "b by the inverse of S V", SUMS),
    _tested("section B.2.1", "b = 1/L and lambda_B = -a lambda to first order in the rate", f"{LINEAR}test_modes_at_small_rates"),
    _judged(
        "section B.2.1",
        "differences from a power law grow with the rate and as beta falls, until it is destroyed; the loss scales alike",
        10, 11, 13,
    ),
)  # fmt: skip

FEATURES = (
    _tested("(58)", "one-pass SGD", PROCESS),
    _tested("(59)", "as a Langevin equation, dJ/dalpha = -eta grad loss + noise", DESCENT),
    _tested("(60)", "without noise, -eta Sigma (J - B)", DESCENT),
    *(
        _tested(f"({number})", text, EQUATIONS)
        for number, text in [
            (61, "the weights at alpha"), (62, "R^(1)"), (63, "Q^(1)"), (64, "the mean of R^(1)"), (65, "the mean of Q^(1)"),
            (66, "the mean loss"), (67, "the same over L eigenvalues, which is (8)"),
        ]
    ),
    Statement("(68)", "N_l components are learned, the others as at the start", none=DEFINITION),
    _tested("(69)", "R^(1) and Q^(1) of these weights", UNTRAINED),
    _tested("(70)", "their means", UNTRAINED),
    _tested("(71)", "the loss that is left, a sum from N_l", UNTRAINED),
    _tested("(72)", "the same by the partial sum S", UNTRAINED),
    _tested("(73)", "S as an integral", UNTRAINED),
    _tested("(74)", "the loss that is left, and its zeroth-order error as the worst case", UNTRAINED),
    Statement("(75)", "N_l components as they are at alpha, the others as at the start", none=DEFINITION),
    _tested("(76)", "their R^(1) and Q^(1) (its second line lacks a B_k, the third has it)", TRAINED),
    _tested("(77)", "their means", TRAINED),
    _tested("(78)", "the loss, with a sum from N_l", UNTRAINED, TRAINED),
    _tested("(79)", "the same by integrals", f"{POWER}test_printed_integral_counts_untrained_coordinates_twice"),
    _tested("(80)", "the weights in the eigenbasis of any covariance", COORDINATES),
    _tested("(81)", "the orders there", COORDINATES),
    Statement("section B.3", "CIFAR-5m with about 10^6 images, N = 1024, beta about 0.3 (figure 14)", none=NO_DATA),
    Statement("(82)", "the covariance in blocks of trained and other coordinates", none=DEFINITION),
    _tested("(83)", "the flow of the weights", FLOW_OUTSIDE),
    _judged(
        "(84)", "the trained weights at alpha (the exponentials stand right of the vectors, for left of them)",
        15, tests=(FLOW_OUTSIDE,),
    ),
    _tested("(85)", "the trained weights in the end", OUTSIDE),
    _tested("(86)", "R^(1) and Q^(1)", OUTSIDE),
    _tested("(87)", "their means", OUTSIDE),
    _judged("(88)", "the mean of the loss that is left; it aligns closely with SGD in figure 15", 15, tests=(OUTSIDE,)),
    _judged("section B.3.1", "the loss is always lower in the eigenbasis, and falls with the same power of N_l outside it", 16),
)  # fmt: skip

FIRST: tuple[Statement, ...] = (*SETTING, *LINEAR_UNITS)  # before section 5
LATER: tuple[Statement, ...] = (*ORDERS, *TIME, *MODES, *FEATURES)  # appendices A and B
STATEMENTS: tuple[Statement, ...] = (*FIRST, *LATER)

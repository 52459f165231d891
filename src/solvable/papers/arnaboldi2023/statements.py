"""What the paper states: every numbered equation, and every sentence with a number or an order that can be checked."""

from solvable.papers.arnaboldi2023.settings import KEY
from solvable.papers.statements import Statement

ONE, TWO, THREE, FOUR, FIVE, LIMITS = (f"{KEY}/{name}" for name in ("1", "2", "3", "4", "5", "limits"))
RIGHT, WRONG = "tests/papers/test_arnaboldi2023.py::", "tests/papers/test_arnaboldi2023_misprints.py::"
SPHERE, LANDSCAPE = "tests/theory/test_sphere.py::", "tests/landscape/test_sphere_landscape.py::"
COVARIANCE = "tests/dynamics/test_covariance.py::"
SETTING = "a definition of the setting"
ELSEWHERE = "a result of another paper, quoted"

MAIN = (
    Statement(
        "abstract",
        "n = O(d log d) samples are needed; width changes a constant factor",
        tests=(RIGHT + "test_orders_of_the_exit_times", SPHERE + "test_mean_escape_times"),
    ),
    Statement(
        "abstract",
        "a deterministic approximation adequately represents the escape time (A21)",
        tests=(SPHERE + "test_sgd_escapes_earlier_by_its_noise", SPHERE + "test_mean_exits_from_one_start"),
    ),
    Statement("section 1", "sample complexities O(d), O(d log d), O(d^k), n = 2 d of other works", none=ELSEWHERE),
    Statement("(1)", "labels of a generalised linear model with Gaussian inputs and noise", none=SETTING),
    Statement("(2)", "labels are squares of the teacher's field", none=SETTING),
    Statement("(3)", "the output is the mean of the students' squares times readouts", none=SETTING),
    Statement("(4)", "one-pass SGD on half the squared error", none=SETTING),
    Statement("(5)", "overlaps Q, m of students and teacher", none=SETTING),
    Statement("(6)", "the population risk in overlaps and readouts", tests=(RIGHT + "test_the_population_risk",)),
    Statement(
        "after (6)", "m and Q have p (p + 1) entries", none="a count of entries, of which Q_jl and Q_lj are the same"
    ),
    Statement(
        "(7)",
        "dm/dt = m [4 (1 - 6 gamma)(1 - m^2) - 2 gamma Delta]",
        tests=(RIGHT + "test_one_student_with_and_without_a_sphere", SPHERE + "test_one_student_in_closed_form"),
    ),
    Statement("section 2", "the averaged risk of SGD at d = 3000 agrees with (7)", claims=(ONE,)),
    Statement(
        "section 2",
        "the risk is 2 (1 - m^2) + Delta/2, largest at m = 0",
        tests=(LANDSCAPE + "test_one_student_on_the_sphere",),
    ),
    Statement(
        "section 2",
        "gamma < 1/6 is necessary for learning (A7: sufficient is gamma < 2/(12 + Delta))",
        tests=(SPHERE + "test_bounds_on_the_rate", SPHERE + "test_without_growth_a_student_falls_back_to_its_plateau"),
    ),
    Statement(
        "(8)",
        "the excess risk ends at gamma Delta/(1 - 6 gamma)",
        claims=(ONE,),
        tests=(SPHERE + "test_label_noise_sets_a_floor",),
    ),
    Statement(
        "(9)", "the exit time: the excess risk has fallen by the fraction T", none="the definition of an exit time"
    ),
    Statement(
        "(10)",
        "annealed and quenched exit times at p = 1; their order, and how they grow with rate and label noise",
        tests=(SPHERE + "test_the_printed_law_at_width_one_is_linear", RIGHT + "test_orders_of_the_exit_times"),
    ),
    Statement("section 2", "the optimal rate is 1/(12 + Delta)", claims=(LIMITS,)),
    Statement(
        "figure 1 caption",
        "from one start at d = 3000 exit times do not change considerably; the SDE has the variance",
        claims=(ONE,),
    ),
    Statement("(11)", "the SDE of one student", claims=(ONE,), tests=(COVARIANCE + "test_covariance_on_the_sphere",)),
    Statement("section 3", "p (p - 1)/2 entries of Q and p of m are to be tracked", none="a count of entries"),
    Statement(
        "section 3",
        "t_ext falls with the width; the leading dependence on d is log d",
        tests=(RIGHT + "test_orders_of_the_exit_times",),
    ),
    Statement(
        "section 3",
        "the least exit time, inline (A8)",
        tests=(WRONG + "test_the_annealed_time_inline", SPHERE + "test_fewest_steps"),
    ),
    Statement(
        "section 3",
        "(46) and (47) agree for large width, differ by a constant for small, and describe SGD",
        claims=(ONE,),
    ),
)

APPENDICES = (
    *(
        Statement(where, text, tests=(WRONG + "test_the_error_is_label_minus_output",))
        for where, text in [
            ("(12)", "what a step adds to the readouts (A1)"),
            ("(13)", "what a step adds to m (A1)"),
            ("(14)", "what a step adds to Q, order gamma (A1)"),
            ("(16)", "the displacement, output minus label (A1)"),
        ]
    ),
    Statement("(15)", "what a step adds to Q, order gamma^2", tests=(COVARIANCE + "test_covariance_against_cubature",)),
    Statement("(17)", "the equations of motion as averages", tests=(RIGHT + "test_the_equations_of_motion",)),
    Statement(
        "appendix B",
        "no overlaps at all is a stationary point and a global maximum (A19)",
        tests=(LANDSCAPE + "test_no_overlap_at_all_is_a_saddle_for_several_students",),
    ),
    Statement("(18)", "weights begin as Gaussian numbers", none=SETTING),
    Statement(
        "(19)",
        "first overlaps are Gaussian of variance 1/d",
        tests=("tests/overlaps/test_start.py::test_sampled_starts_have_the_law_of_measured_weights",),
    ),
    Statement(
        "appendix B",
        "along d - p - 1 directions the risk stays constant",
        tests=(RIGHT + "test_directions_along_which_the_risk_is_constant",),
    ),
    Statement(
        "(20)",
        "projected SGD",
        tests=("tests/micro/test_process.py::test_the_same_inputs_through_both_forms_give_the_same_overlaps",),
    ),
    *(
        Statement(where, text, tests=(RIGHT + "test_the_equations_of_motion",))
        for where, text in [
            ("(21)", "the equations of motion on the sphere"),
            ("(26)", "the equations of motion in matrix form"),
            ("(30)", "dm/dt on the sphere"),
            ("(31)", "dQ/dt on the sphere"),
        ]
    ),
    *(
        Statement(where, text, tests=(WRONG + "test_the_rate_of_the_second_layer",))
        for where, text in [
            ("(22)", "the displacement"),
            ("(23)", "the loss is half its square"),
            ("(24)", "gradients of the loss"),
            ("(25)", "the updates, with the rate gamma/d of the second layer (A6)"),
        ]
    ),
    Statement(
        "appendix C.2",
        "16 gamma/p before the order gamma (A3)",
        tests=(WRONG + "test_the_noise_of_the_student_overlaps_has_a_factor_of_four",),
    ),
    Statement(
        "(27)",
        "the risk with readouts one (A5)",
        tests=(RIGHT + "test_the_population_risk", WRONG + "test_the_risk_of_a_teacher_of_any_norm"),
    ),
    Statement("(28)", "projected SGD, again", none="the same as (20)"),
    Statement("(29)", "what a projected step adds to m (A10)", tests=(WRONG + "test_one_step_on_the_sphere",)),
    Statement("appendix D.1", "the ODE describes SGD on average at p = 5, 20 and d = 5000", claims=(TWO,)),
    Statement("(32)", "the SDE of one student", none="the same as (11)"),
    Statement("(33)", "what a step adds to q and m", none="a definition: (12) to (15) at p = 1"),
    Statement("(34)", "the SDE on the sphere", tests=(COVARIANCE + "test_covariance_on_the_sphere",)),
    *(
        Statement(
            where, text, tests=(RIGHT + "test_the_linearised_speeds", SPHERE + "test_growth_and_risk_of_the_plateau")
        )
        for where, text in [
            ("(35)", "Psi near m = 0"),
            ("(36)", "Phi between students"),
            ("(37)", "Phi of a student"),
            ("(38)", "growth of m"),
            ("(39)", "decay of Q"),
            ("(40)", "omega_M and omega_Q"),
            ("(41)", "exponential growth and decay"),
        ]
    ),
    *(
        Statement(where, text, tests=(WRONG + "test_the_excess_risk_at_the_start",))
        for where, text in [
            ("(42)", "the excess risk on the sphere"),
            ("(43)", "mu_0 and tau_0"),
            ("(44)", "the excess risk against time (A9)"),
        ]
    ),
    Statement(
        "appendix E.2",
        "for p > 6, omega_m > 0 implies omega_Q > 0",
        tests=(RIGHT + "test_beyond_six_students_growth_implies_decay",),
    ),
    Statement(
        "(45)",
        "the equation of the exit time, and its solution",
        claims=(LIMITS,),
        tests=(SPHERE + "test_mean_escape_times",),
    ),
    Statement("(46)", "the quenched exit time", claims=(ONE,), tests=(SPHERE + "test_mean_escape_times",)),
    Statement(
        "(47)",
        "the annealed exit time",
        tests=(SPHERE + "test_mean_escape_times", WRONG + "test_the_annealed_time_inline"),
    ),
    Statement(
        "(48)", "the quenched exit time at p = 1", tests=(SPHERE + "test_the_printed_law_at_width_one_is_linear",)
    ),
    Statement("(49)", "steps to the exit", none="the definition of a number of steps"),
    Statement(
        "appendix E.4",
        "gamma_opt = p^3/(8 + 2 p + (2 + Delta) p^2), and the gain (12 + Delta)/(2 + Delta) (A20)",
        claims=(LIMITS,),
    ),
    Statement(
        "appendix E.4",
        "the fewest steps, and that they fall with p",
        tests=(SPHERE + "test_fewest_steps", RIGHT + "test_orders_of_the_exit_times"),
    ),
    Statement("(50)", "linear growth at p = 1", tests=(RIGHT + "test_one_student_with_and_without_a_sphere",)),
    Statement(
        "(51)",
        "the process near m = 0, sigma^2 = gamma (48 + 4 Delta)/d",
        tests=(
            WRONG + "test_the_scatter_of_one_step_has_twice_the_rate",
            SPHERE + "test_escape_from_no_overlap_at_all",
        ),
    ),
    Statement(
        "(52)",
        "mean exit time from no overlap",
        claims=(LIMITS,),
        tests=(RIGHT + "test_the_exit_from_no_overlap_is_a_hypergeometric_function",),
    ),
    Statement(
        "(53)",
        "the SDE at any width",
        claims=(THREE,),
        tests=("tests/meso/test_meso.py::test_means_and_variances_are_those_of_sgd",),
    ),
    Statement(
        "(54)",
        "its noise is the root of the covariance of one step",
        tests=(COVARIANCE + "test_covariance_against_cubature",),
    ),
    Statement(
        "(55)",
        "variances and covariance at p = 1 (A11)",
        tests=(WRONG + "test_the_scatter_of_one_step_has_twice_the_rate",),
    ),
    Statement(
        "figure 3 caption", "the same as figure 1 with two students: no benefit of stochasticity", claims=(THREE,)
    ),
)

EUCLIDEAN, CURVED = WRONG + "test_the_euclidean_landscape", LANDSCAPE + "test_slopes_and_curvature_along_the_sphere"
GEOMETRY = (
    *(
        Statement(where, text, tests=(WRONG + "test_the_hessian_of_one_loss_has_minus_the_noise",))
        for where, text in [
            ("(56)", "the loss of one sample"),
            ("(58)", "the displacement, label minus output"),
            ("(59)", "its gradient"),
            ("(60)", "the gradient of the loss"),
            ("(61)", "the Hessian of the loss (A15)"),
        ]
    ),
    Statement("(57)", "fields", none=SETTING),
    Statement("(62)", "rho, m, q", none=SETTING),
    *(
        Statement(where, text, tests=(EUCLIDEAN,))
        for where, text in [
            ("(63)", "the risk without a sphere (A13)"),
            ("(64)", "third moments (A15)"),
            ("(65)", "the mean gradient"),
            ("(66)", "fourth moments (A14)"),
            ("(67)", "the mean Hessian (A14)"),
        ]
    ),
    Statement("(68)", "the Hessian at w = 0: a maximum (A14)", claims=(FOUR,)),
    Statement("(69)", "the risk at w = 0 (A13)", claims=(FOUR,)),
    Statement("(70)", "the Hessian of the saddle, d - 2 flat directions (A14)", claims=(FOUR,)),
    Statement("(71)", "the risk of the saddle (A13)", claims=(FOUR,)),
    Statement("(72)", "the Hessian at the teacher (A14)", claims=(FOUR,)),
    Statement("(73)", "the risk at the teacher is Delta/2", claims=(FOUR,)),
    Statement("appendix H", "the three kinds of critical points", claims=(FOUR,)),
    Statement("(74)", "a random start", none=SETTING),
    Statement("(75)", "dm/dt without a sphere", tests=(RIGHT + "test_one_student_with_and_without_a_sphere",)),
    Statement("(76)", "dq/dt without a sphere", tests=(RIGHT + "test_one_student_with_and_without_a_sphere",)),
    Statement("(77)", "the projector", none=SETTING),
    Statement("(78)", "the gradient of one loss on the sphere", tests=(CURVED,)),
    Statement(
        "(79)",
        "the Hessian of one loss on the sphere (A17)",
        claims=(FOUR,),
        tests=(WRONG + "test_the_hessian_on_the_sphere_has_a_factor_of_two",),
    ),
    Statement("(80)", "the risk on the sphere", claims=(FOUR,)),
    Statement(
        "(81)", "fourth moments on the sphere", tests=(WRONG + "test_the_hessian_on_the_sphere_has_a_factor_of_two",)
    ),
    Statement("(82)", "the mean gradient on the sphere", claims=(FOUR,)),
    Statement("figure 4 caption", "d - 1 flat directions and a single negative one (A18)", claims=(FOUR,)),
    Statement("(83)", "the mean Hessian on the sphere", claims=(FOUR,)),
    Statement("(84)", "at m = 0 one eigenvalue is -4", claims=(FOUR,)),
    Statement("(85)", "at the teacher all eigenvalues are 4", claims=(FOUR,)),
    Statement("(86)", "a random start on the sphere", none=SETTING),
    Statement("(87)", "first overlaps are of order 1/sqrt(d)", none="the same as (19)"),
    Statement("(88)", "dm/dt on the sphere", none="the same as (7)"),
    Statement(
        "figure 5 caption", "t_ext is the same with a trained second layer, p = 20 and 50, d = 1000", claims=(FIVE,)
    ),
    Statement(
        "appendix I",
        "other first readouts do not matter (A23)",
        claims=(FIVE,),
        tests=(RIGHT + "test_readouts_on_the_plateau",),
    ),
)

STATEMENTS: tuple[Statement, ...] = (*MAIN, *APPENDICES, *GEOMETRY)

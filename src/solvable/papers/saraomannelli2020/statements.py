"""What the paper states, in its order. Its appendices were not available: what they prove is judged by what it leads to."""

from solvable.papers.saraomannelli2020.settings import KEY
from solvable.papers.statements import Statement

ONE, TWO, THREE, FOUR, THRESHOLD = (f"{KEY}/{name}" for name in ("1", "2", "3", "4", "threshold"))
FLOW = "tests/theory/test_flow_theory.py::"
SAMPLES = "tests/empirical/test_empirical.py::"
THEORY = "tests/theory/test_recovery_theory.py::"
DEFINITION = "a definition"

STATEMENTS = (
    Statement(
        "abstract",
        "conditions on n, d and m* under which there are no spurious minima, without numbers",
        none="(11) to (14) have the numbers",
    ),
    Statement(
        "section 1",
        "alpha_c = m* + 1 samples for each dimension; phase retrieval is solved with n > 2 d",
        claims=(THRESHOLD,),
    ),
    Statement(
        "section 1",
        "the loss is zero on all its minimisers, but they are not the teacher alone in general",
        claims=(THREE,),
    ),
    Statement(
        "section 1: bounds",
        "the loss is below C_1/(1 + C_2 t); O(t^-2) in one case, exponential in the other",
        tests=(f"{FLOW}test_bounds_and_integral",),
    ),
    Statement(
        "section 1: related works",
        "m > sqrt(2 n) suffices for global minima; n > 1.13 d for message passing; n = 7 d without overparametrisation",
        none="results of other papers",
    ),
    Statement(
        "(1)",
        "teacher and student, 1/m* and 1/m times sums of squares",
        tests=("tests/problems/test_conventions.py::test_dictionary_to_saraomannelli",),
    ),
    Statement(
        "(2)",
        "the empirical loss, a quarter of the mean squared error",
        tests=(f"{SAMPLES}test_weights_follow_plain_gradient_descent",),
    ),
    Statement(
        "(3)", "gradient flow of the weights on the samples", tests=(f"{SAMPLES}test_weights_flow_equals_matrix_flow",)
    ),
    Statement("(4)", "the matrices A, A* and X", none=DEFINITION),
    Statement(
        "(5)", "lemma 2.1: A has an equation of its own", tests=(f"{SAMPLES}test_weights_flow_equals_matrix_flow",)
    ),
    Statement(
        "(6)", "E_n is twice the empirical loss", tests=(f"{SAMPLES}test_slope_and_jacobian_are_those_of_the_loss",)
    ),
    Statement(
        "(7)",
        "lemma 2.2: gradient flow of the weights on the population",
        tests=("tests/dynamics/test_quadratic_flow.py::test_matrix_flow_against_weights",),
    ),
    Statement(
        "(8)",
        "the flow of A on the population",
        tests=(f"{SAMPLES}test_population_is_the_limit_of_samples_and_of_small_rates",),
    ),
    Statement(
        "(9)",
        "the population loss E of A",
        tests=(f"{SAMPLES}test_population_is_the_limit_of_samples_and_of_small_rates",),
    ),
    Statement(
        "section 3", "E_n is strictly convex from d (d + 1)/2 samples on; so many are needed for m* >= d", claims=(ONE,)
    ),
    Statement("(10)", "the set of minimisers", none=DEFINITION),
    Statement("(11)", "m* = 1: not determined, with probability one, for alpha up to 2", claims=(THRESHOLD,)),
    Statement("(12)", "m* = 1: determined, with positive probability, for alpha > 2", claims=(THRESHOLD,)),
    Statement(
        "section 3: criterion",
        "fewer than n extremal rays are enough",
        tests=(f"{THEORY}test_hidden_rays_by_counting",),
    ),
    Statement("(13)", "n_c = d (m* + 1) - m* (m* + 1)/2 samples", claims=(ONE,)),
    Statement("(14)", "alpha_c = m* + 1 as d grows", claims=(ONE,)),
    Statement(
        "figure 1",
        "lines are (13) for d = 4, 8, 16 and infinity, points gradient descent",
        none="(13), (14) and section 4 are judged on it",
    ),
    Statement("(15)", "theorem 4.1: A converges", tests=(f"{SAMPLES}test_losses_fall_and_entropy_balances",)),
    Statement("(16)", "to a matrix without empirical loss", claims=(THREE,)),
    Statement("section 4", "gradient descent meets the threshold (13)", claims=(ONE,)),
    Statement("(17)", "theorem 5.1: on the population A tends to A*", tests=(f"{FLOW}test_tail_of_the_population",)),
    Statement("(18)", "E <= E(0)/(1 + 2 C E(0) t) for a C > 0", claims=(THREE,)),
    Statement("(19)", "t E tends to zero", claims=(THREE,)),
    Statement("(20)", "theorem 5.2: equations of the eigenvalues from A(0) = 1", claims=(THREE,)),
    Statement("(21)", "the loss in terms of the eigenvalues", claims=(THREE,)),
    Statement(
        "(22)",
        "(20) for the eigenvalues along the teacher",
        none="(20) with the others' mean in the place of their sum",
    ),
    Statement("(23)", "(20) for the mean of the others", none="the mean of (20) over them"),
    Statement("(24)", "the others fall as 1/(1 + 2 d t)", claims=(THREE,)),
    Statement("(25)", "so do those along the teacher", claims=(THREE,)),
    Statement(
        "section 5.1", "then these grow as exp((2 m* + 4) t)/(2 d) and arrive at log(2 d)/(2 m* + 4)", claims=(TWO,)
    ),
    Statement("(26)", "E ~ 1/(16 t^2)", claims=(TWO,)),
    Statement("(27)", "E ~ 1/4 [(d - m*)/(1 + 2 (2 + d - m*) t)]^2 for orthonormal teachers", claims=(THREE,)),
    Statement("(28)", "(20) for log eigenvalues, m* >= d", none="(20) divided by the eigenvalue"),
    Statement("(29)", "E ~ exp(-2 (2 d + 4) t)/(2 d) for orthonormal teachers, m* >= d", claims=(TWO,)),
    Statement("figure 2", "d = 8, m* = 2, 4: the loss falls as t^-2; m* = 8, 16: exponentially", claims=(TWO,)),
    Statement(
        "section 5.1",
        "d = 8, m* = 1: typical runs end at zero loss if alpha > 1.875; (8) and (27) are almost indistinguishable",
        claims=(THREE,),
    ),
    Statement("figure 3", "100 runs at d = 8, m* = 1, with (8) and (27)", none="section 5.1 says what is seen on it"),
    Statement(
        "figure 4",
        "the critical size is n = 2 d - 1: zero empirical loss at a finite population loss, or not",
        claims=(FOUR,),
    ),
    Statement(
        "section 6",
        "along the string the student comes to the minimum that gradient descent finds, then moves on at zero loss",
        claims=(FOUR,),
    ),
)

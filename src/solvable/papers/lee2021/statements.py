"""What the paper states, as far as we have read it: its abstract, and a sentence about figure 1 that others quote."""

from solvable.papers.lee2021.settings import KEY
from solvable.papers.statements import Statement

STATEMENTS = (
    Statement(
        "abstract",
        "when tasks depend on similar features, intermediate similarity leads to the greatest forgetting",
        claims=(f"{KEY}/features",),
    ),
    Statement(
        "abstract: interplay",
        "a complex interplay of both kinds of similarity and of initial, maximal and long-term forgetting and transfer",
        none="no number; lee2021/readouts shows ours, with parameters of our choice",
    ),
    Statement(
        "figure 1c",
        "a single simulation at D = 10^4 agrees well with the equations (quoted by others)",
        tests=(
            "tests/papers/test_lee2021.py::test_one_run_follows_the_equations",
            "tests/agreement/test_case_limit.py::test_the_equations_are_the_limit_of_full_weights",
        ),
    ),
    Statement(
        "sections, equations and the other figures",
        "the text itself",
        none="not read: nothing is claimed about it",
    ),
)

"""What the abstract states. The text behind it was not read."""

from solvable.papers.statements import Statement

STATEMENTS = (
    Statement(
        "abstract: method",
        "a method for the learning rule that maximises the total reduction in generalisation error of a soft committee machine",
        none="rules other than SGD are outside of what this library follows; our figures free the rate and the decay of SGD",
    ),
    Statement(
        "abstract: locally optimal",
        "the locally optimal rule may perform poorly in comparison, in a simple example",
        tests=("tests/control/test_optimal.py::test_the_greedy_rate_stays_on_the_plateau",),
    ),
    Statement("after the abstract", "all equations, figures and numbers", none="not read"),
)

"""What the abstract states. The text behind it was not read."""

from solvable.papers.arnaboldi2024.settings import KEY
from solvable.papers.statements import Statement

BATCHES = f"{KEY}/batches"

STATEMENTS = (
    Statement(
        "abstract: large batches",
        "batches up to dim^(l/2), l the information exponent, minimise the time without changing the number of samples",
        claims=(BATCHES,),
    ),
    Statement("abstract: larger ones", "larger batches are detrimental for improving the time", claims=(BATCHES,)),
    Statement("abstract: correlation loss", "SGD on the correlation loss overcomes this limitation", claims=(BATCHES,)),
    Statement(
        "abstract: equations",
        "low-dimensional differential equations track the training",
        tests=("tests/macro/test_rule_curves.py::test_correlation_loss_on_the_sphere_is_one_equation",),
    ),
    Statement("after the abstract", "all theorems, figures and numbers", none="not read"),
)

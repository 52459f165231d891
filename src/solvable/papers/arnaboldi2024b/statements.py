"""What the abstract states. The text behind it was not read."""

from solvable.papers.arnaboldi2024b.settings import KEY
from solvable.papers.statements import Statement

REPEATS = f"{KEY}/repeats"

STATEMENTS = (
    Statement(
        "abstract: repeated data",
        "data that are repeated twice surpass the limits that the information exponent was believed to dictate",
        claims=(REPEATS,),
    ),
    Statement(
        "abstract: dim log(dim)", "almost all directions are learned in at most O(d log d) steps", claims=(REPEATS,)
    ),
    Statement(
        "abstract: hard functions",
        "sparse parities are among the exceptions",
        none="several teachers, not followed here",
    ),
    Statement("abstract: staircases", "coupled directions are learned one after the other", none="not followed here"),
    Statement("after the abstract", "all theorems, figures and numbers", none="not read"),
)

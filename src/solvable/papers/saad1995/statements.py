"""What the abstract states. The text behind it was not read."""

from solvable.papers.saad1995.settings import KEY
from solvable.papers.statements import Statement

SCENARIOS, RATES = f"{KEY}/scenarios", f"{KEY}/rates"

STATEMENTS = (
    Statement(
        "abstract: equations",
        "first-order differential equations describe the evolution of the overlaps, and the generalization error with them",
        claims=(SCENARIOS,),
    ),
    Statement(
        "abstract: scenarios",
        "they serve to study realizable, over-realizable and unrealizable scenarios, for general K and M",
        claims=(SCENARIOS,),
    ),
    Statement(
        "abstract: rate", "the learning rate controls the evolution and convergence of the learning", claims=(RATES,)
    ),
    Statement("after the abstract", "all equations, figures and numbers", none="not read"),
)

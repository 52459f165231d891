"""What the abstract states, and what the authors' public code stores. The text behind it was not read."""

from solvable.papers.dandi2024.settings import KEY, STORED_RUNS
from solvable.papers.statements import Statement

REUSE, TWICE = f"{KEY}/reuse", f"{KEY}/twice"
TOLD = "the next two statements say how"
THEOREMS = "characterises a class of functions and proves theorems about it, which no run judges"

STATEMENTS = (
    Statement(
        "abstract: learnable", "reusing batches changes which functions are learnable, against one pass", none=TOLD
    ),
    Statement("abstract: exponents", "it overcomes what the information exponent sets to one pass", claims=(TWICE,)),
    Statement("abstract: two steps", "an overlap with the target's subspace comes in two steps", claims=(TWICE,)),
    Statement("abstract: class", "the class of functions learned in finite time", none=THEOREMS),
    Statement(
        "abstract: mean field", "a closed form for projections of the weights", none="dynamical mean-field theory"
    ),
    Statement(STORED_RUNS, "overlaps and risks of 32 runs at N = 5000 over six steps", claims=(REUSE,)),
    Statement("after the abstract", "all equations, figures and numbers", none="not read"),
)

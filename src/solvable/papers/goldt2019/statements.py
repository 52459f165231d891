"""What the abstract states. The text behind it was not read."""

from solvable.papers.goldt2019.settings import KEY
from solvable.papers.statements import Statement

WIDTHS = f"{KEY}/widths"

STATEMENTS = (
    Statement("abstract: equations", "differential equations capture SGD, exactly for large inputs", claims=(WIDTHS,)),
    Statement(
        "abstract: first layer",
        "the final error increases with the size of the student if only the first layer learns",
        claims=(WIDTHS,),
    ),
    Statement("abstract: both layers", "it stays constant or decreases if both layers learn", claims=(WIDTHS,)),
    Statement(
        "abstract: activations",
        "the behaviours have their root in the different solutions that SGD finds for different activations",
        none="here are erf units alone",
    ),
    Statement("after the abstract", "all equations, figures and numbers", none="not read"),
)

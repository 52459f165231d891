"""What the authors' public notebook prints. The text of the paper was not read."""

from solvable.papers.mignacco2025.settings import KEY, NOTEBOOK
from solvable.papers.statements import Statement

STATEMENTS = (
    Statement(NOTEBOOK, "the objective with the best of 50 keep probabilities", claims=(f"{KEY}/dropout",)),
    Statement(
        "the other notebooks",
        "best curricula, and best noise of denoising autoencoders",
        none="autoencoders are outside of what this library follows; curricula were not compared",
    ),
    Statement("the text", "all equations, figures and numbers", none="not read"),
)

"""What the paper states, as far as we have read it: its abstract."""

from solvable.papers.collinswoodfin2024.settings import KEY
from solvable.papers.statements import Statement

STATEMENTS = (
    Statement(
        "abstract",
        "for noiseless targets the rate of AdaGrad-Norm tends to a constant inversely proportional to the mean eigenvalue; exact "
        "line search can converge arbitrarily slower than the best fixed rate",
        claims=(f"{KEY}/adagrad", f"{KEY}/search"),
    ),
    Statement(
        "abstract: equations",
        "risk and rate of SGD with adaptive rates follow ordinary differential equations",
        tests=("tests/macro/test_rate_rules.py::test_all_levels_agree",),
    ),
    Statement(
        "abstract: power laws",
        "a phase transition for covariances with a power law",
        none="no number; not looked at here",
    ),
    Statement("sections, equations and figures", "the text itself", none="not read: nothing is claimed about it"),
)

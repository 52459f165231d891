"""What the paper states, as far as we have read it: its abstract."""

from solvable.papers.statements import Statement

STATEMENTS = (
    Statement(
        "abstract",
        "heavy ball with a fixed momentum parameter and small batches gives no improvement over SGD with adjusted step size",
        claims=("paquette2021/momentum",),
    ),
    Statement(
        "abstract: beyond strong convexity",
        "momentum that depends on the number of samples can improve much where the problem is not strongly convex",
        none="another algorithm, which is not in the library",
    ),
    Statement("sections, equations and figures", "the text itself", none="not read: nothing is claimed about it"),
)

"""What the abstract states. The text behind it was not read."""

from solvable.papers.refinetti2021.settings import KEY
from solvable.papers.statements import Statement

XOR, WIDTHS = f"{KEY}/xor", f"{KEY}/widths"
ELSEWHERE = "a result of other papers, quoted"
KERNELS = "random features and kernel methods are outside of what this library follows"

STATEMENTS = (
    Statement(
        "abstract: earlier work", "kernel methods capture networks with a certain initialisation", none=ELSEWHERE
    ),
    Statement(
        "abstract: earlier work", "kernel methods come close to networks on some tasks with images", none=ELSEWHERE
    ),
    Statement("abstract: kernels", "two-layer networks with a few hidden units beat kernel learning", none=KERNELS),
    Statement(
        "abstract: near-optimal",
        "small two-layer networks achieve near-optimal performance on the mixture",
        claims=(XOR,),
    ),
    Statement("abstract: kernels", "lazy training (random features, kernel methods) does not", none=KERNELS),
    Statement("abstract: equations", "a closed set of equations tracks the learning dynamics", claims=(XOR,)),
    Statement(
        "abstract: near-optimal",
        "from them follows the asymptotic performance as a function of the signal-to-noise ratio",
        claims=(XOR,),
    ),
    Statement("abstract: faster", "over-parametrising the network leads to faster convergence", claims=(WIDTHS,)),
    Statement("abstract: final performance", "it does not improve the final performance", claims=(WIDTHS,)),
    Statement("after the abstract", "all equations, figures and numbers", none="not read"),
)

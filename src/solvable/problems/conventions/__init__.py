"""The four papers' normalisations: build a problem from a paper's symbols, and read any fitting problem in them.

What differs is the factor c of the squared loss, and with it rate, time and risk. A gradient of c (y - output)^2 is
proportional to c x rate, so a paper with factor c' reads our rate as (c / c') x rate; all risks are multiples of the
mean squared error without label noise, risk / c. In these words (p student width, alpha = steps/dim, Delta label noise):

    key                  c'    rate         time                    risk
    bocchi2026           1     c rate       c rate alpha            mse
    arnaboldi2023        1/2   2 c rate     2 c rate alpha / p      (mse + Delta) / 2
    saraomannelli2020    -     (flow)       4 c rate alpha / p      mse / 2
    worschech2024        1/2   2 c rate     alpha                   mse / 2

so that, at teacher width one and no noise, arnaboldi2023's gamma is twice bocchi2026's eta, its risk half as large, and
its time 2 eta alpha / p. saraomannelli2020's flow is the small-rate limit; its loss L is half the E given here.
"""

from collections.abc import Mapping

from solvable.problems.conventions import arnaboldi2023, bocchi2026, saraomannelli2020, worschech2024
from solvable.problems.conventions.notation import Convention
from solvable.problems.nearest import not_one_of

__all__ = ["CONVENTIONS", "Convention", "convention"]

CONVENTIONS: Mapping[str, Convention] = {
    one.key: one
    for one in (
        bocchi2026.CONVENTION, arnaboldi2023.CONVENTION, saraomannelli2020.CONVENTION, worschech2024.CONVENTION,
    )
}  # fmt: skip
UNREAD = ("lee2021", "refinetti2021")  # papers whose text and symbols we do not know


def convention(key: str) -> Convention:
    """The convention of a paper by its key.

    Parameters
    ----------
    key : str
        "arnaboldi2023", "bocchi2026", "saraomannelli2020" or "worschech2024".

    Returns
    -------
    Convention
        Builds problems from the paper's symbols, and reads problems in them.

    Examples
    --------
    >>> sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=1000).student.width
    2
    """
    if key not in CONVENTIONS:
        hint = "; of this paper there are figures alone, in our own symbols" if key in UNREAD else ""
        raise ValueError(f"convention: {not_one_of(key, CONVENTIONS)}{hint}")
    return CONVENTIONS[key]

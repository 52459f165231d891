"""What a paper states, what we find, and the verdict."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

Verdict = Literal["holds", "corrected", "refuted", "beyond", "fails"]


@dataclass(frozen=True)
class Claim:
    """`holds`: as printed. `corrected`: the print is wrong, our corrected statement holds. `refuted`: wrong, with no
    simple correction. `beyond`: not in the paper; our own statement, which holds. `fails`: we do not reproduce
    it, a defect of ours until explained."""

    paper: str
    figure: str
    claim: str
    expected: float
    found: float
    tolerance: float
    verdict: Verdict
    evidence: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def judge(
    key: str,
    claim: str,
    *,
    expected: float,
    found: float,
    tolerance: float,
    evidence: str,
    correction: str | None = None,
    beyond: bool = False,
) -> Claim:
    """A claim about figure `key`, with its verdict: |found - expected| <= tolerance or not.

    With a `correction`, the number of its row in docs/ERRATA.md, `claim` and `expected` are the corrected statement; `beyond`
    what the paper states they are ours.
    """
    paper, figure = key.split("/")
    agrees = bool(np.isfinite(found)) and abs(found - expected) <= tolerance
    verdict: Verdict = "corrected" if correction is not None else "beyond" if beyond else "holds"
    verdict = verdict if agrees else "fails"
    if correction is not None:
        evidence = f"{evidence}; docs/ERRATA.md {correction}"
    return Claim(paper, figure, claim, float(expected), float(found), float(tolerance), verdict, evidence)

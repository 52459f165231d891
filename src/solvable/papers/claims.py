"""What a paper states, what we find, and the verdict.

There is one function per verdict. Each returns its verdict only if its condition is met, and `fails` otherwise:

    holds      the paper states `printed`, and |found - printed| <= tolerance
    corrected  |found - expected| <= tolerance, and the print is excluded
    refuted    the print is excluded, and there is no simple correction
    beyond     not in the paper: |found - expected| <= tolerance, where `expected` comes by a second route

The print is excluded if `found` is further from it than the tolerance and than four standard errors."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

Verdict = Literal["holds", "corrected", "refuted", "beyond", "fails"]
EXCLUDED = 4.0  # standard errors


@dataclass(frozen=True)
class Claim:
    """`source` is the place in the paper ("(13)", "section 4.1"); `printed` is None where the paper states nothing; `error` is the
    standard error of `found`, zero for a number without noise. `fails` is a defect of ours until explained."""

    paper: str
    figure: str
    claim: str
    expected: float
    found: float
    tolerance: float
    verdict: Verdict
    evidence: str
    source: str = ""
    printed: float | None = None
    error: float = 0.0

    @property
    def distance(self) -> float:
        return abs(self.found - self.expected)

    @property
    def printed_distance(self) -> float | None:
        return None if self.printed is None else abs(self.found - self.printed)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"distance": self.distance, "printed_distance": self.printed_distance}


def holds(
    key: str,
    claim: str,
    *,
    source: str,
    printed: float,
    found: float,
    tolerance: float,
    evidence: str,
    error: float = 0.0,
) -> Claim:
    """A statement of the paper with its own number, and a tolerance from the digits that it prints or from standard errors."""
    good = _near(found, printed, tolerance)
    return _claim(key, claim, "holds" if good else "fails", source, printed, printed, found, tolerance, evidence, error)


def corrected(
    key: str, claim: str, *, source: str, row: str, printed: float, expected: float, found: float, tolerance: float,
    evidence: str, error: float = 0.0,
) -> Claim:  # fmt: skip
    """`row` is the row of docs/ERRATA.md with print and correction; `claim` is the corrected statement."""
    good = _near(found, expected, tolerance) and _excluded(found, printed, tolerance, error)
    evidence = f"{evidence}; docs/ERRATA.md {row}"
    return _claim(
        key, claim, "corrected" if good else "fails", source, printed, expected, found, tolerance, evidence, error
    )


def refuted(
    key: str, claim: str, *, source: str, row: str, printed: float, found: float, tolerance: float, evidence: str,
    error: float = 0.0,
) -> Claim:  # fmt: skip
    """`claim` is the paper's statement."""
    good = _excluded(found, printed, tolerance, error)
    evidence = f"{evidence}; docs/ERRATA.md {row}"
    return _claim(
        key, claim, "refuted" if good else "fails", source, printed, printed, found, tolerance, evidence, error
    )


def beyond(
    key: str, claim: str, *, expected: float, found: float, tolerance: float, evidence: str, error: float = 0.0
) -> Claim:
    """`evidence` names the second route that `expected` comes by."""
    good = _near(found, expected, tolerance)
    return _claim(key, claim, "beyond" if good else "fails", "", None, expected, found, tolerance, evidence, error)


def _near(found: float, value: float, tolerance: float) -> bool:
    return bool(np.isfinite(found)) and abs(found - value) <= tolerance


def _excluded(found: float, printed: float, tolerance: float, error: float) -> bool:
    return bool(np.isfinite(found)) and abs(found - printed) > max(tolerance, EXCLUDED * error)


def _claim(
    key: str, claim: str, verdict: Verdict, source: str, printed: float | None, expected: float, found: float,
    tolerance: float, evidence: str, error: float,
) -> Claim:  # fmt: skip
    paper, figure = key.split("/")
    numbers = (float(expected), float(found), float(tolerance))
    print_ = None if printed is None else float(printed)
    return Claim(paper, figure, claim, *numbers, verdict, evidence, source, print_, float(error))


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

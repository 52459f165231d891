"""What a paper states, what we find, and the verdict.

There is one function per verdict. Each returns its verdict only if its condition is met, and `fails` otherwise:

    holds      the paper states `printed`, and |found - printed| <= tolerance
    corrected  |found - expected| <= tolerance, and the print is excluded
    refuted    the print is excluded, and there is no simple correction
    beyond     not in the paper: |found - expected| <= tolerance, where `expected` comes by a second route

The print is excluded if `found` is further from it than the tolerance and than four standard errors."""

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

Verdict = Literal["holds", "corrected", "refuted", "beyond", "fails"]
EXCLUDED = 4.0  # standard errors
MEANINGS: dict[Verdict, str] = {
    "holds": "the paper's number is found, within the tolerance",
    "corrected": "the print is excluded, and our corrected statement holds; docs/ERRATA.md has its row",
    "refuted": "the print is excluded, and there is no simple correction; docs/ERRATA.md has its row",
    "beyond": "not in the paper: our own statement, which a second route confirms",
    "fails": "we do not reproduce it: a defect of ours until explained",
}


@dataclass(frozen=True)
class Claim:
    """A statement of a paper (or our own) with what we found, and the verdict.

    `source` is the place in the paper ("(13)", "section 4.1"); `printed` is None where the paper states nothing;
    `error` is the standard error of `found`, zero for a number without noise. The verdict `fails` is a defect of ours
    until explained.
    """

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

    def again(self, found: float) -> "Claim":
        """The same claim, judged anew, had this been found."""
        if self.verdict == "fails":
            raise ValueError(f"{self.claim}: it is not known what a claim that fails would have been")
        facts = (self.printed, self.expected, found, self.tolerance, self.error)
        return replace(self, found=found, verdict=_judged(self.verdict, *facts))

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
    return _claim(key, claim, "holds", source, printed, printed, found, tolerance, evidence, error)


def corrected(
    key: str, claim: str, *, source: str, row: str, printed: float, expected: float, found: float, tolerance: float,
    evidence: str, error: float = 0.0,
) -> Claim:  # fmt: skip
    """`row` is the row of docs/ERRATA.md with print and correction; `claim` is the corrected statement."""
    evidence = f"{evidence}; docs/ERRATA.md {row}"
    return _claim(key, claim, "corrected", source, printed, expected, found, tolerance, evidence, error)


def refuted(
    key: str, claim: str, *, source: str, row: str, printed: float, found: float, tolerance: float, evidence: str,
    error: float = 0.0,
) -> Claim:  # fmt: skip
    """`claim` is the paper's statement."""
    evidence = f"{evidence}; docs/ERRATA.md {row}"
    return _claim(key, claim, "refuted", source, printed, printed, found, tolerance, evidence, error)


def beyond(
    key: str, claim: str, *, expected: float, found: float, tolerance: float, evidence: str, error: float = 0.0
) -> Claim:
    """`evidence` names the second route that `expected` comes by."""
    return _claim(key, claim, "beyond", "", None, expected, found, tolerance, evidence, error)


def _judged(
    kind: Verdict, printed: float | None, expected: float, found: float, tolerance: float, error: float
) -> Verdict:
    """This kind of verdict if its condition is met."""
    near = kind == "refuted" or _near(found, expected, tolerance)
    free = kind not in ("corrected", "refuted") or printed is None or _excluded(found, printed, tolerance, error)
    return kind if near and free else "fails"


def _near(found: float, value: float, tolerance: float) -> bool:
    return bool(np.isfinite(found)) and abs(found - value) <= tolerance


def _excluded(found: float, printed: float, tolerance: float, error: float) -> bool:
    return bool(np.isfinite(found)) and abs(found - printed) > max(tolerance, EXCLUDED * error)


def _claim(
    key: str, claim: str, kind: Verdict, source: str, printed: float | None, expected: float, found: float,
    tolerance: float, evidence: str, error: float,
) -> Claim:  # fmt: skip
    paper, figure = key.split("/")
    print_ = None if printed is None else float(printed)
    facts = (print_, float(expected), float(found), float(tolerance), float(error))
    verdict = _judged(kind, *facts)
    return Claim(paper, figure, claim, *facts[1:4], verdict, evidence, source, print_, facts[4])

"""What a paper states, statement by statement, and where each is judged: the list behind `solvable claims --coverage`."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Statement:
    """A numbered equation, or a sentence with a number. Exactly one of the last three says what became of it: `claims` are keys of
    figures whose claims name this `where` as their source, `tests` are `path::name`, `none` is the reason why neither applies."""

    where: str  # "(13)", "section 4.1", "figure 3", "abstract"
    text: str
    claims: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    none: str = ""

    def __post_init__(self) -> None:
        if not (self.claims or self.tests) and not self.none:
            raise ValueError(f"{self.where}: name a claim, a test, or the reason why none applies")
        if (self.claims or self.tests) and self.none:
            raise ValueError(f"{self.where}: a reason why none applies, beside a claim or a test")

    @property
    def judged_by(self) -> str:
        """ "claims", "tests" (where no claim does) or "none"."""
        return "claims" if self.claims else "tests" if self.tests else "none"

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"judged_by": self.judged_by}


def summary(statements: Iterable[Statement]) -> dict[str, int]:
    """How many there are, and what judges them."""
    counts = Counter(one.judged_by for one in statements)
    return {"statements": counts.total()} | {kind: counts[kind] for kind in ("claims", "tests", "none")}

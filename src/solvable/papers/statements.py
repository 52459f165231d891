"""What a paper states, statement by statement, and where each is judged: the list behind `solvable claims --coverage`."""

from dataclasses import dataclass


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

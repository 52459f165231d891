"""What a closed form returns: a value, under which assumptions, and where it comes from."""

from dataclasses import dataclass
from typing import Any


class NotApplicable(ValueError):
    """The prediction does not exist for this problem; the text says why."""


@dataclass(frozen=True)
class Prediction:
    value: Any
    assumptions: tuple[str, ...]
    source: str
    caveats: tuple[
        str, ...
    ] = ()  # assumptions that this problem or start does not meet, so that the value is approximate

"""Did you mean: the allowed word that is nearest to the one that was written."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

NEAR = 0.72  # of difflib's ratio, from 0 (nothing in common) to 1 (the same)
NEAR_AND_SHORT = 0.6  # of words in which one letter is much
SHORT = 5  # characters
LONGEST = 60  # characters of a word that could be a slip


def nearest(given: Any, known: Iterable[Any]) -> str | None:
    """The known word that `given` was probably meant to be, if there is one; case, hyphens and spaces do not count."""
    words = {_folded(word): word for word in known if isinstance(word, str)}
    if not isinstance(given, str) or len(given) > LONGEST:
        return None
    found = get_close_matches(_folded(given), words, n=1, cutoff=NEAR_AND_SHORT if len(given) <= SHORT else NEAR)
    return words[found[0]] if found else None


def hint(given: Any, known: Iterable[Any]) -> str:
    """A question to put behind what was given, or nothing."""
    found = nearest(given, known)
    return "" if found is None else f" (did you mean {found}?)"


def not_one_of(given: Any, known: Iterable[str]) -> str:
    """What an error says of a word that is none of the known ones."""
    names = list(known)
    return f"{given!r} given{hint(given, names)}, must be one of {', '.join(names)}"


def _folded(word: str) -> str:
    return word.lower().replace("-", "_").replace(" ", "_")

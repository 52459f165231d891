"""Did you mean: the allowed word that is nearest to the one that was written."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

NEAR = 0.72  # of difflib's ratio, from 0 (nothing in common) to 1 (the same)
NEAR_AND_SHORT = 0.6  # of words in which one letter is much
SHORT = 5  # characters
LONGEST = 60  # characters of a word that could be a slip
MEANT = {  # what others call it
    **dict.fromkeys(("lr", "eta", "step_size"), "learning_rate"),
    **dict.fromkeys(("beta", "kappa", "nesterov", "heavy_ball", "optimizer", "optimiser"), "momentum"),
    **dict.fromkeys(("ema", "swa", "averaging", "polyak_ruppert"), "average"),
    **dict.fromkeys(("adagrad", "line_search", "polyak", "clip", "clip_norm"), "rate_rule"),
    **dict.fromkeys(("l2", "decay"), "weight_decay"),
    **dict.fromkeys(("batch_size", "minibatch"), "batch"),
}


def nearest(given: Any, known: Iterable[Any]) -> str | None:
    """The known word that `given` was probably meant to be, if there is one: another name of it, or a slip. Case, hyphens and
    spaces do not count."""
    words = {_folded(word): word for word in known if isinstance(word, str)}
    if not isinstance(given, str) or len(given) > LONGEST:
        return None
    if MEANT.get(_folded(given)) in words.values():
        return MEANT[_folded(given)]
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

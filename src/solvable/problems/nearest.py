"""Did you mean: the allowed word that is nearest to the one that was written."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

NEAR = 0.72  # of difflib's ratio, from 0 (nothing in common) to 1 (the same)
NEAR_AND_SHORT = 0.6  # of words in which one letter is much
SHORT = 5  # characters
LONGEST = 60  # characters of a word that could be a slip
MANY = 90  # characters of a list that is noise behind the word that was meant
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


def instead(given: Any, known: Iterable[str]) -> str:
    """What to put behind a word that is not known: the one that was meant, and all of them unless that would be long."""
    names = list(known)
    meant, listed = hint(given, names), ", ".join(names)
    return meant if meant and len(listed) > MANY else f"{meant}, must be one of {listed}"


def not_one_of(given: Any, known: Iterable[str]) -> str:
    """What an error says of a word that is none of the known ones."""
    return f"{given!r} given{instead(given, known)}"


def within(given: Any, parts: Mapping[str, Iterable[str]]) -> list[tuple[str, str]]:
    """The parts that have a field of this name, each with the field; if none has it, those with a near one."""
    found = [(part, meant) for part, names in parts.items() if (meant := nearest(given, names))]
    return [one for one in found if _folded(one[1]) == _folded(given)] or found


def _folded(word: str) -> str:
    return word.lower().replace("-", "_").replace(" ", "_")

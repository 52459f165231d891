"""Did you mean: the allowed word that is nearest to the one that was written."""

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any, NoReturn

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
    **dict.fromkeys(("k", "m", "p", "units", "hidden", "hidden_units", "n_hidden", "hidden_size", "neurons"), "width"),
    **dict.fromkeys(("n", "d", "input_dim", "n_inputs", "n_features", "dimension"), "dim"),
    **dict.fromkeys(("sum", "ones"), "unit"),
    "average": "mean",
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


def telling_names(words: Mapping[str, str], notes: Mapping[str, str] | None = None) -> Callable[[Any, str], NoReturn]:
    """Return a `__getattr__` whose AttributeError proposes the attribute that was probably meant: the word for it in `words`, or a
    slip. `notes` say more of some."""

    def missing(value: Any, name: str) -> NoReturn:
        kind = type(value)
        if hasattr(kind, name):  # its own code has raised the error: raise that again
            object.__getattribute__(value, name)
        text, meant = f"{kind.__name__!r} object has no attribute {name!r}", None
        if not name.startswith("_"):
            meant = words.get(name) or nearest(name, _public(kind))
        if meant is not None:
            text += f" (did you mean {meant}?)" + (f"; {notes[meant]}" if notes and meant in notes else "")
        raise AttributeError(text)

    return missing


def _public(kind: type[Any]) -> list[str]:
    """Return the public attributes of a class, fields of a dataclass included."""
    return [name for name in (*dir(kind), *getattr(kind, "__dataclass_fields__", ())) if not name.startswith("_")]


def within(given: Any, parts: Mapping[str, Iterable[str]]) -> list[tuple[str, str]]:
    """The parts that have a field of this name, each with the field; if none has it, those with a near one."""
    found = [(part, meant) for part, names in parts.items() if (meant := nearest(given, names))]
    return [one for one in found if _folded(one[1]) == _folded(given)] or found


def _folded(word: str) -> str:
    return word.lower().replace("-", "_").replace(" ", "_")

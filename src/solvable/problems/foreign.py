"""Reads text and files from anyone, within bounds; an error says in one line what is wrong."""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

LONGEST_LINE = 300  # characters of a message
LONGEST_WORD = 30  # characters of a word that is not cut
LONGEST_TEXT = 64 << 20  # bytes of a file of text
DEEPEST = 50  # tables and lists within each other
INFLATED = 256 << 20  # bytes that any file may become in memory
RATIO = 50  # how many times its own size a larger file may become


class Refused(ValueError):
    """A file that could be read, but is not."""


def one_line(text: object) -> str:
    """A message that may quote what a file holds: without line breaks and control characters, and not long."""
    line = "".join(one if one.isprintable() else repr(one)[1:-1] for one in _shortened(str(text)))
    return _shortened(line)


def _shortened(text: str) -> str:
    """Without its middle, if it is long: it begins with a name and ends with what is allowed. The cuts are between words."""
    if len(text) <= LONGEST_LINE:
        return text
    half = LONGEST_LINE // 2
    begin, end = text[: half - 3], text[-half:]
    if " " in begin[-LONGEST_WORD:]:
        begin = begin[: begin.rindex(" ") + 1]
    if " " in end[:LONGEST_WORD]:
        end = end[end.index(" ") :]
    return f"{begin}...{end}"


def parse_json(text: str | bytes) -> Any:
    """ValueError, in one line, for what is no JSON or is nested too deeply."""
    return _parsed("JSON", json.loads, text)


def parse_toml(text: str) -> dict[str, Any]:
    """ValueError, in one line, for what is no TOML or is nested too deeply."""
    tables: dict[str, Any] = _parsed("TOML", tomllib.loads, text)
    return tables


def _parsed(kind: str, parse: Callable[[Any], Any], text: str | bytes) -> Any:
    try:
        content = parse(text)
        deep = _is_deep(content)
    except RecursionError:
        deep = True
    except ValueError as error:
        cause = error.reason if isinstance(error, UnicodeDecodeError) else error
        raise ValueError(one_line(f"not valid {kind}: {cause}")) from None
    if deep:
        raise ValueError(f"is nested too deeply: more than {DEEPEST} tables and lists within each other")
    return content


def _is_deep(content: Any) -> bool:
    inner = [content]
    for _ in range(DEEPEST + 1):
        inner = [
            part
            for one in inner
            if isinstance(one, dict | list)
            for part in (one.values() if isinstance(one, dict) else one)
        ]
        if not inner:
            return False
    return True


def read_text(path: Path) -> str:
    """ValueError, in one line, for a file that is too long or no text."""
    with path.open("rb") as file:
        content = file.read(LONGEST_TEXT + 1)
    if len(content) > LONGEST_TEXT:
        raise ValueError(f"longer than {LONGEST_TEXT >> 20} MB")
    try:
        return content.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"not a text file ({error.reason})") from None


def check_inflation(inflated: int, size: int) -> None:
    """Refused where a file of `size` bytes would take far more than that in memory."""
    if inflated > max(INFLATED, RATIO * size):
        raise Refused(f"would take {inflated} bytes of memory, from a file of {size}")

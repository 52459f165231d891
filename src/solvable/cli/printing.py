"""What the command line prints: JSON for other programs, and mistakes."""

import json
import math
import sys
import textwrap
from typing import Any

COLUMNS = 80  # of help and mistakes, whatever the terminal, so that they read the same everywhere
COPIED = "install it by: "  # before a command that is copied, which stays whole


def complain(text: str) -> None:
    """Tell a mistake: in one line to programs, and on a terminal in lines of 80 columns, so that no word is torn."""
    from solvable.problems.foreign import one_line

    line = f"solvable: {one_line(text)}"
    if sys.stderr.isatty():
        words, begin, command = line.partition(COPIED)
        line = textwrap.fill(
            words + begin, COLUMNS, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
        ) + (f"\n  {command}" if command else "")
    print(line, file=sys.stderr)


def print_json(answer: Any) -> None:
    """JSON as all programs read it: null in place of numbers that are not finite."""
    print(json.dumps(_finite(answer), indent=2, allow_nan=False))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value

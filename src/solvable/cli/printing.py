"""JSON output of the command line, for other programs."""

import json
import math
from typing import Any


def print_json(answer: Any) -> None:
    """JSON as all programs read it: null in place of numbers that are not finite."""
    print(json.dumps(_finite(answer), indent=2, allow_nan=False))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value

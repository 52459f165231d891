"""Small tables of HTML, by which notebooks show objects; every text in them is escaped."""

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

import numpy as np

LEFT = "style='text-align:left;vertical-align:top;padding:.15em .8em .15em 0'"
SHOWN = 8  # rows and columns of a matrix


def card(rows: Mapping[str, str], title: str = "") -> str:
    """A table with a name and a text in each row."""
    body = "".join(
        f"<tr><th {LEFT}>{escape(name)}</th><td {LEFT}>{escape(text)}</td></tr>" for name, text in rows.items()
    )
    return f"<table>{_caption(title)}{body}</table>"


def grid(names: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table with a line of names above its rows."""
    head = "".join(f"<th {LEFT}>{escape(name)}</th>" for name in names)
    body = "".join(f"<tr>{''.join(f'<td {LEFT}>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def matrix(values: np.ndarray, title: str) -> str:
    """The first rows and columns of a matrix; the larger an entry beside the largest, the stronger its colour."""
    largest = max(float(np.abs(values).max(initial=0.0)), 1e-300)
    rows = ["".join(_cell(value, largest) for value in row[:SHOWN]) for row in values[:SHOWN]]
    more = f" ({SHOWN} x {SHOWN} of {' x '.join(map(str, values.shape))})" if max(values.shape) > SHOWN else ""
    return f"<table>{_caption(title + more)}{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"


def short(value: Any) -> str:
    """A value in a few words: six digits, the first three of many numbers."""
    if hasattr(value, "_asdict"):
        return ", ".join(f"{name} {short(part)}" for name, part in value._asdict().items())
    if isinstance(value, np.ndarray | tuple | list):
        parts = list(np.ravel(value))
        more = f", ... ({len(parts)})" if len(parts) > 3 else ""
        return f"({', '.join(short(part) for part in parts[:3])}{more})"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _caption(text: str) -> str:
    return f"<caption style='text-align:left;font-weight:bold'>{escape(text)}</caption>" if text else ""


def _cell(value: float, largest: float) -> str:
    colour = "43,85,217" if value > 0 else "200,65,95"
    strength = 0.45 * abs(value) / largest
    return f"<td style='padding:.1em .6em;text-align:right;background:rgba({colour},{strength:.2f})'>{value:.3g}</td>"

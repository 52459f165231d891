"""Claims, parameters and statements as tables of words: what the command prints and the gallery shows."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from solvable.papers.claims import MEANINGS, Verdict
from solvable.papers.parameters import UNREAD, UNSAID, shown
from solvable.papers.statements import Statement

DIFFERS = "*"  # marks a value that is not the paper's


@dataclass(frozen=True)
class Words:
    """Names of the columns, and rows of as many cells."""

    names: list[str]
    rows: list[list[str]]


def verdicts(claims: Sequence[Mapping[str, Any]]) -> Words:
    """Of claims as dictionaries (`Claim.as_dict`); a column in which nothing stands is left out."""
    columns: dict[str, Callable[[Mapping[str, Any]], str]] = {
        "figure": lambda claim: f"{claim['paper']}/{claim['figure']}",
        "verdict": lambda claim: claim["verdict"],
        "where": lambda claim: claim["source"],
        "printed": lambda claim: _number(claim["printed"]),
        "expected": lambda claim: "" if claim["verdict"] == "refuted" else _number(claim["expected"]),
        "found": lambda claim: _number(claim["found"]),
        "s.e.": lambda claim: _number(claim["error"] or None),
        "tolerance": lambda claim: _number(claim["tolerance"]),
        "claim": lambda claim: claim["claim"] + _distances(claim),
    }
    cells = {name: [cell(claim) for claim in claims] for name, cell in columns.items()}
    return _whole({name: column for name, column in cells.items() if name == "claim" or any(column)})


def _distances(claim: Mapping[str, Any]) -> str:
    """Of a print that is excluded: how far it is from what was found, and how far its correction is."""
    if claim["printed"] is None or claim["verdict"] not in ("corrected", "refuted"):
        return ""
    words = f"found is {_number(claim['printed_distance'])} from the print"
    if claim["verdict"] == "corrected":
        words += f", {_number(claim['distance'])} from the correction"
    return f" [{words}]"


def meanings(found: Iterable[Verdict]) -> list[str]:
    """What the verdicts that occur mean, a line each."""
    chosen = set(found)
    return [f"{verdict}: {meaning}" for verdict, meaning in MEANINGS.items() if verdict in chosen]


def parameters(rows: Sequence[Mapping[str, Any]]) -> Words:
    """Of rows as dictionaries (`Parameters.as_dicts`); the quick value only where it is not the full one."""
    columns = {
        "parameter": [row["label"] for row in rows],
        "paper": [shown(row["paper"]) for row in rows],
        "ours": [shown(row["full"]) + _mark(row, "full") for row in rows],
        "quick": ["" if row["quick"] == row["full"] else shown(row["quick"]) + _mark(row, "quick") for row in rows],
        "why": [row["why"] for row in rows],
    }
    return _whole(columns)


def _mark(row: Mapping[str, Any], form: str) -> str:
    return DIFFERS if row["paper"] not in (UNSAID, UNREAD, row[form]) else ""


def statements(found: Iterable[Statement]) -> Words:
    """Where each is, what judges it (figures, tests, or the reason why nothing does), and what it states."""
    rows = [[one.where, ", ".join([*one.claims, *one.tests]) or f"none: {one.none}", one.text] for one in found]
    return Words(["where", "judged by", "statement"], rows)


def _whole(columns: dict[str, list[str]]) -> Words:
    return Words(list(columns), [list(row) for row in zip(*columns.values(), strict=True)])


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"

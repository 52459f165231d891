"""The gallery: every figure with its verdicts, from a directory that `solvable reproduce --output` has filled."""

import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from solvable.papers import registry, tables
from solvable.papers.parameters import shown
from solvable.papers.references import REFERENCES
from solvable.papers.statements import summary

LONG = 6  # entries of a list that a caption leaves to the table


def write_gallery(figures: Path, site: Path) -> None:
    """A page for each paper; pictures are copied beside them. Figures that were not drawn are named as missing."""
    pictures = site / "_pictures"
    pictures.mkdir(exist_ok=True)
    for paper in registry.papers():
        lines = [
            f"# {paper}",
            "",
            f"{REFERENCES[paper]}.",
            "",
            f"Drawn by `solvable reproduce {paper} --quick`: fewer runs and smaller sizes than `make reproduce` takes, with "
            "tolerances to match. A claim is compared within its tolerance; the error bar of a number with noise is its standard "
            "error (s.e.). Rows such as W37 are in the [errata](../errata.md). The verdicts:",
            "",
            *(
                f"- {line}".replace("docs/ERRATA.md", "the [errata](../errata.md)")
                for line in tables.meanings(tables.MEANINGS)
            ),
            "",
            f"Under each picture stands what the paper used beside what we use; {tables.DIFFERS} marks a value that is not the "
            "paper's.",
            "",
        ]
        for key in registry.available(paper):
            lines += _section(key, figures, pictures)
        lines += _coverage(paper)
        place = site / "gallery"
        place.mkdir(exist_ok=True)
        (place / f"{paper}.md").write_text("\n".join(lines), encoding="utf-8")


def _section(key: str, figures: Path, pictures: Path) -> list[str]:
    name = key.replace("/", "-")
    figure = registry.get(key)
    module = sys.modules[figure.compute.__module__]
    about = " ".join((module.__doc__ or "").split())
    about = _plain(about)
    lines = [f"## {key}: {figure.title}", "", f"{about} Computed and judged in `{module.__name__}`.", ""]
    if not (figures / f"{name}.png").is_file():
        return [*lines, "Not drawn in this build.", ""]
    shutil.copy(figures / f"{name}.png", pictures / f"{name}.png")
    record = json.loads((figures / f"{name}.json").read_text(encoding="utf-8"))
    lines += [f"```{{figure}} ../_pictures/{name}.png", f":alt: {figure.title}", "", caption(record), "```", ""]
    if record["parameters"]:
        lines += [*_markdown(tables.parameters(record["parameters"]), _outside_formulas), ""]
    return [*lines, *_markdown(_linked(tables.verdicts(record["claims"]), record["claims"])), ""]


def caption(record: dict) -> str:
    """What a picture shows, with the settings that it was drawn with: those of its table, but for seeds and long lists."""
    form = "quick" if record["quick"] else "full"
    settings = [
        f"{row['label']} = {shown(row[form])}"
        for row in record["parameters"]
        if "seed" not in row["name"] and not (isinstance(row[form], list) and len(row[form]) > LONG)
    ]
    told = _outside_formulas("; ".join(settings)) + "." if settings else ""
    return f"**{_plain(record['title'])}.** {told} The {form} form, {record['seconds']:.2g} s."


def _coverage(paper: str) -> list[str]:
    """What the paper states, and what judges it."""
    stated = registry.statements(paper)
    if stated is None:
        return []
    counts = summary(stated)
    lines = [
        f"## {paper}: what the paper states", "",
        f"{counts['statements']} statements: {counts['claims']} judged by claims of figures, {counts['tests']} by tests alone, "
        f"{counts['none']} by neither, with the reason.", "",
    ]  # fmt: skip
    return [*lines, *_markdown(tables.statements(stated), _outside_formulas), ""]


def _linked(table: tables.Words, claims: list[dict]) -> tables.Words:
    """The verdicts with a link to their row of the errata, without the figure's name."""
    at, first = table.names.index("verdict"), table.names.index("figure")
    rows = []
    for cells, claim in zip(table.rows, claims, strict=True):
        row = re.search(r"ERRATA\.md (\w+)", claim["evidence"])
        cells = [*cells[:-1], _plain(cells[-1])]
        cells[at] += f" ([{row[1]}](../errata.md#{row[1]}))" if row else ""
        rows.append(cells[:first] + cells[first + 1 :])
    return tables.Words(table.names[:first] + table.names[first + 1 :], rows)


def _plain(text: str) -> str:
    """No markup in the words of a claim, but for `names`."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if i % 2 else _escaped(part) for i, part in enumerate(parts))


def _escaped(text: str) -> str:
    for mark in "*$_[":
        text = text.replace(mark, f"\\{mark}")
    return text.replace("<", "&lt;")


def _outside_formulas(text: str) -> str:
    """The same, but formulas between dollars stay."""
    parts = re.split(r"(\$[^$]*\$)", text)
    return "".join(part if i % 2 else _plain(part) for i, part in enumerate(parts))


def _markdown(table: tables.Words, escape: Callable[[str], str] = str) -> list[str]:
    def line(cells: list[str]) -> str:
        return "| " + " | ".join(escape(cell).replace("|", "\\|") for cell in cells) + " |"

    return [line(table.names), "|" + "---|" * len(table.names), *(line(row) for row in table.rows)]

"""The gallery: every figure with its verdicts, from a directory that `solvable reproduce --output` has filled."""

import json
import re
import shutil
import sys
from pathlib import Path

from solvable.papers import registry
from solvable.papers.references import REFERENCES


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
            "tolerances to match. A claim is compared within its tolerance, which is not an error bar; one that is true or false "
            "has 1 for true. The verdicts are explained on the [first page](../index.md), rows such as W37 in the "
            "[errata](../errata.md).",
            "",
        ]
        for key in registry.available(paper):
            lines += _section(key, figures, pictures)
        place = site / "gallery"
        place.mkdir(exist_ok=True)
        (place / f"{paper}.md").write_text("\n".join(lines), encoding="utf-8")


def _section(key: str, figures: Path, pictures: Path) -> list[str]:
    name = key.replace("/", "-")
    figure = registry.get(key)
    module = sys.modules[figure.compute.__module__]
    about = " ".join((module.__doc__ or "").split())
    for mark in "*$<_":  # plain text, no markup
        about = about.replace(mark, f"\\{mark}")
    lines = [f"## {key}: {figure.title}", "", f"{about} Computed and judged in `{module.__name__}`.", ""]
    if not (figures / f"{name}.png").is_file():
        return [*lines, "Not drawn in this build.", ""]
    shutil.copy(figures / f"{name}.png", pictures / f"{name}.png")
    lines += [
        f"![{figure.title}](../_pictures/{name}.png)",
        "",
        "| verdict | claim | expected | found | tolerance |",
        "|---|---|---|---|---|",
    ]
    for claim in json.loads((figures / f"{name}.json").read_text(encoding="utf-8")):
        numbers = " | ".join(f"{claim[part]:.4g}" for part in ("expected", "found", "tolerance"))
        text = claim["claim"].replace("|", "\\|").replace("$", "\\$").replace("*", "\\*").replace("<", "&lt;")
        row = re.search(r"ERRATA\.md (\w+)", claim["evidence"])
        verdict = claim["verdict"] + (f" ([{row[1]}](../errata.md))" if row else "")
        lines.append(f"| {verdict} | {text} | {numbers} |")
    return [*lines, ""]

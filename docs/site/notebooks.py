"""Notebooks from the tutorials, with their outputs: `python docs/site/notebooks.py [NAME ...]` executes and writes them.

A tutorial is the one source of its notebook. Its code runs here as a notebook would run it, without a kernel: what is printed,
the value of the last line and the open figures are the outputs of a cell.
"""

import ast
import base64
import contextlib
import io
import json
import math
import os
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
TUTORIALS = ROOT / "docs" / "site" / "tutorials"
FIRST = "first_steps"
CODE = re.compile(r"^```\{code-cell\} ipython3\n(.*?)^```$", re.M | re.S)
INCLUDED = re.compile(r"^```\{literalinclude\} (\S+)\n.*?^```$", re.M | re.S)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
PAGES = {"../guide.md": "docs/GUIDE.md", "../gallery.md": "README.md", "../theory.md": "docs/THEORY.md"}


class Cell(NamedTuple):
    kind: str  # "markdown" or "code"
    source: str


def place(name: str) -> Path:
    """Where the notebook of a tutorial lies."""
    return ROOT / "examples" / ("" if name == FIRST else "tutorials") / f"{name}.ipynb"


def names() -> list[str]:
    return sorted(path.stem for path in TUTORIALS.glob("*.md"))


def cells(name: str) -> list[Cell]:
    """The cells of a tutorial; headings begin cells of their own, and links lead to files of the repository."""
    text = (TUTORIALS / f"{name}.md").read_text(encoding="utf-8")
    parts = CODE.split(re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.S))
    found = []
    for i, part in enumerate(parts):
        if i % 2:
            found.append(Cell("code", part.strip("\n")))
        else:
            sections = re.split(r"\n(?=## )", _linked(part.strip("\n"), place(name)))
            found += [Cell("markdown", section.strip("\n")) for section in sections if section.strip()]
    return found


def _linked(text: str, file: Path) -> str:
    """Links as they lead from the notebook: to other notebooks, and to files of the repository in the place of pages."""

    def here(link: re.Match[str]) -> str:
        target = (TUTORIALS / link[1]).resolve()
        if target.parent == TUTORIALS:
            target = place(target.stem)
        elif link[1] in PAGES:
            target = ROOT / PAGES[link[1]]
        return f"]({Path(os.path.relpath(target, file.parent)).as_posix()})"

    named = INCLUDED.sub(lambda found: f"[{Path(found[1]).name}]({found[1]})", text)
    return re.sub(r"\]\(([\w./]+)\)", here, named)


class Execution:
    """Runs cells one after the other in one namespace, and keeps what each shows."""

    def __init__(self) -> None:
        import matplotlib

        matplotlib.use("Agg")
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.count = 0

    def run(self, source: str) -> list[dict[str, Any]]:
        """The outputs of a cell: text, the value of its last line unless a semicolon ends it, and open figures."""
        self.count += 1
        body = ast.parse(source).body
        last = body.pop() if body and isinstance(body[-1], ast.Expr) and not source.rstrip().endswith(";") else None
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(ast.Module(body, []), f"cell {self.count}", "exec"), self.names)
            value = (
                eval(compile(ast.Expression(last.value), f"cell {self.count}", "eval"), self.names) if last else None
            )
        outputs: list[dict[str, Any]] = []
        if printed.getvalue():
            outputs.append({"name": "stdout", "output_type": "stream", "text": _lines(printed.getvalue())})
        if value is not None:
            shown = {"data": _shown(value), "execution_count": self.count, "metadata": {}}
            outputs.append({**shown, "output_type": "execute_result"})
        return outputs + [{"data": data, "metadata": {}, "output_type": "display_data"} for data in _open_figures()]


def _shown(value: Any) -> dict[str, Any]:
    if hasattr(value, "savefig"):
        return _picture(value)
    html = {"text/html": _lines(value._repr_html_())} if hasattr(value, "_repr_html_") else {}
    return {**html, "text/plain": _lines(repr(value))}


def _open_figures() -> list[dict[str, Any]]:
    from matplotlib import pyplot

    found = [_picture(pyplot.figure(number)) for number in pyplot.get_fignums()]
    pyplot.close("all")
    return found


def _picture(figure: Any) -> dict[str, Any]:
    written = io.BytesIO()
    figure.savefig(written, format="png", dpi=90, bbox_inches="tight", metadata={"Software": None})
    size = "x".join(f"{side:g}" for side in figure.get_size_inches())
    return {"image/png": base64.b64encode(written.getvalue()).decode(), "text/plain": [f"<Figure of {size} inches>"]}


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def executed(name: str) -> dict[str, Any]:
    """The notebook of a tutorial, with the outputs that its code has now."""
    execution, made = Execution(), []
    for i, cell in enumerate(cells(name)):
        one: dict[str, Any] = {"cell_type": cell.kind, "id": f"cell-{i}", "metadata": {}, "source": _lines(cell.source)}
        if cell.kind == "code":
            outputs = execution.run(cell.source)
            one |= {"execution_count": execution.count, "outputs": outputs}
        made.append(one)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": made, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def differences(stored: dict[str, Any], fresh: dict[str, Any]) -> list[str]:
    """Where the outputs of two notebooks differ: in words, in the number of pictures, or in numbers by more than two per cent."""
    found = []
    for one, other in zip(stored["cells"], fresh["cells"], strict=True):
        if one["source"] != other["source"]:
            found.append(f"{one['id']}: another source")
        elif not _alike(_words(one), _words(other)):
            found.append(f"{one['id']}: {_words(one)} is now {_words(other)}")
    return found


def _words(cell: dict[str, Any]) -> str:
    """What a reader sees of the outputs: a table where there is one, without its markup."""
    words = []
    for output in cell.get("outputs", ()):
        data = output.get("data", {})
        table = re.sub(r"<[^>]*>", " ", "".join(data.get("text/html", ())))
        words.append(table or "".join(output.get("text") or data["text/plain"]))
    return "".join(words)


def _alike(one: str, other: str) -> bool:
    """Numbers below a millionth are the rounding of zero."""
    numbers = [[float(word) for word in NUMBER.findall(text)] for text in (one, other)]
    same = ["".join(NUMBER.sub("#", text).split()) for text in (one, other)]
    close = len(numbers[0]) == len(numbers[1]) and all(
        math.isclose(a, b, rel_tol=0.02, abs_tol=1e-6) for a, b in zip(*numbers, strict=True)
    )
    return same[0] == same[1] and close


def text_of(notebook: dict[str, Any]) -> str:
    return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


if __name__ == "__main__":
    for name in sys.argv[1:] or names():
        place(name).parent.mkdir(exist_ok=True)
        place(name).write_text(text_of(executed(name)), encoding="utf-8")
        print(f"wrote {place(name).relative_to(ROOT)}", flush=True)

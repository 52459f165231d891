"""Tables of words on the terminal."""

from collections.abc import Mapping

from solvable.papers.tables import Words

NARROW = {"figure", "verdict", "printed", "expected", "found", "s.e.", "tolerance"}
NUMBERS = {"printed", "expected", "found", "s.e.", "tolerance"}
PIPED = 160  # columns where nobody looks at the terminal


def print_table(table: Words, colours: Mapping[str, str] | None = None) -> None:
    """`colours` are styles for cells that hold nothing but these words."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, pad_edge=False)
    for name in table.names:
        made.add_column(name, justify="right" if name in NUMBERS else "left", no_wrap=name in NARROW)
    for row in table.rows:
        made.add_row(*(Text(cell, (colours or {}).get(cell, "")) for cell in row))
    console = Console()
    (console if console.is_terminal else Console(width=PIPED)).print(made)

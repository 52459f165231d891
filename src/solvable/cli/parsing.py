"""The parser of the command line: help in 80 columns, and mistakes that tell what was probably meant."""

import argparse
import sys
import textwrap
from collections.abc import Sequence
from typing import Any, NoReturn

from solvable.cli.printing import COLUMNS, complain

INDENT = 26  # of what options mean


class Help(argparse.HelpFormatter):
    """Help that keeps the lines of descriptions and wraps those that are too long."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=INDENT, width=COLUMNS)

    def add_argument(self, action: argparse.Action) -> None:
        """Names of commands stand one level deeper than the room that is kept for them."""
        super().add_argument(action)
        if isinstance(action, argparse._SubParsersAction):
            deeper = self._current_indent + 2 * self._indent_increment
            self._action_max_length = max(self._action_max_length, deeper + max(map(len, action.choices)))

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        lines = [textwrap.fill(line, width, break_on_hyphens=False) for line in text.splitlines()]
        return textwrap.indent("\n".join(lines), indent)


def _of_the_file(option: str) -> str:
    """Where to set what is no option but a field of a problem."""
    from solvable.problems import Inputs, Student, Teacher, Training
    from solvable.problems.nearest import within

    tables = (Teacher, Student, Inputs, Training)
    found = within(option.lstrip("-"), {table.__name__.lower(): table.model_fields for table in tables})
    return f" (a field of the file: {' or '.join(map('.'.join, found))})" if found else ""


class Parser(argparse.ArgumentParser):
    """A parser whose mistakes come with its own usage, that of the command, and with the word that was probably meant."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"formatter_class": Help} | settings)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Nothing unknown is handed back: it would be the mistake of the parser above, with a usage that does not help."""
        given, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(self._unknown(unknown))
        return given, unknown

    def _unknown(self, words: Sequence[str]) -> str:
        from solvable.problems.nearest import hint

        options = [one for one in self._option_string_actions if one.startswith("--")]
        told = []
        for word in words:
            name = word.partition("=")[0]
            told.append(name + (hint(name, options) or _of_the_file(name) if name.startswith("-") else ""))
        return f"unknown: {', '.join(told)}"

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            from solvable.problems.nearest import not_one_of

            raise argparse.ArgumentError(action, not_one_of(value, map(str, action.choices)))

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        complain(message)
        self.exit(2)

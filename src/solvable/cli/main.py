"""The command `solvable`: parse, call, print. Exit codes: 0 done, 1 ran but failed (a claim, a diverged run), 2 bad input."""

import os
import sys
from collections.abc import Sequence

from solvable import __version__
from solvable.cli import options
from solvable.cli.parsing import Parser

EXAMPLES = """Examples:
  solvable run problem.toml --plot curve.png   follow a problem, draw it
  solvable figure bocchi2026/1 --quick         draw a figure of a paper
  solvable explore                             open the page with sliders
  solvable COMMAND --help                      all options of a command"""


def parser() -> Parser:
    main = Parser(
        prog="solvable",
        description="How neural networks learn, where it can be computed exactly: the learning curves of a student network "
        "that learns from a teacher network.",
        epilog=EXAMPLES,
    )
    main.add_argument("--version", action="version", version=f"solvable {__version__}")
    commands = main.add_subparsers(dest="command", metavar="COMMAND")

    def command(name: str, text: str, details: str = "") -> Parser:
        made: Parser = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.\n\n{details}")
        return made

    for add in options.COMMANDS:
        add(command)
    return main


def main(argv: Sequence[str] | None = None) -> int:
    known = parser()
    given = known.parse_args(argv)
    if given.command is None:
        known.print_help()
        return 0
    try:
        from solvable.cli import commands

        return commands.call(given)
    except BrokenPipeError:  # whoever read our output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("solvable: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())

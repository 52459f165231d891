"""The command `solvable`: parse, call, print. Exit codes: 0 done, 1 ran but failed (a claim, a diverged run), 2 bad input."""

import argparse
import os
import sys
from collections.abc import Sequence

from solvable import __version__
from solvable.cli import options


def parser() -> argparse.ArgumentParser:
    from rich_argparse import RawDescriptionRichHelpFormatter

    RawDescriptionRichHelpFormatter.text_markup = False  # [teacher] is a table, not a style
    RawDescriptionRichHelpFormatter.help_markup = False
    main = argparse.ArgumentParser(
        prog="solvable",
        description="The neural networks whose learning can be solved exactly.",
        formatter_class=RawDescriptionRichHelpFormatter,
    )
    main.add_argument("--version", action="version", version=f"solvable {__version__}")
    commands = main.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def command(name: str, text: str, details: str = "") -> argparse.ArgumentParser:
        return commands.add_parser(
            name,
            help=text,
            description=f"{text[0].upper()}{text[1:]}.\n\n{details}",
            formatter_class=main.formatter_class,
        )

    for add in options.COMMANDS:
        add(command)
    return main


def main(argv: Sequence[str] | None = None) -> int:
    given = parser().parse_args(argv)
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

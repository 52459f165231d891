"""The command `solvable`: parse, call, print. Exit codes: 0 done, 1 ran but failed (a claim, a diverged run), 2 bad input."""

import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

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


@contextmanager
def _ends_cleanly() -> Iterator[None]:
    """Turn a request to end, as clusters and `timeout` send it, and the end of a terminal into Ctrl-C: half-written files are
    removed, and processes that compile end too. A signal that is ignored, as by `nohup`, stays ignored."""

    def end(*_: Any) -> None:
        raise KeyboardInterrupt

    names = ("SIGTERM", "SIGHUP") if threading.current_thread() is threading.main_thread() else ()
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    before = {number: signal.signal(number, end) for number in numbers if signal.getsignal(number) == signal.SIG_DFL}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def main(argv: Sequence[str] | None = None) -> int:
    known = parser()
    given = known.parse_args(argv)
    if given.command is None:
        known.print_help()
        return 0
    try:
        from solvable.cli import commands

        with _ends_cleanly():
            return commands.call(given)
    except BrokenPipeError:  # whoever read our output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("solvable: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())

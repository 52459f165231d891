"""The commands that draw and judge the papers' figures: `figures`, `figure`, `reproduce`, `claims`."""

from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from solvable.cli.printing import print_json


def figures(options: Namespace) -> int:
    from solvable.papers import registry

    if options.json:
        print_json([{"key": key, "title": registry.get(key).title} for key in registry.available()])
    else:
        for key in registry.available():
            print(f"{key}  {registry.get(key).title}")
    return 0


def figure(options: Namespace) -> int:
    return _draw([options.key], options)


def reproduce(options: Namespace) -> int:
    return _draw(_keys_of(options.paper), options)


def claims(options: Namespace) -> int:
    from solvable.papers import registry

    verdicts = []
    for key in _keys_of(options.paper):
        one = registry.get(key)
        verdicts += one.claims(one.compute(not options.full))
    return _report(verdicts, options.json)


def _draw(keys: list[str], options: Namespace) -> int:
    from solvable.papers import registry
    from solvable.papers.figure import render

    chosen = [registry.get(key) for key in keys]
    directory = Path(options.output)
    if directory.exists() and not directory.is_dir():
        raise ValueError(f"--output: {directory} is a file, must be a directory")
    if options.dry_run:
        for one in chosen:
            name = one.key.replace("/", "-")
            print(f"would draw {one.key}  {one.title}: {directory / name}.png, .pdf, .nc, .json")
        return 0
    verdicts = []
    for one in _with_progress(chosen):
        rendered = render(one, directory, quick=options.quick, store=options.store)
        verdicts += rendered.claims
        if not options.json:
            print(f"{one.key}  {one.title}")
            print("  wrote " + ", ".join(str(file) for file in rendered.files))
    return _report(verdicts, options.json)


def _with_progress(chosen: list[Any]) -> Iterator[Any]:
    """A progress bar where someone is looking, nothing else."""
    from rich.console import Console
    from rich.progress import Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield from chosen
        return
    columns = (TextColumn("{task.description}"), *Progress.get_default_columns()[1:], TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=len(chosen))
        for one in chosen:
            progress.update(task, description=f"computing {one.key}")
            yield one
            progress.advance(task)


def _report(verdicts: list[Any], as_json: bool) -> int:
    if as_json:
        print_json([claim.as_dict() for claim in verdicts])
    else:
        _print_table(verdicts)
    return 1 if any(claim.verdict == "fails" for claim in verdicts) else 0


def _print_table(verdicts: list[Any]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    colours = {"holds": "green", "corrected": "cyan", "refuted": "yellow", "beyond": "blue", "fails": "bold red"}
    table = Table(box=None, pad_edge=False)
    for name, justify in [
        ("figure", "left"),
        ("verdict", "left"),
        ("expected", "right"),
        ("found", "right"),
        ("±", "right"),
    ]:
        table.add_column(name, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    table.add_column("claim")
    for claim in verdicts:
        verdict = f"[{colours[claim.verdict]}]{claim.verdict}[/]"
        numbers = [f"{value:.4g}" for value in (claim.expected, claim.found, claim.tolerance)]
        table.add_row(f"{claim.paper}/{claim.figure}", verdict, *numbers, escape(claim.claim))
    Console().print(table)
    if any(claim.verdict in ("corrected", "refuted") for claim in verdicts):
        print("corrected: the print is wrong and our corrected statement holds; see docs/ERRATA.md (row in --json)")


def _keys_of(paper: str | None) -> list[str]:
    from solvable.papers import registry

    if paper is not None and paper not in registry.papers():
        raise ValueError(f"paper: {paper!r} given, must be one of {', '.join(registry.papers())}")
    return registry.available(paper)

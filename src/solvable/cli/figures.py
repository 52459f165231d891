"""The commands that draw and judge the papers' figures: `figures`, `figure`, `reproduce`, `claims`."""

from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from solvable.cli.printing import complain, print_json
from solvable.problems.nearest import not_one_of


def figures(options: Namespace) -> int:
    from solvable.papers import registry

    if options.json:
        print_json([{"key": key, "title": registry.get(key).title} for key in registry.available()])
    else:
        keys = registry.available()
        width = max(map(len, keys))
        for key in keys:
            print(f"{key:{width}}  {registry.get(key).title}")
    return 0


def figure(options: Namespace) -> int:
    return _draw([options.key], options)


def reproduce(options: Namespace) -> int:
    return _draw(_keys_of(options.paper), options)


def claims(options: Namespace) -> int:
    from solvable.papers import registry

    if options.coverage:
        return _coverage(options)
    from solvable.papers.figure import computed

    verdicts = []
    for key in _keys_of(options.paper):
        one = registry.get(key)
        verdicts += one.claims(computed(one, quick=not options.full)[0])
    if options.json:
        print_json([claim.as_dict() for claim in verdicts])
    else:
        _print_verdicts(verdicts)
        print(
            f"judged: {'the full size' if options.full else 'the quick form of each figure; --full judges the full size'}"
        )
    return _code(verdicts)


def _coverage(options: Namespace) -> int:
    """What each paper states and what judges it; a paper without a list of its statements is not covered."""
    from solvable.cli.tables import print_table
    from solvable.papers import registry, tables
    from solvable.papers.statements import summary

    chosen = registry.papers() if options.paper is None else [_paper(options.paper)]
    lists = {paper: registry.statements(paper) for paper in chosen}
    if options.json:
        print_json([
            {"paper": paper, "covered": found is not None, "summary": summary(found or ()),
             "statements": [one.as_dict() for one in found or ()]}
            for paper, found in lists.items()
        ])  # fmt: skip
        return 0
    for paper, found in lists.items():
        if found is None:
            print(f"{paper}: not covered, no list of its statements")
            continue
        print_table(tables.statements(found))
        print(
            "{paper}: {statements} statements: {claims} judged by claims, {tests} by tests alone, {none} by neither, with "
            "the reason".format(paper=paper, **summary(found))
        )
    return 0


def _draw(keys: list[str], options: Namespace) -> int:
    """Of one figure the parameters are printed too; as JSON, what the figure's file holds (a list of such for several)."""
    from solvable.papers import registry
    from solvable.papers.figure import render

    chosen = [registry.get(key) for key in keys]
    directory = Path(options.output)
    if directory.exists() and not directory.is_dir():
        raise ValueError(f"--output: {directory} is a file, must be a directory")
    alone = options.command == "figure"
    if options.dry_run:
        for one in chosen:
            name = one.key.replace("/", "-")
            print(f"would draw {one.key}  {one.title}: {directory / name}.png, .pdf, .nc, .json")
            _print_parameters(one.parameters if alone else None)
        return 0
    verdicts: list[Any] = []
    records: list[dict[str, Any]] = []
    for one in _with_progress(chosen):
        try:
            rendered = render(one, directory, quick=options.quick, store=options.store)
        except KeyboardInterrupt:
            others = "" if alone else f"; {len(records)} of {len(chosen)} figures are done"
            complain(f"{one.key}: was cut off, not all of its files were written{others}")
            raise
        verdicts += rendered.claims
        records.append(rendered.record)
        if not options.json:
            print(f"{one.key}  {one.title}")
            print("  wrote " + ", ".join(str(file) for file in rendered.files))
            _print_parameters(one.parameters if alone else None)
    if options.json:
        print_json(records[0] if alone else records)
    else:
        _print_verdicts(verdicts)
    return _code(verdicts)


def _with_progress(chosen: list[Any]) -> Iterator[Any]:
    """A progress bar where someone is looking, nothing else."""
    from solvable.numerics.progress import SCREEN, is_terminal

    if not is_terminal():
        yield from chosen
        return
    line = SCREEN.add()
    try:
        for number, one in enumerate(chosen):
            SCREEN.update(line, number, len(chosen), f"computing {one.key}")
            yield one
    finally:
        SCREEN.remove(line)


def _code(verdicts: list[Any]) -> int:
    return 1 if any(claim.verdict == "fails" for claim in verdicts) else 0


def _print_verdicts(found: list[Any]) -> None:
    from solvable.cli.tables import print_table
    from solvable.papers import tables

    colours = {"holds": "green", "corrected": "cyan", "refuted": "yellow", "beyond": "blue", "fails": "bold red"}
    print_table(tables.verdicts([claim.as_dict() for claim in found]), colours)
    for line in tables.meanings(claim.verdict for claim in found):
        print(line)


def _print_parameters(parameters: Any) -> None:
    from solvable.cli.tables import print_table
    from solvable.papers import tables

    if parameters:
        print_table(tables.parameters(parameters.as_dicts()))
        differs = parameters.differences(quick=True) or parameters.differences(quick=False)
        print(f"{tables.DIFFERS} not the paper's value\n" if differs else "")


def _keys_of(paper: str | None) -> list[str]:
    from solvable.papers import registry

    return registry.available(None if paper is None else _paper(paper))


def _paper(name: str) -> str:
    from solvable.papers import registry

    if name not in registry.papers():
        raise ValueError(f"paper: {not_one_of(name, registry.papers())}")
    return name

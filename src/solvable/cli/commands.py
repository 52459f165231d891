"""What each command does."""

import json
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np

from solvable.problems import InvalidProblem

BAD_INPUT = (ValueError, KeyError, OSError)


def explain(error: BaseException) -> list[str]:
    if isinstance(error, InvalidProblem):
        return error.problems
    if isinstance(error, OSError):
        name = f"{error.filename}: " if error.filename else ""
        return [f"{name}{error.strerror or error}"]
    return [str(error.args[0]) if error.args else type(error).__name__]


def run(options: Namespace) -> int:
    from solvable.cli import runfile

    file = runfile.read(
        options.file,
        {
            "level": {"name": options.level},
            "run": {"until": _number("--until", options.until), "clock": options.clock},
            "start": {
                "seed": _whole("--seed", options.seed),
                "scale": _number("--scale", options.scale),
                "students": options.students,
                "cross": _number("--cross", options.cross),
            },
        },
    )
    if options.output is not None:
        _need_directory(Path(options.output).parent)
    from solvable.macro import Macro
    from solvable.overlaps import start
    from solvable.results import run as follow

    level = Macro(**{name: getattr(file.level, name) for name in ("rtol", "atol", "small_rate", "max_steps")})
    first = start(file.problem, **{name: getattr(file.start, name) for name in type(file.start).model_fields})
    table = file.run
    trajectory = follow(
        file.problem, first, level, table.until, times=table.times, clock=table.clock, keep_blocks=table.keep_blocks
    )
    if options.output is not None:
        trajectory.save(options.output)
    plateaus = [plateau._asdict() for plateau in trajectory.plateaus()]
    finite = trajectory.risk[0][np.isfinite(trajectory.risk[0])]
    half = float(trajectory.exit_time()[0])
    summary: dict[str, Any] = {
        "problem": file.problem.hash,
        "level": trajectory.level,
        "clock": trajectory.unit,
        "success": trajectory.success,
        "ending": trajectory.ending[0].name.lower(),
        "message": trajectory.message,
        "end_time": float(trajectory.end_time[0]),
        "risk": {"first": float(finite[0]), "last": float(finite[-1])},
        "half_risk_time": half if np.isfinite(half) else None,
        "plateaus": plateaus,
        "nfev": int(trajectory.nfev[0]),
        "output": options.output,
    }
    if options.json:
        print(json.dumps(summary, indent=2))
    else:
        print(f"{trajectory.level}: {trajectory.message}")
        print(f"risk {finite[0]:.6g} -> {finite[-1]:.6g} at {trajectory.clock.label} {trajectory.end_time[0]:.6g}")
        if np.isfinite(half):
            print(f"half the first risk at {half:.6g}")
        for plateau in trajectory.plateaus():
            print(f"plateau at risk {plateau.height:.6g} from {plateau.start:.6g} to {plateau.end:.6g}")
        if options.output is not None:
            print(f"wrote {options.output}")
    return 0 if trajectory.success else 1


def figures(options: Namespace) -> int:
    from solvable.papers import registry

    if options.json:
        print(json.dumps([{"key": key, "title": registry.get(key).title} for key in registry.available()], indent=2))
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
    verdicts = []
    for one in chosen:
        rendered = render(one, directory, quick=options.quick)
        verdicts += rendered.claims
        if not options.json:
            print(f"{one.key}  {one.title}")
            print("  wrote " + ", ".join(str(file) for file in rendered.files))
    return _report(verdicts, options.json)


def _report(verdicts: list[Any], as_json: bool) -> int:
    if as_json:
        print(json.dumps([claim.as_dict() for claim in verdicts], indent=2))
    else:
        _print_table(verdicts)
    return 1 if any(claim.verdict == "fails" for claim in verdicts) else 0


def _print_table(verdicts: list[Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    colours = {"holds": "green", "corrected": "cyan", "refuted": "yellow", "fails": "bold red"}
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
        table.add_row(f"{claim.paper}/{claim.figure}", verdict, *numbers, claim.claim)
    Console().print(table)


def _keys_of(paper: str | None) -> list[str]:
    from solvable.papers import registry

    if paper is not None and paper not in registry.papers():
        raise ValueError(f"paper: {paper!r} given, must be one of {', '.join(registry.papers())}")
    return registry.available(paper)


def _number(name: str, text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        raise ValueError(f"{name}: {text!r} given, must be a number") from None


def _whole(name: str, text: str | None) -> int | None:
    try:
        return None if text is None else int(text)
    except ValueError:
        raise ValueError(f"{name}: {text!r} given, must be a whole number") from None


def _need_directory(directory: Path) -> None:
    if not directory.is_dir():
        raise ValueError(f"--output: the directory {directory} does not exist")

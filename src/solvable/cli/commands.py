"""What each command does."""

import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np

from solvable.cli import cases, figures
from solvable.cli.printing import print_json
from solvable.problems import InvalidProblem
from solvable.problems.foreign import one_line

PICTURES = (".png", ".pdf", ".svg")
BAD_INPUT = (ValueError, KeyError, OSError)


def call(options: Namespace) -> int:
    """Run a command; bad input becomes one line per mistake and exit code 2."""
    try:
        for name, value in vars(options).items():
            if isinstance(value, list):  # what the parser makes of "--name=--"
                raise ValueError(f"--{name}: '--' given, must be a value")
        return COMMANDS[options.command](options)
    except BrokenPipeError:
        raise
    except (MemoryError, RecursionError) as error:
        what = "needs more memory than there is" if isinstance(error, MemoryError) else "is nested too deeply"
        print(f"solvable: {getattr(options, 'file', options.command)}: {what}", file=sys.stderr)
        return 2
    except BAD_INPUT as error:
        for line in explain(error):
            print(f"solvable: {one_line(line)}", file=sys.stderr)
        return 2


def explain(error: BaseException) -> list[str]:
    if isinstance(error, InvalidProblem):
        return error.problems
    if isinstance(error, OSError):
        name = f"{error.filename}: " if error.filename else ""
        return [f"{name}{error.strerror or error}"]
    return [str(error.args[0]) if error.args else type(error).__name__]


def run(options: Namespace) -> int:
    from solvable import runfiles

    file = runfiles.read(
        options.file,
        {
            "level": {
                "name": options.level,
                "runs": _whole("--runs", options.runs),
                "seed": _whole("--level-seed", options.level_seed),
            },
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
        _check_output(Path(options.output))
    from solvable.levels import run as follow
    from solvable.levels.running import clock_of
    from solvable.results import Ending

    level = file.level.level()
    if file.start.seed is None and file.start.is_drawn:
        raise ValueError("start.seed: is missing; give it by --seed or in the table [start]")
    if file.run.until is None and file.run.times is None:
        raise ValueError("run.until: is missing; give it by --until or in the table [run]")
    first = file.start.draw(file.problem)
    table = file.run
    if options.dry_run:
        end = table.until or max(table.times or (0,))
        print(
            f"would run {level} on problem {file.problem.hash[:12]} until {end} ({clock_of(level, file.problem, table.clock).unit})"
        )
        return 0
    stop = None if table.stop is None else table.stop.threshold()
    trajectory = follow(
        file.problem, first, level, table.until,
        times=table.times, clock=table.clock, stop=stop, keep_blocks=table.keep_blocks,
    )  # fmt: skip
    if options.output is not None:
        trajectory.save(options.output)
    summary = _summary(trajectory, options.output)
    if options.json:
        print_json(summary)
    else:
        _print_summary(trajectory, summary)
    if Ending.INTERRUPTED in trajectory.ending:
        return 130
    return 0 if trajectory.success else 1


def _summary(trajectory: Any, output: str | None) -> dict[str, Any]:
    """Of all runs: times of the first passage and last risks are medians over those that have one."""
    runs = len(trajectory.risk)
    begun = np.flatnonzero(trajectory.end_alpha > 0) if (trajectory.end_alpha > 0).any() else np.arange(runs)
    half, last = trajectory.exit_time(0.5), trajectory.end_risk[begun]
    endings = [ending.name.lower() for ending in trajectory.ending]
    return {
        "problem": trajectory.problem.hash,
        "level": trajectory.level,
        "runs": runs,
        "clock": trajectory.unit,
        "success": trajectory.success,
        "ending": endings[0]
        if len(set(endings)) == 1
        else {name: endings.count(name) for name in sorted(set(endings))},
        "message": trajectory.message,
        "end_time": float(np.median(trajectory.end_time[begun])),
        "risk": {"first": float(trajectory.start_risk[0]), "last": _median(last)},
        **_training(trajectory, begun),
        **cases.facts(trajectory, begun),
        "risk_error": float(np.nanmax(trajectory.risk_error, initial=0.0)),
        "overlap_error": float(np.nanmax(trajectory.overlap_error, initial=0.0)),
        "half_risk_time": _median(half),
        "half_risk_runs": int(np.isfinite(half).sum()),
        "plateaus": [plateau._asdict() | {"length": plateau.length} for plateau in trajectory.plateaus(0)],
        "nfev": int(trajectory.nfev.sum()),
        "output": output,
    }


def _training(trajectory: Any, runs: np.ndarray) -> dict[str, Any]:
    """Last training loss and population loss, where there is a data set."""
    if trajectory.training_loss is None:
        return {}
    losses = {"training_loss": trajectory.training_loss, "population_loss": trajectory.population_loss}
    if trajectory.base == "steps":
        losses = {"training_loss": trajectory.training_loss, "gap": trajectory.gap}
        losses = {name: values for name, values in losses.items() if values is not None}
    return {name: _median(np.array([_last(values[i]) for i in runs])) for name, values in losses.items()}


def _last(values: np.ndarray) -> float:
    finite = values[np.isfinite(values)]
    return float(finite[-1]) if finite.size else float("nan")


def _median(values: np.ndarray) -> float | None:
    """Of the finite ones."""
    finite = values[np.isfinite(values)]
    return float(np.median(finite)) if finite.size else None


def _print_summary(trajectory: Any, summary: dict[str, Any]) -> None:
    first, last = summary["risk"]["first"], summary["risk"]["last"]
    print(f"{trajectory.level}: {trajectory.message}")
    ended = f"{last:.6g}" if last is not None else "no finite value"
    many = " (median)" if summary["runs"] > 1 else ""
    print(f"risk {first:.6g} -> {ended} at {trajectory.clock.label} {summary['end_time']:.6g}{many}")
    if summary.get("training_loss") is not None:
        other = "gap" if trajectory.base == "steps" else "population_loss"
        told = f", {other.replace('_', ' ')} {summary[other]:.6g}" if summary.get(other) is not None else ""
        print(f"last output: training loss {summary['training_loss']:.6g}{told}{many}")
    for line in cases.lines(summary, many):
        print(line)
    over = "replicas" if trajectory.level == "empirical_macro" else None
    if summary["risk_error"] > 0:
        print(f"error of the risk, of averages over {over or 'nodes or rows'}: up to {summary['risk_error']:.2g}")
    if summary["overlap_error"] > 0:
        size = f"up to {summary['overlap_error']:.2g}" if summary["overlap_error"] < np.inf else "not known"
        print(f"error of the overlaps, of averages over {over or 'nodes'}: {size}")
    if summary["half_risk_time"] is not None:
        of = f" (median of {summary['half_risk_runs']} of {summary['runs']} runs)" if many else ""
        print(f"half the first risk at {summary['half_risk_time']:.6g}{of}")
    for plateau in summary["plateaus"]:
        span = f"from {plateau['start']:.6g} to {plateau['end']:.6g}"
        print(f"{'first run: ' if many else ''}plateau at risk {plateau['height']:.6g} {span}")
    if summary["output"] is not None:
        print(f"wrote {summary['output']}")


def landscape(options: Namespace) -> int:
    from dataclasses import asdict

    from solvable.landscape import critical_points
    from solvable.problems import Problem

    output = None if options.output is None else Path(options.output)
    if output is not None:
        _check_output(output, PICTURES)
    problem = Problem.load(options.file)
    points = critical_points(problem)
    if output is not None:
        _draw_atlas(problem, output)
    if options.json:
        print_json([asdict(point) | {"kind": point.kind} for point in points])
        return 0
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    names = ["outside", "inside", "kind", "risk", "index", "flat"]
    for name in names:
        table.add_column(name, justify="left" if name == "kind" else "right", no_wrap=True)
    table.add_column("eigenvalues (times)")
    for point in points:
        spectrum = ", ".join(f"{value:.4g} ({count})" for value, count in point.spectrum)
        cells = (point.outside, point.inside, point.kind, f"{point.risk:.6g}", point.index, point.flat, spectrum)
        table.add_row(*map(str, cells))
    Console().print(table)
    if output is not None:
        print(f"wrote {output}")
    return 0


def theory(options: Namespace) -> int:
    from solvable.problems import Problem
    from solvable.theory import available

    listed = available(Problem.load(options.file), why=True)
    refused = [one for one in listed if not one.applies]
    if options.json:
        print_json([one.as_dict() for one in listed if one.applies or options.all])
        return 0
    for one in listed:
        if one.applies:
            print(one)
    if options.all:
        for reasons in dict.fromkeys(one.reasons for one in refused):
            print("", *reasons, sep="\n", end=":\n")
            print(f"  {', '.join(one.name for one in refused if one.reasons == reasons)}")
    elif refused:
        none = len(refused) == len(listed)
        some = (
            f"none of the {len(listed)} closed forms applies"
            if none
            else f"{len(refused)} other closed forms do not apply"
        )
        print(f"({some} to this problem; --all says why)")
    return 0


def spectrum(options: Namespace) -> int:
    from solvable.cli import spectrum as report
    from solvable.problems import Data
    from solvable.theory import forecast

    output = None if options.output is None else Path(options.output)
    if output is not None:
        _check_output(output, PICTURES)
    data = Data(options.file, array=options.array)
    window = {"first": _whole("--first", options.first), "last": _whole("--last", options.last)}
    rate, width = _number("--rate", options.rate), _whole("--width", options.width)
    found = forecast(
        data.eigenvalues, learning_rate=0.1 if rate is None else rate, width=2 if width is None else width, **window
    ).value
    if output is not None:
        from solvable.plot import forecast as draw
        from solvable.plot import style
        from solvable.results.files import write_whole

        with style():
            picture = draw(found)
            write_whole(output, lambda path: picture.savefig(path, format=output.suffix[1:]))
    told = report.facts(found, 0 if data.rows is None else len(data.rows), options.output)
    if options.json:
        print_json(told)
        return 0
    for line in report.lines(found, told):
        print(line)
    if output is not None:
        print(f"wrote {output}")
    return 0


def _draw_atlas(problem: Any, output: Path) -> None:
    from solvable.landscape import atlas
    from solvable.plot import atlas as draw
    from solvable.plot import style
    from solvable.results.files import write_whole

    with style():
        picture = draw(atlas(problem))
        write_whole(output, lambda path: picture.savefig(path, format=output.suffix[1:]))


def optimal(options: Namespace) -> int:
    from solvable.cli import schedules

    for option, path, endings in [("--output", options.output, (".toml",)), ("--plot", options.plot, PICTURES)]:
        if path is not None:
            _check_output(Path(path), endings, option)
    return schedules.optimal(options, _number("--until", options.until), _whole("--seed", options.seed))


def sweep(options: Namespace) -> int:
    from solvable.cli import sweeping

    options.workers = _whole("--workers", options.workers)
    return sweeping.sweep(options)


def store(options: Namespace) -> int:
    from solvable.cli import sweeping

    return sweeping.store(options)


def explore(options: Namespace) -> int:
    from importlib import import_module

    port = _whole("--port", options.port)
    if port is None or not 0 <= port < 65536:
        raise ValueError(f"--port: {options.port} given, must be from 0 to 65535")
    serve = import_module("solvable.web.serve")  # the page is a room of its own, which knows no commands
    code: int = serve.serve(options.host, port, not options.no_browser)
    return code


def warm_up(options: Namespace) -> int:
    from solvable.numerics.kernels_on_disk import PREFIX, cache_directory, is_writable
    from solvable.runfiles.warming import warm_up as compile_beforehand

    if not is_writable():
        raise ValueError(f"warm-up: machine code cannot be kept in {cache_directory()}; set SOLVABLE_CACHE_DIR")
    compile_beforehand(options.all, lambda name, seconds: print(f"{name}: {seconds:.0f} s", flush=True))
    kept = any(cache_directory().glob(PREFIX + "*"))
    print(f"machine code is kept in {cache_directory()}" if kept else "machine code came with the installation")
    return 0


def completion(options: Namespace) -> int:
    import shtab

    from solvable.cli.main import parser

    print(shtab.complete(parser(), options.shell))
    return 0


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


def _check_output(path: Path, endings: tuple[str, ...] = (".nc",), option: str = "--output") -> None:
    """Before anything is computed."""
    if path.suffix not in endings:
        raise ValueError(
            f"{option}: {path} given, must end in {' or '.join(endings)}{' (NetCDF)' if endings == ('.nc',) else ''}"
        )
    if not path.parent.is_dir():
        raise ValueError(f"{option}: the directory {path.parent} does not exist")
    if path.is_dir():
        raise ValueError(f"{option}: {path} is a directory, must be a file")


COMMANDS = {
    "run": run,
    "figures": figures.figures,
    "figure": figures.figure,
    "reproduce": figures.reproduce,
    "claims": figures.claims,
    "landscape": landscape,
    "theory": theory,
    "spectrum": spectrum,
    "optimal": optimal,
    "sweep": sweep,
    "store": store,
    "explore": explore,
    "warm-up": warm_up,
    "completion": completion,
}

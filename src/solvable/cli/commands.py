"""What each command does."""

import warnings
from argparse import Namespace
from pathlib import Path
from typing import Any

from solvable.cli import figures
from solvable.cli.printing import complain, print_json
from solvable.problems import InvalidProblem
from solvable.problems.file_tables import naming

PICTURES = (".png", ".pdf", ".svg")
BAD_INPUT = (ValueError, KeyError, OSError)


def call(options: Namespace) -> int:
    """Run a command; bad input becomes one line per mistake and exit code 2."""
    try:
        for name, value in vars(options).items():
            if isinstance(value, list):  # what the parser makes of "--name=--"
                raise ValueError(f"--{name}: '--' given, must be a value")
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_: complain(str(message))
            return COMMANDS[options.command](options)
    except BrokenPipeError:
        raise
    except (MemoryError, RecursionError) as error:
        what = "needs more memory than there is" if isinstance(error, MemoryError) else "is nested too deeply"
        complain(f"{getattr(options, 'file', options.command)}: {what}")
        return 2
    except BAD_INPUT as error:
        for line in explain(error):
            complain(line)
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
    from solvable.cli import running
    from solvable.levels import run as follow
    from solvable.levels.running import clock_of
    from solvable.results import Ending

    given = {
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
    }
    file = runfiles.read(options.file, given)
    with naming(options.file, runfiles.given(given)):
        first = _checked_start(file, options)
    level, table = file.level.level(), file.run
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
    if options.plot is not None:
        running.draw(trajectory, Path(options.plot))
    summary = running.summarise(trajectory, options.output, options.plot)
    if options.json:
        print_json(summary)
    else:
        running.print_summary(trajectory, summary, file.start.defaults(file.problem))
    if Ending.INTERRUPTED in trajectory.ending:
        return 130
    return 0 if trajectory.success else 1


def _checked_start(file: Any, options: Namespace) -> Any:
    """The start of a run of which nothing is missing; else all that is wrong, at once."""
    wrong, first = [], None
    for name, endings in (("output", (".nc",)), ("plot", PICTURES)):
        if (path := getattr(options, name)) is not None:
            try:
                _check_output(Path(path), endings, f"--{name}")
            except ValueError as error:
                wrong.append(str(error))
    if file.run.until is None and file.run.times is None:
        wrong.append("run.until: is missing; write `until = 100` in the table [run], or give --until 100")
    try:
        first = file.start.draw(file.problem)
    except ValueError as error:
        wrong.append(str(error))
    if wrong:
        raise InvalidProblem(wrong)
    return first


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


def fit(options: Namespace) -> int:
    from solvable.cli import fitting

    if options.output is not None:
        _check_output(Path(options.output), PICTURES)
    return fitting.fit(options)


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
    from solvable.cli.main import parser
    from solvable.numerics.installing import missing

    try:
        import shtab
    except ImportError:
        raise missing("completion", "shtab", "completion") from None

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


def _check_output(path: Path, endings: tuple[str, ...] = (".nc",), name: str = "--output") -> None:
    """Before anything is computed."""
    if path.suffix not in endings:
        raise ValueError(
            f"{name}: {path} given, must end in {' or '.join(endings)}{' (NetCDF)' if endings == ('.nc',) else ''}"
        )
    if not path.parent.is_dir():
        raise ValueError(f"{name}: the directory {path.parent} does not exist")
    if path.is_dir():
        raise ValueError(f"{name}: {path} is a directory, must be a file")


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
    "fit": fit,
    "sweep": sweep,
    "store": store,
    "explore": explore,
    "warm-up": warm_up,
    "completion": completion,
}

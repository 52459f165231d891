"""The command `solvable`: parse, call, print. Exit codes: 0 done, 1 ran but failed (a claim, a diverged run), 2 bad input."""

import argparse
import os
import sys
from collections.abc import Sequence

from solvable import __version__

STORE = "solvable.store"


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

    run = command(
        "run",
        "follow a problem, read from a TOML or JSON file",
        "The file has the tables [teacher], [student], [inputs], [training] and, optionally,\n"
        "[start], [level] and [run]; options given here win over the file.",
    )
    run.add_argument("file", help="problem.toml or problem.json")
    run.add_argument(
        "--level", choices=["empirical", "macro", "meso", "micro"], help="level of description (default: macro)"
    )
    run.add_argument("--runs", metavar="N", help="how many runs, for micro, meso and empirical")
    run.add_argument("--level-seed", metavar="SEED", help="seed of the samples that these draw")
    run.add_argument("--until", metavar="TIME", help="how long, in the unit of --clock")
    run.add_argument(
        "--clock",
        metavar="UNIT",
        help="alpha (steps/dim; the default, but for empirical), steps, rate, or a paper's key",
    )
    run.add_argument("--seed", help="draw the start from this seed")
    run.add_argument("--scale", help="standard deviation of the students' weights at the start")
    run.add_argument("--students", choices=["gaussian", "orthogonal", "spanning"], help="law of the start")
    run.add_argument("--cross", help="size of the cross overlaps of an orthogonal start")
    run.add_argument("--output", metavar="FILE.nc", help="write the trajectory as NetCDF")
    run.add_argument("--json", action="store_true", help="print a summary as JSON")
    run.add_argument("-n", "--dry-run", action="store_true", help="check the file and say what would run")

    figures = command("figures", "list the figures that can be drawn")
    figures.add_argument("--json", action="store_true")

    figure = command("figure", "draw a figure of a paper and judge its claims", "Example: solvable figure bocchi2026/3")
    figure.add_argument("key", help="paper/number, as `solvable figures` lists them")
    _drawing_options(figure)

    reproduce = command("reproduce", "draw all figures, of one paper or of all")
    reproduce.add_argument("paper", nargs="?", help="a paper's key (default: all)")
    _drawing_options(reproduce)

    claims = command(
        "claims",
        "judge the claims of the papers, without drawing",
        "With --coverage nothing is computed: it lists what each paper states and which figure or test judges it.",
    )
    claims.add_argument("paper", nargs="?", help="a paper's key (default: all)")
    how = claims.add_mutually_exclusive_group()
    how.add_argument("--full", action="store_true", help="at full size instead of the quick form")
    how.add_argument("--coverage", action="store_true", help="list the statements of the papers, and what judges each")
    claims.add_argument("--json", action="store_true", help="print them as JSON")

    landscape = command(
        "landscape",
        "list the critical points of the population risk of a problem",
        "Quadratic units. Eigenvalues are of the Hessian by the weights over sqrt(dim).",
    )
    landscape.add_argument("file", help="problem.toml or problem.json")
    landscape.add_argument("--output", metavar="FILE.png", help="draw them, with their spectra (.png, .pdf or .svg)")
    landscape.add_argument("--json", action="store_true", help="print them as JSON")

    spectrum = command(
        "spectrum",
        "read the power law of data and forecast learning on them",
        "Rows in a .npy file, or an array of a .npz file. Fits the eigenvalues of their covariance, and predicts the\n"
        "learning curve of a linear student and the plateau of erf students.",
    )
    spectrum.add_argument("file", help="rows.npy or rows.npz, (samples, dim)")
    spectrum.add_argument("--array", metavar="NAME", help="which array of a .npz file")
    spectrum.add_argument("--first", metavar="RANK", help="first eigenvalue of the fit (default: 2)")
    spectrum.add_argument("--last", metavar="RANK", help="last eigenvalue of the fit (default: half of them)")
    spectrum.add_argument("--rate", help="learning rate (default: 0.1)")
    spectrum.add_argument("--width", metavar="M", help="erf students and teachers (default: 2)")
    spectrum.add_argument("--output", metavar="FILE.png", help="draw it (.png, .pdf or .svg)")
    spectrum.add_argument("--json", action="store_true", help="print it as JSON")

    sweep = command(
        "sweep",
        "run a grid of problems, levels and seeds, and keep every result",
        "The file has the tables of a run, and [vary] with lists of values; docs/GUIDE.md explains [derive] and [sweep].\n"
        "The same command continues where the last one ended.",
    )
    sweep.add_argument("file", help="sweep.toml or sweep.json")
    sweep.add_argument("--store", metavar="DIRECTORY", default=STORE, help=f"where results are kept (default: {STORE})")
    sweep.add_argument("--workers", metavar="N", help="processes (default: one for each core; 0: none but this one)")
    sweep.add_argument("--cluster", metavar="ADDRESS", help="compute on the Dask cluster whose scheduler is there")
    sweep.add_argument("--shard", metavar="I/N", help="the I-th of N shares, for job arrays; all write into one store")
    sweep.add_argument("--retry", action="store_true", help="try points again that failed")
    sweep.add_argument(
        "--stale", choices=["keep", "recompute"], default="keep",
        help="what becomes of results that other code than this made (default: keep, and say so)",
    )  # fmt: skip
    sweep.add_argument("--show", action="store_true", help="draw what is there so far")
    sweep.add_argument("--quantity", metavar="NAME", help="what --show draws, as exit_time, end_risk or success")
    sweep.add_argument("--output", metavar="FILE.png", help="where --show draws (default: the sweep's title)")
    sweep.add_argument("--json", action="store_true", help="print the status as JSON")
    sweep.add_argument("-n", "--dry-run", action="store_true", help="time a few points and estimate all, store nothing")

    store = command(
        "store",
        "look after the results of sweeps",
        "status   which sweeps are there, and how far they are\n"
        "verify   read everything and compare checksums; --repair sets damaged files aside\n"
        "gather   write a sweep as .nc, .parquet or .csv\n"
        "compact  join small files",
    )
    store.add_argument("action", choices=["status", "verify", "gather", "compact"])
    store.add_argument("--store", metavar="DIRECTORY", default=STORE, help=f"where the results are (default: {STORE})")
    store.add_argument(
        "--repair", action="store_true", help="of verify: set damaged files aside, keep what is sound in them"
    )
    store.add_argument("--sweep", metavar="NAME", help="of gather: title or number, as status lists them")
    store.add_argument("--output", metavar="FILE", help="of gather: a file that ends in .nc, .parquet or .csv")
    store.add_argument("--json", action="store_true", help="print as JSON")

    explore = command(
        "explore",
        "open a page in which one moves a problem and sees its learning",
        "Serves on this machine alone, unless --host says otherwise. Ctrl-C ends it.",
    )
    explore.add_argument("--port", metavar="N", default="8642", help="where to listen (default: 8642; 0: any free one)")
    explore.add_argument(
        "--host", metavar="ADDRESS", default="127.0.0.1", help="address to listen at (default: 127.0.0.1)"
    )
    explore.add_argument("--no-browser", action="store_true", help="do not open a browser")

    warm_up = command(
        "warm-up",
        "compile for this machine, so that nothing needs to later",
        "Takes half a minute on two cores, once. The environment variable SOLVABLE_CACHE_DIR says where machine code is kept.",
    )
    warm_up.add_argument(
        "--all", action="store_true", help="what is seldom used too: finite data, stiff spectra, full weights, classes"
    )

    completion = command(
        "completion",
        "print a completion script for a shell",
        "Example: solvable completion bash > ~/.local/share/bash-completion/completions/solvable",
    )
    completion.add_argument("shell", choices=["bash", "zsh", "tcsh"])
    return main


def _drawing_options(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--quick", action="store_true", help="seconds instead of the full size")
    sub.add_argument("--output", metavar="DIRECTORY", default="figures", help="where to write (default: figures)")
    sub.add_argument(
        "--store", metavar="DIRECTORY", help="keep the points of figures that are sweeps, and continue from them"
    )
    sub.add_argument("--json", action="store_true", help="print the verdicts as JSON")
    sub.add_argument("-n", "--dry-run", action="store_true", help="say what would be drawn and written")


def main(argv: Sequence[str] | None = None) -> int:
    options = parser().parse_args(argv)
    try:
        from solvable.cli import commands

        return commands.call(options)
    except BrokenPipeError:  # whoever read our output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("solvable: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())

"""Which options each command has: one function for each, which adds its parser. Nothing here loads what the commands need."""

import re
from argparse import ArgumentParser
from collections.abc import Callable

from solvable import _LEVELS

STORE = "solvable.store"
Command = Callable[..., ArgumentParser]  # (name, what it does, details)


def run(command: Command) -> None:
    sub = command(
        "run",
        "follow a problem, read from a TOML or JSON file",
        "The file has the tables [teacher], [student], [inputs], [training] and, optionally, [start], [level] and [run]; "
        "options given here win over the file. Without a seed the start is drawn from seed 0.",
    )
    sub.add_argument("file", help="problem.toml or problem.json")
    levels = [re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower() for name in _LEVELS]  # as the levels name themselves
    sub.add_argument("--level", choices=levels, help="level of description (default: macro)")
    sub.add_argument("--runs", metavar="N", help="how many runs, for levels that draw samples")
    sub.add_argument("--level-seed", metavar="SEED", help="seed of the samples that these draw")
    sub.add_argument("--until", metavar="TIME", help="how long, in the unit of --clock")
    sub.add_argument(
        "--clock",
        metavar="UNIT",
        help="alpha (steps/dim; the default, but on a data set), steps, rate, epochs, or a paper's key",
    )
    sub.add_argument("--seed", help="draw the start from this seed (default: 0)")
    sub.add_argument("--scale", help="standard deviation of the students' weights at the start")
    sub.add_argument("--students", choices=["gaussian", "orthogonal", "spanning"], help="law of the start")
    sub.add_argument("--cross", help="size of the cross overlaps of an orthogonal start")
    sub.add_argument("--output", metavar="FILE.nc", help="write the trajectory as NetCDF")
    sub.add_argument(
        "--plot",
        metavar="FILE.png",
        help="draw risk (training and test loss of a data set) and overlaps (.png, .pdf or .svg)",
    )
    sub.add_argument("--json", action="store_true", help="print a summary as JSON")
    sub.add_argument("-n", "--dry-run", action="store_true", help="check the file and say what would run")


def figures(command: Command) -> None:
    sub = command("figures", "list the figures that can be drawn")
    sub.add_argument("--json", action="store_true")


def figure(command: Command) -> None:
    sub = command("figure", "draw a figure of a paper and judge its claims", "Example: solvable figure bocchi2026/3")
    sub.add_argument("key", help="paper/number, as `solvable figures` lists them")
    _drawing_options(sub)


def reproduce(command: Command) -> None:
    sub = command("reproduce", "draw all figures, of one paper or of all")
    sub.add_argument("paper", nargs="?", help="a paper's key (default: all)")
    _drawing_options(sub)


def claims(command: Command) -> None:
    sub = command(
        "claims",
        "judge the claims of the papers, without drawing",
        "With --coverage nothing is computed: it lists what each paper states and which figure or test judges it.",
    )
    sub.add_argument("paper", nargs="?", help="a paper's key (default: all)")
    how = sub.add_mutually_exclusive_group()
    how.add_argument("--quick", action="store_true", help="seconds instead of the full size (default)")
    how.add_argument("--full", action="store_true", help="at full size instead of the quick form")
    how.add_argument("--coverage", action="store_true", help="list the statements of the papers, and what judges each")
    sub.add_argument("--json", action="store_true", help="print them as JSON")


def landscape(command: Command) -> None:
    sub = command(
        "landscape",
        "list the critical points of the population risk of a problem",
        "Quadratic units. Eigenvalues are of the Hessian by the weights over sqrt(dim).",
    )
    sub.add_argument("file", help="problem.toml or problem.json")
    sub.add_argument("--output", metavar="FILE.png", help="draw them, with their spectra (.png, .pdf or .svg)")
    sub.add_argument("--json", action="store_true", help="print them as JSON")


def theory(command: Command) -> None:
    sub = command(
        "theory",
        "list the closed-form predictions that apply to a problem",
        "Each is listed with its value, where it needs the problem alone, and with what it is. "
        "They are functions of solvable.theory; `start` is a start, `state` one near a plateau or the teacher, `alpha` times.",
    )
    sub.add_argument("file", help="problem.toml or problem.json")
    sub.add_argument("--all", action="store_true", help="also those that do not apply, by the reason why")
    sub.add_argument("--json", action="store_true", help="print them as JSON")


def spectrum(command: Command) -> None:
    sub = command(
        "spectrum",
        "read the power law of data and forecast learning on them",
        "Rows in a .npy file, or an array of a .npz file. Fits the eigenvalues of their covariance, and predicts the "
        "learning curve of a linear student and the plateau of erf students.",
    )
    sub.add_argument("file", help="rows.npy or rows.npz, (samples, dim)")
    sub.add_argument("--array", metavar="NAME", help="which array of a .npz file")
    sub.add_argument("--first", metavar="RANK", help="first eigenvalue of the fit (default: 2)")
    sub.add_argument("--last", metavar="RANK", help="last eigenvalue of the fit (default: half of them)")
    sub.add_argument("--rate", help="learning rate (default: 0.1)")
    sub.add_argument("--width", metavar="M", help="erf students and teachers (default: 2)")
    sub.add_argument("--output", metavar="FILE.png", help="draw it (.png, .pdf or .svg)")
    sub.add_argument("--json", action="store_true", help="print it as JSON")


def optimal(command: Command) -> None:
    sub = command(
        "optimal",
        "find the best schedule of learning rates and other numbers",
        "The file has the tables of a run, and [control] with what is free: training.learning_rate = 50 for fifty values in\n"
        'time, or { segments = 50, shape = "linear", upper = 2.0 }; objective, integral, guesses and refine as well.\n'
        "Exit code 1: finer segments would still gain, although refine is on.",
    )
    sub.add_argument("file", help="problem.toml or problem.json")
    sub.add_argument("--until", metavar="TIME", help="how long, in steps/dim")
    sub.add_argument("--seed", help="draw the start from this seed")
    sub.add_argument("--output", metavar="FILE.toml", help="write the problem with its schedule, for `solvable run`")
    sub.add_argument("--plot", metavar="FILE.png", help="draw the schedule and the risk (.png, .pdf or .svg)")
    sub.add_argument("--json", action="store_true", help="print the result as JSON")


def fit(command: Command) -> None:
    sub = command(
        "fit",
        "infer numbers of a problem from a learning curve",
        "The curve has the columns time (or alpha, steps), risk (or mse, loss; several are runs) and, optionally, error.\n"
        "The problem has the tables of a run; [start] says how the training began, [fit] may hold what is asked here.\n"
        "Example: solvable fit curve.csv problem.toml --free training.learning_rate,teacher.width=1:4",
    )
    sub.add_argument("curve", help="curve.csv")
    sub.add_argument("file", help="problem.toml or problem.json")
    sub.add_argument("--free", metavar="NAMES", help="what to infer: name,name=guess,name=lower:upper")
    sub.add_argument("--clock", metavar="UNIT", help="alpha (steps/dim, the default), steps, rate, or a paper's key")
    sub.add_argument(
        "--quantity", choices=["risk", "mse", "loss"],
        help="what the curve is: without label noise, over the loss factor, or with label noise (default: as its column says)",
    )  # fmt: skip
    sub.add_argument("--time", metavar="COLUMN", help="the column of times, if it has another name")
    sub.add_argument("--value", metavar="COLUMNS", help="the columns of values, as val_loss or run_*; several are runs")
    sub.add_argument("--error", metavar="COLUMN", help="the column of errors")
    sub.add_argument(
        "--noise", choices=["replicas", "simulated", "errors", "scatter"],
        help="where the noise comes from (default: the first of these that there is)",
    )  # fmt: skip
    sub.add_argument("--output", metavar="FILE.png", help="draw data, fit and band (.png, .pdf or .svg)")
    sub.add_argument("--json", action="store_true", help="print it as JSON")


def sweep(command: Command) -> None:
    sub = command(
        "sweep",
        "run a grid of problems, levels and seeds, and keep every result",
        "The file has the tables of a run, and [vary] with lists of values; docs/GUIDE.md explains [derive] and [sweep]. "
        "The same command continues where the last one ended.",
    )
    sub.add_argument("file", help="sweep.toml or sweep.json")
    sub.add_argument("--store", metavar="DIRECTORY", default=STORE, help=f"where results are kept (default: {STORE})")
    sub.add_argument("--workers", metavar="N", help="processes (default: one for each core; 0: none but this one)")
    sub.add_argument("--cluster", metavar="ADDRESS", help="compute on the Dask cluster whose scheduler is there")
    sub.add_argument("--shard", metavar="I/N", help="the I-th of N shares, for job arrays; all write into one store")
    sub.add_argument("--retry", action="store_true", help="try points again that failed")
    sub.add_argument(
        "--stale", choices=["keep", "recompute"], default="keep",
        help="what becomes of results that other code than this made (default: keep, and say so)",
    )  # fmt: skip
    sub.add_argument("--show", action="store_true", help="draw what is there so far")
    sub.add_argument(
        "--quantity",
        metavar="NAME",
        help="what --show draws, as exit_time, end_risk or success; train_and_test draws the losses of a data set",
    )
    sub.add_argument("--output", metavar="FILE.png", help="where --show draws (default: the sweep's title)")
    sub.add_argument("--json", action="store_true", help="print the status as JSON")
    sub.add_argument("-n", "--dry-run", action="store_true", help="time a few points and estimate all, store nothing")


def store(command: Command) -> None:
    sub = command(
        "store",
        "look after the results of sweeps",
        "status   which sweeps are there, and how far they are\n"
        "verify   read everything, compare checksums; --repair sets damaged files aside\n"
        "gather   write a sweep as .nc, .parquet or .csv\n"
        "compact  join small files",
    )
    sub.add_argument("action", choices=["status", "verify", "gather", "compact"])
    sub.add_argument("--store", metavar="DIRECTORY", default=STORE, help=f"where the results are (default: {STORE})")
    sub.add_argument(
        "--repair", action="store_true", help="of verify: set damaged files aside, keep what is sound in them"
    )
    sub.add_argument("--sweep", metavar="NAME", help="of gather: title or number, as status lists them")
    sub.add_argument("--output", metavar="FILE", help="of gather: a file that ends in .nc, .parquet or .csv")
    sub.add_argument("--json", action="store_true", help="print as JSON")


def explore(command: Command) -> None:
    sub = command(
        "explore",
        "open a web page with sliders; the learning curve follows",
        "Serves on this machine alone, unless --host says otherwise. Ctrl-C ends it.",
    )
    sub.add_argument("--port", metavar="N", default="8642", help="where to listen (default: 8642; 0: any free one)")
    sub.add_argument("--host", metavar="ADDRESS", default="127.0.0.1", help="address to listen at (default: 127.0.0.1)")
    sub.add_argument("--no-browser", action="store_true", help="do not open a browser")


def warm_up(command: Command) -> None:
    sub = command(
        "warm-up",
        "compile for this machine, so that nothing needs to later",
        "Needed once; shows how far it is. The environment variable SOLVABLE_CACHE_DIR says where machine code is kept.",
    )
    sub.add_argument(
        "--all", action="store_true", help="what is seldom used too: finite data, stiff spectra, full weights, classes"
    )


def completion(command: Command) -> None:
    sub = command(
        "completion",
        "print a completion script for a shell",
        "Example: solvable completion bash > ~/.local/share/bash-completion/completions/solvable",
    )
    sub.add_argument("shell", choices=["bash", "zsh", "tcsh"])


def _drawing_options(sub: ArgumentParser) -> None:
    sub.add_argument("--quick", action="store_true", help="seconds instead of the full size")
    sub.add_argument("--output", metavar="DIRECTORY", default="figures", help="where to write (default: figures)")
    sub.add_argument(
        "--store", metavar="DIRECTORY", help="keep the points of figures that are sweeps, and continue from them"
    )
    sub.add_argument("--json", action="store_true", help="print the verdicts as JSON")
    sub.add_argument("-n", "--dry-run", action="store_true", help="say what would be drawn and written")


COMMANDS = (
    run,
    figures,
    figure,
    reproduce,
    claims,
    landscape,
    theory,
    spectrum,
    optimal,
    fit,
    sweep,
    store,
    explore,
    warm_up,
    completion,
)

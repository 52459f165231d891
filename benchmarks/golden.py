"""Keep the results of many short runs, and compare those of other sources with them.

    python benchmarks/golden.py write FILE              # before a rewrite of compiled code
    python benchmarks/golden.py compare FILE --rtol 0   # after it; PYTHONPATH chooses the sources
    python benchmarks/golden.py list

A pair is a problem of `golden_problems.py` at one of `LEVELS`, or one of `special`; `--only TEXT`
takes those with TEXT in their name. `compare` prints for each pair the largest deviation, relative
to the largest entry of its array, and returns 1 if one exceeds `--rtol` or a run ended otherwise.
Seeds are fixed, one thread computes and no kernel is interpreted: the same sources on the same
machine give the same bits. Other rounding is amplified by some: one unit in the last place of the
rate moves 70 pairs beyond 1e-12, and those of `Empirical revealed` to other random numbers.
"""

import os

os.environ["SOLVABLE_PATIENCE"] = "0"
os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"

import argparse
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from functools import partial
from pathlib import Path

import numpy as np
from golden_problems import BASE, DATA_SETS, FLOW, OTHER_SETS, PROBLEMS, SETS, problem_of, units

import solvable as sv

Arrays = dict[str, np.ndarray]
Pairs = dict[str, Callable[[], Arrays]]
TIMES = (0.0, 0.5, 1.5, 4.0)
LONG, REST = (0.0, 2.0, 10.0), np.linspace(0, 2000, 41)
IN_STEPS = {"times": (0, 1, 2, 5), "clock": "steps"}
RATE = "training.learning_rate"
LEVELS = {  # by the letters of `PROBLEMS`
    "M": ("Macro", sv.Macro(threads=1)),
    "R": ("Micro reduced", sv.Micro(runs=8, seed=1, threads=1)),
    "r": ("Micro reduced, 3 runs", sv.Micro(runs=3, seed=2, threads=1)),
    "F": ("Micro full", sv.Micro(runs=2, seed=3, form="full", threads=1)),
    "D": ("Meso", sv.Meso(runs=8, seed=4, threads=1)),
    "d": ("Meso, 3 runs", sv.Meso(runs=3, seed=5, threads=1)),
}
LIMIT = sv.EmpiricalMacro(particles=256, replicas=2, seed=1)
ROWS = sv.Data(np.random.default_rng(7).standard_t(6, size=(700, 20)))
DERIVED = (  # properties of a trajectory
    "end_risk", "classification_error", "loss", "rate", "average_risk", "bias", "forgetting",
    "head_start", "gap", "direction_overlap", "anchor_overlap", "velocity_overlap",
    "average_overlap", "snapshot_overlap",
)  # fmt: skip
SLOPES = {  # problem: numbers beside the rate by which its last risk is differentiated
    **dict.fromkeys(("quadratic", "erf", "tanh", "many quadratic", "flips", "rate in steps"), ()),
    "batch": ("training.weight_decay", "training.label_noise", "training.batch"),
    "3 blocks": ("inputs.spectrum.eigenvalues.0", "training.label_noise"),
    "biases": ("training.readout_rate",),
    "classes, erf": ("mixture.probabilities.0",),
    "tasks, heads": ("tasks.0.probability",),
    "dropout in steps": ("training.dropout.keep",),
}
SCALES = {  # errors and differences: the array whose largest entry they are compared with
    "risk_error": "risk", "overlap_error": "student_overlap", "forgetting": "task_risk",
    "head_start": "task_risk", "training_loss_error": "training_loss", "gap": "training_loss",
}  # fmt: skip


def numbers(values: dict, prefix: str = "") -> Arrays:
    """Return the arrays of numbers among the values, also those within named tuples."""
    arrays = {}
    for name, value in values.items():
        if hasattr(value, "_asdict"):
            arrays |= numbers(value._asdict(), f"{prefix}{name}.")
        elif isinstance(value, np.ndarray | float) and np.asarray(value).dtype.kind in "fiub":
            arrays[prefix + name] = np.asarray(value)
    return arrays


def of_run(run: sv.Trajectory) -> Arrays:
    """Return the arrays of a trajectory, and those that follow from them for this problem."""
    arrays = numbers({field.name: getattr(run, field.name) for field in fields(run)})
    for name in DERIVED:
        try:
            arrays |= numbers({name: getattr(run, name)})
        except ValueError:  # not for this problem
            continue
    return arrays


def follow(problem: sv.Problem, level: object, **options: object) -> Arrays:
    """Return the arrays of a short run."""
    start = sv.start(problem, seed=1, students=options.pop("students", "gaussian"))
    options = {"times": TIMES, "keep_blocks": True, "progress": False} | options
    return of_run(sv.run(problem, start, level, **options))


def in_batch(level: object) -> Arrays:
    """Return the arrays of runs from three starts at two rates each."""
    starts = [sv.start(BASE, seed=seed) for seed in range(3)]
    batch = {"learning_rates": [0.1, 0.2], "times": TIMES, "progress": False}
    return of_run(sv.levels.run_batch(BASE, starts, level, **batch))


def slopes(name: str, *others: str, **options: object) -> Arrays:
    """Return the gradient of the last risk by the rate, other numbers and the start."""
    problem = problem_of(name)
    start, of = sv.start(problem, seed=1), (RATE, *others)
    result = sv.gradient(problem, start, until=TIMES[-1], of=of, **options)
    return numbers(vars(result)) | numbers(result.by, "by.")


def best(name: str) -> Arrays:
    """Return the schedule of two pieces that a short search finds, and the risk it reaches."""
    problem, control = problem_of(name), {RATE: sv.Control(segments=2, upper=3.0)}
    start, search = sv.start(problem, seed=1), {"guesses": 1, "refine": False, "progress": False}
    result = sv.optimal(problem, start, until=TIMES[-1], control=control, **search)
    return {"rates": np.array(result.schedule[RATE].rates), "value": np.array(result.value)}


def fitted(name: str, *others: str) -> Arrays:
    """Return estimates and residuals of a fit to a curve that the problem cannot have."""
    problem, times = problem_of(name), np.linspace(0.2, 4.0, 15)
    start = sv.start(problem, seed=1)
    curve = sv.run(problem, start, sv.Macro(threads=1), times=times).risk[0]
    curve *= 1 + 0.02 * np.sin(3 * times)
    guess = problem.replace(training__learning_rate=0.7 * problem.training.learning_rate)
    errors = np.full(times.size, 0.02 * curve[0])
    result = sv.fit((times, curve, errors), guess, free=[RATE, *others], start=start)
    return numbers(result.estimates) | {
        "residual": np.log(curve / result.prediction.ravel()),
        "chi_squared": np.array(result.chi_squared),
    }


def special() -> Iterator[tuple[str, Callable[[], Arrays]]]:
    """Yield the pairs that are no problem of `PROBLEMS` at a level of `LEVELS`."""
    for method, rtol, small_rate, names in [
        ("implicit", 1e-6, False, ("3 blocks", "power law, linear", "many erf")),
        ("weights", 1e-6, True, ("3 blocks", "power law, linear")),
        ("explicit", 1e-5, False, ("quadratic", "erf", "relu", "classes, erf", "many erf")),
        ("explicit", 1e-8, True, ("erf", "relu", "trained readout", "classes, erf", "batch")),
        ("closed", 1e-8, True, ("quadratic",)),
    ]:
        level = sv.Macro(method=method, rtol=rtol, small_rate=small_rate, threads=1)
        text = f"Macro {method} {rtol:g}" + ", small rate" * small_rate
        for name in names:
            yield f"{name} | {text}", partial(follow, problem_of(name), level)
    risk = sv.when("risk", below=0.8, relative=True)
    for label, level in (LEVELS[letter] for letter in "MRFD"):
        for name, stop in [
            *((name, risk) for name in ("quadratic", "erf", "classes, erf")),
            ("many erf", sv.when("cross_overlap", entry=(0, 1), above=0.1)),
            ("sphere", sv.when("cross_overlap", above=0.15)),
            ("erf", sv.when("student_overlap", above=0.1)),
            ("relu", sv.when("norm", below=0.95)),
            ("trained readout", sv.when("readout", below=0.25)),
        ]:
            run = partial(follow, problem_of(name), level, times=LONG, stop=stop)
            yield f"{name} | {label} until {stop.quantity}", run
        yield f"quadratic | {label}, batch of rates", partial(in_batch, level)
    trace = sv.when(lambda overlaps: np.trace(overlaps.student_overlap), below=2.9)
    loss = sv.when("training_loss", below=0.7, relative=True)
    rows, row_sets = BASE.replace(inputs__dim=ROWS.dim), SETS.replace(inputs__dim=ROWS.dim)
    drawn, spanning = replace(ROWS, order="drawn"), FLOW.replace(student__width=4)
    relu, unlimited = SETS.replace(**units("relu")), FLOW.replace(training__samples=None)
    for name, problem, level, options in [
        ("relu | Macro, few nodes", problem_of("many relu"), sv.Macro(nodes=256, node_seed=3), {}),
        ("erf | Macro until a function", problem_of("erf"), sv.Macro(), {"stop": trace}),
        ("linear | Macro comes to rest", problem_of("linear"), sv.Macro(), {"times": REST}),
        ("erf | Macro, step limit", problem_of("erf"), sv.Macro(max_steps=5), {"times": (1, 2000)}),
        ("quadratic | Meso, fixed leap", BASE, sv.Meso(runs=3, leap=0.05, samples=32), {}),
        ("quadratic | Micro, some trained", BASE, sv.Micro(runs=2, trained=100), {}),
        ("rows | Micro", rows, sv.Micro(data=ROWS), {}),
        ("rows drawn | Micro", rows, sv.Micro(runs=2, data=drawn), {}),
        ("flow | Empirical, stabilised", FLOW, sv.Empirical(runs=2, method="stabilised"), {}),
        ("flow | Empirical, implicit", FLOW, sv.Empirical(runs=2, method="implicit"), {}),
        ("flow, spanning | Empirical", spanning, sv.Empirical(), {"students": "spanning"}),
        ("flow, no set | Empirical", unlimited, sv.Empirical(form="flow"), {}),
        ("set of rows | Empirical", row_sets, sv.Empirical(data=ROWS), IN_STEPS),
        ("set until its loss | Empirical", SETS, sv.Empirical(runs=2), IN_STEPS | {"stop": loss}),
        ("set, two times | EmpiricalMacro", SETS, replace(LIMIT, two_times=True), IN_STEPS),
        ("set, relu | EmpiricalMacro", relu, replace(LIMIT, smoothing=0.3), IN_STEPS),
    ]:
        yield name, partial(follow, problem, replace(level, threads=1), **options)
    for name, changes in (DATA_SETS | OTHER_SETS).items():
        forms = ("revealed", "full", "gram") if name in ("all", "subsets") else ("revealed", "full")
        levels = [(f"Empirical {form}", sv.Empirical(runs=2, form=form)) for form in forms]
        for text, level in levels + [("EmpiricalMacro", LIMIT)] * (name in DATA_SETS):
            run = partial(follow, SETS.replace(**changes), replace(level, threads=1), **IN_STEPS)
            yield f"set, {name} | {text}", run
    for name, others in SLOPES.items():
        yield f"{name} | gradient", partial(slopes, name, *others)
    yield "erf | gradient of a time", partial(slopes, "erf", objective=risk)
    yield "tasks | gradient of a mean", partial(slopes, "tasks, heads", objective="mean task risk")
    for name in ("quadratic", "erf", "classes, erf"):
        yield f"{name} | best schedule", partial(best, name)
        yield f"{name} | fit", partial(fitted, name)
    yield "batch | fit of 2 numbers", partial(fitted, "batch", "training.label_noise")


def all_pairs() -> Pairs:
    pairs = {}
    for name, (letters, _) in PROBLEMS.items():
        for label, level in (LEVELS[letter] for letter in letters):
            pairs[f"{name} | {label}"] = partial(follow, problem_of(name), level)
    return pairs | dict(special())


def results(pairs: Pairs) -> Iterator[tuple[str, Arrays, float]]:
    """Run pairs; yield name, arrays (none where a run fails) and CPU seconds."""
    for name, run in pairs.items():
        begin = time.process_time()
        try:
            arrays = run()
        except Exception:
            traceback.print_exc()
            arrays = {}
        yield name, arrays, time.process_time() - begin


def deviation(old: np.ndarray, new: np.ndarray, scale: np.ndarray) -> float:
    """Return the largest difference over the largest entry of `scale`, or infinity."""
    finite = np.isfinite(old)
    if old.shape != new.shape or not np.array_equal(old[~finite], new[~finite], equal_nan=True):
        return np.inf
    difference = np.abs(np.subtract(new[finite], old[finite], dtype=float)).max(initial=0.0)
    largest = np.abs(scale[np.isfinite(scale)]).max(initial=0.0)
    return 0.0 if difference == 0 else float(difference / largest) if largest else np.inf


def compared(old: Arrays, new: Arrays) -> tuple[float, str]:
    """Return the largest deviation and its place; another `nfev` is told, and is no deviation."""
    if old.keys() != new.keys():
        return np.inf, f"only in one: {', '.join(sorted(old.keys() ^ new.keys())) or 'all'}"
    if not np.array_equal(old.get("endings", 0), new.get("endings", 0)):
        return np.inf, f"endings {old['endings'].tolist()} -> {new['endings'].tolist()}"
    scales = {name: old[SCALES.get(name, name)] for name in sorted(old.keys() - {"nfev"})}
    worst, place = max((deviation(old[name], new[name], scales[name]), name) for name in scales)
    work = [int(np.nansum(arrays.get("nfev", 0.0))) for arrays in (old, new)]
    more = f"  nfev {work[0]} -> {work[1]}" if work[0] != work[1] else ""
    return worst, (place if worst else "") + more


def write(file: Path, pairs: Pairs) -> int:
    """Write all arrays, unless a run fails."""
    content, failed, total = {}, [], 0.0
    for name, arrays, seconds in results(pairs):
        content |= {f"{name}//{key}": value for key, value in arrays.items()}
        failed += [name] * (not arrays)
        total += seconds
        endings = np.unique(arrays.get("endings", [])).tolist()
        print(f"{name:48s}{len(arrays):4d} arrays {seconds:7.2f} s  {endings}", flush=True)
    if not failed:
        np.savez_compressed(file, **content)
    print(f"{len(pairs)} pairs, {len(content)} arrays, {total:.0f} CPU s")
    print(f"{len(failed)} failed{'; nothing is written' * bool(failed)}", *failed, sep="\n  ")
    return int(bool(failed))


def compare(file: Path, pairs: Pairs, rtol: float, only: str) -> int:
    """Print the deviation of each pair and how many exceed the tolerance; a pair of the file that is gone exceeds it."""
    old: dict[str, Arrays] = {}
    with np.load(file, allow_pickle=False) as content:
        for key in content.files:
            pair, _, name = key.partition("//")
            old.setdefault(pair, {})[name] = content[key]
    beyond, largest, total = [], 0.0, 0.0
    for name, arrays, seconds in results(pairs):
        worst, place = compared(old.get(name, {}), arrays) if arrays else (np.inf, "failed")
        beyond += [name] * (not worst <= rtol)
        largest, total = max(largest, worst), total + seconds
        print(f"{name:48s}{worst:9.2e} {seconds:7.2f} s  {place}", flush=True)
    beyond += [f"{name} (gone)" for name in old if name not in pairs and only in name]
    print(f"{len(pairs)} pairs in {total:.0f} CPU s with {Path(sv.__file__).parent}")
    print(f"largest deviation {largest:.2e}; {len(beyond)} beyond {rtol:g}", *beyond, sep="\n  ")
    return int(bool(beyond))


def main() -> int:
    kind = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=kind)
    parser.add_argument("command", choices=("write", "compare", "list"))
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument("--rtol", type=float, default=1e-12)
    parser.add_argument("--only", default="", metavar="TEXT")
    chosen = parser.parse_args()
    pairs = {name: run for name, run in all_pairs().items() if chosen.only in name}
    if chosen.command == "list":
        print(*pairs, f"{len(pairs)} pairs", sep="\n")
        return 0
    if chosen.file is None or not pairs:
        parser.error("FILE is missing" if pairs else f"--only: no pair has {chosen.only!r}")
    command = write if chosen.command == "write" else partial(compare, rtol=chosen.rtol, only=chosen.only)
    return command(chosen.file, pairs)


if __name__ == "__main__":
    sys.exit(main())

"""The command `solvable optimal`: the best schedule of a problem that is read from a file."""

from argparse import Namespace
from pathlib import Path
from typing import Any

from solvable.cli.printing import print_json


def optimal(options: Namespace, until: float | None, seed: int | None) -> int:
    """Exit code 0: optimal, or as good as the segments that were asked for allow; 1: even the finest segments would gain; 130:
    interrupted."""
    from solvable import control, runfiles
    from solvable.problems.file_tables import CONTROL_TABLE, read_tables

    tables = read_tables(Path(options.file))
    if CONTROL_TABLE not in tables:
        raise ValueError("control: is missing; a table [control] names what is free, as training.learning_rate = 50")
    table = runfiles.read_control(tables[CONTROL_TABLE])
    rest = {name: one for name, one in tables.items() if name != CONTROL_TABLE}
    file = runfiles.read_content(rest, {"run": {"until": until}, "start": {"seed": seed}})
    if file.start.seed is None and file.start.is_drawn:
        raise ValueError("start.seed: is missing; give it by --seed or in the table [start]")
    if file.run.until is None or file.run.clock not in (None, "alpha"):
        raise ValueError("run.until: is missing; give it by --until or in the table [run], in steps/dim")
    best = control.optimal(
        file.problem, file.start.draw(file.problem), until=file.run.until, control=table.control,
        objective=table.objective, integral=table.integral, guesses=table.guesses, refine=table.refine,
    )  # fmt: skip
    if options.output is not None:
        _write(best, file, Path(options.output))
    if options.plot is not None:
        _draw(best, Path(options.plot))
    wrote = [name for name in (options.output, options.plot) if name is not None]
    if options.json:
        print_json(_facts(best) | {"wrote": wrote})
    else:
        print("\n".join([best.summary(), *(f"wrote {name}" for name in wrote)]))
    if best.message.startswith("interrupted"):
        return 130
    return 0 if best.success or not table.refine else 1


def _facts(best: Any) -> dict[str, Any]:
    numbers, before = best.constant
    mean, spread = best.certificate.hamiltonian
    return {
        "problem": best.problem.hash,
        "quantity": best.quantity,
        "value": best.value,
        "constant": {"value": before, "numbers": numbers},
        "gain": best.gain,
        "schedule": {name: {"times": list(one.times), "rates": list(one.rates), "shape": one.shape}
                     for name, one in best.schedule.items()},
        "certificate": {"gap": best.certificate.gap, "legendre": best.certificate.legendre, "hamiltonian": mean,
                        "spread": spread, "guesses": list(best.certificate.guesses)},
        "success": best.success,
        "message": best.message,
        "gradients": best.calls,
    }  # fmt: skip


def _write(best: Any, file: Any, output: Path) -> None:
    """The problem with its schedules, its start and how long it runs: what `solvable run` reads."""
    import tomli_w

    from solvable.results.files import write_whole

    start = file.start.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    text = best.problem.to_toml() + "\n" + tomli_w.dumps({"start": start, "run": {"until": best.until}})
    write_whole(output, lambda path: Path(path).write_text(text, encoding="utf-8"))


def _draw(best: Any, output: Path) -> None:
    from solvable.plot import style
    from solvable.results.files import write_whole

    with style():
        picture = best.plot()
        write_whole(output, lambda path: picture.savefig(path, format=output.suffix[1:]))

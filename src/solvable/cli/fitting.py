"""What `solvable fit` does: numbers of a problem from a learning curve."""

from argparse import Namespace
from pathlib import Path
from typing import Any

from solvable.cli.printing import print_json


def fit(options: Namespace) -> int:
    """Exit code 1 where the problem does not fit."""
    from solvable import runfiles
    from solvable.fits import fit as infer

    chosen = {"time": options.time, "value": _names(options.value), "error": options.error}
    columns = {role: names for role, names in chosen.items() if names is not None} or None
    given = {
        "free": _free(options.free), "clock": options.clock, "quantity": options.quantity, "noise": options.noise,
        "columns": columns,
    }  # fmt: skip
    file = runfiles.read(options.file, {"fit": given})
    table, start = file.fit, file.start
    if table.free is None:
        raise ValueError("fit.free: is missing; name what is free by --free or in the table [fit]")
    if start.seed is None and start.is_drawn:
        raise ValueError("start.seed: is missing; give overlaps or a seed in the table [start]")
    found = infer(
        Path(options.curve), file.problem, free=_flat(table.free), start=start.arguments, clock=table.clock,
        quantity=table.quantity, noise=table.noise, columns=table.columns, seed=table.seed,
    )  # fmt: skip
    if options.output is not None:
        _draw(found, Path(options.output))
    if options.json:
        print_json(_facts(found, options.output))
    else:
        print(found)
        if options.output is not None:
            print(f"wrote {options.output}")
    return 0 if found.success else 1


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",")]


def _free(text: str | None) -> dict[str, Any] | None:
    """From name,name=guess,name=lower:upper."""
    if text is None:
        return None
    parts = [part.strip().partition("=") for part in text.split(",")]
    return {name: _given(name, value) if equals else "free" for name, equals, value in parts}


def _given(name: str, text: str) -> float | list[float]:
    try:
        numbers = [float(one) for one in text.split(":")]
    except ValueError:
        raise ValueError(f"--free: {name}={text} given, must be a guess or lower:upper") from None
    return numbers[0] if len(numbers) == 1 else numbers


def _flat(free: Any, prefix: str = "") -> Any:
    """Tables within tables by dotted names; "free" is what has no guess."""
    if not isinstance(free, dict):
        return free
    found: dict[str, Any] = {}
    for name, value in free.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{prefix}{name}.")
        else:
            found[prefix + name] = None if value == "free" else value
    return found


def _facts(found: Any, output: str | None) -> dict[str, Any]:
    names = (
        "estimates",
        "intervals",
        "open",
        "chi_squared",
        "degrees",
        "p_value",
        "flat",
        "noise",
        "simulation_error",
        "notes",
        "success",
        "message",
    )
    return {name: getattr(found, name) for name in names} | {"problem": found.problem.hash, "output": output}


def _draw(found: Any, output: Path) -> None:
    from solvable.plot import fit as draw
    from solvable.plot import style
    from solvable.results.files import write_whole

    with style():
        picture = draw(found)
        write_whole(output, lambda path: picture.savefig(path, format=output.suffix[1:]))

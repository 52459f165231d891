"""Numbers of a problem that schedules may change: their names, the values that a problem has, and where compiled code has them."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from solvable.dynamics.kernel_data import Packed
from solvable.dynamics.reverse import EIGENVALUES, SCHEDULED
from solvable.overlaps import Overlaps
from solvable.problems import Problem, Schedule, Spectrum

NAMES = {  # in a problem, and in `SCHEDULED`
    "training.learning_rate": "rate",
    "training.readout_rate": "readout_rate",
    "training.weight_decay": "decay",
    "training.batch": "batch",
    "training.label_noise": "label_noise",
}
SPECTRUM = "inputs.spectrum.eigenvalues"
BATCH = "training.batch"  # a whole number
LEAST = {BATCH: 1.0}  # of all others: 0


def columns_of(problem: Problem, name: str) -> tuple[int, ...]:
    """Places among the derivatives (`dynamics/reverse.py`); a learning rate may be that of the readout too."""
    training = problem.training
    if name in NAMES:
        if name == "training.readout_rate" and not training.train_readout:
            raise ValueError(f"control: {name}: nothing would use it, because training.train_readout is false")
        shared = name == "training.learning_rate" and training.train_readout and training.readout_rate is None
        columns = [NAMES[name], *(["readout_rate"] if shared else [])]
        return tuple(SCHEDULED.index(column) for column in columns)
    if name.startswith(SPECTRUM):
        return (EIGENVALUES + _block(problem, name),)
    known = ", ".join([*NAMES, f"{SPECTRUM}.0"])
    raise ValueError(f"control: {name}: cannot be chosen in time, must be one of {known}")


def _block(problem: Problem, name: str) -> int:
    number, count = name[len(SPECTRUM) + 1 :], len(_eigenvalues(problem))
    if not number.isdecimal() or int(number) >= count:
        raise ValueError(
            f"control: {name}: must be {SPECTRUM}.NUMBER with a number below {count}, the eigenvalues of the problem's Spectrum"
        )
    return int(number)


def _eigenvalues(problem: Problem) -> tuple[Any, ...]:
    spectrum = problem.inputs.spectrum
    return spectrum.eigenvalues if isinstance(spectrum, Spectrum) else ()


def own_schedule(problem: Problem, name: str) -> Schedule:
    """The number as the problem has it; a constant is a schedule of one value."""
    if name in NAMES:
        number: Any = getattr(problem.training, name.partition(".")[2])
        number = problem.training.learning_rate if number is None else number
    else:
        number = _eigenvalues(problem)[_block(problem, name)]
    return number if isinstance(number, Schedule) else Schedule(times=(0.0,), rates=(float(number),))


def with_schedules(problem: Problem, schedules: Mapping[str, Schedule | float]) -> Problem:
    """The problem with these numbers."""
    changes: dict[str, Any] = {
        name.replace(".", "__"): int(one) if name == BATCH and not isinstance(one, Schedule) else one
        for name, one in schedules.items()
        if name in NAMES
    }
    blocks = {_block(problem, name): one for name, one in schedules.items() if name not in NAMES}
    if blocks:
        own = enumerate(_eigenvalues(problem))
        changes[SPECTRUM.replace(".", "__")] = tuple(blocks.get(b, one) for b, one in own)
    return problem.replace(**changes)


def place(packed: Packed, column: int, values: np.ndarray, slopes: np.ndarray) -> None:
    """Write a number into the records of all segments: its value at their begins, and its slope."""
    if column < EIGENVALUES:
        name = SCHEDULED[column]
        packed.problems[name], packed.problems[name + "_slope"] = values, slopes
    else:
        block = packed.blocks[:, column - EIGENVALUES]
        block["eigenvalue"], block["slope"] = values, slopes


def place_teachers(packed: Packed, start: Overlaps) -> None:
    """The covariance of the teachers' fields, after eigenvalues have changed (`kernel_data.pack` has it first)."""
    T = start.block_teacher_overlap
    for segment, at in enumerate(packed.problems["teacher_fields"]):
        found = [np.tensordot(packed.blocks[name][segment], T, axes=1).ravel() for name in ("eigenvalue", "slope")]
        packed.numbers[at : at + 2 * found[0].size] = np.concatenate(found)

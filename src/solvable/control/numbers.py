"""Numbers of a problem that schedules may change: their names, the values that a problem has, and where compiled code has them.

Columns are those of derivatives: the numbers of `SCHEDULED`, eigenvalues, probabilities of tasks and of classes, what dropout
keeps, and the factor of tests.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from solvable.dynamics.kernel_data import Packed
from solvable.dynamics.reverse import EIGENVALUES, SCHEDULED
from solvable.overlaps import Overlaps
from solvable.problems import NotApplicable, Problem, Schedule, Spectrum
from solvable.problems.nearest import instead
from solvable.problems.schedules import begins_of, segments_of, within

NAMES = {  # in a problem, and in `SCHEDULED`
    "training.learning_rate": "rate",
    "training.readout_rate": "readout_rate",
    "training.weight_decay": "decay",
    "training.batch": "batch",
    "training.label_noise": "label_noise",
}
SPECTRUM = "inputs.spectrum.eigenvalues"
TASKS, CLASSES = "tasks", "mixture.probabilities"  # tasks.0.probability, mixture.probabilities.0
KEEP, FACTOR = "training.dropout.keep", "training.dropout.test_factor"
BATCH = "training.batch"  # a whole number
LEAST = {BATCH: 1.0, KEEP: 1e-6, FACTOR: 1e-6}  # of all others: 0


def columns_of(problem: Problem, name: str) -> tuple[int, ...]:
    """Places among the derivatives; a learning rate may be that of the readout too."""
    training, blocks = problem.training, problem.inputs.blocks
    if name in NAMES:
        if name == "training.readout_rate" and not training.train_readout:
            raise ValueError(f"control: {name}: nothing would use it, because training.train_readout is false")
        shared = name == "training.learning_rate" and training.train_readout and training.readout_rate is None
        columns = [NAMES[name], *(["readout_rate"] if shared else [])]
        return tuple(SCHEDULED.index(column) for column in columns)
    if name.startswith(SPECTRUM):
        return (EIGENVALUES + _place(name, SPECTRUM, len(_eigenvalues(problem)), "eigenvalues of its Spectrum"),)
    shares = EIGENVALUES + blocks
    if is_share(name):
        group, place = share_place(problem, name)
        return (shares + place + (len(problem.tasks) if group == CLASSES else 0),)
    if name in (KEEP, FACTOR):
        _check_dropout(problem, name)
        return (shares + len(problem.tasks) + class_count(problem) + (name == FACTOR),)
    known = names_of(problem)
    raise ValueError(f"control: {name}: cannot be chosen in time{instead(name, known)}")


def names_of(problem: Problem) -> list[str]:
    """Of all numbers of this problem that may be free."""
    plain = [name for name in NAMES if name != "training.readout_rate" or problem.training.train_readout]
    groups = {
        f"{SPECTRUM}.{{}}": len(_eigenvalues(problem)),
        f"{TASKS}.{{}}.probability": len(problem.tasks),
        f"{CLASSES}.{{}}": class_count(problem),
    }
    numbered = [stem.format(i) for stem, count in groups.items() for i in range(count)]
    return [*plain, *numbered, *([] if problem.training.dropout is None else [KEEP, FACTOR])]


def is_share(name: str) -> bool:
    """Whether it is the probability of a task or a class, of which the others follow."""
    return name.startswith((f"{TASKS}.", f"{CLASSES}."))


def is_of_inputs(name: str) -> bool:
    """Whether it is about what a sample is: tests have the problem's own number."""
    return is_share(name) or name.startswith(SPECTRUM)


def class_count(problem: Problem) -> int:
    return 0 if problem.mixture is None else problem.mixture.classes


def share_place(problem: Problem, name: str) -> tuple[str, int]:
    """Whether a probability is one of `TASKS` or `CLASSES`, and its number."""
    if name.startswith(f"{CLASSES}."):
        return CLASSES, _place(name, CLASSES, class_count(problem), "classes")
    stem = name.removesuffix(".probability")
    return TASKS, _place(stem, TASKS, len(problem.tasks), "tasks", name)


def shares_of(problem: Problem, group: str) -> list[Any]:
    """Probabilities of all tasks or of all classes, as the problem has them."""
    if group == TASKS:
        return [task.probability for task in problem.tasks]
    return [] if problem.mixture is None else list(problem.mixture.probabilities)


def groups_of(problem: Problem, names: Iterable[str]) -> list[list[str]]:
    """Probabilities among these names: those of tasks, those of classes; none of them is empty."""
    found: dict[str, list[str]] = {}
    for name in filter(is_share, names):
        found.setdefault(share_place(problem, name)[0], []).append(name)
    return list(found.values())


def rest_shares(problem: Problem, names: Sequence[str]) -> np.ndarray:
    """(tasks or classes,) what each has of what the free ones of a group leave: own proportions, and zero for those."""
    (group, _), places = share_place(problem, names[0]), [share_place(problem, name)[1] for name in names]
    own = shares_of(problem, group)
    others = [i for i in range(len(own)) if i not in places]
    if not others:
        raise ValueError(f"control: {names[-1]}: all of them are free; leave one out, which takes what they leave")
    rows = [segments_of(own[i]) for i in others]
    begins, found = begins_of(rows), np.zeros(len(own))
    values = np.array([np.broadcast_to(within(one, begins)[0], begins.shape) for one in rows])
    values = values[:, values.sum(axis=0) > 0]
    parts = np.ones((1, 1)) if len(others) == 1 else values / values.sum(axis=0)
    if not parts.size or np.ptp(parts, axis=1).max() > 1e-9:
        raise ValueError(
            f"control: {names[0]}: the others share what it leaves in their proportions, which must be constant and not all zero"
        )
    found[others] = parts[:, 0]
    return found


def _place(name: str, stem: str, count: int, what: str, shown: str | None = None) -> int:
    number = name[len(stem) + 1 :]
    if not number.isdecimal() or int(number) >= count:
        wanted = f"{stem}.NUMBER" + (".probability" if stem == TASKS else "")
        raise ValueError(
            f"control: {shown or name}: must be {wanted} with a number below {count}: the problem has {count} {what}"
        )
    return int(number)


def _check_dropout(problem: Problem, name: str) -> None:
    dropout = problem.training.dropout
    if dropout is None or dropout.scale != "test" or dropout.test_factor is None:
        raise NotApplicable(
            f"training.dropout: is {dropout!r:.60}; {name} may be free where scale is 'test' and a test_factor is given"
        )


def _eigenvalues(problem: Problem) -> tuple[Any, ...]:
    spectrum = problem.inputs.spectrum
    return spectrum.eigenvalues if isinstance(spectrum, Spectrum) else ()


def own_number(problem: Problem, name: str) -> Any:
    """The number as the problem has it, maybe a schedule."""
    columns_of(problem, name)  # refuses names that are none
    if name in NAMES:
        number: Any = getattr(problem.training, name.partition(".")[2])
        return problem.training.learning_rate if number is None else number
    if name in (KEEP, FACTOR):
        return getattr(problem.training.dropout, name.rpartition(".")[2])
    if is_share(name):
        group, place = share_place(problem, name)
        return shares_of(problem, group)[place]
    return _eigenvalues(problem)[int(name.rpartition(".")[2])]


def own_schedule(problem: Problem, name: str) -> Schedule:
    """The number as the problem has it; a constant is a schedule of one value."""
    number = own_number(problem, name)
    return number if isinstance(number, Schedule) else Schedule(times=(0.0,), rates=(float(number),))


def with_schedules(problem: Problem, schedules: Mapping[str, Schedule | float]) -> Problem:
    """The problem with these numbers; of probabilities the others share what one leaves."""
    changes: dict[str, Any] = {}
    blocks: dict[int, Any] = {}
    for names in groups_of(problem, schedules):
        changes |= _share_changes(problem, {name: schedules[name] for name in names})
    for name, one in schedules.items():
        if is_share(name):
            continue
        if name.startswith(SPECTRUM):
            blocks[int(name.rpartition(".")[2])] = one
        else:
            whole = name == BATCH and not isinstance(one, Schedule)
            alone = name == FACTOR and isinstance(one, Schedule)
            changes[name.replace(".", "__")] = int(one) if whole else one.rates[0] if alone else one  # type: ignore
    if blocks:
        own = enumerate(_eigenvalues(problem))
        changes[SPECTRUM.replace(".", "__")] = tuple(blocks.get(b, one) for b, one in own)
    return problem.replace(**changes)


def _share_changes(problem: Problem, free: Mapping[str, Schedule | float]) -> dict[str, Any]:
    """Of the free ones of a group, and of those that share the rest."""
    rest, places = rest_shares(problem, list(free)), {share_place(problem, name)[1]: one for name, one in free.items()}
    found = [places[i] if i in places else _left(list(free.values()), part) for i, part in enumerate(rest.tolist())]
    if next(iter(free)).startswith(CLASSES):
        return {CLASSES.replace(".", "__"): tuple(found)}
    return {f"{TASKS}__{i}__probability": share for i, share in enumerate(found)}


def _left(ones: Sequence[Schedule | float], part: float) -> Schedule | float:
    """A part of what these leave."""
    schedules = [one for one in ones if isinstance(one, Schedule)]
    if not schedules:
        return part * max(1.0 - sum(ones), 0.0)
    times = np.unique(np.concatenate([one.times for one in schedules]))
    taken = sum(one(times) if isinstance(one, Schedule) else one for one in ones)
    rates = part * np.maximum(1.0 - taken, 0.0)
    return Schedule(times=tuple(times.tolist()), rates=tuple(rates.tolist()), shape=schedules[0].shape)


def place(packed: Packed, column: int, values: np.ndarray, slopes: np.ndarray) -> None:
    """Write a number into the records of all segments: its value at their begins, and its slope. Probabilities are written by
    `mixing.py`."""
    if column < EIGENVALUES:
        name = SCHEDULED[column]
        packed.problems[name], packed.problems[name + "_slope"] = values, slopes
    elif column < EIGENVALUES + packed.blocks.shape[1]:
        block = packed.blocks[:, column - EIGENVALUES]
        block["eigenvalue"], block["slope"] = values, slopes


def place_teachers(packed: Packed, start: Overlaps) -> None:
    """The covariance of the teachers' fields, after eigenvalues have changed (`kernel_data.pack` has it first)."""
    T = start.block_teacher_overlap
    for segment, at in enumerate(packed.problems["teacher_fields"]):
        found = [np.tensordot(packed.blocks[name][segment], T, axes=1).ravel() for name in ("eigenvalue", "slope")]
        packed.numbers[at : at + 2 * found[0].size] = np.concatenate(found)

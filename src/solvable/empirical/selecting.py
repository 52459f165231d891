"""Which samples a step takes: how often each, and by how many the sum over them is divided."""

from collections.abc import Iterator

import numpy as np

from solvable.problems import Problem
from solvable.problems.reuse import batch_size, batches_per_epoch, sample_count

CHOSEN = ("subsets", "drawn", "shuffled", "persistent")  # selections that choose from all samples in every step
Choice = tuple[np.ndarray | None, float]  # multiplicity of each sample (None: all once), and the divisor


def selection_of(problem: Problem) -> str:
    """The selection, also where it is left out."""
    training = problem.training
    if training.samples is None:
        return "repeated"
    return training.selection or ("all" if training.batch is None else "subsets")


def choices(problem: Problem, count: int, random: np.random.Generator) -> Iterator[Choice]:
    """One choice for every step, without end; for selections from all of `count` samples."""
    selection, batch = selection_of(problem), batch_size(problem)
    if selection == "drawn":
        while True:
            yield np.bincount(random.integers(0, count, batch), minlength=count).astype(float), float(batch)
    elif selection == "subsets" and batch < count:
        while True:
            yield _indicator(random.choice(count, batch, replace=False, shuffle=False), count), float(batch)
    elif selection == "shuffled":
        while True:
            for part in np.array_split(random.permutation(count), batches_per_epoch(problem)):
                yield _indicator(part, count), float(len(part))
    elif selection == "persistent":
        chosen = random.random(count) < batch / count
        while True:
            yield chosen.astype(float), float(batch)
            anew = random.random(count) < 1 / problem.training.repeats
            chosen = np.where(anew, random.random(count) < batch / count, chosen)
    else:
        while True:
            yield None, float(count)


def _indicator(chosen: np.ndarray, count: int) -> np.ndarray:
    found = np.zeros(count)
    found[chosen] = 1.0
    return found


def share(problem: Problem, given: int | None = None) -> float:
    """The share of a part that a step has to look at where engines tell samples apart; more than half counts as all."""
    if selection_of(problem) not in CHOSEN:
        return 1.0
    found = batch_size(problem) / part_sizes(problem, given)[0]
    return found if found <= 0.5 else 1.0


def part_sizes(problem: Problem, given: int | None = None) -> list[int]:
    """Sizes of the independent parts that the samples (`given` where they come as rows) are kept in: the batches of a partition,
    the present fresh batch, or all."""
    if selection_of(problem) == "repeated":
        return [batch_size(problem)]
    count = sample_count(problem) if given is None else given
    assert count is not None
    if selection_of(problem) == "partition":
        return [len(part) for part in np.array_split(np.arange(count), batches_per_epoch(problem))]
    return [count]

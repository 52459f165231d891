"""Which form training takes: what each costs and needs, and the choice between them."""

from typing import NamedTuple

import numpy as np

from solvable.empirical.selecting import part_sizes, selection_of
from solvable.numerics.memory import FLOAT, available_memory, in_words
from solvable.problems import Problem

DRAW = 40  # a normal number costs as much as so many operations of a matrix product


class Form(NamedTuple):
    """A form of the data matrix: its name, the operations that a run takes, and the bytes."""

    name: str
    work: float
    room: int


class Asked(NamedTuple):
    """Questions that a run asks of its data: sizes of the parts they are kept in, columns of right and of left questions of each,
    coordinates that the inputs come to have, how many of these a block may add, and steps on each part."""

    sizes: list[int]
    right: int
    left: int
    coordinates: int
    more: int
    rounds: int


def asked(problem: Problem, steps: int, outputs: int) -> Asked:
    """Of a run of so many steps with so many outputs."""
    p, sizes = problem.student.width, part_sizes(problem)
    rows = p + problem.teacher.width + problem.extras.count("direction")
    rounds, looks = steps, 1
    if selection_of(problem) == "repeated":
        rounds, looks = min(problem.training.repeats, steps), 1
    elif selection_of(problem) == "partition":
        rounds, looks = -(-steps // len(sizes)), outputs
    more = p * rounds * len(sizes)
    blocks = problem.inputs.block_sizes
    coordinates = int(np.minimum(blocks, rows + more).sum())
    return Asked(sizes, rows + p * (rounds + looks), p * rounds, coordinates, more, rounds)


def forms(problem: Problem, steps: int, outputs: int, runs: int = 1) -> list[Form]:
    """Revealed and drawn, the better one first: what fits into memory before what does not, then what takes less work. `runs` of
    them are computed at once."""
    dim, p = problem.inputs.dim, problem.student.width
    assert dim is not None
    found = asked(problem, steps, outputs)
    batches = -(-steps // found.rounds) if selection_of(problem) == "repeated" else 1
    revealed, drawn = 0.0, 0.0
    room = 0
    for size in found.sizes:
        right, left = min(found.right, found.coordinates), min(found.left, size)
        room += FLOAT * (size + found.coordinates) * (right + left)
        revealed += 4.0 * (size + found.coordinates) * (right * left + left * p + right * p) + DRAW * size * right
        drawn += 4.0 * size * dim * (found.left + p) + DRAW * size * dim
    name = "frames" if found.coordinates >= dim else "coordinates"
    beside = FLOAT * 6 * max(found.sizes) * p
    most = max(found.sizes) if batches > 1 else sum(found.sizes)
    both = [
        Form(name, batches * revealed, room + beside),
        Form("dense", batches * drawn, FLOAT * most * dim + beside),
    ]
    return sorted(both, key=lambda one: (runs * one.room > available_memory(), one.work))


def choose(problem: Problem, steps: int, outputs: int, runs: int = 1) -> Form:
    """The better form; ValueError, with both numbers, where neither fits into memory."""
    first, second = forms(problem, steps, outputs, runs)
    if runs * first.room > available_memory():
        least = {one.name: in_words(runs * one.room) for one in (first, second)}
        told = " and ".join(f"{room} ({name})" for name, room in least.items())
        raise ValueError(
            f"training.samples: {sum(asked(problem, steps, outputs).sizes)} samples of {problem.inputs.dim} numbers in {steps} "
            f"steps take {told}, but {in_words(available_memory())} are free; ask for fewer steps, samples or students"
        )
    return first

"""Which form training takes: what each costs and needs, and the choice between them."""

from typing import NamedTuple

import numpy as np

from solvable.empirical.selecting import part_sizes, selection_of, share
from solvable.numerics.memory import FLOAT, available_memory, in_words
from solvable.problems import Problem

# Products with a few columns take as long as it takes to read the matrix, so work is counted in numbers of frames that are read. As
# many are read while a step takes a drawn number twice (it is less often in the cache), while a normal number is drawn, and while a
# step asks and answers, beyond what a drawn matrix needs:
STEP, DRAW, CALL = 3, 20, 3e5


class Form(NamedTuple):
    """A form of the data matrix: its name, the work of a run, in numbers that are read, and the bytes."""

    name: str
    work: float
    room: int


class Questions(NamedTuple):
    """Questions that a run asks of its data: sizes of the parts they are kept in, columns of right and of left questions of each,
    coordinates that the inputs come to have, how many of these a block may add, steps on each part, and at how many outputs all
    parts are asked."""

    sizes: list[int]
    right: int
    left: int
    coordinates: int
    more: int
    rounds: int
    looks: int


def asked(problem: Problem, steps: int, outputs: int) -> Questions:
    """Of a run of so many steps with so many outputs."""
    p, sizes = problem.student.width, part_sizes(problem)
    rows = p + problem.teacher.width + problem.extras.count("direction")
    rounds, looks = steps, 1
    if selection_of(problem) == "repeated":
        rounds = min(problem.training.repeats, steps)
    elif selection_of(problem) == "partition":
        rounds, looks = -(-steps // len(sizes)), outputs
    more = p * rounds * len(sizes)
    blocks = problem.inputs.block_sizes
    coordinates = int(np.minimum(blocks, rows + more).sum())
    return Questions(sizes, rows + p * (rounds + looks), p * rounds, coordinates, more, rounds, looks)


def _questions(problem: Problem, found: Questions, size: int) -> float:
    """Work of asking a part of so many samples. Frames that grow are read six times on the side on which they grow, to project
    twice and to answer, and their answers twice; frames that are full a third as often."""
    p, t = problem.student.width, np.arange(1, found.rounds + 1)
    most_right, most_left = min(found.right, found.coordinates), min(found.left, size)
    first = found.right - p * (found.rounds + found.looks)
    right, left = np.minimum(first + p * t, most_right), np.minimum(p * t, most_left)
    sides = np.minimum(problem.inputs.blocks * (first + p * len(found.sizes) * t), found.coordinates)
    own_right, own_left = (np.where(one < one[-1], 3.0, 1.0) * one for one in (right, left))
    read = size * (2 * own_left + own_right) + sides * (2 * own_right + own_left)
    drawn = DRAW * (size * right[-1] + sides[-1] * left[-1])
    return float(read.sum() * (1 + (found.looks - 1) / (2 * found.rounds)) + drawn + CALL * found.rounds)


def forms(problem: Problem, steps: int, outputs: int, runs: int = 1) -> list[Form]:
    """Revealed and drawn, the better one first: what fits into memory before what does not, then what takes less work. `runs` of
    them are computed at once."""
    dim, p = problem.inputs.dim, problem.student.width
    assert dim is not None
    found = asked(problem, steps, outputs)
    batches = -(-steps // found.rounds) if selection_of(problem) == "repeated" else 1
    part = share(problem)
    whole = found.rounds if part == 1 else min(outputs, found.rounds)  # steps that read all samples
    revealed, drawn = 0.0, 0.0
    room = 0
    for size in found.sizes:
        right, left = min(found.right, found.coordinates), min(found.left, size)
        room += FLOAT * (size + found.coordinates) * (right + left)
        revealed += _questions(problem, found, size)
        drawn += float(size) * dim * (STEP * (whole + part * (found.rounds - whole)) + found.looks + DRAW)
    name = "frames" if found.coordinates >= dim else "coordinates"
    beside = FLOAT * 6 * max(found.sizes) * p
    most = max(found.sizes) if batches > 1 else sum(found.sizes)
    both = [
        Form(name, batches * revealed, room + beside),
        Form("dense", batches * drawn, FLOAT * most * dim + beside),
    ]
    return sorted(both, key=lambda one: (runs * one.room > available_memory(), one.work))


def choose(problem: Problem, steps: int, outputs: int, runs: int = 1, *, drawn: bool = True) -> Form:
    """The better form, of those that draw no matrix unless that is allowed; ValueError, with the numbers of both, where it does not
    fit into memory."""
    both = forms(problem, steps, outputs, runs)
    first = next(one for one in both if drawn or one.name != "dense")
    if runs * first.room > available_memory():
        least = {one.name: in_words(runs * one.room) for one in both}
        told = " and ".join(f"{room} ({name})" for name, room in least.items())
        raise ValueError(
            f"training.samples: {sum(asked(problem, steps, outputs).sizes)} samples of {problem.inputs.dim} numbers in {steps} "
            f"steps take {told}, but {in_words(available_memory())} are free; ask for fewer steps, samples or students"
        )
    return first

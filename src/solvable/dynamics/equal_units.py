"""Units that a start treats equally, to the bit.

The equations commute with every exchange of students, and of teachers, under which overlaps and readouts are the same, so that a
symmetric start stays symmetric for ever. Sums in another order, and averages over nodes, part such units by rounding, or by more,
which grows on a plateau like any difference. So slopes (or steps) are averaged over each orbit, the entries of a state that
exchanges turn into each other (`orbit_averages.py`). Only a start that is symmetric to the bit has orbits; all others keep their
kernels and bits.
"""

import itertools
from collections.abc import Iterator

import numpy as np

from solvable.dynamics.kernel_data import sizes, state_of
from solvable.dynamics.rows import firsts, row_order
from solvable.overlaps import Overlaps
from solvable.problems import Problem, Target
from solvable.problems.rules import OWN_RULE, rule_numbers

TRIALS = 10_000  # of images of students, after which a search gives up
SWAPS = 64  # of teachers that are tried


def orbits_of(problem: Problem, start: Overlaps) -> np.ndarray | None:
    """(size,) of a state, the first entry of each entry's orbit under the exchanges that leave a start the same to the bit; None
    where there are none."""
    if not _may_be_equal(start) or rule_numbers(problem.training.rule)[0] == OWN_RULE:
        return None
    maps = [_entries(problem, rows) for rows in _exchanges(problem, start)]
    label = np.arange(state_of(start, problem).size)
    before = np.full(label.size, -1)
    while maps and not np.array_equal(label, before):
        before = label
        for entries in maps:
            label = np.minimum(label, label[entries])
            label[entries] = np.minimum(label[entries], label)
    return label if maps else None


def _may_be_equal(start: Overlaps) -> bool:
    """Whether two students, or two teachers, have the same largest overlap with the others, which costs next to nothing."""
    rows = start.block_cross_overlap[0].tolist()
    sides = rows, list(zip(*rows, strict=True))
    return any(len({max(line, default=0.0) for line in lines}) < len(lines) for lines in sides)


def _exchanges(problem: Problem, start: Overlaps) -> Iterator[np.ndarray]:
    """Orders of the rows of a state in which the start is the same: of students alone, all that exchange two of them; of students
    and teachers, one for each pair of teachers and each image of a student, until there were too many trials."""
    p, q, order = problem.student.width, problem.teacher.width, row_order(problem)
    overlaps, state = start.stacked[:, order[:, None], order], state_of(start, problem)
    first, still = firsts(problem)["first_teacher"], np.arange(q)

    def order_of(students: np.ndarray, teachers: np.ndarray) -> np.ndarray | None:
        rows = _rows(problem, students, teachers)
        same = np.array_equal(overlaps[:, rows[:, None], rows], overlaps)
        return rows if same and np.array_equal(state[_entries(problem, rows)], state) else None

    kinds = np.arange(p)  # the first student that each may be exchanged with
    for k, other in itertools.combinations(range(p), 2):
        if kinds[k] == k and kinds[other] == other:
            rows = order_of(_swapped(p, k, other), still)
            if rows is not None:
                kinds[other] = k
                yield rows
    different, trials = np.unique(kinds), itertools.count()
    for teachers in _swaps(problem, overlaps[:, first : first + q, first : first + q]):
        alone = np.array_equal(teachers, still)
        may = _may_replace(overlaps, start.readout.reshape(-1, p), first + teachers, first)
        for k, image in itertools.product(different, different):
            if k < image or (k == image and not alone):
                students = _images(overlaps, may, (k, image), trials)
                rows = None if students is None else order_of(students, teachers)
                if rows is not None:
                    yield rows


def _swapped(count: int, i: int, j: int) -> np.ndarray:
    order = np.arange(count)
    order[[i, j]] = j, i
    return order


def _swaps(problem: Problem, teachers: np.ndarray) -> Iterator[np.ndarray]:
    """The teachers as they are, and two of them exchanged, where nothing else tells them apart."""
    q, readout = problem.teacher.width, problem.teacher.readout_values
    yield np.arange(q)
    if problem.features or isinstance(problem.teacher.target, Target):
        return
    pairs = [(i, j) for i, j in itertools.combinations(range(q), 2) if readout[i] == readout[j]]
    for i, j in pairs if len(pairs) <= SWAPS else [(i, j) for i, j in pairs if j == i + 1]:
        swap = _swapped(q, i, j)
        if np.array_equal(teachers[:, swap[:, None], swap], teachers):
            yield swap


def _may_replace(overlaps: np.ndarray, readout: np.ndarray, teachers: np.ndarray, first: int) -> np.ndarray:
    """(p, p) whether a student may take the place of another, by norms, readouts and overlaps with the teachers in this order."""
    p = readout.shape[1]
    norms, cross = overlaps[:, range(p), range(p)], overlaps[:, :p, first : first + teachers.size]
    found: np.ndarray = (norms[:, :, None] == norms[:, None]).all(axis=0)
    found &= (readout[:, :, None] == readout[:, None]).all(axis=0)
    for here, there in zip(cross, overlaps[:, :p, teachers], strict=True):
        for k in range(p):
            found[k] &= (here[k] == there).all(axis=1)
    return found


def _images(overlaps: np.ndarray, may: np.ndarray, fixed: tuple[int, int], trials: Iterator[int]) -> np.ndarray | None:
    """(p,) which student takes the place of each, where one image is fixed, by trial and return; None if none may, or after too
    many trials."""
    p = len(may)
    ways, last = [fixed[0], *(k for k in range(p) if k != fixed[0])], -1
    images: list[int] = []
    while len(images) < p:
        k, done = ways[len(images)], ways[: len(images)]
        choices = [fixed[1]] if not images else [k, *(image for image in range(p) if image != k)]
        later = choices[choices.index(last) + 1 :] if last >= 0 else choices
        for image in later:
            if next(trials) > TRIALS:
                return None
            if (
                may[k, image]
                and image not in images
                and np.array_equal(overlaps[:, k][:, done], overlaps[:, image][:, images])
            ):
                images.append(image)
                last = -1
                break
        else:
            if not images:
                return None
            last = images.pop()
    return np.array(images)[np.argsort(ways)]


def _rows(problem: Problem, students: np.ndarray, teachers: np.ndarray) -> np.ndarray:
    """The order of all rows of a state, with what follows students and their anchors, for an order of students and teachers."""
    rows, p = np.arange(sizes(problem)[1]), problem.student.width
    places = firsts(problem)
    rows[:p] = students
    rows[places["first_teacher"] :][: teachers.size] = places["first_teacher"] + teachers
    roles = {"velocities": "velocity", "averages": "average", "snapshots": "snapshot", "first_anchor": "anchor"}
    for name, role in roles.items():
        if role in problem.extras:
            rows[places[name] :][:p] = places[name] + students
    return rows


def _entries(problem: Problem, rows: np.ndarray) -> np.ndarray:
    """The order of the entries of a state that an order of its rows makes."""
    moving, count, others = sizes(problem)
    p, size, blocks = problem.student.width, moving * count, problem.inputs.blocks
    here = (rows[:moving, None] * count + rows).ravel()
    heads = problem.heads * p
    readouts = blocks * size + np.arange(heads).reshape(-1, p)[:, rows[:p]].ravel()
    scalars = blocks * size + heads + np.arange(others - heads)
    moved = np.flatnonzero(np.array(problem.scalars, dtype=object) == "readout_velocity")[:heads]  # not of biases
    scalars[moved] = scalars[moved].reshape(-1, p)[:, rows[:p]].ravel()
    return np.concatenate([b * size + here for b in range(blocks)] + [readouts, scalars])

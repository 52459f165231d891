"""What may happen to a sample: its class, its task, whether its label is flipped, and which students it keeps.

Given its case, all that a sample brings is Gaussian, so a problem is a table of cases with probabilities. Tests are cases too, one
for each class of each task, without flips, masks and noise on the inputs.
"""

from itertools import product
from typing import Any, NamedTuple

import numpy as np

from solvable.problems.schedules import Schedule, begins_of, segments_of, within
from solvable.problems.spec import KernelSpec

Share = tuple[np.ndarray, np.ndarray]  # value and slope in each segment


class Cases(NamedTuple):
    """`begins` (segment,) are times from which on all probabilities are smooth; the others have one row for each case.

    In a segment a case has `probability` and its `slope` in time (segment, case); `share` and `share_slope` are the same among the
    cases of its task alone. An input is sum_j (means_j + sqrt(spikes_j) zeta_j) m_j/sqrt(dim) plus noise whose variance is
    `factors` (case, block) times the eigenvalue; students see it with more noise of variance `input_noise` (case, block). The label
    is `label` plus sum_l teacher_readout_l g(z_l), both with the sign of a flip, which is `sign` (for targets without a readout).
    Students answer with readout number `head`, multiplied by `mask` (case, student)."""

    begins: np.ndarray
    probability: np.ndarray
    slope: np.ndarray
    share: np.ndarray
    share_slope: np.ndarray
    means: np.ndarray
    spikes: np.ndarray
    factors: np.ndarray
    input_noise: np.ndarray
    label: np.ndarray
    sign: np.ndarray
    teacher_readout: np.ndarray
    mask: np.ndarray
    head: np.ndarray
    task: np.ndarray
    class_number: np.ndarray

    @property
    def size(self) -> int:
        return len(self.label)


def case_table(problem: KernelSpec, begins: np.ndarray | None = None, *, tests: bool = False) -> Cases:
    """All cases of a sample, or those of `tests`, task by task. `begins` are the segments (None: where probabilities change their
    course); no probability may jump or bend within one."""
    mixture, blocks = problem.mixture, problem.inputs.blocks
    begins = probability_begins(problem) if begins is None else begins
    classes, tasks = _classes(problem, begins), _tasks(problem, begins)
    signs, masks = ([(1.0, 1.0)], [(1.0, _tested(problem))]) if tests else (_signs(problem), _masks(problem, begins))
    rows = [
        (t, c, sign, mask, flipped * kept)
        for (t, _), (c, _), (flipped, sign), (kept, mask) in product(enumerate(tasks), enumerate(classes), signs, masks)
    ]
    task, group, sign, mask, weight = (np.array(column) for column in zip(*rows, strict=True))
    share = [(w * classes[c][0], w * classes[c][1]) for c, w in zip(group, weight, strict=True)]
    whole = [_times(tasks[t], one) for t, one in zip(task, share, strict=True)]
    labels = np.zeros(1) if mixture is None or mixture.labels is None else np.array(mixture.labels)
    spread = np.zeros(1) if tests else np.asarray(problem.training.input_noise, dtype=float)
    readouts = np.array([one.readout for one in problem.tasks] or problem.teacher.readout_values[None], dtype=float)
    return Cases(
        begins=begins,
        probability=np.stack([value for value, _ in whole], axis=1),
        slope=np.stack([slope for _, slope in whole], axis=1),
        share=np.stack([value for value, _ in share], axis=1),
        share_slope=np.stack([slope for _, slope in share], axis=1),
        means=(np.zeros((1, 0)) if mixture is None else np.array(mixture.means))[group],
        spikes=(np.zeros((1, 0)) if mixture is None else mixture.spike_variances)[group],
        factors=(np.ones((1, blocks)) if mixture is None else mixture.variance_factors(blocks))[group],
        input_noise=np.array(np.broadcast_to(spread, (len(rows), blocks))),
        label=sign * (labels[group % labels.size] + problem.teacher.bias) + np.where(sign < 0, _least(problem), 0.0),
        sign=sign,
        teacher_readout=sign[:, None] * readouts[task],
        mask=mask,
        head=np.array(problem.task_heads)[task],
        task=task,
        class_number=group,
    )


LEAST = 1e-300  # changes no output but zero
ALIKE = 8  # so many cases at most are followed together


def alike(table: Cases) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cases whose fields have the same law, up to a sign of all means: tasks of a class, opposite classes, flips. For each case
    whether it is the first of up to `ALIKE`, the number of the next one (-1: none), and the sign of its means relative to the
    first."""
    signs = np.array([np.sign(row[np.flatnonzero(row)[:1]]).sum() or 1.0 for row in table.means])
    asked = table.mask != 0, table.teacher_readout != 0
    rows = (signs[:, None] * table.means + 0.0, table.spikes, table.factors, table.input_noise, *asked)
    chains: dict[tuple[bytes, ...], list[int]] = {}
    for case in range(table.size):
        chains.setdefault(tuple(row[case].tobytes() for row in rows), []).append(case)
    first, following, turn = np.zeros(table.size, bool), np.full(table.size, -1), np.ones(table.size)
    for chain in chains.values():
        for begin in range(0, len(chain), ALIKE):
            part = chain[begin : begin + ALIKE]
            first[part[0]], following[part[:-1]], turn[part] = True, part[1:], signs[part] * signs[part[0]]
    return first, following, turn


def probability_begins(problem: KernelSpec) -> np.ndarray:
    """Times at which the probabilities of classes, tasks and masks jump or change their slope, from zero on."""
    shares = () if problem.mixture is None else problem.mixture.probabilities
    keep = () if problem.training.dropout is None else (problem.training.dropout.keep,)
    return begins_of([segments_of(one) for one in (*shares, *(task.probability for task in problem.tasks), *keep)])


def _least(problem: KernelSpec) -> float:
    """What is added to an output whose sign is flipped: an output of zero counts as negative, its flip as positive."""
    return LEAST if problem.teacher.target == "sign" else 0.0


def _classes(problem: KernelSpec, begins: np.ndarray) -> list[Share]:
    shares = (1.0,) if problem.mixture is None else problem.mixture.probabilities
    return [_share(one, begins) for one in shares]


def _tasks(problem: KernelSpec, begins: np.ndarray) -> list[Share]:
    return [_share(one, begins) for one in [task.probability for task in problem.tasks] or [1.0]]


def _share(number: object, begins: np.ndarray) -> Share:
    value, slope = np.broadcast_arrays(*within(segments_of(number), begins))  # type: ignore[arg-type]
    return value, slope


def _times(first: Share, second: Share) -> Share:
    """The product of two probabilities, of which at most one has a slope."""
    return first[0] * second[0], first[0] * second[1] + first[1] * second[0]


def _signs(problem: KernelSpec) -> list[tuple[float, float]]:
    """Probability and sign of a label."""
    flips = problem.training.label_flips
    return [(1.0, 1.0)] if not flips else [(1.0 - flips, 1.0), (flips, -1.0)]


def _masks(problem: KernelSpec, begins: np.ndarray) -> list[tuple[float | np.ndarray, np.ndarray]]:
    """Probability of each mask, in each segment where it changes in time, and what it multiplies the readouts with; a mask that
    drops every student is one of them."""
    dropout, p = problem.training.dropout, problem.student.width
    if dropout is None or dropout.keep == 1:
        return [(1.0, np.ones(p))]
    keep = within(segments_of(dropout.keep), begins)[0] if isinstance(dropout.keep, Schedule) else dropout.keep
    kept = [np.array(bits, dtype=float) for bits in product((1, 0), repeat=p)]
    return [(chance_of_mask(keep, p, one.sum()), dropout.kept * one) for one in kept]


def chance_of_mask(keep: Any, students: int, kept: Any) -> Any:
    """Of a mask that keeps so many of the students."""
    return keep**kept * (1 - keep) ** (students - kept)


def slope_of_chance(keep: np.ndarray, students: int, kept: np.ndarray) -> np.ndarray:
    """Derivative of `chance_of_mask` by `keep`."""
    dropped = students - kept
    gained = kept * keep ** np.maximum(kept - 1, 0) * (1 - keep) ** dropped
    lost = dropped * keep**kept * (1 - keep) ** np.maximum(dropped - 1, 0)
    return gained - lost


def _tested(problem: KernelSpec) -> np.ndarray:
    dropout = problem.training.dropout
    return np.full(problem.student.width, 1.0 if dropout is None else dropout.tested)

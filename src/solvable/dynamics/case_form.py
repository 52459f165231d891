"""Cases in the reduced process: which rows move, the table of the cases' numbers, and where the kernels find both."""

import math
from typing import Any, NamedTuple

import numpy as np

from solvable.dynamics.cases import case_table
from solvable.dynamics.rows import moving_rows, row_order
from solvable.overlaps import gram_factor
from solvable.problems.rate_rules import KINDS
from solvable.problems.schedules import value_at
from solvable.problems.spec import KernelSpec

ORDER = (
    "teacher",
    "snapshot",
    "velocity",
    "student",
    "average",
)  # of rows that move: each may be changed by those before it


class Rows(NamedTuple):
    """Of the rows in the order of `Overlaps`: those that move on the frame of their own, and those on the fixed frame. Teachers
    that only turn in their plane stay on the fixed frame. `first` has the place of the first row of each role that moves."""

    moving: np.ndarray
    fixed: np.ndarray
    first: dict[str, int]


def rows_of(problem: KernelSpec) -> Rows:
    p, q = problem.student.width, problem.teacher.width
    roles = np.array(["student"] * p + ["teacher"] * q + list(problem.extras), dtype=object)
    moving = [role for role in ORDER if role != "teacher" or problem.teacher.drift]
    rows = [np.flatnonzero(roles == role) for role in moving]
    ends = np.cumsum([0, *(part.size for part in rows)]).tolist()
    fixed = np.flatnonzero(~np.isin(roles, moving))
    first = {role: at for role, at, part in zip(moving, ends[:-1], rows, strict=True) if part.size}
    return Rows(np.concatenate(rows), fixed, first)


def has_cases(problem: KernelSpec) -> bool:
    return bool(problem.features)


def case_words(problem: KernelSpec, rows: Rows, draws: int) -> dict[str, Any]:
    """Fields of PROCESS; `draws` are the normal numbers that teachers and students share."""
    q, extras, training = problem.teacher.width, problem.extras, problem.training
    before = 0 if problem.teacher.drift else q  # teachers on the fixed frame
    directions, table = extras.count("direction"), case_table(problem)
    average = training.average
    return {
        **_places(rows), "drifting": bool(problem.teacher.drift), "state_rows": moving_rows(problem),
        "scalars": len(problem.scalars),
        "slow": training.is_slow, "nesterov": training.momentum is not None and training.momentum.nesterov,
        "gain": value_at(training.gain, 0.0),  # with beta that of the first segment; `set_friction` knows the others
        "beta": 0.0 if training.momentum is None or training.is_slow else value_at(training.momentum.beta, 0.0),
        "readout_velocities": "readout_velocity" in problem.scalars,
        **_rule(problem),
        "average_rate": (average and average.rate) or 0.0, "average_begin": _first_step(problem),
        "cases": len(table.label), "moving": len(rows.moving), "fixed": len(rows.fixed),
        "moving_teachers": problem.teacher.is_moving, "directions": directions, "direction": before,
        "anchors": before + directions, "heads": problem.heads, "masked": problem.training.dropout is not None,
        "spiked": bool(table.spikes.any()), "seen": draws if table.input_noise.any() else 0,
        "spikes": draws * (2 if table.input_noise.any() else 1),
        "stride": _table(problem).shape[1], "entries": 2 + q,
        "drift": problem.teacher.drift, "rotation": problem.teacher.rotation, "anchor": problem.training.anchor,
    }  # fmt: skip


def _first_step(problem: KernelSpec) -> float:
    """The time of the first step of a plain average, the first at or behind its begin."""
    average, dim = problem.training.average, problem.inputs.dim
    begin = (average and average.begin) or 0.0
    return begin if dim is None else math.ceil(begin * dim - 1e-6) / dim


def _rule(problem: KernelSpec) -> dict[str, Any]:
    rule = problem.training.rate_rule
    return {} if rule is None else {"pace": KINDS[rule.kind], "pace_number": rule.number}


def _places(rows: Rows) -> dict[str, int]:
    """Of the first row of each role among those that move; -1 where there is none. Samples move velocities, if there are any."""
    found = {f"{role}_row": rows.first.get(role, -1) for role in ("student", "velocity", "average", "snapshot")}
    return found | {"learner": found["student_row"] if found["velocity_row"] < 0 else found["velocity_row"]}


def row_places(problem: KernelSpec) -> np.ndarray:
    """Of each row of a state (`rows.py`), its place among the rows that move, then those that are fixed."""
    rows = rows_of(problem)
    places = np.argsort(np.concatenate([rows.moving, rows.fixed]))
    return places[row_order(problem)].astype(float)


def more_normals(words: dict[str, Any]) -> int:
    """Normal numbers beyond those of the frames, of lengths outside and of labels: the students' own noise and spikes."""
    return int(words["seen"] + (words["directions"] if words["spiked"] else 0))


def case_numbers(problem: KernelSpec) -> dict[str, np.ndarray]:
    """Sections of the numbers, by the name of the field that has their place."""
    return {
        "table": _table(problem), "walk_factor": triangle(walk_covariance(problem)), "places": row_places(problem),
    }  # fmt: skip


def walk_covariance(problem: KernelSpec) -> np.ndarray:
    """(q, q) of the steps of teachers that walk: their overlaps as the problem has them, so that the walk keeps these."""
    overlap = problem.teacher.overlap
    return np.eye(problem.teacher.width) if isinstance(overlap, str) else np.array(overlap)


def chances(problem: KernelSpec, begins: np.ndarray) -> np.ndarray:
    """(segment, case, 2) probability of each case and its slope, in segments that begin at these times."""
    known = case_table(problem, begins)
    return np.stack([known.probability, known.slope], axis=2)


def triangle(gram: np.ndarray) -> np.ndarray:
    """Lower triangular F with F F^T = gram, also where gram is singular."""
    if not gram.size:
        return gram
    upper: np.ndarray = np.linalg.qr(gram_factor(gram, len(gram)).T)[1]
    return upper.T * np.where(np.diag(upper) < 0, -1.0, 1.0)


def _table(problem: KernelSpec) -> np.ndarray:
    """(case, stride), see `case_sample.py`."""
    known = case_table(problem)
    readouts = known.teacher_readout
    if problem.teacher.target not in ("additive", "sign"):
        readouts = np.repeat(known.sign[:, None], problem.teacher.width, axis=1)
    roots = np.stack([np.sqrt(known.factors), np.sqrt(known.input_noise)], axis=2)
    columns = (
        known.label[:, None], known.head[:, None], readouts, known.mask, known.means, np.sqrt(known.spikes),
        roots.reshape(len(roots), -1),
    )  # fmt: skip
    return np.concatenate(columns, axis=1)


def work_sizes(problem: KernelSpec, words: dict[str, Any], widest: int) -> dict[str, int]:
    """Slots of the workspace; `widest` is the number of coordinates in the widest frame."""
    p, q = problem.student.width, problem.teacher.width
    return {
        "case": 1, "chances": -(-words["cases"] // 8), "label": 1, "head": 1, "case_teachers": q, "case_readout": p, "mask": p,
        "case_bias": 1, "bare_push": 1,
        "weights": words["directions"], "spreads": problem.inputs.blocks,
        "walks": q * widest if problem.teacher.drift else 0,
        **({"norm": 1, "output": 1, "kept": 2 * p, "own": 1 + -(-2 * p // 8)} if problem.training.is_shaped else {}),
        "base_rate": 1, "triangles": problem.inputs.blocks * p * p if problem.training.rate_rule is not None else 0,
    }  # fmt: skip

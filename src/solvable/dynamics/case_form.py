"""Cases in the reduced process: which rows move, the table of the cases' numbers, and where the kernels find both."""

from typing import Any, NamedTuple

import numpy as np

from solvable.dynamics.cases import case_table
from solvable.overlaps import gram_factor
from solvable.problems import Problem, features


class Rows(NamedTuple):
    """Of the rows in the order students, teachers, directions, anchors: those that move on the frame of their own, and those on
    the fixed frame. Teachers that only turn in their plane stay on the fixed frame."""

    moving: np.ndarray
    fixed: np.ndarray


def rows_of(problem: Problem) -> Rows:
    p, q = problem.student.width, problem.teacher.width
    students, teachers, extras = np.split(np.arange(p + q + len(problem.extras)), [p, p + q])
    if problem.teacher.drift:
        return Rows(np.concatenate([teachers, students]), extras)
    return Rows(students, np.concatenate([teachers, extras]))


def has_cases(problem: Problem) -> bool:
    return bool(features(problem))


def case_words(problem: Problem, rows: Rows, draws: int) -> dict[str, Any]:
    """Fields of PROCESS; `draws` are the normal numbers that teachers and students share."""
    q, extras = problem.teacher.width, problem.extras
    before = 0 if problem.teacher.drift else q  # teachers on the fixed frame
    directions, table = extras.count("direction"), case_table(problem)
    return {
        "cases": len(table.label), "moving": len(rows.moving), "fixed": len(rows.fixed),
        "moving_teachers": problem.teacher.is_moving, "directions": directions, "direction": before,
        "anchors": before + directions, "heads": problem.heads, "masked": problem.training.dropout is not None,
        "spiked": bool(table.spikes.any()), "seen": draws if table.input_noise.any() else 0,
        "spikes": draws * (2 if table.input_noise.any() else 1),
        "stride": _table(problem).shape[1], "entries": 2 + q,
        "drift": problem.teacher.drift, "rotation": problem.teacher.rotation, "anchor": problem.training.anchor,
    }  # fmt: skip


def more_normals(words: dict[str, Any]) -> int:
    """Normal numbers beyond those of the frames, of lengths outside and of labels: the students' own noise and spikes."""
    return int(words["seen"] + (words["directions"] if words["spiked"] else 0))


def case_numbers(problem: Problem) -> dict[str, np.ndarray]:
    """Sections of the numbers, by the name of the field that has their place."""
    return {"table": _table(problem), "walk_factor": triangle(walk_covariance(problem))}


def walk_covariance(problem: Problem) -> np.ndarray:
    """(q, q) of the steps of teachers that walk: their overlaps as the problem has them, so that the walk keeps these."""
    overlap = problem.teacher.overlap
    return np.eye(problem.teacher.width) if isinstance(overlap, str) else np.array(overlap)


def chances(problem: Problem, begins: np.ndarray) -> np.ndarray:
    """(segment, case, 2) probability of each case and its slope, in segments that begin at these times."""
    known = case_table(problem, begins)
    return np.stack([known.probability, known.slope], axis=2)


def triangle(gram: np.ndarray) -> np.ndarray:
    """Lower triangular F with F F^T = gram, also where gram is singular."""
    if not gram.size:
        return gram
    upper: np.ndarray = np.linalg.qr(gram_factor(gram, len(gram)).T)[1]
    return upper.T * np.where(np.diag(upper) < 0, -1.0, 1.0)


def _table(problem: Problem) -> np.ndarray:
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


def work_sizes(problem: Problem, words: dict[str, Any], widest: int) -> dict[str, int]:
    """Slots of the workspace; `widest` is the number of coordinates in the widest frame."""
    p, q = problem.student.width, problem.teacher.width
    return {
        "case": 1, "chances": -(-words["cases"] // 8), "label": 1, "head": 1, "case_teachers": q, "case_readout": p, "mask": p,
        "weights": words["directions"], "spreads": problem.inputs.blocks,
        "walks": q * widest if problem.teacher.drift else 0,
        **({"norm": 1, "output": 1, "kept": 2 * p, "own": 1 + -(-2 * p // 8)} if problem.training.is_shaped else {}),
    }  # fmt: skip

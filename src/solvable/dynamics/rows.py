"""Which rows a problem has, and in which order a state has them.

`Overlaps` have students, teachers, then extra rows by their roles. A state begins with the rows that move: students, velocities,
averages, snapshots, then teachers; those that do not move come behind: directions and anchors, and before them teachers that stay.
"""

import numpy as np

from solvable.problems.spec import KernelSpec

FOLLOWING = ("velocity", "average", "snapshot")  # roles of rows that move with the students


def row_order(problem: KernelSpec) -> np.ndarray:
    """The rows of a state, as numbers of rows of `Overlaps`."""
    p, q, roles = problem.student.width, problem.teacher.width, np.array(problem.extras, dtype=object)
    extras = {role: p + q + np.flatnonzero(roles == role) for role in (*FOLLOWING, "direction", "anchor")}
    following = [extras[role] for role in FOLLOWING]
    still = [extras["direction"], extras["anchor"]]
    return np.concatenate([np.arange(p), *following, np.arange(p, p + q), *still])


def moving_rows(problem: KernelSpec) -> int:
    """How many rows move: students, what follows them, and teachers that drift or turn."""
    following = sum(role in FOLLOWING for role in problem.extras)
    return problem.student.width + following + (problem.teacher.width if problem.teacher.is_moving else 0)


def firsts(problem: KernelSpec) -> dict[str, int]:
    """In a state, the first row of each kind, by the names that compiled code has for it; 0 for students' rows that there are none
    of."""
    p, q, roles = problem.student.width, problem.teacher.width, problem.extras
    at, found = p, {}
    for role, name in zip(FOLLOWING, ("velocities", "averages", "snapshots"), strict=True):
        found[name] = at if role in roles else 0
        at += roles.count(role)
    directions = at + q
    anchors = directions + roles.count("direction")
    if problem.training.snapshot is not None:
        anchors = found["snapshots"]
    return found | {"first_teacher": at, "first_direction": directions, "first_anchor": anchors}

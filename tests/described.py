"""A problem with cases, told twice: in the words of the library, and as arrays for the reference that knows no problem."""

from functools import cache
from typing import NamedTuple

import numpy as np

import solvable as sv
from reference.case_sgd import Setting
from seeds import seed


class Case(NamedTuple):
    """The same as a problem and as arrays, and what is changed in the problem for a control."""

    problem: sv.Problem
    setting: Setting
    without: dict


def tuples(rows):
    return tuple(tuple(float(x) for x in row) for row in rows)


@cache
def vectors(dim):
    """Students that know something of the teachers, teachers, directions."""
    random = np.random.default_rng(seed(1))
    teachers, directions = random.standard_normal((2, 2, dim))
    return 0.6 * random.standard_normal((2, dim)) + 0.4 * teachers, teachers, directions

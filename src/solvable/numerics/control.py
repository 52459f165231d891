"""What a run of `driving.drive` is told, what it reports, and the rows of its memory."""

from typing import Any

import numba
import numpy as np

RISES, FALLS = 1, -1
Y, TRIAL, SPARE, SLOPE, OWN = 0, 1, 2, 3, 4  # rows of memory; a method's own begin at the last

CONTROL = np.dtype(
    (
        np.record,
        [
            ("begin", np.float64),
            ("rtol", np.float64),
            ("atol", np.float64),
            ("bound", np.float64),  # states beyond it have diverged
            ("floor", np.float64),  # where the first scalar has fallen to this, nothing can grow any more
            ("level", np.float64),  # of the threshold
            ("watched", np.int64),  # which scalar has the threshold; -1: none
            ("direction", np.int64),  # RISES or FALLS
            ("max_steps", np.int64),
            ("rests", np.int64),  # whether a state that stopped moving ends the run
        ],
    )
)
REPORT = np.dtype(
    (
        np.record,
        [
            ("ending", np.int64),
            ("time", np.float64),  # the present; in the end that of the last state
            ("evaluations", np.int64),
            ("accepted", np.int64),
            ("rejected", np.int64),
            ("interrupt", np.int64),  # another thread asks to stop
            ("pause", np.int64),  # steps, attempted ones too, after which to return (0: at the end)
            ("segment", np.int64),
            ("saved", np.int64),  # outputs
            ("fresh", np.int64),  # the state is the first of its segment
            ("wanted", np.int64),  # there was something to interpolate: from then on errors count it
            ("dense", np.int64),  # the method has prepared interpolation in this step
            ("end", np.float64),  # of the run
            ("step", np.float64),  # length of the next
            ("longest", np.float64),  # that the method allows
            ("error", np.float64),  # of the last step, in units of what is allowed
            ("size", np.float64),  # of the trial
            ("stiffness", np.float64),  # largest |eigenvalue|, where a method asks for it
        ],
    )
)
CONTROL_TYPE, REPORT_TYPE = numba.from_dtype(CONTROL), numba.from_dtype(REPORT)


def control(
    *,
    rtol: float,
    atol: float = 0.0,
    begin: float = 0.0,
    bound: float = np.inf,
    floor: float = -np.inf,
    watch: tuple[int, int, float] = (-1, RISES, 0.0),
    max_steps: int = 10**6,
    rests: bool = True,
) -> Any:
    """What a run is told. `watch` is which scalar has a threshold (-1: none), in which direction it is crossed, and the level."""
    made = np.zeros(1, CONTROL)
    watched, direction, level = watch
    made[0] = (begin, rtol, atol, bound, floor, level, watched, direction, max_steps, rests)
    return made[0]


def outputs_for(times: np.ndarray, first: np.ndarray, scalars: int) -> np.ndarray:
    """(times + 1, scalars + components), NaN but for the first state in the last row: what `drive` fills."""
    made = np.full((times.size + 1, scalars + first.size), np.nan)
    made[-1, scalars:] = first
    return made

"""Makes a Trajectory from the arrays of a level, or of a log of weights."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from solvable.overlaps import Overlaps
from solvable.problems import Problem
from solvable.results.blocks import Blocks
from solvable.results.threshold import Threshold
from solvable.results.trajectory import Trajectory


class Curves(NamedTuple):
    """Arrays at the output times `alpha` (time,): risk (run, time), overlaps (run, time, p, p or p*), readout (run, time,
    p).

    Errors (run, time) are zero where none are given; `blocks` has the overlaps of single blocks, where they were kept; the
    last three are there with tasks, extra rows or moving teachers.
    """

    alpha: np.ndarray
    risk: np.ndarray
    student_overlap: np.ndarray
    cross_overlap: np.ndarray
    readout: np.ndarray
    risk_error: np.ndarray | None = None
    overlap_error: np.ndarray | None = None
    blocks: Blocks | None = None
    task_risk: np.ndarray | None = None
    extra_overlap: np.ndarray | None = None
    moving_teacher_overlap: np.ndarray | None = None


class Ends(NamedTuple):
    """The end of each run: last state, how and when (steps/dim) it ended, and its number of evaluations or samples; its risk, where
    that is measured on rows of data and does not follow from the state."""

    blocks: Blocks
    readout: np.ndarray
    endings: np.ndarray
    alpha: np.ndarray
    evaluations: np.ndarray
    risk: np.ndarray | None = None


def build(
    problem: Problem,
    level: str,
    settings: dict[str, Any],
    starts: Sequence[Overlaps],
    start_risk: np.ndarray,
    curves: Curves,
    ends: Ends,
    *,
    stop: Threshold | None = None,
) -> Trajectory:
    """Runs are in the order of `starts`, each of which has the same number of them; `start_risk` (run,)."""
    each = len(curves.risk) // len(starts)
    return Trajectory(
        problem=problem,
        level=level,
        settings=settings,
        alpha=curves.alpha,
        risk=curves.risk,
        risk_error=_error(curves.risk_error, curves.risk),
        overlap_error=_error(curves.overlap_error, curves.risk),
        start_risk=start_risk,
        student_overlap=curves.student_overlap,
        cross_overlap=curves.cross_overlap,
        readout=curves.readout,
        block_teacher_overlap=_repeated([start.block_teacher_overlap for start in starts], each),
        end_blocks=ends.blocks,
        end_readout=ends.readout,
        start_hash=np.repeat(np.array([start.hash for start in starts], dtype=object), each),
        endings=ends.endings,
        end_alpha=ends.alpha,
        nfev=ends.evaluations,
        measured_end_risk=ends.risk,
        blocks=curves.blocks,
        task_risk=curves.task_risk,
        extra_overlap=curves.extra_overlap,
        moving_teacher_overlap=curves.moving_teacher_overlap,
        stop=stop,
    )


def _error(given: np.ndarray | None, risk: np.ndarray) -> np.ndarray:
    return np.zeros_like(risk) if given is None else given


def _repeated(arrays: list[np.ndarray], each: int) -> np.ndarray:
    """(run, ...); of a single run without a copy, which would be most of the time that building takes."""
    return arrays[0][None] if len(arrays) == each == 1 else np.repeat(arrays, each, axis=0)

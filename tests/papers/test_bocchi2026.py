"""The figures of bocchi2026: drawn, judged, and the statements that correct the print."""

import numpy as np
import pytest

from solvable.macro import Macro
from solvable.overlaps import nearest_frame
from solvable.papers.bocchi2026.conservation import tilted_start
from solvable.papers.bocchi2026.settings import problem, random_start
from solvable.results import run


def drift(setting, start):
    frames = nearest_frame(run(setting, start, Macro(), times=[0, 5, 50], clock="rate").cross_overlap[0])
    return np.linalg.norm(frames[1:] - frames[0], axis=(1, 2)).max()


@pytest.mark.parametrize("eta", [0.01, 0.1, 0.4, 0.8])
def test_the_frame_is_conserved_at_any_rate(eta) -> None:
    """docs/ERRATA.md B12: no small rate and no closure assumption is needed."""
    setting = problem(eta=eta)
    assert drift(setting, random_start(setting, 0)) < 1e-12


def test_the_frame_drifts_from_generic_students() -> None:
    """docs/ERRATA.md B13: with overlapping students, or teachers that are not orthonormal, it is not conserved."""
    setting = problem()
    assert drift(setting, tilted_start(setting, 0, 0.1)) > 0.03
    base = random_start(setting, 0)
    from solvable import start

    generic = setting.replace(teacher__overlap=[[1, 0.3, 0], [0.3, 1.2, 0], [0, 0, 0.8]])
    assert drift(generic, start(generic, student_overlap=np.eye(6), cross_overlap=base.cross_overlap)) > 0.01


def test_student_overlaps_decay_on_the_plateau() -> None:
    """docs/ERRATA.md B2: overlaps between students fall as exp(-16 t / (p (p + 2))); as printed they would grow."""
    from solvable import start

    setting = problem(p=3, p_star=3)
    Q = 3 / 5 * np.eye(3)
    Q[0, 1] = Q[1, 0] = 1e-4
    followed = run(setting, start(setting, student_overlap=Q), Macro(small_rate=True), times=[0, 2], clock="rate")
    ratio = followed.student_overlap[0, 1, 0, 1] / followed.student_overlap[0, 0, 0, 1]
    assert np.log(ratio) / 2 == pytest.approx(-16 / 15, rel=1e-4)

"""The figures of bocchi2026: drawn, judged, and the statements that correct the print."""

import json

import numpy as np
import pytest

from solvable.macro import Macro
from solvable.overlaps import nearest_frame
from solvable.papers import registry
from solvable.papers.bocchi2026.conservation import tilted_start
from solvable.papers.bocchi2026.settings import problem, random_start
from solvable.papers.claims import judge
from solvable.papers.figure import render, whole
from solvable.results import run


@pytest.mark.parametrize("key", registry.available("bocchi2026"))
def test_figures_draw_and_no_claim_fails(key, tmp_path, request) -> None:
    """And whoever corrects a paper names the test that shows it, and its row in docs/ERRATA.md."""
    rendered = render(registry.get(key), tmp_path, quick=True)
    name = key.replace("/", "-")
    assert {file.name for file in tmp_path.iterdir()} == {f"{name}.{ending}" for ending in ("png", "pdf", "nc", "json")}
    assert all(file.stat().st_size > 500 for file in tmp_path.iterdir())
    assert (tmp_path / f"{name}.png").read_bytes()[:4] == b"\x89PNG"
    assert [claim.verdict for claim in rendered.claims if claim.verdict == "fails"] == []
    stored = json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8"))
    assert stored == [claim.as_dict() for claim in rendered.claims]
    root = request.config.rootpath
    for claim in rendered.claims:
        if claim.verdict in ("corrected", "refuted"):
            path, test = claim.evidence.split(";")[0].split("::")
            assert f"def {test}(" in (root / path).read_text(encoding="utf-8")
            row = claim.evidence.split("ERRATA.md ")[1]
            assert f"| {row} |" in (root / "docs/ERRATA.md").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("key", registry.available("bocchi2026"))
def test_full_size(key, tmp_path) -> None:
    assert not [claim for claim in render(registry.get(key), tmp_path, quick=False).claims if claim.verdict == "fails"]


def test_an_interrupted_run_makes_no_figure(quadratic) -> None:
    from dataclasses import replace

    from solvable import Ending, start

    followed = run(quadratic, start(quadratic, seed=0), Macro(), until=1)
    assert whole(followed) is followed
    with pytest.raises(KeyboardInterrupt):
        whole(replace(followed, endings=np.array([Ending.INTERRUPTED])))


def test_verdicts() -> None:
    facts = {"expected": 1.0, "tolerance": 0.1, "evidence": "here"}
    assert judge("a/1", "x", found=1.05, **facts).verdict == "holds"
    assert judge("a/1", "x", found=1.2, **facts).verdict == "fails"
    assert judge("a/1", "x", found=float("nan"), **facts).verdict == "fails"
    corrected = judge("a/1", "x", found=1.05, correction="B1", **facts)
    assert corrected.verdict == "corrected"
    assert corrected.evidence == "here; docs/ERRATA.md B1"
    assert judge("a/1", "x", found=2.0, correction="B1", **facts).verdict == "fails"


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

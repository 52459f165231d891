"""All figures of all papers: drawn, judged, and their evidence exists."""

import json

import numpy as np
import pytest

from solvable.macro import Macro
from solvable.papers import registry
from solvable.papers.claims import judge
from solvable.papers.figure import render, whole
from solvable.results import run


@pytest.mark.parametrize("key", registry.available())
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
@pytest.mark.parametrize("key", registry.available())
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
    assert judge("a/1", "x", found=1.0, beyond=True, **facts).verdict == "beyond"
    assert judge("a/1", "x", found=2.0, beyond=True, **facts).verdict == "fails"

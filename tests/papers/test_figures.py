"""All figures of all papers: drawn, judged, and their evidence exists. What is wrong with a figure is collected, so that one
computation tells all of it."""

import json
import subprocess
import sys
from typing import Any

import numpy as np
import perturbing
import pytest
from legends import covered
from watching import Watch

from gate import only
from solvable.levels import run
from solvable.macro import Macro
from solvable.papers import registry
from solvable.papers.claims import Claim
from solvable.papers.figure import PaperFigure, Rendered, render, whole
from solvable.papers.statements import Statement

COVERED = 0.015  # share of a legend's box: less only touches its edge, a thin line across it takes more
QUICK = (
    "arnaboldi2023/4", "arnaboldi2024/batches", "arnaboldi2024b/repeats", "bocchi2026/1", "collinswoodfin2024/search",
    "dandi2024/twice", "goldt2019/widths", "lee2021/readouts", "mignacco2025/dropout", "paquette2021/momentum", "rattray1997/decay",
    "refinetti2021/xor", "saad1995/rates", "saraomannelli2020/1", "worschech2024/2",
)  # fmt: skip  # of each paper one, in `make test`; the others in `make test-full`
CONSTANTS: dict[str, str] = {}  # claims that need not look at the data, with the reason


def test_one_figure_of_each_paper_is_drawn_by_make_test() -> None:
    assert [key.split("/")[0] for key in QUICK] == registry.papers()


@pytest.mark.parametrize("key", only(registry.available(), *QUICK))
def test_figures_draw_and_no_claim_fails(key, tmp_path, request, monkeypatch) -> None:
    figure = registry.get(key)
    watch = Watch(figure.parameters, True, monkeypatch)
    rendered = render(figure, tmp_path, quick=True)
    monkeypatch.undo()
    name = key.replace("/", "-")
    assert {file.name for file in tmp_path.iterdir()} == {f"{name}.{ending}" for ending in ("png", "pdf", "nc", "json")}
    assert all(file.stat().st_size > 500 for file in tmp_path.iterdir())
    assert (tmp_path / f"{name}.png").read_bytes()[:4] == b"\x89PNG"
    assert json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8")) == rendered.record
    assert [claim.claim for claim in rendered.claims if claim.verdict == "fails"] == []
    wrong = [*_table(figure, watch), *_legends(rendered), *_evidence(rendered.claims, request.config.rootpath)]
    wrong += [*_judged_anew(rendered.claims), *_independent(figure, rendered), *_sources(key, rendered.claims)]
    if wrong:
        pytest.fail("\n".join([key, *wrong]), pytrace=False)


def _table(figure: PaperFigure, watch: Watch) -> list[str]:
    if not figure.parameters:
        return ["has no table of parameters"]
    return [*watch.unread(figure.parameters), *watch.unseeded(figure.parameters)]


def _legends(rendered: Rendered) -> list[str]:
    over = [share for share in covered(rendered.picture) if share > COVERED]
    return [f"a legend lies over data, with {share:.1%} of its box" for share in over]


def _evidence(claims: list[Claim], root: Any) -> list[str]:
    """Whoever corrects or refutes a paper names the test that shows it, and its row in docs/ERRATA.md."""
    wrong = []
    errata = (root / "docs/ERRATA.md").read_text(encoding="utf-8")
    for claim in claims:
        if claim.verdict in ("corrected", "refuted"):
            path, test = claim.evidence.split(";")[0].split("::")
            if f"def {test}(" not in (root / path).read_text(encoding="utf-8"):
                wrong.append(f"{claim.claim}: no test {test} in {path}")
            if f"| {claim.evidence.split('ERRATA.md ')[1]} |" not in errata:
                wrong.append(f"{claim.claim}: no such row in docs/ERRATA.md")
    return wrong


def _judged_anew(claims: list[Claim]) -> list[str]:
    """Had something else been found, by twice the tolerance, the claim would fail; so it would if the print were found and is
    said to be wrong. A tolerance of nothing is for counts: the next count fails. Nothing at all (zero) is not what a number
    other than zero may be mistaken for."""
    wide = [one.claim for one in claims if one.verdict != "refuted" and 0 < abs(one.expected) <= one.tolerance]
    wrong = [f"{name}: the tolerance is as large as the number" for name in wide]
    for claim in claims:
        step = 2 * claim.tolerance or 1.0
        others = [claim.expected + sign * step for sign in (-1, 1)] if claim.verdict != "refuted" else []
        others += [claim.printed] if claim.verdict in ("corrected", "refuted") and claim.printed is not None else []
        others += [np.nan]
        if not all(claim.again(found).verdict == "fails" for found in others):
            wrong.append(f"{claim.claim}: holds as well at one of {others}")
    return wrong


def _independent(figure: PaperFigure, rendered: Rendered) -> list[str]:
    """Every claim must find something else in other data: none may be a number that no data can move, and none a yes or no that
    hides by how much."""
    blunt = perturbing.unmoved(figure.claims, rendered.claims, perturbing.scaled(rendered.data))
    fixed = perturbing.unmoved(figure.claims, rendered.claims, perturbing.scrambled(rendered.data)) if blunt else []
    constant = [name for name in fixed if name not in CONSTANTS and name in blunt]
    hidden = [one.claim for one in rendered.claims if one.claim in blunt and one.tolerance == 0 and one.found in (0, 1)]
    hidden = [name for name in hidden if name not in fixed]
    wrong = [f"{name}: finds the same whatever the data" for name in constant]
    return wrong + [f"{name}: yes or no, without how much" for name in hidden]


def _sources(key: str, claims: list[Claim]) -> list[str]:
    """What claims say about the paper is among its statements, and those say so."""
    return mismatches(key, claims, registry.statements(key.split("/")[0]) or ())


def mismatches(key: str, claims: list[Claim], statements: tuple[Statement, ...]) -> list[str]:
    named = {one.where for one in statements if key in one.claims}
    said = {claim.source for claim in claims if claim.verdict != "beyond"}
    wrong = [f"source {one!r} of a claim: no statement with that place names {key}" for one in sorted(said - named)]
    return wrong + [
        f"the statement at {one!r} names {key}, which has no claim with that source" for one in sorted(named - said)
    ]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:A worker was restarted")  # how loky gives memory back
@pytest.mark.parametrize("key", registry.available())
def test_full_size(key, tmp_path) -> None:
    rendered = render(registry.get(key), tmp_path, quick=False)
    assert [claim.claim for claim in rendered.claims if claim.verdict == "fails"] == []
    over = [share for share in covered(rendered.picture) if share > COVERED]
    assert not over


def test_an_interrupted_run_makes_no_figure(quadratic) -> None:
    from dataclasses import replace

    from solvable import start
    from solvable.results import Ending

    followed = run(quadratic, start(quadratic, seed=0), Macro(), until=1)
    assert whole(followed) is followed
    with pytest.raises(KeyboardInterrupt):
        whole(replace(followed, endings=np.array([Ending.INTERRUPTED])))


def test_an_interrupted_search_makes_no_figure(monkeypatch) -> None:
    """`optimal` returns the best so far, which is not what a figure shows."""
    from solvable.control import Control, Optimum
    from solvable.control.ensemble import Ensemble
    from solvable.papers.rattray1997.settings import best, setting

    free = {"training.learning_rate": Control(segments=4)}
    where = (*setting("erf", 0.0, 100, 1.0), 5.0)
    assert isinstance(best(*where, free), Optimum)
    call, left = Ensemble.__call__, [5]

    def interrupted(self: Ensemble, x: np.ndarray) -> tuple[float, np.ndarray]:
        left[0] -= x.size == 4
        if left[0] == 0:
            raise KeyboardInterrupt
        return call(self, x)

    monkeypatch.setattr(Ensemble, "__call__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        best(*where, free)


@pytest.mark.full
def test_a_figure_that_is_cut_off_says_so_and_leaves_nothing_half_written(tmp_path) -> None:
    """SIGTERM while the second of four files is being written."""
    code = """
import os, signal, sys
from matplotlib.figure import Figure
save = Figure.savefig
def saving(self, to, **options):
    save(self, to, **options)
    if options["format"] == "pdf":
        os.kill(os.getpid(), signal.SIGTERM)
Figure.savefig = saving
from solvable.cli.main import main
sys.exit(main(["figure", "bocchi2026/6", "--quick", "--output", sys.argv[1]]))
"""
    words = [sys.executable, "-c", code, str(tmp_path)]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ended.returncode == 130
    lines = ["solvable: bocchi2026/6: was cut off, not all of its files were written", "solvable: interrupted"]
    assert ended.stderr.splitlines()[-2:] == lines
    assert [path.name for path in tmp_path.iterdir()] == ["bocchi2026-6.png"]

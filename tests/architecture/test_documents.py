"""What README and guides show is what runs."""

import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import solvable as sv

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["README.md", "docs/GUIDE.md", "CONTRIBUTING.md"])
def test_python_blocks_run_in_order(name, tmp_path, monkeypatch, capsys) -> None:
    import matplotlib
    from matplotlib import pyplot

    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(encoding="utf-8"), re.S)
    assert blocks
    scope: dict = {}
    for block in blocks:
        exec(compile(block, name, "exec"), scope)
    pyplot.close("all")
    capsys.readouterr()


@pytest.mark.slow
@pytest.mark.parametrize(("library", "modules"), [("PyTorch", "torch"), ("JAX", "jax"), ("diffrax", "diffrax")])
def test_recipes_for_other_libraries_run(library, modules) -> None:
    """Trained losses are within a tenth of the first risk of the equations; the solver's overlaps within 1e-7."""
    pytest.importorskip(modules)
    import matplotlib
    from matplotlib import pyplot

    matplotlib.use("Agg")
    text = (ROOT / "docs/site/other_libraries.md").read_text(encoding="utf-8")
    (block,) = re.findall(rf"^## {library}\n.*?```python\n(.*?)```", text, re.M | re.S)
    scope: dict = {}
    exec(compile(block, library, "exec"), scope)
    pyplot.close("all")
    if library == "diffrax":
        np.testing.assert_allclose(scope["solution"].ys[1], scope["macro"].cross_overlap[0], atol=1e-7)
        np.testing.assert_allclose(scope["solution"].ys[0], scope["macro"].student_overlap[0], atol=1e-7)
        return
    trained, theory = scope["trained"].risk[0], scope["theory"].risk[0]
    assert theory[-1] < 0.2 * theory[0]
    assert np.abs(trained - theory).max() < 0.1 * theory[0]


def test_names_in_documents_and_benchmarks_exist() -> None:
    """Also where the gate does not run them: tutorials, clusters, benchmarks."""
    pages = [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("benchmarks/*.py"),
        *ROOT.glob("examples/**/*.py"),
    ]
    names = {
        (page.name, found[0])
        for page in pages
        if page.name != "CHANGELOG.md"
        for found in re.finditer(r"\bsv\.[A-Za-z]\w*(?:\.\w+)?", page.read_text(encoding="utf-8"))
    }
    assert len(names) > 100
    assert sorted(one for one in names if not _exists(one[1])) == []
    assert not _exists("sv.convention")
    assert not _exists("sv.theory.nothing")


def _exists(name: str) -> bool:
    _, first, *rest = name.split(".")
    found = getattr(sv, first, None) if first in sv.__all__ else None
    return found is not None and (not isinstance(found, ModuleType) or not rest or hasattr(found, rest[0]))


def test_theory_names_functions_that_exist(monkeypatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs/site"))
    from formulas import described, named

    rows = [line for line in (ROOT / "docs/THEORY.md").read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    found = [one for row in rows for one in named(row)]
    assert [one.word for one in found if one.path is None] == []
    assert sum(described(one.path) is not None for one in found) > 80  # links of the site to the library's page


def test_the_papers_are_cited() -> None:
    from solvable.papers.references import REFERENCES
    from solvable.papers.registry import papers

    assert sorted(REFERENCES) == papers()
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    for reference in REFERENCES.values():
        assert str(reference) in text


def test_links_point_somewhere() -> None:
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]:
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_errata_rows_name_tests_that_exist() -> None:
    text = (ROOT / "docs/ERRATA.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text)
    assert len(named) >= 6
    for path, test in named:
        assert f"def {test}(" in (ROOT / path).read_text(encoding="utf-8")


def test_no_file_names_a_registry_or_a_machine() -> None:
    for path in [ROOT / "requirements.txt", ROOT / "pyproject.toml", ROOT / "Makefile"]:
        assert "://" not in path.read_text(encoding="utf-8")
    assert "--index" not in (ROOT / "requirements.txt").read_text(encoding="utf-8")


def test_the_answers_of_the_readme_are_those_that_are_computed(tmp_path, monkeypatch) -> None:
    """And its picture is drawn by the same file."""
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    from questions import draw  # type: ignore[import-not-found]

    told = "\n".join(draw(tmp_path / "questions.png"))
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    half = dict(re.findall(r"^(rate [\d.]+|\d+ students): half the first risk at alpha (\d+)", told, re.M))
    last = dict(re.findall(r"^(.+?): .*?last risk (\S+)$", told, re.M))
    for rate in ("0.05", "0.1", "0.7"):
        assert f"α = {half[f'rate {rate}']} at rate {rate}" in text
    assert f"6 students have lost half of the risk after α = {half['6 students']}, " in text
    assert f"12 students after α = {half['12 students']}." in text
    assert f"at rate 1.0 the risk stays at {last['rate 1.0']}." in text
    assert f"their risk stays at {last['2 students']}." in text
    assert float(last["isotropic"]) < 1e-11
    assert "the risk is zero up to rounding at α = 10⁴" in text
    assert f"the risk is {last['power law, beta = 1']} at the same time" in text

"""Tables of parameters: what they show, and that they are read."""

import json

import numpy as np
import pytest
import xarray
from matplotlib.figure import Figure
from PIL import Image
from watching import UNSEEDED, Watch

import solvable
from solvable.papers import tables
from solvable.papers.claims import holds
from solvable.papers.figure import PaperFigure, remark, render
from solvable.papers.parameters import UNREAD, UNSAID, Parameter, shown, table
from solvable.papers.provenance import commit

TABLE = table(
    Parameter("bases", 100, 20, 5, why="100 take an hour", label="random bases"),
    Parameter("widths", (1, 2, 4), np.array([1, 2, 4]), [1, 2]),
    Parameter("start_seed", UNSAID, 0, why="any"),
)


def compute(quick: bool) -> xarray.Dataset:
    chosen = TABLE.values(quick)
    values = np.random.default_rng(chosen["start_seed"]).normal(size=chosen["bases"])
    return xarray.Dataset({"values": ("base", values)}, attrs={"widths": list(chosen["widths"])})


def draw(data: xarray.Dataset) -> Figure:
    picture = Figure(figsize=(3, 2))
    picture.subplots().plot(data["values"])
    return picture


def claims(data: xarray.Dataset) -> list:
    facts = {"source": "(1)", "printed": 0.0, "tolerance": 9.0, "evidence": "here"}
    return [holds("a/1", "the mean is zero", found=float(data["values"].mean()), **facts)]


FIGURE = PaperFigure("a/1", "Means", compute, draw, claims, TABLE)


def test_what_differs_is_said() -> None:
    assert [row.name for row in TABLE.deviations] == ["bases"]
    assert [row.name for row in TABLE.differences(quick=True)] == ["bases", "widths"]
    assert remark(TABLE, quick=False) == "differs from the paper: random bases 20 for 100"
    assert (
        remark(TABLE, quick=True)
        == "quick form; differs from the paper: random bases 5 for 100, widths 1, 2 for 1, 2, 4"
    )
    assert remark(table(), quick=True) == "quick form"
    assert remark(table(), quick=False) == ""
    many = table(*(Parameter(f"n{i}", 1, 2, why="time") for i in range(6)))
    assert remark(many, quick=False).endswith("n3 2 for 1, and 2 more")


def test_what_was_not_read_is_told_and_no_difference() -> None:
    unread = table(Parameter("rate", UNREAD, 0.1, why="ours"), Parameter("dim", UNSAID, 10, why="ours"))
    assert unread.deviations == []
    assert [row.unread for row in unread] == [True, False]
    assert remark(unread, quick=False) == "the paper's own parameters were not read"
    assert remark(unread, quick=True) == "quick form; the paper's own parameters were not read"
    row = tables.parameters(unread.as_dicts()).rows[0]
    assert UNREAD in row
    assert not any(cell.endswith(tables.DIFFERS) for cell in row)
    with pytest.raises(ValueError, match="needs a why"):
        Parameter("rate", UNREAD, 0.1)


def test_the_table_as_words() -> None:
    words = tables.parameters(json.loads(json.dumps(TABLE.as_dicts())))
    assert words.names == ["parameter", "paper", "ours", "quick", "why"]
    assert words.rows == [
        ["random bases", "100", "20*", "5*", "100 take an hour"],
        ["widths", "1, 2, 4", "1, 2, 4", "1, 2*", ""],
        ["start seed", UNSAID, "0", "", "any"],
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (range(20), "0, 1, 2, 3, 4, ..., 18, 19"), (1e-4, "0.0001"), (10_000, "10000"), (True, "yes"), ("erf", "erf"),
        (((1, 2), (3, 4)), "(1, 2), (3, 4)"), (np.float64(1 / 3), "0.33333"), (10**12, "1e+12"),
    ],
)  # fmt: skip
def test_values_in_few_characters(value, text) -> None:
    assert shown(value) == text


def test_a_deviation_needs_a_why() -> None:
    with pytest.raises(ValueError, match="bases: 20 is not the paper's 100"):
        Parameter("bases", 100, 20)
    with pytest.raises(ValueError, match="two rows have one name"):
        table(Parameter("n", 1, 1), Parameter("n", 2, 2))


def test_the_watch_sees_what_is_not_read(monkeypatch) -> None:
    watch = Watch(TABLE, True, monkeypatch)
    assert watch.unread(TABLE) == [f"nothing reads row {row.name!r} of the table" for row in TABLE]
    TABLE.values(False)["bases"]  # the other form
    assert "bases" not in watch.read
    compute(True)
    assert watch.unread(TABLE) == watch.unseeded(TABLE) == []
    assert watch.unseeded(table(Parameter("bases", 1, 1))) == [UNSEEDED]


def test_every_file_says_how_it_was_made(tmp_path) -> None:
    """Two runs differ in their seconds alone."""
    records = []
    for name in ("one", "two"):
        record = render(FIGURE, tmp_path / name, quick=True).record
        with Image.open(tmp_path / name / "a-1.png") as picture:
            texts, pixels = dict(picture.text), picture.tobytes()
        with xarray.open_dataset(tmp_path / name / "a-1.nc", engine="h5netcdf") as data:
            attributes = dict(data.attrs)
        document = (tmp_path / name / "a-1.pdf").read_bytes()
        assert json.loads((tmp_path / name / "a-1.json").read_text(encoding="utf-8")) == record
        assert set(record) == {
            "figure", "title", "quick", "parameters", "seeds", "version", "commit", "seconds", "made_by", "claims",
        }  # fmt: skip
        assert record["seeds"] == {"start_seed": 0}
        for about in (texts, attributes):
            assert json.loads(about["parameters"]) == TABLE.as_dicts() == record["parameters"]
            assert about["version"] == solvable.__version__
            assert json.loads(about["made_by"]) == record["made_by"]
            assert float(about["seconds"]) == record["seconds"]
        for word in (b"random bases", b"start_seed", b"/Subject (a/1)", b"/Keywords"):
            assert word in document
        assert b"CreationDate" not in document
        seconds = {"seconds": None, "claims": None}
        records.append((record | seconds, texts | seconds, pixels, {**attributes, "seconds": None}, data.equals(data)))
    assert str(records[0]) == str(records[1])


def test_the_commit_is_of_these_sources(tmp_path) -> None:
    import subprocess

    assert commit(tmp_path) is None  # no checkout at all
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "-q"], check=True)
    commit.cache_clear()
    assert commit(package) is None  # installed inside another checkout
    subprocess.run([*git, "add", "package"], check=True)
    subprocess.run([*git, "commit", "-qm", "one"], check=True)
    commit.cache_clear()
    name = commit(package)
    assert name is not None
    assert len(name) == 40
    (package / "__init__.py").write_text("x = 1\n")
    commit.cache_clear()
    assert commit(package) == f"{name}-changed"


def test_the_remark_is_on_the_picture(tmp_path) -> None:
    picture = render(FIGURE, tmp_path, quick=True).picture
    (said,) = [text.get_text() for text in picture.texts]
    assert said.replace("\n", " ") == remark(TABLE, quick=True)


def test_remarks_do_not_break_formulas() -> None:
    from solvable.plot.style import footnote

    picture = Figure(figsize=(1, 1))
    footnote(picture, "differs from the paper: $a = b + c$ and $d = e + f$")
    assert [line.count("$") % 2 for line in picture.texts[0].get_text().split("\n")] == [0, 0, 0]

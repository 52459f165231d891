"""Verdicts mean what they say, and tables of claims show it."""

import pytest

from solvable.papers import tables
from solvable.papers.claims import MEANINGS, Claim, beyond, corrected, holds, refuted

FACTS = {"tolerance": 0.1, "evidence": "here"}


def test_holds_is_the_print_within_the_tolerance() -> None:
    for found, verdict in [(1.05, "holds"), (1.2, "fails"), (float("nan"), "fails"), (float("inf"), "fails")]:
        assert holds("a/1", "x", source="(1)", printed=1.0, found=found, **FACTS).verdict == verdict


@pytest.mark.parametrize(
    ("found", "error", "verdict"),
    [
        (2.05, 0.0, "corrected"),
        (2.05, 0.2, "corrected"),  # the print is 5.25 standard errors away
        (2.05, 0.3, "fails"),  # 3.5
        (2.2, 0.0, "fails"),  # not the correction
        (1.0, 0.0, "fails"),  # the print
        (float("nan"), 0.0, "fails"),
    ],
)
def test_corrected_excludes_the_print(found, error, verdict) -> None:
    one = corrected("a/1", "x", source="(1)", row="B1", printed=1.0, expected=2.0, found=found, error=error, **FACTS)
    assert one.verdict == verdict
    assert one.evidence == "here; docs/ERRATA.md B1"
    assert (one.printed_distance, one.distance) == pytest.approx((abs(found - 1), abs(found - 2)), nan_ok=True)


def test_a_correction_within_the_tolerance_of_the_print_is_none() -> None:
    facts = {"source": "(1)", "row": "B1", "printed": 1.0, "tolerance": 0.1, "evidence": "here"}
    assert corrected("a/1", "x", expected=1.05, found=1.06, **facts).verdict == "fails"


@pytest.mark.parametrize(
    ("found", "error", "verdict"),
    [
        (1.2, 0.0, "refuted"),
        (1.2, 0.04, "refuted"),
        (1.2, 0.06, "fails"),
        (1.05, 0.0, "fails"),
        (float("nan"), 0, "fails"),
    ],
)
def test_refuted_excludes_the_print(found, error, verdict) -> None:
    assert (
        refuted("a/1", "x", source="(1)", row="B1", printed=1.0, found=found, error=error, **FACTS).verdict == verdict
    )


def test_beyond_is_ours() -> None:
    one = beyond("a/1", "x", expected=1.0, found=1.05, **FACTS)
    assert (one.verdict, one.printed, one.source) == ("beyond", None, "")
    assert beyond("a/1", "x", expected=1.0, found=1.2, **FACTS).verdict == "fails"


def every() -> list[Claim]:
    return [
        holds("a/1", "x", source="(1)", printed=1.0, found=1.01, **FACTS),
        corrected("a/1", "y", source="(2)", row="B1", printed=1.0, expected=2.0, found=2.03125, error=0.02, **FACTS),
        refuted("a/1", "z", source="(3)", row="B2", printed=1.0, found=3.0, **FACTS),
        beyond("a/1", "u", expected=5.0, found=5.0, **FACTS),
    ]


def test_claims_are_judged_anew() -> None:
    for one in every():
        assert one.again(one.found) == one
        assert one.again(1.0 if one.printed is not None and one.verdict != "holds" else 9.0).verdict == "fails"
    assert every()[2].again(17.0).verdict == "refuted"
    with pytest.raises(ValueError, match="not known"):
        every()[0].again(9.0).again(1.0)


def test_tables_show_print_and_correction() -> None:
    table = tables.verdicts([one.as_dict() for one in every()])
    assert table.names == ["figure", "verdict", "where", "printed", "expected", "found", "s.e.", "tolerance", "claim"]
    assert table.rows[1] == [
        "a/1", "corrected", "(2)", "1", "2", "2.031", "0.02", "0.1",
        "y [found is 1.031 from the print, 0.03125 from the correction]",
    ]  # fmt: skip
    assert table.rows[2][3:6] == ["1", "", "3"]
    assert table.rows[2][-1] == "z [found is 2 from the print]"
    assert table.rows[0][-1] == "x"
    alone = tables.verdicts([every()[3].as_dict()])
    assert alone.names == ["figure", "verdict", "expected", "found", "tolerance", "claim"]  # nothing else to show


def test_only_verdicts_that_occur_are_explained() -> None:
    assert tables.meanings(["refuted", "holds", "holds"]) == [f"{one}: {MEANINGS[one]}" for one in ("holds", "refuted")]

"""Words for a data set that is seen again: what they mean, how they are kept, and which contradict each other."""

import numpy as np
import pytest

import solvable as sv
from solvable.problems.reuse import batch_size, batches_per_epoch, epochs_per_step, sample_count


def problem(dim: int | None = 100, **training) -> sv.Problem:
    return sv.Problem(
        teacher=sv.Teacher(width=1),
        student=sv.Student(width=2),
        inputs=sv.Inputs(dim=dim),
        training=sv.Training(**training),
    )


def test_numbers_per_dimension_are_rounded() -> None:
    one = problem(101, step=0.5, samples=sv.Ratio(1.5), batch=sv.Ratio(ratio=0.5), selection="shuffled")
    assert (sample_count(one), batch_size(one), batches_per_epoch(one)) == (152, 50, 4)
    assert epochs_per_step(one) == 0.25
    assert epochs_per_step(problem(step=1.0, samples=50, batch=20)) == 0.4
    assert epochs_per_step(problem(step=1.0, samples=50)) == 1.0
    with pytest.raises(ValueError, match=r"^inputs\.dim: infinite, so a Ratio"):
        sample_count(one.replace(inputs__dim=None))


@pytest.mark.parametrize(
    "words",
    [
        {"step": 0.5, "samples": sv.Ratio(3), "batch": sv.Ratio(0.5), "selection": "drawn"},
        {"step": sv.Schedule(times=(0, 10), rates=(1.0, 0.5)), "samples": 40, "batch": 10, "selection": "partition"},
        {"learning_rate": 0.1, "batch": sv.Ratio(2.0), "selection": "repeated", "repeats": 2},
        {"learning_rate": 0.1, "samples": 30, "batch": 1, "selection": "persistent", "repeats": 4},
    ],
)
def test_files_keep_the_words(words: dict) -> None:
    one = problem(**words)
    assert sv.Problem.from_toml(one.to_toml()) == one
    assert sv.Problem.from_json(one.to_json()) == one
    assert one.hash != problem(learning_rate=0.1).hash


def test_fresh_single_samples_are_as_they_were() -> None:
    """Hashes of problems without the new words are those of earlier versions, so that stores keep their results."""
    plain = problem(learning_rate=0.1)
    assert plain.training.batch == 1
    assert plain.hash == "fbe67406cf43e6912125a061194bcab1c360749bdb0a5b9a5ad2dc44df6339c9"
    flow = problem(learning_rate=0.1, samples=100)
    assert flow.training.batch is None
    assert flow.hash == "b1be206a52b59ac7e0d73903bac0506ddd8750bf892d3d152573f40c2c5c8ccf"
    assert plain.replace(training__samples=100) == flow
    assert flow.replace(training__samples=None) == plain
    assert problem(learning_rate=0.1, samples=100, batch=1).hash != flow.hash
    assert plain.replace(training__step=0.2).training.learning_rate is None
    assert plain.replace(training__step=0.2).replace(training__learning_rate=0.1) == plain


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({}, "learning_rate: is missing; give it, or step"),
        ({"step": 0.1, "learning_rate": 0.1}, "step: given together with learning_rate"),
        ({"step": 0.1, "selection": "subsets", "batch": 2}, "selection: 'subsets' given without samples"),
        ({"step": 0.1, "samples": 9, "selection": "repeated"}, "selection: 'repeated' is for fresh batches"),
        ({"step": 0.1, "samples": 9, "batch": 3, "selection": "all"}, "batch: given although selection is 'all'"),
        ({"step": 0.1, "samples": 9, "selection": "shuffled"}, "batch: is missing"),
        ({"step": 0.1, "samples": 9, "batch": 3, "repeats": 2}, "repeats: is for fresh batches"),
        ({"step": 0.1, "samples": 9, "batch": 10}, "batch: 10 given, must be at most samples, 9"),
        ({"step": 0.1, "samples": sv.Ratio(1), "batch": sv.Ratio(2)}, "batch: 2 given, must be at most samples, 1"),
        ({"step": 0.1, "samples": 9, "batch": sv.Schedule(times=(0,), rates=(1,))}, "batch: a schedule is given"),
        ({"step": 0.1, "samples": sv.Ratio}, "samples: <class"),
        ({"step": 0.1, "repeats": 0}, "repeats: 0 given"),
        ({"step": 0.1, "samples": 9, "selection": "some"}, "selection: 'some' given"),
    ],
)
def test_contradictions_name_the_field(words: dict, message: str) -> None:
    with pytest.raises(sv.InvalidProblem) as caught:
        sv.Training(**words)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("selection", [None, "subsets", "shuffled", "partition", "persistent"])
def test_batches_are_no_larger_than_the_data_set(selection) -> None:
    """Also where one is a number and the other a ratio, once the dimension is known."""
    words = {"step": 0.1, "selection": selection}
    for samples, batch in ((sv.Ratio(2), 201), (200, sv.Ratio(2.01))):
        with pytest.raises(sv.InvalidProblem, match=r"^training\.batch: 201 given, must be at most the 200 samples"):
            problem(100, samples=samples, batch=batch, **words)
        later = problem(None, samples=samples, batch=batch, **words)
        with pytest.raises(sv.InvalidProblem, match=r"^training\.batch: "):
            later.replace(inputs__dim=100)
    assert epochs_per_step(problem(100, samples=sv.Ratio(2), batch=200, **words)) == 1.0
    assert batch_size(problem(100, samples=sv.Ratio(2), batch=300, step=0.1, selection="drawn")) == 300


def test_a_ratio_takes_the_place_of_a_number() -> None:
    """As sweeps ask for it, whatever the problem began with."""
    for first in ({"samples": 50}, {"samples": sv.Ratio(1)}, {"batch": 3}, {}):
        one = problem(step=0.1, **first).replace(training__samples__ratio=2.0)
        assert one.training.samples == sv.Ratio(2)
        assert one.training.batch == first.get("batch")
        assert one.replace(training__batch__ratio=0.5).training.batch == sv.Ratio(0.5)
    with pytest.raises(sv.InvalidProblem, match=r"^training\.samples\.ratio: 0\.0 given"):
        problem(step=0.1, samples=5).replace(training__samples__ratio=0.0)
    with pytest.raises(sv.InvalidProblem, match=r"must be a whole number, or a Ratio, as { ratio = 2.0 }$"):
        problem(step=0.1, samples="Ratio(2)")


def test_mistakes_inside_a_ratio_are_told_line_by_line() -> None:
    with pytest.raises(sv.InvalidProblem) as caught:
        sv.Training(step=0.1, samples={"ratoi": 2})
    missing, unknown = caught.value.problems
    assert missing == "samples.ratio: is missing"
    assert unknown.startswith("samples.ratoi: is not a field here (did you mean ratio?)")


def test_a_ratio_is_positive_and_may_be_given_by_place() -> None:
    assert sv.Ratio(2) == sv.Ratio(ratio=2.0)
    for wrong in (0.0, -1.0, "2", None, np.nan):
        with pytest.raises(sv.InvalidProblem, match=r"^ratio: "):
            sv.Ratio(wrong)


@pytest.mark.parametrize("level", [sv.Macro(), sv.Meso(), sv.Micro()])
def test_levels_of_fresh_samples_refuse(level) -> None:
    for words, field in [
        ({"step": 0.1}, "step"),
        ({"learning_rate": 0.1, "batch": sv.Ratio(0.5)}, "batch"),
        ({"learning_rate": 0.1, "samples": 10}, "samples"),
    ]:
        one = problem(**words)
        with pytest.raises(ValueError, match=rf"^training\.{field}: ") as caught:
            sv.run(one, sv.start(one, seed=0), level, until=1)
        assert ("give learning_rate" in str(caught.value)) == (field == "step")


def test_clocks_of_steps() -> None:
    one = problem(100, step=0.5, samples=300, batch=30)
    for unit, factor in {"steps": 1.0, "alpha": 0.01, "epochs": 0.1, "rate": 0.5}.items():
        clock = sv.results.Clock(one, unit, "steps")
        assert clock.from_alpha(4.0) == pytest.approx(4 * factor, rel=1e-14)
        assert clock.to_alpha(clock.from_alpha(7.0)) == pytest.approx(7.0, rel=1e-14)
    by_rate = sv.results.Clock(one.replace(training__learning_rate=50.0), "rate", "steps")
    assert by_rate.from_alpha(4.0) == pytest.approx(2.0, rel=1e-14)
    assert sv.results.Clock(one.replace(inputs__dim=None), "rate", "steps").from_alpha(4.0) == 2.0
    falling = one.replace(training__step=sv.Schedule(times=(0, 10), rates=(1.0, 0.5)))
    assert sv.results.Clock(falling, "rate", "steps").from_alpha(20.0) == 15.0
    for unit, base, message in [
        ("epochs", "alpha", "'epochs' needs training.samples"),
        ("saraomannelli2020", "steps", "is no time of steps"),
        ("steps", "days", "base: 'days' given"),
    ]:
        with pytest.raises(ValueError, match=message):
            sv.results.Clock(one, unit, base)
    with pytest.raises(ValueError, match="'alpha' needs a finite"):
        sv.results.Clock(one.replace(inputs__dim=None), "alpha", "steps")

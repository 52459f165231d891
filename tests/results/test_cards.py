"""What notebooks show of problems, states, predictions and endings."""

import re

import numpy as np

import solvable as sv
from solvable.numerics.cards import card, grid, matrix


def rows(html: str) -> dict[str, str]:
    return dict(re.findall(r"<tr><th [^>]*>(.*?)</th><td [^>]*>(.*?)</td></tr>", html))


def test_a_problem_tells_what_was_chosen() -> None:
    problem = sv.Problem(
        teacher=sv.Teacher(width=3),
        student=sv.Student(width=6, readout=0.5),
        inputs=sv.Inputs(spectrum=sv.PowerLaw(beta=1.0, distinct=16)),
        training=sv.Training(learning_rate=sv.Schedule(times=(0, 500), rates=(0.05, 0.01)), label_noise=0.1),
    )
    told = rows(problem._repr_html_())
    assert told["teacher"] == "width 3, activation quadratic"
    assert told["student"] == "width 6, activation quadratic, readout 0.5"
    assert told["inputs"] == "dim infinite, spectrum beta 1, distinct 16"
    assert told["training"].startswith("learning_rate times (0.0, 500.0), rates (0.05, 0.01), batch 1, label_noise 0.1")
    assert "mixture" not in told
    assert rows(problem.teacher._repr_html_())["width"] == "3"


def test_a_problem_without_a_teacher_shows_none() -> None:
    classes = sv.Problem(
        student=sv.Student(width=2), training=sv.Training(step=1.0, samples=10), mixture=sv.Mixture.xor(1.0),
        inputs=sv.Inputs(dim=100),
    )  # fmt: skip
    told = rows(classes._repr_html_())
    assert "teacher" not in told
    assert "labels (1.0, 1.0, -1.0, -1.0)" in told["mixture"]
    assert "learning_rate" not in told["training"]


def test_overlaps_show_their_matrices(quadratic) -> None:
    state = sv.start(quadratic, seed=0, students="orthogonal", cross=0.01)
    html = state._repr_html_()
    assert re.findall(r"<caption[^>]*>(.*?)</caption>", html) == [
        "students", "students with teachers", "teachers", "readout"
    ]  # fmt: skip
    entries = np.array(re.findall(r"<td[^>]*>(.*?)</td>", html), dtype=float)
    np.testing.assert_allclose(entries[:36].reshape(6, 6), state.student_overlap, rtol=5e-3, atol=1e-12)
    np.testing.assert_allclose(entries[36:54].reshape(6, 3), state.cross_overlap, rtol=5e-3, atol=1e-12)


def test_predictions_are_cards_and_their_list_is_a_table(quadratic) -> None:
    found = sv.theory.available(quadratic)
    html = found._repr_html_()
    assert html.count("<tr>") == 1 + len(found)
    limit = sv.theory.rate_limit(quadratic)
    assert f">{limit.value:.6g}</td>" in html
    told = rows(limit._repr_html_())
    assert told["value"] == f"{limit.value:.6g}"
    assert told["source"]
    refused = sv.theory.available(quadratic, why=True)
    assert refused._repr_html_().count("does not apply: ") == len(refused) - len(found)
    rough = sv.theory.optimal_rate(sv.problems.convention("arnaboldi2023").problem(p=2, gamma=0.1, d=1000))
    assert rough.caveats
    assert "but here" in rows(rough._repr_html_())


def test_an_ending_says_what_to_change() -> None:
    for ending in sv.results.Ending:
        assert rows(ending._repr_html_())[ending.name.lower().replace("_", " ")] == ending.text.replace("'", "&#x27;")
    assert sv.results.Ending(3) is sv.results.Ending.DIVERGED


def test_texts_are_escaped_and_large_matrices_cut() -> None:
    assert "<b>" not in card({"<b>": "<b>"}, title="<b>") + grid(["<b>"], [["<b>"]])
    html = matrix(np.ones((20, 3)), "large")
    assert html.count("<tr>") == 8
    assert "large (8 x 8 of 20 x 3)" in html

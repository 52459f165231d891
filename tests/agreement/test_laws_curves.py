"""Macro alone, on random problems over its settings: gradients are those of differences, and the error of a run follows `rtol`."""

import dataclasses

import drawing
import laws
import numpy as np
import pytest

import solvable as sv
from solvable.dynamics.exactness import is_exact
from solvable.dynamics.gaussian_moments import NODES
from solvable.dynamics.reverse_choice import check_reversible

UNTIL = 2.0
OFF = 1e-4  # of the largest derivative, for what differences of runs at rtol 1e-11 leave
MARGIN = 30.0  # times rtol: errors of steps add up over a run
SMOOTH = tuple(
    feature
    for feature in drawing.FEATURES
    if feature.__name__ not in ("rate_rule", "rule", "lookahead", "loss", "target")
)
TIMES_TOLD = 3.0  # errors of averages are the largest difference of three sets of nodes, half as much again
NUMBERS = ("learning_rate", "readout_rate", "weight_decay", "label_noise")


def reversible(problem):
    """Raise ValueError, without running anything, for what has no reverse."""
    drawing.taken_by(problem, sv.Macro())
    check_reversible(problem)


def last_risk(problem, start):
    run = sv.run(problem, start, sv.Macro(rtol=1e-11), times=[UNTIL])
    assert run.success, run.message
    return float(np.log(run.risk[0, -1]))


def difference(value, at, scale):
    """Of fourth order."""
    h = 1e-4 * scale
    near, far = ((value(at + k * h) - value(at - k * h)) / (2 * k * h) for k in (1, 2))
    return (4 * near - far) / 3


def differences(one, start):
    """By each constant of the training, and along one direction of the start."""
    problem, found = one.problem, {}
    for name in NUMBERS:
        at = getattr(problem.training, name)
        if isinstance(at, float) and at > 0:
            found[name] = difference(
                lambda x, name=name: last_risk(problem.replace(**{f"training__{name}": float(x)}), start), at, at
            )
    if problem.student.norm == "free" and problem.teacher.width:
        direction = (
            np.linspace(-1.0, 1.0, start.block_cross_overlap.size).reshape(start.block_cross_overlap.shape) + 0.1
        )
        moved = lambda x: dataclasses.replace(start, block_cross_overlap=start.block_cross_overlap + x * direction)
        if not problem.extras:
            found["start"] = difference(lambda x: last_risk(problem, moved(x)), 0.0, 0.05), direction
    return found


@pytest.mark.parametrize("number", laws.numbers())
def test_gradients_are_those_of_differences(number, laws_note):
    one = drawing.draw("gradients", number, features=SMOOTH, accepts=reversible)
    start = one.start.overlaps(one.problem)
    with laws_note.of("gradients", "Macro", laws.described("gradients", one)) as note:
        expected = differences(one, start)
        direction = expected.get("start", (0.0, None))[1]
        names = [name for name in expected if name != "start"]
        found = sv.gradient(one.problem, start, until=UNTIL, of=[f"training.{name}" for name in names], rtol=1e-9)
        pairs = [(found.by[f"training.{name}"][0], expected[name]) for name in names]
        if direction is not None:
            pairs.append((float((found.cross_overlap * direction).sum()), expected["start"][0]))
        if not pairs:
            pytest.skip("no constant numbers")
        of_gradient, of_differences = np.array(pairs).T
        scale = max(1.0, np.abs(of_differences).max())
        off = np.abs(of_gradient - of_differences).max() / scale
        note(runs=1, share=off / OFF)
        assert off < OFF, (names, pairs)


def accepts(problem):
    drawing.taken_by(problem, sv.Macro())


@pytest.mark.parametrize("number", laws.numbers())
def test_errors_of_a_run_are_what_is_told(number, laws_note):
    """With exact moments `rtol` decides, against a run at 1e-12. Averages over nodes have the errors that a run reports, against
    eight times as many nodes; rtol is then at least 1e-5."""
    one = drawing.draw("tolerance", number, features=drawing.FEATURES, accepts=accepts)
    averaged = not is_exact(one.problem, NODES, noise=True)
    start, times = one.start.overlaps(one.problem), np.linspace(0.0, UNTIL, 9)[1:]

    def macro(**settings):
        run = sv.run(one.problem, start, sv.Macro(**settings), times=times, progress=False)
        assert run.success, run.message
        return run

    form = "averages over nodes" if averaged else "exact moments"
    with laws_note.of("errors of Macro", form, laws.described("tolerance", one)) as note:
        exact = macro(rtol=1e-6, nodes=2**15) if averaged else macro(rtol=1e-12)
        for rtol in (1e-6,) if averaged else (1e-4, 1e-6, 1e-8):
            run = macro(rtol=rtol, nodes=2**12) if averaged else macro(rtol=rtol)
            share = 0.0
            for name in ("risk", "student_overlap", "cross_overlap", "readout"):
                found, expected = getattr(run, name), getattr(exact, name)
                reported = 0.0
                if averaged:
                    reported = float(np.max(run.risk_error if name == "risk" else run.overlap_error))
                size = max(1.0, float(np.abs(expected).max(initial=0.0)))
                allowed = TIMES_TOLD * reported + MARGIN * size * (1e-5 if averaged else rtol)
                share = max(share, float(np.abs(found - expected).max(initial=0.0)) / allowed)
            note(runs=1, share=share)
            assert share <= 1, f"rtol {rtol:g}: off by {share:.3g} times what is allowed"


@pytest.mark.full
def test_a_wrong_derivative_is_caught():
    """Derivatives of another problem differ by more than what is allowed."""
    one = drawing.draw("gradients", 0, features=SMOOTH, accepts=reversible)
    start = one.start.overlaps(one.problem)
    expected = difference(
        lambda x: last_risk(one.problem.replace(training__loss_factor=float(x)), start),
        one.problem.training.loss_factor,
        1.0,
    )
    found = sv.gradient(one.problem, start, until=UNTIL, of="training.learning_rate").by["training.learning_rate"][0]
    assert abs(found - expected) > OFF * max(1.0, abs(expected))


def test_what_has_no_reverse_is_told_without_a_run():
    one = drawing.draw("description", 0, pilot=None)
    with pytest.raises(ValueError, match="rate_rule"):
        reversible(
            one.problem.replace(mixture=None, training=sv.Training(learning_rate=1.0, rate_rule=sv.problems.Polyak()))
        )

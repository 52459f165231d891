"""Micro has the law of full weights, on random problems over all settings: rates that follow the state, several tasks, own rules
with momentum, trained coordinates, and everything else with everything.

All overlaps of all rows in every block, readouts, biases, velocities and sums of squares at two times, and the risk at the end,
against the referee (`reference/case_sgd.py`, which knows nothing of the library).
"""

import drawing
import laws
import numpy as np
import pytest

import solvable as sv
from reference.case_sgd import simulate
from seeds import seed

RUNS, GATE_RUNS = 2000, 600
HEAVY = 600  # where the referee or the library computes averages, or full weights, in every step
WANTED = (
    (drawing.rate_rule,), (drawing.tasks,), (drawing.rule, drawing.momentum), (drawing.rate_rule, drawing.momentum),
    (drawing.mixture, drawing.tasks), (drawing.dropout,), (drawing.rate_rule,), (drawing.moving_teachers,), (drawing.lookahead,),
    (drawing.eigenvalue_schedule,), (),
)  # fmt: skip


def accepts(problem):
    """Raise ValueError for what Micro refuses."""
    drawing.taken_by(problem, sv.Micro())


def drawn(number):
    return drawing.draw("weights", number, wanted=WANTED, accepts=accepts)


def levels_of(one):
    """Level by level with its mask of trained coordinates: the reduced process, and now and then full weights, some of them
    trained."""
    found = {"reduced": ({}, None)}
    kind = one.random.integers(4)
    if kind < 2:
        mask = one.random.random(one.problem.inputs.dim) < 0.6
        level = {"trained": tuple(mask.tolist())} if kind else {"form": "full"}
        try:
            sv.Micro(**level).check([sv.levels.Lane(one.problem, one.start.overlaps(one.problem))])
        except ValueError:
            return found
        found |= {"trained" if kind else "full": (level, mask if kind else None)}
    return found


def full_weights(one, runs, noise, trained=None, **wrong):
    """(run, entry) from the referee."""
    setting = one.setting(trained=trained).but(**wrong)
    record = simulate(setting, [round(time * one.problem.inputs.dim) for time in drawing.TIMES], runs, noise)
    roles = set(one.problem.scalars)
    scalars = {
        "bias": record.bias,
        "readout_velocity": record.readout_velocity.reshape(*record.bias.shape[:2], -1),
        "bias_velocity": record.bias_velocity,
        "accumulated": record.accumulated[..., None],
    }
    roles |= {"bias_velocity"} if {"bias", "readout_velocity"} <= roles else set()
    parts = [values for role, values in scalars.items() if role in roles]
    return flat(record.overlaps, record.readout, *([np.concatenate(parts, axis=-1)] if parts else [])), record.risk


def micro(one, runs, noise, **level):
    """The same from the library."""
    level = sv.Micro(runs=runs, seed=noise, **level)
    run = sv.run(one.problem, one.start, level, times=drawing.TIMES, keep_blocks=True, progress=False)
    assert run.success, run.message
    scalars = () if run.scalars is None else (run.scalars,)
    return flat(all_rows(run), run.readout, *scalars), run.risk, float(np.max(run.risk_error))


def all_rows(run):
    """(run, time, block, row, row) overlaps of students, teachers and extra rows."""
    blocks, q = run.blocks, run.problem.teacher.width
    teacher = blocks.teacher
    if teacher is None:
        still = np.zeros((1, 1, 1, q, q)) if not q else run.block_teacher_overlap[:, None]
        teacher = np.broadcast_to(still, (*blocks.cross.shape[:3], q, q))
    rows = np.block([[blocks.student, blocks.cross], [blocks.cross.swapaxes(-1, -2), teacher]])
    if not run.problem.extras:
        return rows
    n = rows.shape[-1]
    rows = np.concatenate([rows, blocks.extra[..., :n].swapaxes(-1, -2)], axis=-1)
    return np.concatenate([rows, blocks.extra], axis=-2)


def flat(rows, *others):
    first, second = np.triu_indices(rows.shape[-1])
    return np.concatenate([part.reshape(len(part), -1) for part in (rows[..., first, second], *others)], axis=1)


def risks_agree(note, full, found, error):
    """The means of both; single values of the referee have the noise of its tests, and single looks of the library an error."""
    for time in range(full.shape[1]):
        scatter = np.sqrt(full[:, time].var() / len(full) + found[:, time].var() / len(found))
        z = max(abs(full[:, time].mean() - found[:, time].mean()) - error, 0.0) / scatter
        note(z=z)
        if z > laws.K:
            return False
    return True


def runs_of(one):
    rule = one.problem.training.rate_rule
    return RUNS if rule is None or rule.kind in ("adagrad", "clip-batches") else HEAVY


@pytest.mark.statistical
@pytest.mark.parametrize("number", laws.numbers())
def test_micro_has_the_law_of_full_weights(number, laws_note, request):
    one = drawn(number)
    gate = request.node.get_closest_marker("full") is not None
    for form, (level, mask) in levels_of(one).items():
        runs = GATE_RUNS if gate else runs_of(one) if form == "reduced" else HEAVY
        risks = []

        def sample(runs, again, level=level, mask=mask, risks=risks):
            full, of_full = full_weights(one, runs, seed(100 * number + again), mask)
            found, of_found, error = micro(one, runs, seed(100 * number + again), **level)
            risks[:] = [of_full, of_found, error]
            return full, found

        with laws_note.of("weights", form, laws.described("weights", one)) as note:
            laws.compare_laws(note, sample, runs)
            if not risks_agree(note, *risks):
                sample(laws.MORE * runs, 2)
                assert risks_agree(note, *risks), "risk"


@pytest.mark.statistical
@pytest.mark.parametrize("number", laws.numbers(count=12))
def test_a_wrong_factor_is_caught(number):
    """The referee at a rate ten per cent off has another law than the referee: what the comparison could not see it could not
    judge either."""
    one = drawn(number)
    runs = runs_of(one)
    right, _ = full_weights(one, runs, seed(1))
    rate = one.setting().rate
    wrong = (lambda alpha: 1.1 * rate(alpha)) if callable(rate) else 1.1 * rate
    off, _ = full_weights(one, runs, seed(2), rate=wrong)
    assert laws.worst_of_law(right, off)[0] > laws.K


def test_problems_are_legal_follow_from_their_number_and_have_three_features_or_more():
    for number in range(3):
        one, again = (drawing.draw("description", number, pilot=None) for _ in range(2))
        assert one.problem == again.problem
        assert (one.student == again.student).all()
        assert 3 <= len(one.features) <= 6
        assert one.problem != drawing.draw("description", number + 1, pilot=None).problem

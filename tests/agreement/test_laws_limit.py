"""Macro is the limit of Micro at large dim, and Meso has its law there, on random problems over all settings.

Means of Micro at two dims, N and 4 N, are carried on to infinite dim, (4 m(4N) - m(N)) / 3, which leaves a bias of order 1/N^2;
what Macro reports as its own error is taken off. The law of Meso is compared with that of Micro at one dim.
"""

import drawing
import laws
import numpy as np
import pytest

import solvable as sv
from seeds import seed
from solvable.dynamics.exactness import is_exact
from solvable.dynamics.gaussian_moments import NODES

DIM, RUNS = 1080, (64, 48)
GATE_RUNS = (32, 24)
MESO_DIM, MESO_RUNS = 4320, 96
BIAS = 4.0  # means of Meso are right up to some number over dim
WANTED = (
    (drawing.rate_rule,), (drawing.tasks,), (drawing.rule, drawing.momentum), (drawing.mixture,), (drawing.loss,),
    (drawing.mixture, drawing.tasks), (drawing.dropout,), (drawing.moving_teachers,), (drawing.trained_readout,), (),
)  # fmt: skip
MESO_WANTED = (
    (drawing.momentum,), (drawing.tasks,), (drawing.mixture,), (drawing.dropout,), (drawing.moving_teachers,),
    (drawing.trained_readout,), (drawing.batch,), (),
)  # fmt: skip


def enlarged(problem, dim):
    """The problem at another dim: directions are told by their overlaps."""
    if problem.mixture is None:
        return problem.replace(inputs__dim=dim)
    vectors, sizes = np.array(problem.mixture.vectors), problem.inputs.block_sizes
    parts = np.split(vectors, np.cumsum(sizes)[:-1], axis=1)
    gram = tuple(tuple(map(tuple, (part @ part.T / vectors.shape[1]).tolist())) for part in parts)
    return problem.replace(mixture=problem.mixture.replace(vectors=None, gram=gram), inputs__dim=dim)


def check_cost(problem):
    """Raise ValueError for rates that take averages over nodes in every step of thousands."""
    rule, units = problem.training.rate_rule, (problem.student.activation, problem.teacher.activation)
    closed = problem.training.loss == "squared" and set(map(str, units)) <= {"linear", "quadratic", "erf"}
    if rule is not None and rule.kind not in ("adagrad", "clip-batches") and not closed:
        raise ValueError("training.rate_rule: averages over nodes")


def accepts_for(level, dim):
    def accepts(problem):
        check_cost(problem)
        for one in (level, sv.Micro()):
            drawing.taken_by(enlarged(problem, dim), one)

    return accepts


def drawn(family, number, level, dim):
    return drawing.draw(family, number, wanted=WANTED, accepts=accepts_for(level, dim))


def accepts_meso(problem):
    """Raise ValueError too where moments are averages over nodes: Meso does not tell their error, and runs would see it."""
    accepts_for(sv.Meso(), MESO_DIM)(problem)
    if not is_exact(problem, NODES, noise=True):
        raise ValueError("averages over nodes")


def means_of(run):
    """What both levels report, by name: (run, time, entry); velocities where they are rows of order one."""
    slow = run.problem.training.momentum is None or run.problem.training.momentum.beta is None
    found = {"student": run.student_overlap, "cross": run.cross_overlap, "readout": run.readout, "risk": run.risk}
    if run.problem.extras:
        p, q = run.problem.student.width, run.problem.teacher.width
        kept = [i for i, role in enumerate(run.problem.extras) if slow or role != "velocity"]
        columns = [*range(p + q), *(p + q + i for i in kept)]
        found["extra"] = run.extra_overlap[:, :, kept][..., columns]
    if run.scalars is not None:
        kept = [i for i, role in enumerate(run.problem.scalars) if slow or role != "readout_velocity"]
        found["scalars"] = run.scalars[..., kept]
    return {name: np.asarray(values).reshape(len(values), len(run.alpha), -1) for name, values in found.items()}


def measured(one, dims, runs, noise):
    start = one.start.overlaps(one.problem)
    for dim, count in zip(dims, runs, strict=True):
        level = sv.Micro(runs=count, seed=noise)
        run = sv.run(enlarged(one.problem, dim), start, level, times=drawing.TIMES, progress=False)
        assert run.success, run.message
        yield means_of(run), run.risk_error.max()


def predicted(one, **changes):
    start = one.start.overlaps(one.problem)
    return sv.run(
        enlarged(one.problem, DIM).replace(**changes), start, sv.Macro(rtol=1e-6), times=drawing.TIMES, progress=False
    )


def excess(one, macro, dim, runs, noise):
    """The largest |z| of Micro's means, carried on to infinite dim, about Macro."""
    (near, error), (far, further) = measured(one, (dim, 4 * dim), runs, noise)
    worst = 0.0, ""
    for name, limit in means_of(macro).items():
        mean, scatter = laws.carried_on(near[name], far[name])
        own = (
            5 / 3 * max(error, further) + macro.risk_error.max()
            if name == "risk"
            else np.nan_to_num(macro.overlap_error).max()
        )
        apart = np.maximum(np.abs(mean - limit[0]) - own - 1e-6 - 30 / dim**2, 0.0)
        z = np.where(apart > 0, apart / (scatter + 1e-300), 0.0)
        worst = max(worst, (float(z.max(initial=0.0)), name))
    return worst


@pytest.mark.statistical
@pytest.mark.parametrize("number", laws.numbers())
def test_macro_is_the_limit_of_micro(number, laws_note, request):
    one = drawn("limit", number, sv.Macro(), DIM)
    runs = GATE_RUNS if request.node.get_closest_marker("full") else RUNS
    with laws_note.of("limit", "Macro", laws.described("limit", one)) as note:
        macro = predicted(one)
        assert macro.success, macro.message
        z, where = excess(one, macro, DIM, runs, seed(100 * number))
        note(runs=sum(runs), z=z)
        if z > laws.K:
            more = tuple(2 * count for count in runs)
            note(runs=sum(more), followed=1)
            again, there = excess(one, macro, 4 * DIM, more, seed(100 * number + 1))
            assert again <= laws.K, f"|z| = {z:.2f} ({where}), and at four times the dim {again:.2f} ({there})"


@pytest.mark.statistical
@pytest.mark.full
def test_a_wrong_rate_is_caught():
    """Macro at a rate ten per cent off is not the limit of Micro."""
    one = drawn("limit", 1, sv.Macro(), DIM)
    rate = one.problem.training.learning_rate
    off = rate.replace(rates=tuple(1.1 * x for x in rate.rates)) if isinstance(rate, sv.Schedule) else 1.1 * rate
    assert excess(one, predicted(one, training__learning_rate=off), DIM, RUNS, seed(3))[0] > laws.K


def both_laws(one, dim, runs, noise):
    """(run, entry) of Meso and of Micro."""
    problem, start = enlarged(one.problem, dim), one.start.overlaps(one.problem)
    for level in (sv.Meso(runs=runs, seed=noise), sv.Micro(runs=runs, seed=noise)):
        run = sv.run(problem, start, level, times=drawing.TIMES, progress=False)
        assert run.success, run.message
        yield np.concatenate([values.reshape(runs, -1) for values in means_of(run).values()], axis=1)


@pytest.mark.statistical
@pytest.mark.parametrize("number", laws.numbers())
def test_meso_has_the_law_of_micro(number, laws_note, request):
    one = drawing.draw("meso", number, wanted=MESO_WANTED, accepts=accepts_meso)
    dim = MESO_DIM // 4 if request.node.get_closest_marker("full") else MESO_DIM

    def sample(runs, again):
        meso, micro = both_laws(one, dim, runs, seed(100 * number + again))
        shift = meso.mean(axis=0) - micro.mean(axis=0)
        allowed = BIAS / dim * np.maximum(1.0, np.abs(micro).max(axis=0))
        return meso - np.clip(shift, -allowed, allowed), micro

    with laws_note.of("meso", "Meso", laws.described("meso", one)) as note:
        laws.compare_laws(note, sample, MESO_RUNS)


def test_a_problem_is_the_same_at_another_dim():
    one = drawing.draw("description", 0, wanted=((drawing.mixture,),), pilot=None)
    start, large = one.start.overlaps(one.problem), enlarged(one.problem, DIM)
    assert large.mixture.vectors is None
    assert np.allclose(
        large.mixture.block_gram(large.inputs.fractions), one.problem.mixture.block_gram(large.inputs.fractions)
    )
    assert sv.run(large, start, sv.Micro(), times=[1 / DIM], progress=False).success

"""Training on a finite data set on random problems over its settings: each form of `Empirical` has the law of gradient descent on
drawn data sets in plain NumPy (`reference/reuse.py`), and `EmpiricalMacro` is the limit of `Empirical`.
"""

import drawing
import laws
import numpy as np
import pytest

import solvable as sv
from reference.reading import data_of
from reference.reuse import train
from seeds import seed

DIM, STEPS, RUNS, GATE_RUNS = 12, 6, 400, 150
LOOKS = [0, 1, 2, 4, 6]
LIMIT, LIMIT_RUNS = 480, (48, 32)
KINDS = ("all", "subsets", "drawn", "shuffled", "partition", "persistent", "repeated")


def samples(draft):
    """A data set, or batches that are used again, from half as many samples as inputs to three times as many."""
    kind, ratio = draft.pick(*KINDS), float(draft.pick(0.5, 1.0, 2.0, 3.0))
    some = sv.Ratio(float(draft.pick(0.25, 0.5)))
    if kind == "repeated":
        return draft.with_(training={"batch": sv.Ratio(ratio), "repeats": draft.pick(1, 2, 3)})
    if kind == "all":
        return draft.with_(training={"samples": sv.Ratio(ratio)})
    again = {"repeats": draft.pick(2, 4)} if kind == "persistent" else {}
    return draft.with_(training={"samples": sv.Ratio(ratio), "batch": some, "selection": kind} | again)


def in_time(draft, values, shapes=("steps", "linear")):
    return sv.Schedule(
        times=(0.0, 1.5, 4.5), rates=tuple(float(f"{one:.4g}") for one in values), shape=draft.pick(*shapes)
    )


def rate_schedule(draft):
    shape = in_time(draft, (1.0, 0.4, 0.8)).model_dump()
    return drawing.relative(draft, learning_rate=shape)


def decay(draft):
    return draft.with_(
        training={"weight_decay": draft.pick(float(draft.uniform(0.05, 0.4)), in_time(draft, (0.0, 0.3, 0.1)))}
    )


def label_noise(draft):
    return draft.with_(training={"label_noise": float(draft.uniform(0.05, 0.4))})


def trained_readout(draft):
    return drawing.relative(
        draft.with_(training={"train_readout": True}), readout_rate={"factor": draft.uniform(0.2, 0.8)}
    )


def momentum(draft):
    made = sv.Momentum(beta=float(draft.uniform(0.2, 0.8)), nesterov=bool(draft.random.integers(2)))
    return draft.with_(training={"momentum": made})


def mixture(draft):
    longer = drawing.mixture(draft)
    made = longer.tables["mixture"]
    shares = draft.random.dirichlet(np.full(made.classes, 4.0)).round(3)
    shares[-1] = 1 - shares[:-1].sum()
    return longer.with_(
        mixture=made.replace(
            probabilities=tuple(shares.tolist()), variances=tuple(draft.uniform(0.4, 1.6, made.classes).tolist())
        )
    )


FEATURES = (
    rate_schedule, decay, label_noise, trained_readout, drawing.bias, drawing.sphere, drawing.loss, drawing.target, mixture,
    drawing.flips, momentum,
)  # fmt: skip
LIMIT_FEATURES = (
    rate_schedule,
    decay,
    label_noise,
    trained_readout,
    drawing.sphere,
    drawing.loss,
    drawing.target,
    momentum,
)


def plain(random, dim, widths):
    return samples(drawing.plain(random, dim, widths).with_(training={"in_steps": True}))


def accepts(problem):
    """Raise ValueError for what training in steps refuses."""
    training = problem.training
    if training.samples is not None or training.batch is not None:
        drawing.taken_by(problem, sv.Empirical(form="full"))


def accepts_limit(problem):
    accepts(problem)
    drawing.taken_by(problem, sv.EmpiricalMacro())


def drawn(number):
    return drawing.draw("data", number, dim=DIM, features=FEATURES, accepts=accepts, first=plain, pilot=pilot)


def pilot(one, noise):
    return in_numpy(one, 100, noise)


def in_numpy(one, runs, noise, **wrong):
    """(run, entry) from the referee."""
    found = train(one.setting().but(**wrong), data_of(one.problem), STEPS, runs, noise)[:, LOOKS]
    return found.reshape(runs, -1)


def forms_of(problem):
    """Forms that the level has for this problem."""
    for form in ("revealed", "full", "gram"):
        try:
            drawing.taken_by(problem, sv.Empirical(form=form))
        except ValueError:
            continue
        yield form


def in_library(one, form, runs, noise):
    level = sv.Empirical(runs=runs, seed=noise, form=form)
    run = sv.run(one.problem, one.start, level, times=LOOKS, progress=False)
    assert run.success, run.message
    p = one.problem.student.width
    bias = np.zeros((runs, len(LOOKS), 1)) + one.problem.student.bias if run.scalars is None else run.scalars[..., :1]
    overlaps = run.student_overlap[:, :, *np.triu_indices(p)], run.cross_overlap.reshape(runs, len(LOOKS), -1)
    readout = np.broadcast_to(run.readout, (runs, len(LOOKS), p))
    return np.concatenate([run.training_loss[..., None], *overlaps, readout, bias], axis=-1).reshape(runs, -1)


@pytest.mark.statistical
@pytest.mark.parametrize("number", laws.numbers())
def test_training_has_the_law_of_drawn_data_sets(number, laws_note, request):
    one = drawn(number)
    for form in forms_of(one.problem):

        def sample(runs, again, form=form):
            return in_numpy(one, 4 * runs, seed(100 * number + again)), in_library(
                one, form, runs, seed(100 * number + again)
            )

        with laws_note.of("data", form, laws.described("data", one)) as note:
            laws.compare_laws(note, sample, GATE_RUNS if request.node.get_closest_marker("full") else RUNS)


@pytest.mark.statistical
@pytest.mark.parametrize("number", laws.numbers(gate=3, count=3))
def test_a_wrong_step_is_caught(number):
    one = drawn(number)
    rate = one.setting().rate
    wrong = (lambda time: 1.5 * rate(time)) if callable(rate) else 1.5 * rate
    assert laws.worst_of_law(in_numpy(one, 4 * RUNS, seed(1)), in_numpy(one, 4 * RUNS, seed(2), rate=wrong))[0] > laws.K


def drawn_for_the_limit(number):
    return drawing.draw(
        "data limit", number, dim=DIM, features=LIMIT_FEATURES, accepts=accepts_limit, first=plain, pilot=pilot
    )


@pytest.mark.statistical
@pytest.mark.parametrize("number", laws.numbers())
def test_the_limit_is_that_of_large_data_sets(number, laws_note, request):
    one = drawn_for_the_limit(number)
    runs = (24, 16) if request.node.get_closest_marker("full") else LIMIT_RUNS
    with laws_note.of("data limit", "EmpiricalMacro", laws.described("data limit", one)) as note:
        z, where = excess(one, LIMIT, runs, seed(100 * number))
        note(runs=sum(runs), z=z)
        if z > laws.K:
            runs = tuple(2 * count for count in runs)
            again, there = excess(one, 2 * LIMIT, runs, seed(100 * number + 1))
            note(runs=sum(runs), followed=1)
            assert again <= laws.K, f"|z| = {z:.2f} ({where}), and at twice the dim {again:.2f} ({there})"


def excess(one, dim, runs, noise):
    """The largest |z| of means carried on to infinite dim about EmpiricalMacro, whose errors are standard errors themselves."""
    start = one.start.overlaps(one.problem)
    given = {"times": LOOKS, "progress": False}
    limit = sv.run(one.problem.replace(inputs__dim=dim), start, sv.EmpiricalMacro(seed=noise), **given)
    if not limit.success:  # told by the level itself: steps at which a rare sample runs away
        assert "replicas disagree" in limit.message
        return 0.0, "none"
    near, far = (
        sv.run(one.problem.replace(inputs__dim=size), start, sv.Empirical(runs=count, seed=noise), **given)
        for size, count in zip((dim, 4 * dim), runs, strict=True)
    )
    worst = 0.0, ""
    for name in ("risk", "training_loss", "student_overlap", "cross_overlap", "readout"):
        parts = [
            np.broadcast_to(getattr(run, name), (len(run.risk), *getattr(run, name).shape[1:])) for run in (near, far)
        ]
        mean, scatter = laws.carried_on(*parts)
        error = getattr(limit, f"{name}_error" if name in ("risk", "training_loss") else "overlap_error")[0]
        error = error.reshape(-1, *[1] * (mean.ndim - 1))
        nodes = 5 / 3 * max(near.risk_error.max(), far.risk_error.max()) if name == "risk" else 0.0
        apart = np.maximum(np.abs(mean - getattr(limit, name)[0]) - nodes - 1e-6 - 30 / dim**2, 0.0)
        z = np.where(apart > 0, apart / (np.hypot(scatter, error) + 1e-300), 0.0)
        worst = max(worst, (float(z.max()), name))
    return worst


def test_every_selection_is_drawn():
    kinds = {data_of(drawing.draw("kinds", number, dim=DIM, features=FEATURES, first=plain, pilot=None).problem).selection
             for number in range(60)}  # fmt: skip
    assert kinds == set(KINDS)

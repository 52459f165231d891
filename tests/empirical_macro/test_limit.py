"""The limit of a finite data set: against exact answers, against finite data sets, and at its corners."""

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import qmc

import solvable as sv
from gate import first, only
from seeds import seed
from solvable.empirical_macro.marching import March
from solvable.empirical_macro.translation import setting
from solvable.levels import Lane

ERF = sv.Problem(
    teacher=sv.Teacher(width=1, activation="erf"),
    student=sv.Student(width=2, activation="erf"),
    training=sv.Training(step=0.5, samples=sv.Ratio(2), label_noise=0.1),
)
Q, R = np.array([[0.8, 0.1], [0.1, 0.6]]), np.array([[0.3], [0.1]])
START = sv.start(ERF, student_overlap=Q, cross_overlap=R)
SMALL = sv.Ratio(0.5)
SOFTPLUS = sv.Activation("softplus", lambda z: np.logaddexp(0, z), lambda z: 1 / (1 + np.exp(-z)))
SIGN = sv.problems.Target("sign", 1, lambda fields: np.sign(fields[:, 0]))
TWO_BLOCKS = sv.Inputs(spectrum=sv.Spectrum(eigenvalues=(1.6, 0.4)))
CASES = {
    "all": {},
    "subsets": {"training__batch": SMALL},
    "drawn": {"training__batch": SMALL, "training__selection": "drawn"},
    "drawn, as many as there are": {"training__batch": sv.Ratio(2), "training__selection": "drawn"},
    "shuffled": {"training__batch": SMALL, "training__selection": "shuffled"},
    "partition": {"training__batch": SMALL, "training__selection": "partition"},
    "persistent": {"training__batch": SMALL, "training__selection": "persistent", "training__repeats": 3},
    "decay and schedule": {
        "training__weight_decay": 0.2, "training__step": sv.Schedule(times=(0.0, 4.0), rates=(0.8, 0.3), shape="linear"),
    },
    "trained readout": {"training__train_readout": True, "training__readout_rate": 0.7},
    "sphere and blocks": {"student__norm": "sphere", "inputs": TWO_BLOCKS},
    "log-cosh": {"training__loss": "log-cosh"},
    "momentum": {"training__momentum": 0.7, "training__step": 0.2, "training__weight_decay": 0.2},
    "momentum, sphere, blocks": {"training__momentum": 0.7, "training__step": 0.2, "student__norm": "sphere", "inputs": TWO_BLOCKS},
    "momentum, readout, shuffled": {
        "training__momentum": 0.7, "training__step": 0.2, "training__train_readout": True, "training__readout_rate": 0.3,
        "training__batch": SMALL, "training__selection": "shuffled",
    },
    "own unit, own target": {"student__activation": SOFTPLUS, "teacher__target": SIGN},
}  # fmt: skip


def fitting(problem: sv.Problem) -> sv.Overlaps:
    overlap = np.array([[1.0, 0.2], [0.2, 1.0]]) if problem.student.norm == "sphere" else Q
    return sv.start(problem, student_overlap=overlap, cross_overlap=R)


def finite(problem: sv.Problem, number: int, steps: int = 8, **options) -> sv.checks.Report:
    """Against data sets of 4000 inputs: their mean is off by about 1/dim, far below its error."""
    given = {"times": np.arange(0.0, steps + 1, 2), "progress": False}
    start, level = fitting(problem), sv.EmpiricalMacro(seed=seed(number), **options)
    limit = sv.run(problem, start, level, **given)
    data = sv.run(problem.replace(inputs__dim=4000), start, sv.Empirical(runs=8, seed=seed(number + 1)), **given)
    assert limit.success
    values, references, scales = {}, {}, {}
    for name in ("risk", "training_loss", "cross_overlap", "readout"):
        drawn = getattr(data, name)[:, 1:]
        error = getattr(limit, f"{name}_error" if name in ("risk", "training_loss") else "overlap_error")[0, 1:]
        if name == "risk":
            error = np.hypot(error, data.risk_error[:, 1:].max(axis=0))  # of its nodes, which all data sets share
        error = error.reshape(-1, *[1] * (drawn.ndim - 2))
        values[name], references[name] = getattr(limit, name)[0, 1:], drawn.mean(axis=0)
        scales[name] = np.hypot(error, drawn.std(axis=0, ddof=1) / np.sqrt(8)) + 1e-12
    return sv.checks.Report(
        "finite data", values, references, scales, 8.0
    )  # Student's tails with seven degrees of freedom


@pytest.mark.statistical
@pytest.mark.parametrize("name", only(CASES, "subsets", "sphere and blocks", "momentum", "own unit, own target"))
def test_finite_data_sets_tend_to_it(name: str) -> None:
    report = finite(ERF.replace(**CASES[name]), 10 * list(CASES).index(name))
    assert report.passed, str(report)


@pytest.mark.statistical
def test_products_of_two_teachers_and_repeated_fresh_batches() -> None:
    """From overlaps zero a batch that is used twice finds the teachers, one that is used once does not."""
    fresh = sv.Training(step=0.5, batch=sv.Ratio(2), repeats=2)
    problem = sv.Problem(
        teacher=sv.Teacher(width=2, target="product"), student=sv.Student(width=2, activation="tanh"), training=fresh
    )
    start = sv.start(problem, student_overlap=Q, cross_overlap=np.zeros((2, 2)))
    twice, once = (
        sv.run(one, start, sv.EmpiricalMacro(seed=seed(3)), times=[1, 2, 4], progress=False)
        for one in (problem, problem.replace(training__repeats=1))
    )
    data = sv.run(
        problem.replace(inputs__dim=4000), start, sv.Empirical(runs=8, seed=seed(4)), times=[1, 2, 4], progress=False
    )
    error = np.sqrt(data.risk.var(axis=0, ddof=1) / 8 + twice.risk_error[0] ** 2 + data.risk_error.max(axis=0) ** 2)
    assert (np.abs(twice.risk[0] - data.risk.mean(axis=0)) < 8 * error).all()
    assert np.abs(once.cross_overlap).max() < 8 * once.overlap_error.max()


def off_marchenko_and_pastur(ratio: float, particles: int, **changes) -> float:
    """The largest deviation of linear units' losses from the exact ones."""
    problem = ERF.replace(
        student__activation="linear", teacher__activation="linear", training__samples=sv.Ratio(ratio), training__step=0.2,
        training__weight_decay=0.1, **changes,
    )  # fmt: skip
    times = np.array([1, 5, 20, 40])
    run = sv.run(problem, START, sv.EmpiricalMacro(particles=particles, seed=seed(5)), times=times, progress=False)
    exact = sv.theory.linear_data_losses(problem, START, times).value
    off = [np.abs(getattr(run, name)[0] - getattr(exact, name)) for name in ("risk", "training_loss")]
    errors = [run.risk_error[0], run.training_loss_error[0]]
    assert max((one / error.max()).max() for one, error in zip(off, errors, strict=True)) < 8
    return max(one.max() for one in off)


@pytest.mark.statistical
@pytest.mark.parametrize("ratio", first([0.5, 1.0, 3.0]))
def test_linear_units_have_marchenko_and_pasturs_density(ratio: float) -> None:
    assert off_marchenko_and_pastur(ratio, 2**14) < 2e-4  # five standard errors


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("ratio", [0.5, 1.0, 3.0])
def test_linear_units_to_one_in_ten_thousand(ratio: float) -> None:
    assert off_marchenko_and_pastur(ratio, 2**16) < 5e-5


@pytest.mark.statistical
def test_responses_are_not_biased_by_what_is_not_resolved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Directions of small variance are left as tangents have them, which is unbiased: a hundred times fewer change nothing."""
    monkeypatch.setattr("solvable.empirical_macro.marching.RESOLVED", 1e-2)
    assert off_marchenko_and_pastur(3.0, 2**12) < 1e-3


@pytest.mark.statistical
def test_corners() -> None:
    ways = ("many samples", "one pass")
    report = sv.checks.limits_agree(ERF, START, 6, ways=ways, level=sv.EmpiricalMacro(seed=seed(6)))
    assert report.passed, str(report)
    wrong = ERF.replace(training__loss_factor=1.02)
    other = sv.checks.limits_agree(wrong, START, 6, ways=ways, level=sv.EmpiricalMacro(seed=seed(6)))
    for name, values in report.values.items():  # two per cent in the rate would be noticed
        assert (np.abs(values - other.references[name])[1:] > 5 * report.scales[name][1:]).any()


@pytest.mark.statistical
def test_kinks_are_rounded_off_and_extrapolated() -> None:
    relu = ERF.replace(student__activation="relu", teacher__activation="relu", training__step=0.3)
    report = finite(relu, 700, smoothing=0.2)
    assert report.passed, str(report)


def march(problem: sv.Problem, steps: int = 6, particles: int = 4096, **changes):
    made = setting(Lane(problem, fitting(problem)), steps, None)
    for name, value in changes.items():
        object.__setattr__(made, name, value)
    return March(made, particles, np.random.SeedSequence(0)).run()


def test_tangents_obey_steins_identity_and_wrong_ones_do_not() -> None:
    tanh = ERF.replace(student__activation="tanh")
    good = march(tanh)
    function, slope, _ = setting(Lane(tanh, START), 6, None).unit
    flat = march(tanh, unit=(function, slope, np.zeros_like))  # without the second slope
    assert good.residual.max() < 0.05
    assert flat.residual[0] > 0.1 > 50 * good.residual[0]  # later the correction by the identity hides it


def test_noise_of_shuffled_epochs_keeps_its_rank() -> None:
    """The last step of an epoch nearly follows from the others: averages that are not those of draws lose some of its noise."""
    shuffled = ERF.replace(training__samples=sv.Ratio(3), training__batch=sv.Ratio(1), training__selection="shuffled")
    made = setting(Lane(shuffled, START), 20, None)
    found = [March(made, 4096, np.random.SeedSequence(i)).run() for i in range(4)]
    assert {one.rank for one in found} == {1 + 2 * 21}
    assert np.ptp([one.training_loss[-1] for one in found]) < 0.1 * found[0].training_loss[-1]


def test_single_steps_are_those_of_the_definition() -> None:
    """After one step the overlaps have closed forms: C + eta (D C + C D) + eta^2 (D C D + S/ratio) and so on."""
    made = setting(Lane(ERF, START), 1, None)
    found = March(made, 2**14, np.random.SeedSequence(1)).run()
    fresh = ERF.replace(training__samples=None, training__learning_rate=1.0, training__batch=1)
    covariance = sv.dynamics.field_covariance(fresh, START)
    moments = sv.dynamics.moments(covariance, fresh, START.readout)
    push = moments.drift @ covariance  # <F z^T> of all units, by Stein
    moved = START.cross_overlap + 0.5 * push[:2, 2:]
    squared = Q + 0.5 * (push[:2, :2] + push[:2, :2].T) + 0.25 * (push @ moments.drift.T + moments.noise / 2)
    assert np.abs(found.cross[1, 0] - moved).max() < 1e-4
    assert np.abs(found.students[1, 0] - squared).max() < 1e-3


COVERED = [
    ({"student__activation": unit, "training__samples": sv.Ratio(ratio), "training__step": step, **more}, steps)
    for unit, step in (("erf", 0.5), ("tanh", 0.5), ("linear", 0.05))
    for ratio in (0.5, 2.0, 6.0)
    for more, steps in (
        ({}, 30),
        ({"training__batch": sv.Ratio(ratio / 4), "training__selection": "shuffled"}, 16),
        ({"training__batch": sv.Ratio(ratio / 3), "training__weight_decay": 0.1}, 20),
    )
] + [
    ({"training__train_readout": True}, 20),
    ({"student__norm": "sphere", "inputs": TWO_BLOCKS}, 20),
    ({"student__activation": "quadratic", "teacher__activation": "quadratic", "training__step": 0.05}, 20),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.statistical
def test_stated_errors_cover() -> None:
    """Of thirty problems, at three times each, nine in ten numbers are within twice their errors."""
    inside = []
    for number, (changes, steps) in enumerate(COVERED):
        problem = ERF.replace(**changes)
        start, times = fitting(problem), [steps // 4, steps // 2, steps]
        limit = sv.run(problem, start, sv.EmpiricalMacro(seed=seed(number)), times=times, progress=False)
        assert limit.success, (changes, limit.message)
        data = sv.run(
            problem.replace(inputs__dim=20_000),
            start,
            sv.Empirical(runs=8, seed=seed(number)),
            times=times,
            progress=False,
        )
        for name in ("risk", "training_loss"):
            drawn = getattr(data, name)
            error = np.hypot(1.21 * drawn.std(axis=0, ddof=1) / np.sqrt(8), getattr(limit, f"{name}_error")[0])
            z = (getattr(limit, name)[0] - drawn.mean(axis=0)) / error  # 1.21: Student's factor for eight
            inside += (np.abs(z) < 2).tolist()
            print(number, changes, name, z.round(2))
    print(f"{np.mean(inside):.3f} of {len(inside)} within two errors")
    assert len(COVERED) == 30
    assert np.mean(inside) >= 0.9


def test_risks_without_closed_form_have_small_errors() -> None:
    """Of a product of two fields and three students: the mean of 2^20 quasi-random points is right to about 1e-4."""
    problem = sv.Problem(
        teacher=sv.Teacher(width=2, target="product"), student=sv.Student(width=3, activation="erf"),
        training=sv.Training(step=0.5, samples=sv.Ratio(3)),
    )  # fmt: skip
    start = sv.start(problem, student_overlap=0.5 * np.eye(3), cross_overlap=[[0.3, 0.1], [0.1, 0.2], [0.2, 0.0]])
    run = sv.run(problem, start, sv.EmpiricalMacro(particles=256, replicas=2), times=[0, 1], progress=False)
    normal = ndtri(qmc.Sobol(5, rng=np.random.default_rng(0)).random_base2(20).clip(1e-12, 1 - 1e-12))
    fields = normal @ np.linalg.cholesky(np.block([[start.student_overlap, start.cross_overlap],
                                                   [start.cross_overlap.T, np.eye(2)]])).T  # fmt: skip
    outputs = problem.student.unit.function(fields[:, :3]) @ np.ravel(start.readout)
    exact = problem.training.loss_factor * np.mean((problem.teacher.labels(fields[:, 3:]) - outputs) ** 2)
    assert run.risk_error[0, 0] < 4e-3  # 0.012 with as many nodes as replicas have
    assert run.risk[0, 0] == pytest.approx(exact, abs=6e-3)

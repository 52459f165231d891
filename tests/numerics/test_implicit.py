"""The implicit integrator for stiff spectra: its order, agreement with the explicit one, when it is chosen, many eigenvalues."""

import numpy as np
import pytest

import solvable as sv
from solvable.dynamics import implicit
from solvable.dynamics.kernel_data import pack, workspace
from solvable.levels import Lane, Plan
from solvable.macro.choice import chosen
from solvable.macro.integrators import ORDERS
from solvable.numerics import doubling
from solvable.numerics.interpreting import interpreted


def scaling(L, K=2, M=2, **options) -> sv.Problem:
    return sv.problems.convention("worschech2024").problem(
        K=K, M=M, eta=options.pop("eta", 0.1), beta=float(L > 1), L=L, N=1024, **options
    )


def flat_end(run):
    rows = np.concatenate([run.end_blocks.student[0], run.end_blocks.cross[0]], axis=2)
    return np.concatenate([rows.ravel(), run.end_readout[0]])


RAMP = sv.Schedule(times=(0, 5), rates=(0.8, 0.1), shape="linear")


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"learning_rate": RAMP},
        {"train_readout": True, "readout_rate": 0.3, "weight_decay": 0.1, "label_noise": 0.2, "batch": 3},
    ],
)
def test_fitted_orders(changes) -> None:
    """Doubling adds one to the order that a step has."""
    problem = scaling(4, eta=0.5).replace(**{f"training__{name}": value for name, value in changes.items()})
    advance, order = implicit.advance, ORDERS["implicit"]
    start = sv.start(problem, seed=0, scale=0.5)
    packed, work = pack(problem, start), workspace(2, 2)
    exact = flat_end(sv.run(problem, start, sv.Macro(rtol=1e-14, method="explicit"), times=[4.0]))
    errors, counts = [], (16, 32, 64)
    for steps in counts:
        h, plain, doubled = 4 / steps, packed.state.copy(), packed.state.copy()
        out, a, b = (np.empty_like(plain) for _ in range(3))
        for i in range(steps):
            advance(0, i * h, h, plain, out, *packed.data(work))
            plain[:] = out
            interpreted(doubling.double_step)(advance, order, 0, i * h, h, doubled, (a, b), out, packed.data(work))
            doubled[:] = out
        errors.append([np.abs(plain - exact).max(), np.abs(doubled - exact).max()])
    slopes = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert slopes == pytest.approx([order, order + 1], abs=0.65)


@pytest.mark.parametrize(
    "problem",
    [
        scaling(16),
        scaling(4, K=3, M=2, activation="linear"),
        scaling(8).replace(training__weight_decay=0.1, training__label_noise=0.2, training__batch=3),
        scaling(8).replace(training__train_readout=True, training__readout_rate=0.05),
        scaling(8).replace(
            training__learning_rate=sv.Schedule(times=(0, 50, 120), rates=(0.3, 0.0, 0.2), shape="linear")
        ),
        scaling(8).replace(training__learning_rate=sv.Schedule(times=(0, 50, 120), rates=(0.3, 0.05, 0.2))),
    ],
    ids=["erf", "linear 3/2", "decay, noise, batch", "trained readout", "ramp", "steps"],
)
def test_equals_the_explicit_integrator(problem) -> None:
    start = sv.start(problem, seed=0, scale=0.3)
    one = sv.run(problem, start, sv.Macro(rtol=1e-7, method="implicit"), until=200)
    two = sv.run(problem, start, sv.Macro(rtol=1e-11, method="explicit"), until=200)
    assert one.success
    assert one.risk == pytest.approx(two.risk, rel=2e-5)
    assert one.student_overlap == pytest.approx(two.student_overlap, abs=2e-6)
    assert one.readout == pytest.approx(two.readout, abs=1e-6)


def test_thresholds_and_divergence() -> None:
    problem = scaling(16)
    start = sv.start(problem, seed=0, scale=0.1)
    stop = sv.when("risk", below=0.1, relative=True)
    ends = [
        sv.run(problem, start, sv.Macro(rtol=1e-7, method=m), until=400, stop=stop).end_time[0]
        for m in ("explicit", "implicit")
    ]
    assert ends[1] == pytest.approx(ends[0], rel=1e-4)
    wild = scaling(4, activation="linear").replace(training__learning_rate=3.0)
    run = sv.run(wild, sv.start(wild, seed=0), sv.Macro(method="implicit"), until=1000)
    assert run.ending == [sv.results.Ending.DIVERGED]


def test_a_thousand_eigenvalues() -> None:
    """erf, K = M = 2, full order, to alpha = 1000: error of the size of rtol in a few hundred steps, hardly more to 10^5."""
    problem = scaling(1024)
    start = sv.start(problem, seed=0, scale=0.01)
    times = np.linspace(0, 1000, 21)
    level = sv.Macro(rtol=1e-8)
    assert chosen(level, Lane(problem, start), Plan(times)) == "implicit"
    run = sv.run(problem, start, level, times=times)
    early = times[times <= 50]
    tight = sv.run(problem, start, sv.Macro(rtol=1e-10, method="explicit"), times=early)
    assert run.risk[:, : len(early)] == pytest.approx(tight.risk, rel=1e-7)
    other = sv.run(problem, start, sv.Macro(rtol=1e-5, method="explicit"), times=times)
    assert run.risk == pytest.approx(other.risk, rel=1e-4)
    assert run.nfev[0] < 1200
    long = sv.run(problem, start, level, times=np.geomspace(1, 1e5, 41))
    assert long.success
    assert long.nfev[0] < 2 * run.nfev[0]


def test_it_is_chosen_where_it_pays() -> None:
    def found(problem, until, outputs=1, **options):
        start = sv.start(problem, seed=0, scale=0.1)
        return chosen(sv.Macro(**options), Lane(problem, start), Plan(np.linspace(until / outputs, until, outputs)))

    assert found(scaling(1), 1e6) == "explicit"
    assert found(scaling(16), 100.0) == "explicit"
    assert found(scaling(1024), 1e5) == "implicit"
    assert found(scaling(16, K=8, M=8), 1000.0) == "explicit"
    assert found(scaling(1024), 1e5, method="explicit") == "explicit"
    assert found(scaling(256), 1000.0, outputs=201) == "implicit"
    assert found(scaling(256), 1000.0, outputs=1001) == "explicit"  # implicit steps land on outputs
    assert found(scaling(256, activation="linear"), 1000.0, outputs=201, rtol=1e-11) == "implicit"
    sphere = scaling(1024).replace(student__norm="sphere")
    start = sv.start(sphere, seed=0)
    assert chosen(sv.Macro(), Lane(sphere, start), Plan(np.array([1e5]))) == "explicit"
    with pytest.raises(ValueError, match=r"method: 'implicit' given, but student.norm is 'sphere'"):
        sv.run(sphere, start, sv.Macro(method="implicit"), until=1)
    with pytest.raises(ValueError, match="method: 'magic' given"):
        sv.Macro(method="magic")

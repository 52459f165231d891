"""The deterministic limit against SciPy: one trajectory, a batch in which a fifth of the runs diverge, and wide erf committees."""

from functools import partial

import numpy as np
from common import interleaved, report
from numba import float64, int64, void
from scipy.integrate import solve_ivp

import solvable as sv
from solvable.dynamics.kernel_choice import system
from solvable.dynamics.kernel_data import DATA, SYSTEM_FUNCTION, pack
from solvable.gaussian.closed_forms import slopes_times_square
from solvable.gaussian.units import ERF
from solvable.numerics.compiled import compiled

P, Q, RATE, SIDES = 6, 3, 0.01, 5000
FEW = 500  # right-hand sides, where they are averages over nodes


@compiled(void(int64, SYSTEM_FUNCTION, float64[::1], float64[::1], *DATA))
def repeat(count, rhs, y, dy, problems, blocks, cases, numbers, work):
    for _ in range(count):
        rhs(0, 0.0, y, dy, problems, blocks, cases, numbers, work)


def numpy_rhs(p: int, q: int, rate: float):
    """bocchi2026's equations as one would write them in NumPy."""

    def rhs(_, y):
        S, R = y[: p * p].reshape(p, p), y[p * p :].reshape(p, q)
        tau = 1 - np.trace(S) / p
        RR = R @ R.T
        K, Ku = RR / q - S @ S / p, R / q - S @ R / p
        K2 = RR / q**2 - (RR @ S + S @ RR) / (p * q) + S @ S @ S / p**2
        risk = tau**2 + 2 * (1 / q - 2 * np.sum(R * R) / (p * q) + np.trace(S @ S) / p**2)
        dS = 8 * rate / p * (tau * S + 2 * K) + 16 * rate**2 / p**2 * (risk * S + 4 * tau * K + 8 * K2)
        return np.concatenate([dS.ravel(), (4 * rate / p * (tau * R + 2 * Ku)).ravel()])

    return rhs


def scipy_run(problem, start, end, method="DOP853", rtol=1e-8, atol=1e-12, outputs=201, event=False):
    p, q = problem.student.width, problem.teacher.width
    y0 = np.concatenate([start.student_overlap.ravel(), start.cross_overlap.ravel()])
    rhs = numpy_rhs(p, q, problem.training.learning_rate)

    def risk(y):
        S, R = y[: p * p].reshape(p, p), y[p * p :].reshape(p, q)
        return (1 - np.trace(S) / p) ** 2 + 2 * (1 / q - 2 * np.sum(R * R) / (p * q) + np.sum(S * S) / p**2)

    half = 0.5 * risk(y0)

    def halved(_, y):
        return risk(y) - half

    def exploded(_, y):
        return 1e8 - np.abs(y).max()

    halved.terminal = exploded.terminal = True
    events = [halved, exploded] if event else None
    return solve_ivp(rhs, (0, end), y0, method, np.linspace(0, end, outputs), events=events, rtol=rtol, atol=atol)


def one_trajectory() -> None:
    problem = sv.problems.convention("bocchi2026").problem(p=P, p_star=Q, eta=RATE)
    start = sv.start(problem, seed=0, students="orthogonal", cross=0.01)
    end = 60 / RATE
    reference = scipy_run(problem, start, end, rtol=1e-13, atol=1e-15)
    truth = reference.y[P * P :].T.reshape(-1, P, Q)

    def error(cross):
        return np.abs(cross - truth).max()

    def ours(rtol):
        return sv.run(problem, start, sv.Macro(rtol=rtol), until=end)

    times = interleaved(
        {
            "solvable, rtol 1e-8": lambda: ours(1e-8),
            "solvable, rtol 1e-6": lambda: ours(1e-6),
            "SciPy DOP853 + NumPy, rtol 1e-8": lambda: scipy_run(problem, start, end),
            "SciPy LSODA + NumPy, rtol 1e-8": lambda: scipy_run(problem, start, end, "LSODA"),
            "SciPy RK45 + NumPy, rtol 1e-8": lambda: scipy_run(problem, start, end, "RK45"),
        }
    )
    report(
        f"One trajectory: quadratic {P}/{Q}, rate {RATE}, to rate x alpha = 60, 201 outputs",
        times,
        "solvable, rtol 1e-8",
    )
    dop = times["SciPy DOP853 + NumPy, rtol 1e-8"]
    print(f"  largest error of the cross overlaps: solvable 1e-8 {error(ours(1e-8).cross_overlap[0]):.1e}, ", end="")
    print(f"1e-6 {error(ours(1e-6).cross_overlap[0]):.1e}, ", end="")
    print(f"DOP853 {error(scipy_run(problem, start, end).y[P * P :].T.reshape(-1, P, Q)):.1e}")
    print(f"  DOP853 / solvable: {dop / times['solvable, rtol 1e-8']:.0f} at equal rtol, ", end="")
    print(f"{dop / times['solvable, rtol 1e-6']:.0f} at equal accuracy (solvable at rtol 1e-6)")


def batch() -> None:
    """20 starts x 60 rates; SciPy is timed on every tenth run and scaled."""
    problem = sv.problems.convention("bocchi2026").problem(p=3, p_star=3, eta=RATE)
    starts = [sv.start(problem, seed=seed, students="orthogonal", cross=0.01) for seed in range(20)]
    rates = np.linspace(0.02, 0.56, 60)
    stop = sv.when("risk", below=0.5, relative=True)

    def ours():
        return sv.levels.run_batch(problem, starts, sv.Macro(threads=1), until=300, learning_rates=rates, stop=stop)

    def scipy_part():
        with np.errstate(all="ignore"):
            for i, rate in enumerate(rates):
                for start in starts[i % 10 :: 10]:
                    scipy_run(problem.replace(training__learning_rate=float(rate)), start, 300, event=True)

    times = interleaved({"solvable (one thread)": ours, "SciPy DOP853 loop, a tenth": scipy_part}, repeats=2)
    times["SciPy DOP853 loop, scaled"] = 10 * times.pop("SciPy DOP853 loop, a tenth")
    report("Batch: 20 starts x 60 rates, quadratic 3/3, to half the first risk", times, "solvable (one thread)")
    diverged = np.mean(ours().endings == sv.results.Ending.DIVERGED)
    print(f"  share of runs that diverge: {diverged:.2f}")


def numpy_noise(p: int, C: np.ndarray, s: np.ndarray) -> np.ndarray:
    """<g'_k g'_l e^2> of erf units as one would write it in NumPy."""
    out, weights = np.empty((p, p)), np.outer(s, s)
    for k in range(p):
        for m in range(k + 1):
            pair = C[[k, m]]
            inner = np.array([[1 + C[k, k], C[k, m]], [C[k, m], 1 + C[m, m]]])
            tilted = C - pair.T @ np.linalg.solve(inner, pair)
            root = 1 / np.sqrt(1 + np.diag(tilted))
            total = np.sum(weights * np.arcsin(tilted * np.outer(root, root)))
            out[k, m] = out[m, k] = 4 / np.pi**2 / np.sqrt(np.linalg.det(inner)) * total
    return out


def committees() -> None:
    """The noise of erf committees, p^2 n^2 / 4 arcsines, and a run of 32 students."""
    for p in (4, 16, 32):
        n = 2 * p
        factor = np.random.default_rng(p).standard_normal((n, n + 3))
        C, s = factor @ factor.T / n, np.random.default_rng(0).standard_normal(n)
        work, out = np.empty((n, n)), np.empty((n, n))
        times = interleaved(
            {
                "solvable": partial(slopes_times_square, ERF, p, C, s, work, out),
                "NumPy": partial(numpy_noise, p, C, s),
            }
        )
        report(f"Noise of {p} erf students and as many teachers", times, "solvable")
        assert np.allclose(out[:p, :p], numpy_noise(p, C, s), rtol=1e-12)
    problem = sv.Problem(
        teacher=sv.Teacher(width=32, activation="erf"),
        student=sv.Student(width=32, activation="erf"),
        training=sv.Training(learning_rate=0.5, loss_factor=0.5),
        inputs=sv.Inputs(dim=1000),
    )
    start = sv.start(problem, seed=0)
    times = interleaved({"to alpha = 20": lambda: sv.run(problem, start, sv.Macro(), until=20)}, repeats=3)
    report("32 erf students and teachers", times, "to alpha = 20")


def cases() -> None:
    """Right-hand sides of four classes and two tasks beside that of a plain problem: four students, two teachers."""
    random = np.random.default_rng(0)
    W, V, directions = (random.standard_normal((count, 200)) for count in (4, 2, 2))
    tasks = tuple(sv.Task(readout=row, probability=0.5) for row in ((1.0, 0.5), (0.5, 1.0)))
    for unit in ("linear", "quadratic", "erf"):
        plain = sv.Problem(
            teacher=sv.Teacher(width=2, activation=unit, overlap="sampled"),
            student=sv.Student(width=4, activation=unit),
            inputs=sv.Inputs(dim=200),
            training=sv.Training(learning_rate=0.1),
        )
        classes = plain.replace(mixture=sv.Mixture.xor(1.0))
        contestants = {
            "plain": sides(plain, sv.measure(plain, W, V, plain.readout_values)),
            "four classes": sides(classes, sv.measure(classes, W, V, classes.readout_values, directions=directions)),
        }
        for name, base in (("two tasks", plain), ("four classes, two tasks", classes)):
            one = base.replace(tasks=tasks)
            more = {"directions": directions} if one.mixture else {}
            contestants[name] = sides(one, sv.measure(one, W, V, one.readout_values, **more))
        report(f"{SIDES} right-hand sides, {unit}", interleaved(contestants), "plain")


def rules() -> None:
    """Right-hand sides of losses and rules beside those of squared loss: two students, two teachers; nodes are 8192."""
    start = {"student_overlap": 0.5 * np.eye(2), "cross_overlap": 0.1 * np.eye(2)}
    for unit in ("linear", "erf"):
        plain = sv.Problem(
            teacher=sv.Teacher(width=2, activation=unit),
            student=sv.Student(width=2, activation=unit),
            training=sv.Training(learning_rate=0.1),
        )
        changes = {
            "squared": {}, "correlation": {"training__loss": "correlation"}, "huber": {"training__loss": "huber"},
            "perceptron, signs": {"training__loss": "perceptron", "teacher__target": "sign"},
            "clipped": {"training__rule": {"norm": 0.5}}, "three uses": {"training__repeats": 3},
            "a rule of one's own": {"training__rule": sv.Rule("halved", halved)},
        }  # fmt: skip
        problems = {name: plain.replace(**change) for name, change in changes.items()}
        contestants = {name: sides(one, sv.start(one, **start), FEW) for name, one in problems.items()}
        report(f"{FEW} right-hand sides, losses and rules, {unit}", interleaved(contestants), "squared")


def halved(F, fields, label, output, size):  # noqa: ARG001
    for k in range(F.size):
        F[k] *= 0.5


def sides(problem, start, count=SIDES):
    """A call that evaluates right-hand sides alone; what they are made of is made beforehand."""
    one = system(problem, pack(problem, start), 2**13)
    state, data = one.packed.state, one.data()
    return partial(repeat, count, one.rhs, state, np.empty_like(state), *data)


if __name__ == "__main__":
    one_trajectory()
    batch()
    committees()
    cases()
    rules()

"""The diffusion: many paths in leaps against Euler's method in NumPy, one path and one step at a time, and against SGD itself.

`euler` is what papers ship: the overlaps by Euler and Maruyama's method with the exact covariance of each step. A threshold that is
far away costs nothing; where one is near, each leap asks for the noise of what is watched.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
from common import interleaved

import solvable as sv

UNTIL = 4.0  # in the paper's time
STEP = 0.01


def problem_of(p, dim):
    return sv.problems.convention("arnaboldi2023").problem(p=p, gamma=0.05 * p, d=dim)


def leaps(p, dim, runs, **threshold):
    problem = problem_of(p, dim)
    start, level = sv.start(problem, seed=0), sv.Meso(runs=runs, threads=1)
    stop = sv.when(**threshold) if threshold else None
    return lambda: sv.run(problem, start, level, times=[UNTIL], stop=stop, clock="arnaboldi2023", progress=False), runs


def samples(p, dim, runs):
    problem = problem_of(p, dim)
    start, level = sv.start(problem, seed=0), sv.Micro(runs=runs, threads=1)
    return lambda: sv.run(problem, start, level, times=[UNTIL], clock="arnaboldi2023", progress=False), runs


def euler(p, dim):
    problem = problem_of(p, dim).replace(student__norm="free")
    start, random = sv.start(problem_of(p, dim), seed=0), np.random.default_rng(0)
    rate = problem.training.learning_rate
    upper = np.triu_indices(p)
    steps, h = int(UNTIL / STEP), STEP / 0.05

    def call():
        R, Q = start.cross_overlap.copy(), start.student_overlap.copy()
        for _ in range(steps):
            values, vectors = np.linalg.eigh(np.block([[Q, R], [R.T, np.ones((1, 1))]]))
            repaired = (vectors * np.maximum(values, 0)) @ vectors.T  # Euler leaves the cone of possible overlaps
            state = sv.start(
                problem, student_overlap=repaired[:p, :p], cross_overlap=repaired[:p, p:] / repaired[p, p] ** 0.5
            )
            C = sv.dynamics.field_covariance(problem, state)
            moments = sv.dynamics.moments(C, problem)
            drift = rate * moments.drift @ C
            dQ = drift[:, :p] + drift[:, :p].T + rate**2 * moments.noise
            values, vectors = np.linalg.eigh(sv.dynamics.step_covariance(problem, state))
            noise = vectors @ (np.sqrt(np.maximum(values, 0) * h / dim) * random.standard_normal(values.size))
            scatter = np.zeros((p, p))
            scatter[upper] = noise[p:]
            dQ, dR = h * dQ + scatter + np.triu(scatter, 1).T, h * drift[:, p:] + noise[:p, None]
            R, Q = R + dR, Q + dQ
            norms = np.sqrt(np.diag(Q))
            R, Q = R / norms[:, None], Q / np.outer(norms, norms)

    return call, 1


def main() -> None:
    cases = {
        "leaps p=2 d=3000": leaps(2, 3000, 400),
        "threshold far away": leaps(2, 3000, 400, quantity="cross_overlap", above=2.0),
        "threshold, half meet it": leaps(2, 3000, 400, quantity="student_overlap", entry=(0, 1), above=0.25),
        "leaps p=2 d=10^9": leaps(2, 10**9, 400),
        "leaps p=20 d=3000": leaps(20, 3000, 40),
        "SGD p=2 d=3000": samples(2, 3000, 64),
        "Euler in NumPy p=2 d=3000": euler(2, 3000),
    }
    seconds = interleaved({name: call for name, (call, _) in cases.items()})
    each = {name: seconds[name] / count for name, (_, count) in cases.items()}
    base = each["leaps p=2 d=3000"]
    for name, value in each.items():
        print(f"{name:28s} {1e3 * value:9.3f} ms per path   {value / base:8.1f} x")


if __name__ == "__main__":
    main()

"""A finite data set: the flow of a factor by our steps against the flow of the matrix by SciPy's LSODA (with its Jacobian) and BDF,
at equal times; and what the samples decide, against running the flow to find out."""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
from common import interleaved, report
from scipy.integrate import solve_ivp

import solvable as sv


def flows(d, n, until):
    random = np.random.default_rng(0)
    rows, teacher = random.standard_normal((n, d)), np.eye(d)[:1]
    hills = sv.empirical.TrainingLandscape(rows, teacher)
    problem = sv.problems.convention("saraomannelli2020").problem(m=d, m_star=1, d=d)
    weights, data = sv.overlaps.Weights(d * np.eye(d), d**0.5 * teacher), sv.Data(rows, prepare=False)
    times = np.geomspace(1e-3, until, 61)

    def ours(method):
        level = sv.Empirical(data=data, method=method, threads=1)
        return lambda: sv.run(problem, weights, level, times=times, progress=False)

    def scipy(method):
        return lambda: solve_ivp(
            lambda _, v: hills.force(v), (0, until), hills.identity, method, times, rtol=1e-8, atol=1e-14,
            jac=lambda _, v: hills.jacobian(v),
        )  # fmt: skip

    return {
        "implicit": ours("implicit"),
        "stabilised": ours("stabilised"),
        "LSODA, matrix": scipy("LSODA"),
        "BDF, matrix": scipy("BDF"),
    }


def decisions(d, n):
    random = np.random.default_rng(1)
    rows, teacher = random.standard_normal((n, d)), np.eye(d)[:1]
    return {
        "certificate": lambda: sv.empirical.recovered(rows, teacher),
        "flow to 10^6": lambda: sv.empirical.recovered_by_flow(rows, teacher),
    }


if __name__ == "__main__":
    for d, n, until in [(8, 40, 1e4), (16, 100, 1e4)]:
        report(f"flow, d = {d}, n = {n}, t = {until:g}, 61 outputs", interleaved(flows(d, n, until), 3), "implicit")
    for d, n in [(8, 15), (16, 33)]:
        report(f"is the teacher determined? d = {d}, n = {n}", interleaved(decisions(d, n), 5), "certificate")

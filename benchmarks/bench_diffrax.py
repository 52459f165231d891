"""The deterministic limit against diffrax, which is no dependency: without it this benchmark says so and ends.

Compiled by JAX in double precision: the same equations, the same outputs, warm calls. JAX computes in threads of its own, so
this is wall time.
"""

import sys
import time

import numpy as np
from bench_macro import RATE, P, Q, scipy_run
from common import interleaved, report

import solvable as sv

try:
    import diffrax
    import jax
    import jax.numpy as jnp
except ImportError:
    print("bench_diffrax: diffrax is not installed, nothing is measured")
    sys.exit()

END, OUTPUTS = 60 / RATE, 201


def velocity(_, y, rate):
    """bocchi2026's equations as one would write them in JAX."""
    S, R = y
    tau, RR = 1 - jnp.trace(S) / P, R @ R.T
    K, Ku = RR / Q - S @ S / P, R / Q - S @ R / P
    K2 = RR / Q**2 - (RR @ S + S @ RR) / (P * Q) + S @ S @ S / P**2
    risk = tau**2 + 2 * (1 / Q - 2 * jnp.sum(R * R) / (P * Q) + jnp.trace(S @ S) / P**2)
    dS = 8 * rate / P * (tau * S + 2 * K) + 16 * rate**2 / P**2 * (risk * S + 4 * tau * K + 8 * K2)
    return dS, 4 * rate / P * (tau * R + 2 * Ku)


def theirs(start, solver, rtol):
    first = jnp.array(start.student_overlap), jnp.array(start.cross_overlap)

    @jax.jit
    def solve(y):
        return diffrax.diffeqsolve(
            diffrax.ODETerm(velocity), solver, 0.0, END, None, y, RATE,
            saveat=diffrax.SaveAt(ts=jnp.linspace(0.0, END, OUTPUTS)),
            stepsize_controller=diffrax.PIDController(rtol=rtol, atol=1e-12), max_steps=10**5,
        ).ys  # fmt: skip

    return lambda: jax.block_until_ready(solve(first))


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    problem = sv.problems.convention("bocchi2026").problem(p=P, p_star=Q, eta=RATE)
    start = sv.start(problem, seed=0, students="orthogonal", cross=0.01)
    truth = scipy_run(problem, start, END, rtol=1e-13, atol=1e-15).y[P * P :].T.reshape(-1, P, Q)
    calls = {}
    for rtol in (1e-8, 1e-6):
        calls[f"solvable, rtol {rtol:g}"] = lambda rtol=rtol: sv.run(problem, start, sv.Macro(rtol=rtol), until=END)
        for solver in (diffrax.Tsit5(), diffrax.Dopri8()):
            calls[f"diffrax {type(solver).__name__}, rtol {rtol:g}"] = theirs(start, solver, rtol)
    times = interleaved(calls, repeats=30, clock=time.perf_counter)
    report(f"One trajectory: quadratic {P}/{Q}, to rate x alpha = 60, {OUTPUTS} outputs", times, "solvable, rtol 1e-08")
    for name, call in calls.items():
        found = call()
        cross = found[1] if isinstance(found, tuple) else found.cross_overlap[0]
        print(f"  largest error of the cross overlaps, {name}: {np.abs(np.asarray(cross) - truth).max():.1e}")


if __name__ == "__main__":
    main()

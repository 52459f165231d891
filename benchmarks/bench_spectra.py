"""Many eigenvalues: the exponential block integrator against the explicit one and SciPy's stiff solver, errors beside times."""

import numpy as np
from common import interleaved, report
from scipy.integrate import solve_ivp

import solvable as sv
from solvable.dynamics.equations import rhs
from solvable.dynamics.kernel_data import pack, workspace


def case(eigenvalues: int, until: float) -> None:
    problem = sv.convention("worschech2024").problem(K=2, M=2, eta=0.1, beta=1.0, L=eigenvalues, N=1024)
    start = sv.start(problem, seed=0, scale=0.01)
    times = np.linspace(0, until, 21)
    packed, work = pack(problem, start), workspace(2, 2)

    def slope(t, y):
        dy = np.empty_like(y)
        rhs(0, t, np.ascontiguousarray(y), dy, *packed.data(work))
        return dy

    def run(**options):
        return sv.run(problem, start, sv.Macro(**options), times=times).risk[0]

    tight = run(rtol=1e-6, method="exponential")
    contestants = {
        "solvable, exponential, rtol 1e-5": lambda: run(rtol=1e-5, method="exponential"),
        "solvable, explicit, rtol 1e-5": lambda: run(rtol=1e-5, method="explicit"),
    }
    if eigenvalues <= 128:
        contestants["SciPy LSODA, our compiled rhs, rtol 1e-5"] = lambda: solve_ivp(
            slope, (0, until), packed.state, "LSODA", times, rtol=1e-5, atol=1e-10
        )
    times_taken = interleaved(contestants, repeats=1)
    report(f"erf 2/2, {eigenvalues} eigenvalues, to alpha = {until:g}", times_taken, "solvable, exponential, rtol 1e-5")
    for method in ("exponential", "explicit"):
        error = np.abs(run(rtol=1e-5, method=method) / tight - 1).max()
        print(f"  largest relative error of the risk, {method}: {error:.1e}")


if __name__ == "__main__":
    case(128, 1000.0)
    case(1024, 1000.0)

"""Many eigenvalues: the implicit block integrator against the others and SciPy's stiff solver, errors beside times."""

import numpy as np
from common import interleaved, report
from scipy.integrate import solve_ivp

import solvable as sv
from solvable.dynamics.equations import rhs
from solvable.dynamics.kernel_data import pack, workspace


def case(eigenvalues: int, until: float, rtol: float, methods: tuple[str, ...], unit: str = "erf") -> None:
    rate = 0.1 if unit == "erf" else 0.01
    problem = sv.problems.convention("worschech2024").problem(
        K=2, M=2, eta=rate, beta=1.0, L=eigenvalues, N=1024, activation=unit
    )
    start = sv.start(problem, seed=0, scale=0.01 if unit == "erf" else 0.3)
    times = np.linspace(0, until, 21)
    packed, work = pack(problem, start), workspace(2, 2)

    def slope(t, y):
        dy = np.empty_like(y)
        rhs(0, t, np.ascontiguousarray(y), dy, *packed.data(work))
        return dy

    def run(method, rtol=rtol):
        return sv.run(problem, start, sv.Macro(rtol=rtol, method=method), times=times).risk[0]

    def lsoda():
        return solve_ivp(slope, (0, until), packed.state, "LSODA", times, rtol=rtol, atol=1e-10)

    contestants = {f"solvable, {method}": lambda method=method: run(method) for method in methods}
    if eigenvalues <= 128:
        contestants["SciPy LSODA, our compiled rhs"] = lsoda
    taken = interleaved(contestants, repeats=1)
    report(f"{unit} 2/2, {eigenvalues} eigenvalues, to alpha = {until:g}, rtol {rtol:g}", taken, "solvable, implicit")
    tight = run("implicit", 1e-2 * rtol)
    for method in methods:
        print(f"  largest relative error of the risk, {method}: {np.abs(run(method) / tight - 1).max():.1e}")


if __name__ == "__main__":
    both = "implicit", "explicit"
    for eigenvalues in (16, 128):
        case(eigenvalues, 1000.0, 1e-5, both)
        case(eigenvalues, 1000.0, 1e-8, both)
    case(128, 100.0, 1e-8, both, "quadratic")
    case(1024, 1000.0, 1e-5, both)
    case(1024, 1000.0, 1e-8, both)

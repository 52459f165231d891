"""Check of exit times: SGD, the diffusion, and the equations from noisy starts."""

import numpy as np

from solvable.checks.report import Report
from solvable.levels import run, run_batch, when
from solvable.macro import Macro
from solvable.meso import Meso
from solvable.micro import Micro
from solvable.overlaps import Overlaps
from solvable.problems import Problem
from solvable.theory import NotApplicable, noisy_starts


def exit_times_agree(
    problem: Problem,
    start: Overlaps,
    until: float,
    *,
    drop: float = 0.1,
    runs: int = 200,
    seed: int = 0,
    allowed: float = 4.0,
) -> Report:
    """Check that SGD, the diffusion and the equations from noisy starts leave a plateau at the same times.

    Compared are mean and standard deviation over runs of the first time at which the risk has fallen by the fraction
    `drop`.

    Parameters
    ----------
    problem : Problem
        What is learned, at finite dim.
    start : Overlaps
        The state at time zero.
    until : float
        Time (steps/dim) by which all runs must have passed the threshold.
    drop : float
        Fraction of the first risk that is to be lost.
    runs, seed : int
        How many runs each level has, and their seed.
    allowed : float
        How many standard errors they may differ.

    Returns
    -------
    Report
        Mean and standard deviation for each of the other levels, against SGD. Equations from noisy starts are left out
        where `theory.noisy_starts` does not apply.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=1000)
    >>> start = sv.start(problem, seed=0, students="orthogonal", cross=0.1)
    >>> report = sv.checks.exit_times_agree(problem, start, until=100, runs=16)
    >>> sorted(report.values)
    ['diffusion', 'equations from noisy starts']
    """
    if runs < 2 or not 0 < drop < 1:
        raise ValueError(f"exit_times_agree: runs={runs} and drop={drop} given, must be at least 2 and between 0 and 1")
    stop = when("risk", below=1 - drop, relative=True)
    micro = run(problem, start, Micro(runs=runs, seed=seed), until=until, stop=stop).exit_time()
    found = {"diffusion": run(problem, start, Meso(runs=runs, seed=seed), until=until, stop=stop).exit_time()}
    try:
        noisy = noisy_starts(problem, start, runs, seed).value
        found["equations from noisy starts"] = run_batch(
            problem, noisy, Macro(rtol=1e-6), until=until, stop=stop
        ).exit_time()
    except NotApplicable:
        pass
    if not all(np.isfinite(times).all() for times in (micro, *found.values())):
        raise ValueError(
            f"exit_times_agree: some runs have not lost {drop:g} of their risk by alpha = {until:g}; raise until"
        )
    references = {name: np.array([micro.mean(), micro.std(ddof=1)]) for name in found}
    values = {name: np.array([times.mean(), times.std(ddof=1)]) for name, times in found.items()}
    scales = {name: np.hypot(_errors(micro), _errors(times)) for name, times in found.items()}
    return Report("exit times: mean and standard deviation", values, references, scales, allowed)


def _errors(times: np.ndarray) -> np.ndarray:
    """Standard errors of mean and standard deviation."""
    deviation = times - times.mean()
    spread = float(np.mean(deviation**2))
    fourth = float(np.mean(deviation**4))
    return np.sqrt(np.array([spread, max(fourth - spread**2, 0.0) / (4 * spread)]) / times.size)

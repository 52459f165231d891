"""How many samples determine the teacher, on given data and over many data sets."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from solvable.empirical.certificates import check_rows, decide, independent_count, room, turned
from solvable.empirical.sample import DataSet
from solvable.levels.jobs import Control, run_jobs
from solvable.levels.progress import silent
from solvable.numerics.memory import FLOAT, check_memory, counted
from solvable.numerics.random import Purpose, child
from solvable.numerics.statistics import standard_error
from solvable.numerics.threads import cores, interruptible, one_blas_thread, raise_if_abandoned
from solvable.problems import Domain, Problem
from solvable.results import Ending

# how students learn does not matter, but that labels are the teacher's own does
RECOVERABLE = Domain(units="quadratic", teachers="any", samples=True, schedules="rates")
SHORT = 24  # inputs below which decisions are so short that threads only wait for each other
MORE_DECADES = 4  # decades of time that a flow may take beyond those asked for


def recovered(rows: Any, teacher: Any) -> bool:
    """Whether samples determine the teacher, by a verified certificate.

    Parameters
    ----------
    rows, teacher : array
        (samples, dim) inputs and (units, dim) teachers.

    Returns
    -------
    bool
        `decide(rows, teacher).unique`.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(10, 4))
    >>> sv.empirical.recovered(rows, [[1.0, 0.0, 0.0, 0.0]])
    True
    """
    return decide(rows, teacher).unique


@interruptible
def fewest_samples(rows: Any, teacher: Any, enough: Callable[[Any, Any], bool] = recovered) -> int:
    """How many of the rows, from the first on, determine the teacher; more samples never hurt.

    Parameters
    ----------
    rows : array
        (samples, dim) inputs: at least dim (dim + 1)/2, with which the teacher is always determined.
    teacher : array
        (units, dim) teachers.
    enough : callable
        enough(rows, teacher) tells whether so many are enough; left out, by certificates.

    Returns
    -------
    int
        The smallest number.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(10, 4))
    >>> sv.empirical.fewest_samples(rows, [[1.0, 0.0, 0.0, 0.0]])
    7
    """
    X, W = check_rows(rows, teacher)
    dim, rank = X.shape[1], turned(W)[1]
    low, high = 0, dim * (dim + 1) // 2
    if len(X) < high:
        raise ValueError(f"rows: {len(X)} given, must be at least dim (dim + 1)/2 = {high}")
    guess = dim * rank - rank * (rank - 1) // 2 + dim - rank if rank < dim else high - 1  # near it for Gaussian rows
    stride = max(1, (dim - rank) // 2)
    while high - low > 1:  # spread out from the guess until it is between, then halve
        raise_if_abandoned()
        at = min(max(guess, low + 1), high - 1)
        if enough(X[:at], W):
            high, guess = at, at - stride
        else:
            low, guess = at, at + stride
        stride *= 2
        if not low < guess < high:
            guess = (low + high) // 2
            stride = high - low
    if high == dim * (dim + 1) // 2 and not enough(X[:high], W):
        if independent_count(X[:high]) < high:
            raise ValueError(
                f"rows: the first {high} do not determine the teacher, though so many can; some depend on others"
            )
        raise ArithmeticError(f"fewest_samples: {high} samples determine the teacher, but `enough` does not find it")
    return high


@dataclass(frozen=True, eq=False)
class Recovery:
    """How many samples it took to determine the teacher, on many data sets.

    Parameters
    ----------
    problem : Problem
        Whose teacher.
    fewest : ndarray
        (instances,) number of samples on each data set.

    Examples
    --------
    >>> problem = sv.problems.convention("saraomannelli2020").problem(m=4, m_star=1, d=4, n=None)
    >>> found = sv.empirical.Recovery(problem, np.array([6, 7, 8, 7]))
    >>> found.mean, float(found.probability(7)[0])
    (7.0, 0.75)
    """

    problem: Problem
    fewest: np.ndarray

    @property
    def mean(self) -> float:
        """Mean number of samples over the data sets."""
        return float(self.fewest.mean())

    @property
    def standard_error(self) -> float:
        """Standard error of `mean`."""
        return standard_error(self.fewest) if self.fewest.size > 1 else float("nan")

    def probability(self, samples: Any, confidence: float = 0.95) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Share of the data sets in which `samples` are enough, with the ends of its confidence interval (Clopper and
        Pearson's).
        """
        from scipy.stats import beta

        if not 0 < confidence < 1:
            raise ValueError(f"confidence: {confidence} given, must be between 0 and 1")
        n, many = np.asarray(samples), self.fewest.size
        good = (self.fewest <= n[..., None]).sum(axis=-1)
        tail = 0.5 * (1 - confidence)
        with np.errstate(invalid="ignore"):
            low = np.where(good > 0, beta.ppf(tail, good, many - good + 1), 0.0)
            high = np.where(good < many, beta.ppf(1 - tail, good + 1, many - good), 1.0)
        return good / many, low, high


def recovery(
    problem: Problem, instances: int = 100, seed: Any = 0, *, by: str = "certificate", threads: int | None = None
) -> Recovery:
    """How many samples it takes to determine the teacher, on many Gaussian data sets.

    Each data set has a teacher in random directions; only the number of its units matters. Data set i follows from the
    seed, i, and the problem's dim and teacher width.

    Parameters
    ----------
    problem : Problem
        Its dim and teacher width are used.
    instances : int
        How many data sets.
    seed : int or SeedSequence
        Of the data sets.
    by : str
        "certificate" decides exactly; "flow" by whether gradient flow comes to the teacher (`recovered_by_flow`), as
        saraomannelli2020 did.
    threads : int, optional
        How many to use; left out, all cores.

    Returns
    -------
    Recovery
        The number for each data set.

    Examples
    --------
    >>> problem = sv.problems.convention("saraomannelli2020").problem(m=4, m_star=1, d=4, n=None)
    >>> found = sv.empirical.recovery(problem, instances=4)
    >>> found.fewest.shape
    (4,)
    """
    RECOVERABLE.require(problem, "the number of samples")
    dim, width = problem.inputs.dim, problem.teacher.width
    if dim is None:
        raise ValueError("inputs.dim: infinite, but a data set has rows of finite length")
    if by not in ("certificate", "flow"):
        raise ValueError(f"by: {by!r} given, must be 'certificate' or 'flow'")
    for name, value, least in [("instances", instances, 1), ("threads", threads, 1), ("seed", seed, 0)]:
        if (value is None and name == "threads") or (name == "seed" and isinstance(value, np.random.SeedSequence)):
            continue
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise ValueError(f"{name}: {value!r} given, must be a whole number, at least {least}")
    rows, at_once = dim * (dim + 1) // 2, min(instances, threads or cores())
    needed = at_once * (room(rows, dim) if by == "certificate" else FLOAT * 4 * rows * dim)
    check_memory("instances", f"numbers of samples of {counted(instances)} data sets", FLOAT * instances)
    check_memory("inputs.dim", f"{at_once} data set(s) of {rows} samples of {dim} numbers", needed)
    fewest = np.full(instances, -1, dtype=np.int64)

    def job(control: Control, i: int) -> None:
        random = np.random.default_rng(child(seed, Purpose.RECOVERY, dim, width, i))
        if control.stopped:
            return
        teacher, rows = random.standard_normal((width, dim)), random.standard_normal((dim * (dim + 1) // 2, dim))
        try:
            fewest[i] = fewest_samples(rows, teacher, recovered if by == "certificate" else recovered_by_flow)
        except ArithmeticError as error:
            raise ArithmeticError(f"instance {i} of seed {seed}: {error}") from None
        control.done[i] = 1.0

    if threads is None and dim < SHORT:
        threads = 1
    with one_blas_thread():
        run_jobs([job] * instances, [1.0] * instances, threads, silent)
    if (fewest < 0).any():  # those that were not begun are no results
        raise KeyboardInterrupt
    return Recovery(problem, fewest)


@interruptible
def recovered_by_flow(rows: Any, teacher: Any, until: float = 1e6) -> bool:
    """Whether gradient flow from A(0) = 1 comes to the teacher.

    The flow has come there if its population loss is negligible, or falls at least tenfold over the last decade of time
    while the training loss falls as a power (both fall as 1/t^2 in the end). It has found other students if the
    training loss vanished: away from a teacher of rank below dim it falls exponentially. Where neither is seen at t =
    `until`, the flow goes on up to 10^4 times as long; what has not come by then counts as not found. Samples that see
    every symmetric matrix determine it by linear equations and need no flow.

    Parameters
    ----------
    rows, teacher : array
        (samples, dim) inputs and (units, dim) teachers.
    until : float
        Time t of saraomannelli2020 at which it is first judged.

    Returns
    -------
    bool
        Whether it comes to the teacher.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(10, 4))
    >>> sv.empirical.recovered_by_flow(rows, [[1.0, 0.0, 0.0, 0.0]])
    True
    """
    X, W = check_rows(rows, teacher)
    A, dim = W.T @ W / len(W), X.shape[1]
    if independent_count(X) == dim * (dim + 1) // 2:
        return True
    sample, full = DataSet.from_teacher(X, A), turned(W)[1] == dim
    factor, now, first = np.eye(dim), 0.0, float(sample.losses(np.eye(dim))[0])
    for end in until * 10.0 ** np.arange(1 + MORE_DECADES):
        found = sample.follow(factor, np.array([0.1 * end, end]) - now, method="implicit")
        raise_if_abandoned()  # the flow may have been told to stop
        if found.ending != Ending.FINISHED:
            raise ArithmeticError(f"recovered_by_flow: {Ending(found.ending).text}")
        (early, late), (before, after) = found.population, found.training
        near, vanished = late < 1e-10 * first, after <= 1e-20 * first
        if full and (near or vanished):
            return bool(near)
        if not full and (vanished or (after > 1e-3 * before and (near or late < 0.1 * early))):
            return not vanished
        factor, now = found.last, end
    return False

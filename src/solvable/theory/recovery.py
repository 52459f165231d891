"""How many samples determine a quadratic teacher: the threshold of saraomannelli2020, and what replaces it.

The samples determine the teacher's matrix, of rank r in d dimensions, if no other positive semidefinite matrix gives all labels
(`empirical.decide` tells for given data). N* is the smallest number of samples for which they do.
"""

import math
from functools import lru_cache

import numpy as np
from scipy.special import gammaln

from solvable.problems import Domain, Problem
from solvable.problems.reuse import sample_count
from solvable.theory.prediction import NotApplicable, Prediction, prediction

MOST_DIM = 3000  # beyond, averages over spectra take long
# which teachers give all labels does not depend on rates; with noise on the labels none does
RECOVERY = Domain(units="quadratic", teachers="any", samples=True, schedules="rates")


def _sizes(problem: Problem) -> tuple[int, int]:
    """Dimension, and rank of the teacher."""
    width = _rank_of(problem)
    if problem.inputs.dim is None:
        raise NotApplicable("inputs.dim: is infinite; see recovery_limit")
    if not 2 <= problem.inputs.dim <= MOST_DIM:
        raise NotApplicable(f"inputs.dim: is {problem.inputs.dim}, not between 2 and {MOST_DIM}")
    return problem.inputs.dim, min(width, problem.inputs.dim)


def _rank_of(problem: Problem) -> int:
    RECOVERY.require(problem)
    if problem.inputs.dim is not None and problem.student.width < problem.inputs.dim:
        raise NotApplicable(
            f"student.width: {problem.student.width} students are not any quadratic form on {problem.inputs.dim} inputs"
        )
    return problem.teacher.width


@prediction(_sizes)
def counted_threshold(problem: Problem) -> Prediction:
    """Number of samples that determine the teacher, by saraomannelli2020's count of entries.

    Returns
    -------
    Prediction
        Its value: float, the number of samples.

    Notes
    -----
    saraomannelli2020's n_c = d (m* + 1) - m* (m* + 1)/2 for m* < d, d (d + 1)/2 otherwise (13): a count of entries. It
    is the mean of N* within a sample or so for d <= 8 and exact for m* >= d - 1; for large d at fixed m* it is too low
    by a factor.

    Examples
    --------
    >>> problem = sv.problems.convention("saraomannelli2020").problem(m=4, m_star=1, d=4)
    >>> round(float(sv.theory.counted_threshold(problem).value), 4)
    7.0
    """
    d, r = _sizes(problem)
    value = d * (r + 1) - r * (r + 1) // 2 if r < d else d * (d + 1) // 2
    caveats = () if d <= 8 or r >= d - 1 else ("not a threshold for d > 8: see recovery_threshold",)
    return Prediction(value, ("student width at least dim",), "saraomannelli2020, (13)", caveats)


@prediction(_sizes)
def statistical_dimension(problem: Problem) -> Prediction:
    """Statistical dimension of the cone of directions in which another solution could lie.

    Returns
    -------
    Prediction
        Its value: float, the dimension.

    Notes
    -----
    Statistical dimension of the cone of directions in which another matrix could lie: the number of random linear
    equations at which it is as likely as not that they leave none,

        min over tau of  r (r + 1)/2 + r k + r tau^2 + E sum_i (lambda_i - tau)_+^2,      k = d - r,

    with the eigenvalues lambda of a random symmetric k x k matrix (variance 1 on the diagonal, 1/2 off it), averaged
    exactly.

    Examples
    --------
    >>> problem = sv.problems.convention("saraomannelli2020").problem(m=4, m_star=1, d=4)
    >>> round(float(sv.theory.statistical_dimension(problem).value), 4)
    5.6591
    """
    d, r = _sizes(problem)
    return Prediction(_dimension(d, r), ("equations with Gaussian matrices in place of x x^T",), "conic geometry")


@prediction(_sizes)
def recovery_threshold(problem: Problem) -> Prediction:
    """Mean number of samples that determine the teacher, at any dim.

    Returns
    -------
    Prediction
        Its value: float, the number of samples.

    Notes
    -----
    Mean of N*: 1/2 + alpha(r)/(3 r) x statistical dimension, alpha(r) = `recovery_limit`. A heuristic;
    certified decisions confirm it within 4 % (d = 4 to 64 at r = 1, to 32 at r up to 16).

    Examples
    --------
    >>> problem = sv.problems.convention("saraomannelli2020").problem(m=4, m_star=1, d=4)
    >>> round(float(sv.theory.recovery_threshold(problem).value), 4)
    6.7395
    """
    d, r = _sizes(problem)
    if r >= d - 1:
        return Prediction(float(d * (d + 1) // 2), (), "exact: no smaller number of samples is enough")
    value = 0.5 + _limit(r) / (3 * r) * _dimension(d, r)
    return Prediction(
        value, ("Gaussian inputs", "student width at least dim"), "statistical dimension, corrected for x x^T"
    )


@prediction(_rank_of)
def recovery_limit(problem: Problem) -> Prediction:
    """Number of samples per dimension that determine the teacher, in the limit of many dimensions.

    Returns
    -------
    Prediction
        Its value: float, N*/d.

    Notes
    -----
    N*/d as d grows at fixed teacher width r: 3.308 for r = 1 (phase retrieval; saraomannelli2020 has 2), towards 3 r
    for large r (it has r + 1). From a cavity argument, not rigorous: it is the alpha at which

        min over s and e >= 0 of  < (e/a + s a + h)^2 >  =  r/alpha,        <sqrt e>^2 >= (1 - 1/alpha) <e>,

    a with the law of chi_r and h normal.

    Examples
    --------
    >>> problem = sv.problems.convention("saraomannelli2020").problem(m=4, m_star=1, d=4)
    >>> round(float(sv.theory.recovery_limit(problem).value), 4)
    3.3077
    """
    return Prediction(
        _limit(_rank_of(problem)), ("dim infinite at fixed teacher width", "cavity argument"), "cavity argument"
    )


@prediction()
def unique_probability(problem: Problem) -> Prediction:
    """Probability that dim + 1 samples determine a teacher of one unit.

    Returns
    -------
    Prediction
        Its value: float, the probability.

    Notes
    -----
    Probability that d + 1 samples determine a teacher of one unit (fewer never do):

        (d + 1) 2^(1 - d) (2/pi)^d  int (x / sinh x)^d dx / int sech^d x dx.

    Then the samples do so if and only if one of the rays x_s, turned to the teacher's side, is not extremal.

    Examples
    --------
    >>> problem = sv.problems.convention("saraomannelli2020").problem(m=4, m_star=1, d=4, n=5)
    >>> round(float(sv.theory.unique_probability(problem).value), 4)
    0.1733
    """
    d, r = _sizes(problem)
    if r != 1:
        raise NotApplicable(f"teacher.width: is {problem.teacher.width}, not 1")
    samples = sample_count(problem)
    if samples not in (None, d + 1):
        raise NotApplicable(f"training.samples: is {samples}, not dim + 1 = {d + 1}")
    return Prediction(2 * (d + 1) * math.exp(_log_one_inside(d + 1)), ("Gaussian inputs",), "signs of normal products")


def check_hidden_ray(problem: Problem) -> tuple[int, int]:
    d, r = _sizes(problem)
    if r != 1:
        raise NotApplicable(f"teacher.width: is {problem.teacher.width}, not 1")
    samples = sample_count(problem)
    if samples is None:
        raise NotApplicable("training.samples: is not given")
    return d, samples


@prediction(check_hidden_ray)
def hidden_ray_probability(problem: Problem) -> Prediction:
    """Probability that one sample lies in the cone of the others, all turned to the teacher's side.

    Returns
    -------
    Prediction
        Its value: float, the probability.

    Notes
    -----
    Probability that a given one of n = `training.samples` rays, all turned to the side of a teacher of one unit, lies
    in the cone of the others. saraomannelli2020's criterion is that some ray does; it is sufficient, and n times this
    bounds how often it is met.

    Examples
    --------
    >>> problem = sv.problems.convention("saraomannelli2020").problem(m=4, m_star=1, d=4, n=5)
    >>> round(float(sv.theory.hidden_ray_probability(problem).value), 4)
    0.0347
    """
    d, n = check_hidden_ray(problem)
    terms = [
        gammaln(n) - gammaln(j + 1) - gammaln(n - j) + _log_side(j, n - j) + _log_one_inside(n - j)
        for j in range(n - d - 1, -1, -2)
    ]
    value = 2 * float(np.exp(np.logaddexp.reduce(terms))) if terms else 0.0
    return Prediction(value, ("Gaussian inputs",), "conic geometry of half-sphere rays")


@lru_cache(maxsize=1024)
def _log_one_inside(N: int) -> float:
    """log of the probability that, of N products of normals under the condition that they sum to zero, the first alone is
    negative. Its characteristic integral, on the line through its saddle at -i pi/2, is that of a positive function."""
    from scipy.integrate import quad

    if N == 1:
        return 0.0
    m = N - 1
    positive = quad(lambda x: (x / math.sinh(x)) ** m if x > 0 else 1.0, 0, 40, epsabs=0, epsrel=1e-12, limit=200)[0]
    whole = 0.5 * math.sqrt(math.pi) * math.exp(gammaln(m / 2) - gammaln((m + 1) / 2))  # int_0^inf sech^m
    return -m * math.log(2) + m * math.log(2 / math.pi) + math.log(positive / whole)


@lru_cache(maxsize=1024)
def _log_side(j: int, N: int) -> float:
    """log of the mean of (1/2 + theta/pi)^j under cos^(N - 1) theta on (-pi/2, pi/2)."""
    log_whole = 0.5 * math.log(math.pi) + gammaln(N / 2) - gammaln((N + 1) / 2)
    x = np.linspace(-math.pi / 2, math.pi / 2, 40_001)[1:-1]
    logs = (N - 1) * np.log(np.cos(x)) + j * np.log(0.5 + x / math.pi)
    top = logs.max()
    return float(top + math.log(np.exp(logs - top).sum() * (x[1] - x[0])) - log_whole)


@lru_cache(maxsize=256)
def _dimension(d: int, r: int) -> float:
    from scipy.optimize import minimize_scalar

    k = d - r
    if k == 0:
        return d * (d + 1) / 2
    x, density = _goe_density(k)
    step = x[1] - x[0]

    def value(tau: float) -> float:
        return r * tau**2 + float((density * np.maximum(x - tau, 0.0) ** 2).sum() * step)

    best = minimize_scalar(value, bounds=(-1.0, math.sqrt(2 * k) + 3), method="bounded", options={"xatol": 1e-9})
    return r * (r + 1) / 2 + r * k + float(best.fun)


def _goe_density(k: int) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalue density, of total weight k, of a random symmetric matrix with variance 1 on the diagonal and 1/2 off it, on
    equally spaced points (mehta2004, 7.2: oscillator functions phi_j, and a term with their integral). Far out the first of them
    are too small to write down: every point keeps a logarithm of its scale."""
    from scipy.integrate import cumulative_simpson

    reach = math.sqrt(2 * k) + 8
    x = np.linspace(-reach, reach, 2 * max(2000, 8 * k) + 1)
    step = x[1] - x[0]
    scale, before, now = -(x**2) / 2, np.zeros_like(x), np.full_like(x, np.pi**-0.25)  # phi = now exp(scale)
    density = np.zeros_like(x)
    for j in range(k):
        density += (now * np.exp(scale)) ** 2
        before, now = now, np.sqrt(2 / (j + 1)) * x * now - np.sqrt(j / (j + 1)) * before
        large = np.abs(now) > 1e100
        before[large] *= 1e-100
        now[large] *= 1e-100
        scale[large] += 100 * math.log(10)
    last, after = before * np.exp(scale), now * np.exp(scale)  # phi_(k-1), phi_k
    running = cumulative_simpson(after, dx=step, initial=0.0)
    density += np.sqrt(k / 2) * last * (running - 0.5 * running[-1])  # 1/2 int sign(x - t) phi_k(t) dt
    if k % 2:
        density += last / (last.sum() * step)
    if abs(density.sum() * step - k) > 1e-5 * k:
        raise ArithmeticError(f"statistical_dimension: the density of {k} eigenvalues is lost to rounding")
    return x, density


@lru_cache(maxsize=64)
def _limit(r: int) -> float:
    """alpha(r) of the cavity argument: four equations for s, the multiplier kappa of the condition, <g> and alpha, with e = g^2. At
    given multipliers the best g is, for every a and h, the positive root of a cubic."""
    from scipy.optimize import root

    a, h, weight = _fields(r)

    def conditions(unknown: np.ndarray) -> list[float]:
        s = float(unknown[0])
        kappa, mean, alpha = np.exp(np.clip(unknown[1:], -20, 20))
        share = 1 - 1 / alpha
        g = _positive_root((h + s * a) * a + 0.5 * kappa * share * a**2, 0.5 * kappa * mean * a**2)
        first, second = float((weight * g).sum()), float((weight * g**2).sum())
        return [
            float((weight * (g**2 + s * a**2 + h * a)).sum()),
            first / mean - 1,
            first**2 / (share * second) - 1,
            float((weight * (g**2 / a + s * a + h) ** 2).sum()) * alpha / r - 1,
        ]

    guess = [-1 - 0.45 / r, 0.75, 0.5 * math.log(r) + 0.01, math.log(3 * r + 0.3 / r)]
    found = root(conditions, guess, tol=1e-10)
    if not found.success:
        raise ArithmeticError(f"recovery_limit: no solution of the cavity equations at teacher width {r}")
    return float(math.exp(found.x[3]))


def _positive_root(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """The one positive g with g^3 + p g = q, q > 0, by Newton's method from above, where it is convex."""
    g = np.cbrt(q) + np.sqrt(np.maximum(-p, 0.0))
    for _ in range(60):
        step = (g**3 + p * g - q) / (3 * g**2 + p)
        g = g - step
        if (np.abs(step) <= 1e-14 * g).all():
            break
    return g


@lru_cache(maxsize=8)
def _fields(r: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nodes a (chi_r) and h (normal) with weights, dense where a is small and h is near zero: there g bends."""
    from scipy.stats import chi

    node, weight = np.polynomial.legendre.leggauss(10)

    def panels(edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        half = 0.5 * np.diff(edges)[:, None]
        return (edges[:-1, None] + half * (1 + node)).ravel(), (half * weight).ravel()

    graded = np.geomspace(1e-5, 9.0, 22)
    h, weight_h = panels(np.concatenate([-graded[::-1], [0.0], graded]))
    near = max(math.sqrt(r) - 8, 0.0)  # chi has its weight within a few units of sqrt(r)
    graded_a = np.concatenate([[0.0], np.geomspace(1e-6, 1.0, 20)]) if near == 0 else np.zeros(0)
    a, weight_a = panels(
        np.concatenate([graded_a, np.arange(max(near, 1.5 if near == 0 else near), math.sqrt(r) + 8.5, 0.5)])
    )
    weight_h = weight_h * np.exp(-(h**2) / 2) / math.sqrt(2 * math.pi)
    weight_a = weight_a * chi.pdf(a, r)
    assert abs(weight_a.sum() * weight_h.sum() - 1) < 1e-9
    return a[:, None], h[None, :], weight_a[:, None] * weight_h

"""All critical points of the population risk of quadratic networks, with their curvature, at any dim.

Readouts are 1/p and 1/p*, kappa_l the eigenvalues of sum_l u*_l u*_l^T / p*. At a critical point U^T U / p has the same
eigenvectors: it keeps s of the teachers' directions, with eigenvalue tau/2 + kappa, and r directions outside their span, with
tau/2, where tau = 2 (sum of the other kappa) / (2 + r + s). (bocchi2026, 4.2 and 7.2, has r = 0 or s = 0 only: docs/ERRATA.md B8.)
"""

import itertools
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from solvable.landscape.quadratic import LANDSCAPE
from solvable.numerics.memory import FLOAT, check_memory
from solvable.numerics.threads import interruptible
from solvable.overlaps import Weights
from solvable.problems import Problem

if TYPE_CHECKING:
    import xarray

MOST = 20_000  # critical points that are listed
ROUNDING = 1e-11
# only the weights of the first layer move, freely
CRITICAL = replace(
    LANDSCAPE, teachers="given", student_readout="mean", teacher_readout="mean", norm="free", trained_readout=False
)


@dataclass(frozen=True)
class CriticalPoint:
    """A critical point of the population risk of quadratic students, with its curvature.

    Parameters
    ----------
    outside : int
        Number r of the students' directions outside the teachers' span.
    inside : int
        Number s of the teachers' directions that are learned.
    chosen : tuple of int
        Which of the teachers' directions these are, largest first; of equal ones the first stand for any.
    risk : float
        Population risk there.
    spectrum : tuple of (float, int)
        Eigenvalues of the Hessian by the weights over sqrt(dim), ascending, each with its multiplicity.
    index, flat, tangent : int
        Numbers of negative eigenvalues, of zero eigenvalues, and of those zeros that lie along the set of critical
        points itself.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=10)
    >>> highest = sv.landscape.critical_points(problem)[0]
    >>> highest.kind, highest.inside, round(highest.risk, 6)
    ('maximum', 0, 3.0)
    """

    outside: int
    inside: int
    chosen: tuple[int, ...]
    risk: float
    spectrum: tuple[tuple[float, int], ...]
    index: int
    flat: int
    tangent: int

    @property
    def kind(self) -> str:
        """Whether it is a "saddle", a "minimum" or a "maximum", by the signs of the eigenvalues."""
        negative, positive = self.index > 0, any(value > 0 for value, _ in self.spectrum)
        if negative and positive:
            return "saddle"
        return "maximum" if negative else "minimum"


def critical_points(problem: Problem) -> list[CriticalPoint]:
    """All critical points of the population risk of quadratic students, by falling risk.

    For teachers that are not orthonormal there is one for each choice of their directions.

    Parameters
    ----------
    problem : Problem
        Quadratic students and teachers with isotropic inputs of finite dim.

    Returns
    -------
    list of CriticalPoint
        Highest risk first.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=10)
    >>> [(point.kind, point.outside, point.inside) for point in sv.landscape.critical_points(problem)]
    [('maximum', 0, 0), ('saddle', 1, 0), ('saddle', 2, 0), ('minimum', 0, 1)]
    """
    kappa, _ = teacher_directions(problem)
    p, dim, c = problem.student.width, problem.inputs.dim, problem.training.loss_factor
    if dim is None:
        raise ValueError("critical_points: inputs.dim is infinite; multiplicities count dimensions, give it")
    found = [_critical_point(p, dim, kappa, c, r, chosen) for r, chosen in families(p, dim, kappa)]
    return sorted(found, key=lambda point: -point.risk)


def families(p: int, dim: int | None, kappa: np.ndarray) -> list[tuple[int, tuple[int, ...]]]:
    """How many directions outside the teachers' span, and which inside; of equal kappa the first ones stand for any."""
    groups = equal_groups(kappa)
    if math.prod(len(group) + 1 for group in groups) * (p + 1) > MOST:
        raise ValueError(f"critical_points: more than {MOST} of them, for {len(groups)} different teacher directions")
    room = p if dim is None else dim - len(kappa)
    found = []
    for counts in itertools.product(*(range(len(group) + 1) for group in groups)):
        chosen = tuple(int(i) for group, count in zip(groups, counts, strict=True) for i in group[:count])
        most = min(p - len(chosen), room) if len(chosen) < len(kappa) else 0
        found += [(r, chosen) for r in range(most + 1) if len(chosen) <= p]
    return found


def equal_groups(kappa: np.ndarray) -> list[np.ndarray]:
    """Positions of equal values, up to rounding, among eigenvalues in falling order."""
    steps = ~np.isclose(kappa[1:], kappa[:-1], rtol=1e-9, atol=1e-12)
    return np.split(np.arange(len(kappa)), np.flatnonzero(steps) + 1)


def teacher_directions(problem: Problem, teacher_overlap: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """kappa in falling order, and as columns the combinations of teachers, of length one, that are its eigenvectors. Teachers with
    the given overlaps, or the problem's."""
    domain = CRITICAL if teacher_overlap is None else replace(CRITICAL, teachers="any")
    domain.require(problem, "the list of critical points")
    T = problem.teacher.overlap if teacher_overlap is None else teacher_overlap
    values, vectors = np.linalg.eigh(np.eye(problem.teacher.width) if isinstance(T, str) else np.array(T))
    values, vectors = values[::-1], vectors[:, ::-1]
    if values[-1] <= 1e-12 * values[0]:
        raise ValueError("critical_points: the teachers are not independent; leave out those that are combinations")
    if problem.inputs.dim is not None and problem.inputs.dim < len(values):
        raise ValueError(f"critical_points: {len(values)} teachers do not fit into {problem.inputs.dim} dimensions")
    return values / len(values), vectors / np.sqrt(values)


def shift(kappa: np.ndarray, r: int, chosen: tuple[int, ...]) -> float:
    """tau at a critical point: students have tau/2 + kappa of a direction."""
    return float(2 * np.delete(kappa, chosen).sum() / (2 + r + len(chosen)))


def risk_of(kappa: np.ndarray, c: float, r: int, chosen: tuple[int, ...]) -> float:
    tau = shift(kappa, r, chosen)
    return float(c * (tau**2 + 2 * ((r + len(chosen)) * tau**2 / 4 + np.sum(np.delete(kappa, chosen) ** 2))))


def _critical_point(p: int, dim: int, kappa: np.ndarray, c: float, r: int, chosen: tuple[int, ...]) -> CriticalPoint:
    others, tau = np.delete(kappa, chosen), shift(kappa, r, chosen)
    kept = np.concatenate([kappa[list(chosen)], np.zeros(r)])
    k, outside = r + len(chosen), dim - len(kappa) - r
    a = tau / 2 + kept
    idle = [(-4 / p * (tau + 2 * value), p - k) for value in others] + [(-4 / p * tau, (p - k) * outside)]
    turns = [(8 / p * (one - value), 1) for one in kept for value in others] + [(8 / p * one, outside) for one in kept]
    pairs = [(8 / p * (a[i] + a[j]), 1) for i in range(k) for j in range(i)]
    scales = np.linalg.eigvalsh(8 / p * (2 * np.diag(a) + np.sqrt(np.outer(a, a)))) if k else np.zeros(0)
    free = (p - k) * k + k * (k - 1) // 2
    spectrum = _merged([*idle, *turns, *pairs, *((value, 1) for value in scales), (0.0, free)], c)
    tangent = free + sum(count for value, count in turns if abs(value) < ROUNDING * kappa[0] / p)
    counts = {sign: sum(count for value, count in spectrum if np.sign(value) == sign) for sign in (-1, 0)}
    return CriticalPoint(r, len(chosen), chosen, risk_of(kappa, c, r, chosen), spectrum, counts[-1], counts[0], tangent)


def _merged(values: list[tuple[float, int]], c: float) -> tuple[tuple[float, int], ...]:
    """Equal eigenvalues once, ascending, those of the size of rounding as zero."""
    size = max((abs(value) for value, _ in values), default=0.0)
    result: list[tuple[float, int]] = []
    for value, count in sorted(
        (0.0 if abs(value) < ROUNDING * size else float(value), count) for value, count in values if count > 0
    ):
        if result and math.isclose(result[-1][0], c * value, rel_tol=ROUNDING):
            result[-1] = (result[-1][0], result[-1][1] + count)
        else:
            result.append((c * value, count))
    return tuple(result)


@interruptible
def weights_at(problem: Problem, point: CriticalPoint, seed: int) -> Weights:
    """Weights at a critical point, in random directions."""
    p, dim = problem.student.width, problem.inputs.dim
    assert dim is not None  # the point was listed for it
    kappa, directions = teacher_directions(problem)
    q, r, chosen = len(kappa), point.outside, list(point.chosen)
    check_memory("inputs.dim", f"random directions in {dim} dimensions", 4 * FLOAT * dim**2)
    random = np.random.default_rng(seed)
    frame = np.linalg.qr(random.standard_normal((dim, dim)))[0].T
    teachers = q * kappa * directions @ frame[:q]
    tau = shift(kappa, r, point.chosen)
    scales = np.sqrt(p * (tau / 2 + np.concatenate([kappa[chosen], np.zeros(r)])))
    mix = np.linalg.qr(random.standard_normal((p, p)))[0][:, : r + len(chosen)]
    students = mix * scales @ np.vstack([frame[chosen], frame[q : q + r]])
    return Weights(math.sqrt(dim) * students, math.sqrt(dim) * teachers)


def atlas(problem: Problem) -> "xarray.Dataset":
    """All critical points as a labelled dataset, for `plot.landscape`, `plot.spectra` or a file.

    Parameters
    ----------
    problem : Problem
        Quadratic students and teachers with isotropic inputs of finite dim.

    Returns
    -------
    xarray.Dataset
        Along `point`, by falling risk. `eigenvalue` and `multiplicity` (point, value) end in NaN and 0 where a spectrum
        is shorter.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=10)
    >>> sv.landscape.atlas(problem).sizes["point"]
    4
    """
    import xarray

    points = critical_points(problem)
    longest = max(len(point.spectrum) for point in points)
    table = np.full((len(points), longest, 2), (np.nan, 0.0))
    for row, point in zip(table, points, strict=True):
        row[: len(point.spectrum)] = point.spectrum
    names = ("outside", "inside", "risk", "index", "flat", "tangent", "kind")
    variables = {name: ("point", [getattr(point, name) for point in points]) for name in names}
    return xarray.Dataset(
        variables | {
            "chosen": ("point", [" ".join(map(str, point.chosen)) for point in points]),
            "eigenvalue": (("point", "value"), table[:, :, 0]),
            "multiplicity": (("point", "value"), table[:, :, 1].astype(np.int64)),
        },
        attrs={"problem": problem.to_json(), "students": problem.student.width},
    )  # fmt: skip

"""erf students at the teacher, at any rate: how fast they come, and where label noise holds them.

Students sit on the teachers, what is left at zero, and err by delta. With the field u of delta, D = delta Sigma delta^T / N outside
the span of the teachers, slopes g'_k and k = 2 c rate a^2, the exact equations to first order in D and in the label noise Delta are

    dD/dalpha = -k (h D + D h) + v [a^2 G(D) + Delta h],     v = 4 (c rate a)^2 / batch,
    h_kl = <g'_k g'_l>,     G(D)_kl = sum_ij <g'_k g'_l g'_i g'_j> D_ij,     risk = c a^2 sum_kl h_kl D_kl:

the output errs by sum_i a g'_i u_i, and u goes along with no field. Errors within the span decay at rates of their own, linear in
the learning rate (`theory/approach.py`). Averages of slopes are <g'_k g'_l ...> = (2/pi)^(n/2) det(1 + T)^(-1/2), T the overlaps of
the n fields with each other.
"""

from dataclasses import replace

import numpy as np
from scipy.optimize import minimize_scalar

from solvable.problems import Problem
from solvable.theory.approach import AT_THE_TEACHER, rate_limit, response, slopes
from solvable.theory.committee import C, check_realizable
from solvable.theory.prediction import NotApplicable, Prediction

LATE = replace(AT_THE_TEACHER, isotropic=True, batch=True)
FLOOR = replace(AT_THE_TEACHER, teachers="given", label_noise=True, batch=True)
PAIRS = (
    "students beyond the teachers' width part slowly in pairs of opposite sign, in times of 1/[(c rate readout)^2 label noise], "
    "and the floor falls towards that of as many students as teachers"
)
MOST_UNITS = 40  # pairs of pairs of students are looked at


class Scatter:
    """The two linear maps of symmetric matrices D, in an orthonormal basis of them: `fall`, h D + D h, and `rise`, G(D)."""

    def __init__(self, T: np.ndarray) -> None:
        first, second = np.triu_indices(len(T))
        weight = np.where(first == second, 1.0, np.sqrt(2.0))
        self.h = slopes(T)
        basis = np.zeros((len(first), len(T), len(T)))
        basis[np.arange(len(first)), first, second] += weight / 2
        basis[np.arange(len(first)), second, first] += weight / 2
        turned = self.h @ basis
        self.slope = self._project(self.h, first, second, weight)
        self.fall = self._project(turned + turned.transpose(0, 2, 1), first, second, weight)
        pairs = np.stack([first, second], axis=1)
        fields = np.concatenate(np.broadcast_arrays(pairs[:, None], pairs[None]), axis=2)  # (pair, pair, 4)
        volume = np.linalg.det(np.eye(4) + T[fields[..., :, None], fields[..., None, :]])
        self.rise = C**2 * np.outer(weight, weight) / np.sqrt(volume)

    @staticmethod
    def _project(matrices: np.ndarray, first: np.ndarray, second: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Coordinates (..., pairs) of symmetric matrices."""
        found: np.ndarray = weight * matrices[..., first, second]
        return found


def fields_of(problem: Problem) -> np.ndarray:
    """(students, students) covariance of the students' fields at the teacher: as its fields, and zero beyond its width."""
    K, M, overlap = problem.student.width, problem.teacher.width, problem.teacher.overlap
    T = np.zeros((K, K))
    T[:M, :M] = mean_variance(problem) * (np.eye(M) if isinstance(overlap, str) else np.array(overlap))
    return T


def mean_variance(problem: Problem) -> float:
    return float(problem.inputs.fractions @ problem.inputs.eigenvalues)


def strengths(problem: Problem, rate: float) -> tuple[float, float]:
    """k and v, with a the readout that students and teachers share."""
    a, training = float(problem.student.readout_values[0]), problem.training
    batch = training.at(0.0).batch
    assert isinstance(batch, int)
    return 2 * training.loss_factor * rate * a**2, 4 * (training.loss_factor * rate * a) ** 2 / batch


def _check_size(problem: Problem) -> None:
    if problem.student.width > MOST_UNITS:
        raise NotApplicable(f"student.width: is {problem.student.width}; this closed form is for at most {MOST_UNITS}")


class _Late:
    """How fast the risk falls in the end, as a function of the learning rate."""

    def __init__(self, problem: Problem) -> None:
        check_realizable(problem, LATE)
        _check_size(problem)
        self.problem, T = problem, fields_of(problem)
        self.scatter, M = Scatter(T), len(T)
        within = np.kron(self.scatter.h, np.eye(M)) - response(T, self.scatter.h)
        self.within = 2 * float(np.linalg.eigvalsh(within)[0])

    def __call__(self, rate: float) -> float:
        (k, v), a = strengths(self.problem, rate), float(self.problem.student.readout_values[0])
        outside = float(np.linalg.eigvalsh(k * self.scatter.fall - v * a**2 * self.scatter.rise)[0])
        return min(outside, k * self.within)


def late_rate(problem: Problem) -> Prediction:
    """Rate, per unit of alpha, at which the risk falls in the end: the smaller one of that of errors outside the teachers' span,
    which noise slows down, and of twice that of errors within."""
    law, rate = _Late(problem), float(problem.training.schedule.rates[0])
    found = law(rate)
    if found <= 0:
        raise NotApplicable(f"training.learning_rate: {rate:g} is not below the limit; the risk does not vanish")
    return Prediction(found, ("late times", "dim infinite"), "linearised equations at the teacher")


def optimal_late_rate(problem: Problem) -> Prediction:
    """Learning rate at which `late_rate` is greatest: it is a smallest eigenvalue, concave in the rate."""
    law = _Late(problem)
    batch = problem.training.at(0.0).batch
    limit = rate_limit(problem.replace(training__batch=1)).value * batch  # noise of a batch is as much weaker
    best = minimize_scalar(lambda u: -law(u * limit), bounds=(0, 1), method="bounded", options={"xatol": 1e-9})
    return Prediction(float(best.x) * limit, ("late times", "dim infinite"), "linearised equations at the teacher")


def noise_floor(problem: Problem) -> Prediction:
    """Risk at which label noise holds the students: D at rest, to first order in the noise, at any rate. At small rates
    c^2 rate Delta m a^2 (2/pi) [sum_l (1 + 2 T_ll)^(-1/2) + K - M] / batch, m the mean variance of the inputs, T_ll that of the
    teachers' fields: with unit readouts, orthonormal teachers and c = 1/2 rate Delta (K - M + M/sqrt(3))/(2 pi)."""
    FLOOR.require(problem)
    _check_size(problem)
    K, M, a = problem.student.width, problem.teacher.width, float(problem.student.readout_values[0])
    if K < M or abs(a / problem.teacher.readout_values[0] - 1) > 1e-12:
        raise NotApplicable("student: is not of the teacher's width or wider, with its readout")
    scatter, mean, delta = Scatter(fields_of(problem)), mean_variance(problem), float(problem.training.label_noise)
    k, v = strengths(problem, float(problem.training.schedule.rates[0]))
    values, frame = np.linalg.eigh(k * scatter.fall - mean * v * a**2 * scatter.rise)
    moving = np.abs(values) > 1e-10 * k  # students at zero that cancel each other do not move
    if values[moving][0] <= 0:
        raise NotApplicable("training.learning_rate: is so large that noise grows without bound; see rate_limit")
    push = frame.T @ scatter.slope
    held = mean * v * delta * float((push[moving] ** 2 / values[moving]).sum())
    return Prediction(
        problem.training.loss_factor * a**2 * held,
        ("late times", "dim infinite", "label noise small", "students beyond the teachers' width at zero"),
        "balance of label noise and slope at the teacher",
        () if K - M < 2 else (PAIRS,),
    )

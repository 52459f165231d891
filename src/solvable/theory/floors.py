"""The risk at which label noise holds the students in the end."""

from solvable.problems import Problem
from solvable.theory import at_the_teacher, linear, solutions, sphere
from solvable.theory.prediction import NotApplicable, Prediction, prediction


@prediction()
def noise_floor(problem: Problem) -> Prediction:
    """Risk at which label noise holds the students in the end.

    Returns
    -------
    Prediction
        Its value: float, the risk.

    Notes
    -----
    Risk at which label noise of variance Delta holds students that have learned what they can, with u = rate /
    rate_limit:

        linear                c Delta u/(1 - u)
        quadratic, p >= p*    4 c^2 rate Delta / (p (1 - u))
        erf, K >= M           c^2 rate Delta a^2 (2/pi) (K - M + M/sqrt(3)) at small rates; at any rate a linear system
        sphere, one student   2 c gamma Delta/(1 - 6 gamma), gamma = 2 c rate (arnaboldi2023, (8))

    To first order in the rate all are c^2 rate Delta sum_k a_k^2 <g'(z_k)^2>, because label noise kicks weights as much
    as the curvature holds them. On the sphere, where overlaps do not grow (`rate_limit`), the risk is 4 c, that of the
    plateau (docs/ERRATA.md A7).

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=4, p_star=2, eta=0.05, N=1000)
    >>> problem = problem.replace(training__label_noise=0.1)
    >>> round(float(sv.theory.noise_floor(problem).value), 4)
    0.0056
    """
    if isinstance(problem, Problem) and problem.student.norm == "sphere":
        return sphere.noise_floor(problem)
    unit = problem.student.activation if isinstance(problem, Problem) else None
    laws = {"linear": linear.noise_floor, "erf": at_the_teacher.noise_floor}
    found = laws.get(str(unit), solutions.noise_floor)(problem)
    if found.value == 0:
        raise NotApplicable("training.label_noise: is 0, and nothing else holds the risk above zero")
    return found

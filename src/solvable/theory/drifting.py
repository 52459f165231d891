"""Linear students that follow a teacher who drifts: the risk at rest.

The difference of the two vectors, v = B - J with J = sum_k a_k w_k and B = sum_l a*_l w*_l, obeys in block b, with
d_b = |P_b v|^2/N, r_b = P_b v.B/N and tau = a*^T T a*, which the drift keeps,

    d(r_b)/dalpha = -(e lambda_b + delta) r_b - delta f_b tau + 2 delta f_b tau
    d(d_b)/dalpha = -2 e lambda_b d_b - 2 delta r_b + 2 delta f_b tau + (e^2/B) f_b lambda_b (sum_b' lambda_b' d_b' + Delta)

with e = 2 c rate sum_k a_k^2 and samples of a step B. At rest both vanish.
"""

from dataclasses import replace

import numpy as np

from solvable.problems import Problem
from solvable.theory.linear import LINEAR
from solvable.theory.prediction import NotApplicable, Prediction, prediction

DRIFTING = replace(LINEAR, teachers="given", batch=True, knows=("teacher.drift",))


@prediction(DRIFTING)
def drift_risk(problem: Problem) -> Prediction:
    """Risk at which linear students follow a teacher who drifts.

    Returns
    -------
    Prediction
        Its value: float, the risk.

    Notes
    -----
    With e = 2 c rate sum a^2, drift delta, size tau = a*^T T a* of what the teacher says, label noise Delta and batch B the mean
    squared error at rest is

        [ sum_b f_b lambda_b delta tau / (e lambda_b + delta) + e m Delta/(2 B) ] / (1 - e m/(2 B)),   m = sum_b f_b lambda_b

    and the risk c times that. The first part is the lag behind the teacher, which small rates make larger; so the best rate is
    finite even without noise.

    Examples
    --------
    >>> problem = sv.Problem(
    ...     teacher=sv.Teacher(width=1, activation="linear", drift=0.05), student=sv.Student(width=1, activation="linear"),
    ...     training=sv.Training(learning_rate=0.2, loss_factor=0.5),
    ... )
    >>> round(sv.theory.drift_risk(problem).value, 4)
    0.1111
    """
    training, teacher, delta = problem.training, problem.teacher, problem.teacher.drift
    if delta == 0:
        raise NotApplicable("teacher.drift: is 0, so there is nothing to follow")
    squares = float((np.array(problem.student.readout_values) ** 2).sum())
    e = 2 * training.loss_factor * float(training.schedule.rates[0]) * squares
    f, values = problem.inputs.fractions, problem.inputs.eigenvalues
    u = 0.5 * e * float(f @ values) / int(training.at(0.0).batch)  # type: ignore[arg-type]
    if u >= 1:
        raise NotApplicable("training.learning_rate: is so large that the risk grows without bound")
    T = np.eye(teacher.width) if teacher.overlap == "orthonormal" else np.array(teacher.overlap)
    size = float(teacher.readout_values @ T @ teacher.readout_values)
    lag = float((f * values * delta * size / (e * values + delta)).sum())
    error = (lag + u * float(training.label_noise)) / (1 - u)
    return Prediction(training.loss_factor * error, ("late times", "dim infinite"), "derived here")

"""The Gaussian moments of one SGD step in closed form, for closed units under squared loss.

Stack the students, then the teachers. With error e = sum_i s_i g(z_i), s = (-readout, teacher readout), squared loss
c (e + noise)^2 and learning amplitude F_k = 2 c a_k g'(z_k) (e + noise):

    risk      c <e^2>
    drift     D_kj = <dF_k / dz_j> = 2 c a_k ( s_j <g'_k g'_j> + delta_kj sum_i s_i <g''_k g_i> )
    noise     S_kl = <F_k F_l> = 4 c^2 a_k a_l ( <g'_k g'_l e^2> + Delta <g'_k g'_l> )
    readout   2 c <g_k e>
"""

from typing import NamedTuple

import numpy as np
from numba import boolean, float64, int64, void

from solvable.dynamics.kernel_data import DRIFT, NOISE, SCRATCH
from solvable.gaussian.closed_forms import drift, error_square, product, slopes, slopes_times_square
from solvable.gaussian.units import QUADRATIC
from solvable.numerics.compiled import compiled
from solvable.numerics.vectors import rows_times


class Moments(NamedTuple):
    """Gaussian moments of one SGD step, without the learning rate.

    Parameters
    ----------
    risk : float
        Population risk.
    drift : ndarray
        (p, p + p*) D = <dF/dz>, by which the fields of all units drive the students.
    noise : ndarray
        (p, p) S = <F F^T>, the noise of order rate^2.
    readout_drift : ndarray
        (p,) 2 c <g e>.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=1000)
    >>> sv.dynamics.moments(np.eye(3), problem).drift.shape
    (2, 3)
    """

    risk: float
    drift: np.ndarray
    noise: np.ndarray
    readout_drift: np.ndarray


@compiled()
def clipped(risk, size):
    """Rounding and integration errors may make a vanishing risk negative; if it is so by more than a hundredth of the
    terms that make it up, the overlaps are impossible: NaN."""
    if risk < -0.01 * size:
        return np.nan
    return 0.0 if risk < 0.0 else risk


@compiled(float64(int64, float64[:, ::1], float64[::1], float64), pure=True)
def risk_of(kind, C, s, c):
    """c <e^2>."""
    square, size = error_square(kind, C, s)
    return clipped(c * square, c * size)


@compiled(
    void(
        int64, int64, boolean, boolean, float64, float64, float64[:, ::1], float64[::1], float64[:, :, ::1], float64[::1]
    ),
    pure=True,
)  # fmt: skip
def step_moments(kind, p, with_noise, with_readout, c, label_noise, C, s, work, readout_drift):
    """Fill the first p rows of the planes DRIFT and NOISE of `work`, and the readout drift (p,): the last two if asked for. With
    the noise of quadratic units the plane SCRATCH is D C."""
    D, S = work[DRIFT], work[NOISE]
    n = s.size
    drift(kind, p, C, s, -2.0 * c, D)
    if with_noise and kind == QUADRATIC:
        rows_times(D, C, p, work[SCRATCH])
        quadratic_noise(p, c, label_noise, C, s, D, work[SCRATCH], S)
    elif with_noise:
        slopes_times_square(kind, p, C, s, work[SCRATCH], S)
        for k in range(p):
            for m in range(p):
                if label_noise > 0.0:
                    S[k, m] += label_noise * slopes(kind, C[k, k], C[m, m], C[k, m])
                S[k, m] *= 4.0 * c * c * s[k] * s[m]
    if with_readout:
        for k in range(p):
            total = 0.0
            for j in range(n):
                total += s[j] * product(kind, C[k, k], C[j, j], C[k, j])
            readout_drift[k] = 2.0 * c * total


@compiled()
def quadratic_noise(p, c, label_noise, C, s, D, DC, S):
    """S of quadratic units from their drift, because D C is what the equations of motion need anyway. With M = diag(s),
    tau = tr(MC) and v = -8 c s the drift is D = diag(v) (CM + tau/2), so that CMC = diag(v)^-1 D C - tau/2 C, and the average
    <g'_k g'_l e^2> becomes

        S_kl = 2 (D C D^T)_kl - tau v_k (D C)_lk + v_k v_l (<e^2> + Delta) C_kl / 4
    """
    n = s.size
    tau, square = 0.0, 0.0
    for i in range(n):
        tau += s[i] * C[i, i]
        total = 0.0
        for j in range(n):
            total += s[j] * C[i, j] * C[i, j]
        square += s[i] * total
    size = 16.0 * c * c * (tau * tau + 2.0 * square + label_noise)
    for k in range(p):
        for m in range(k + 1):
            total = 0.0
            for i in range(n):
                total += DC[k, i] * D[m, i]
            S[k, m] = 2.0 * total + s[k] * (8.0 * c * tau * DC[m, k] + size * s[m] * C[k, m])
            S[m, k] = S[k, m]

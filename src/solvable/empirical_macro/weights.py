"""Moments of one weight of each student: linear in Gaussian noise and its own past, so that they are propagated exactly.

With velocities v, a share beta of which a step keeps (momentum; none: beta = 0),

    v(t+1) = beta v(t) + eta d(t),    d(t) = sqrt(lambda) xi(t) + lambda sum_{r<=t} Gamma(t,r) w(r) + lambda Gamma*(t) w*
    w(t+1) = nu { (1 - eta kappa / (1 - beta)) w(t) + v(t+1) },       <xi(t) xi(s)^T> = K(t,s)

for each block of inputs, and nu keeps the norms on the sphere. Of velocities only the last is needed, and what it has to do with
weights, teachers and kicks.
"""

import numpy as np

from solvable.empirical_macro.setting import Setting


class MeanFieldWeights:
    """Overlaps per block of students at all times with each other, C (blocks, rows, rows), and with the teachers, m (blocks, rows,
    q), and responses R (blocks, rows, rows) to kicks inside d; a row is a time and a student."""

    def __init__(self, on: Setting) -> None:
        self.on, (blocks, self.p, q) = on, on.cross.shape
        p, rows = self.p, (on.steps.size + 1) * self.p
        self.C, self.R, self.m = (
            np.zeros((blocks, rows, rows)),
            np.zeros((blocks, rows, rows)),
            np.zeros((blocks, rows, q)),
        )
        self.C[:, :p, :p], self.m[:, :p] = on.students, on.cross
        self.vC, self.vR, self.vm = np.zeros((blocks, p, rows)), np.zeros((blocks, p, rows)), np.zeros((blocks, p, q))
        self.vv = np.zeros((blocks, p, p))
        self.norms = np.einsum("bkk->k", on.students)

    def move(self, t: int, Gamma: np.ndarray, star: np.ndarray, K: np.ndarray) -> None:
        """From time t to t + 1; Gamma(t, :t) (p, rows), Gamma*(t) (p, q), K(:t, t) (rows, p)."""
        p = self.p
        upto, after = (t + 1) * p, (t + 2) * p
        for b in range(len(self.C)):
            self._step(b, t, Gamma, star, K)
        if self.on.sphere:
            new = slice(upto, after)
            scale = np.sqrt(self.norms / np.einsum("bkk->k", self.C[:, new, new]))
            for rows in (self.C[:, new, :after], self.m[:, new], self.R[:, new, :upto]):
                rows *= scale[:, None]
            for columns in (self.C[:, :after, new], self.vC[:, :, new]):
                columns *= scale

    def _step(self, b: int, t: int, Gamma: np.ndarray, star: np.ndarray, K: np.ndarray) -> None:
        on, p = self.on, self.p
        eta, beta = on.steps[t], on.beta
        keep = 1.0 - eta * on.decays[t] / (1.0 - beta)
        lam, f, T = on.eigenvalues[b], on.fractions[b], on.teachers[b]
        C, m, R, vC, vm, vR = self.C[b], self.m[b], self.R[b], self.vC[b], self.vm[b], self.vR[b]
        now, new, upto = slice(t * p, (t + 1) * p), slice((t + 1) * p, (t + 2) * p), (t + 1) * p

        def with_drift(overlaps: np.ndarray, cross: np.ndarray, responses: np.ndarray) -> np.ndarray:
            """<d(t) x^T> of some x, by its overlaps with w(:t) (rows, x), with teachers (x, q) and its responses (x, rows)."""
            found: np.ndarray = lam * (Gamma @ overlaps + star @ cross.T + f * (responses @ K).T)
            return found

        before = keep * vC[:, now]  # <v(t) w(t+1)^T>, of which this is the part of w(t)
        if beta:
            before = before + beta * self.vv[b] + eta * with_drift(vC[:, :upto].T, vm, vR[:, :upto]).T
        vR[:, :upto] = beta * vR[:, :upto] + eta * lam * Gamma @ R[:upto, :upto]
        vR[:, now] += eta * np.eye(p)
        vm[:] = beta * vm + eta * lam * (Gamma @ m[:upto] + star @ T)
        R[new, :upto] = keep * R[now, :upto] + vR[:, :upto]
        m[new] = keep * m[now] + vm
        vC[:, :upto] = beta * vC[:, :upto] + eta * with_drift(C[:upto, :upto], m[:upto], R[:upto, :upto])
        C[new, :upto] = keep * C[now, :upto] + vC[:, :upto]
        C[:upto, new] = C[new, :upto].T
        vC[:, new] = beta * before + eta * with_drift(C[:upto, new], m[new], R[new, :upto])
        last = keep * C[now, new] + vC[:, new]
        C[new, new] = 0.5 * (last + last.T)
        self.vv[b] = vC[:, new] - keep * vC[:, now]

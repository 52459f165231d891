"""Compiled parts of the full-weight form."""

import math

import numpy as np
from numba import float64, int64, void

from solvable.dynamics import layout
from solvable.dynamics.sample import amplitudes
from solvable.micro.process import set_rates
from solvable.numerics.compiled import compiled
from solvable.numerics.lanes import WIDTH
from solvable.numerics.random import normals


@compiled(strict=True)
def fill_rows(stream, out, rows, slots):
    """Normal numbers, so many slots to each row: what a row holds does not depend on how many are drawn at once."""
    for i in range(rows):
        normals(stream, out, i * slots, slots)


@compiled(
    void(
        int64[::1], float64[::1], float64[:, :, :, ::1], float64[::1], float64[::1],
        int64, float64[:, ::1], float64[:, ::1], float64[::1], float64[::1], float64[::1], float64[:, ::1],
    ),
    strict=True,
    allocates=True,
)  # fmt: skip
def look_ahead(ints, floats, tables, state, work, step, H, G, noise, norms, sigma, phi):
    """Fill sigma (p,) and phi (p, m) for m samples, whole batches, from `step` on. H (m, n), G = X X^T / sqrt(dim) (m, m);
    norms (p,) are the students' squared ones, kept on the sphere only. Everything sits in the first of eight lanes."""
    p, q, batch = ints[layout.STUDENTS], ints[layout.TEACHERS], ints[layout.BATCH]
    root = math.sqrt(floats[layout.DIM])
    fields, teachers, pushes = ints[layout.FIELDS], ints[layout.TEACHER_FIELDS], ints[layout.PUSHES]
    h, pushed = np.empty((batch, p)), np.empty(p)
    sigma[:] = 1.0
    phi[:] = 0.0
    for begin in range(0, len(H), batch):
        set_rates(ints, floats, tables, float(step + begin // batch), work)
        rate, pushed[:] = work[ints[layout.RATE] * WIDTH], 0.0
        for i in range(begin, begin + batch):
            for k in range(p):
                total = sigma[k] * H[i, k]
                for j in range(begin):
                    total += phi[k, j] * G[i, j]
                h[i - begin, k] = total
                work[(fields + k) * WIDTH] = total
            for m in range(q):
                work[(teachers + m) * WIDTH] = H[i, p + m]
            if ints[layout.NOISY]:
                work[(ints[layout.NORMALS] - 1) * WIDTH] = noise[i]
            amplitudes(ints, floats, state, work)
            for k in range(p):
                phi[k, i] = rate * root / batch * work[(ints[layout.AMPLITUDES] + k) * WIDTH]
                pushed[k] += work[(pushes + k) * WIDTH]
        end, decay = begin + batch, 1.0 - rate * floats[layout.DECAY]
        for k in range(p):
            factor = decay
            if ints[layout.SPHERE]:
                square = decay * decay * norms[k]
                for i in range(begin, end):
                    square += 2.0 * decay * phi[k, i] * root * h[i - begin, k]
                    for j in range(begin, end):
                        square += phi[k, i] * phi[k, j] * G[i, j] * root
                back = math.sqrt(floats[layout.DIM] / square)
                norms[k] = floats[layout.DIM]
                factor *= back
                for i in range(begin, end):
                    phi[k, i] *= back
            if factor != 1.0:
                sigma[k] *= factor
                for j in range(begin):
                    phi[k, j] *= factor
            if ints[layout.TRAIN_READOUT]:
                gain = work[ints[layout.READOUT_RATE] * WIDTH] / batch
                state[(ints[layout.READOUT] + k) * WIDTH] += gain * pushed[k]

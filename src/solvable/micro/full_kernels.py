"""Compiled parts of the full-weight form."""

import math

import numpy as np
from numba import float64, int64, void

from solvable.dynamics.sample import amplitudes
from solvable.micro.looking import PROCESS_DATA
from solvable.micro.process import set_numbers
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
        PROCESS_DATA, int64, float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[::1], float64[::1], float64[::1],
        float64[:, ::1],
    ),
    strict=True,
    allocates=True,
)  # fmt: skip
def look_ahead(process, step, H, G, fixed, noise, norms, sigma, phi):
    """Fill sigma (p,) and phi (p, m) for m samples, whole batches, from `step` on. H (m, n) are fields at first and
    G = X X^T / sqrt(dim) (m, m), both of the coordinates that are trained where students are concerned; `fixed` (m, p) are the
    students' fields of the others. norms (p,) are the students' squared ones, kept on the sphere only. Everything sits in the first
    of eight lanes."""
    forms, frames, numbers, segments, blocks, _, state, work = process
    form = forms[0]
    p, q, batch = form.students, form.teachers, form.batch
    root = math.sqrt(form.dim)
    fields, teachers, pushes = form.fields, form.teacher_fields, form.pushes
    h, pushed = np.empty((batch, p)), np.empty(p)
    sigma[:] = 1.0
    phi[:] = 0.0
    for begin in range(0, len(H), batch):
        set_numbers(form, frames, segments, blocks, float(step + begin // batch), work)
        rate, pushed[:] = work[form.rate * WIDTH], 0.0
        for i in range(begin, begin + batch):
            for k in range(p):
                total = sigma[k] * H[i, k] + fixed[i, k]
                for j in range(begin):
                    total += phi[k, j] * G[i, j]
                h[i - begin, k] = total
                work[(fields + k) * WIDTH] = total
            for m in range(q):
                work[(teachers + m) * WIDTH] = H[i, p + m]
            if form.noisy:
                work[(form.normals - 1) * WIDTH] = noise[i]
            amplitudes(form, numbers, state, work)
            for k in range(p):
                phi[k, i] = rate * root / batch * work[(form.amplitudes + k) * WIDTH]
                pushed[k] += work[(pushes + k) * WIDTH]
        end, decay = begin + batch, 1.0 - rate * form.decay
        for k in range(p):
            factor = decay
            if form.sphere:
                square = decay * decay * norms[k]
                for i in range(begin, end):
                    square += 2.0 * decay * phi[k, i] * root * h[i - begin, k]
                    for j in range(begin, end):
                        square += phi[k, i] * phi[k, j] * G[i, j] * root
                back = math.sqrt(form.dim / square)
                norms[k] = form.dim
                factor *= back
                for i in range(begin, end):
                    phi[k, i] *= back
            if factor != 1.0:
                sigma[k] *= factor
                for j in range(begin):
                    phi[k, j] *= factor
            if form.train_readout:
                gain = work[form.readout_rate * WIDTH] / batch
                state[(form.readout + k) * WIDTH] += gain * pushed[k]

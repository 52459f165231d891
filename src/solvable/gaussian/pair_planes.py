"""All averages over pairs of fields in compiled code, for any units: closed for two ReLU, else series in the correlation, or
integrals over both fields where these do not converge.

Units are tuples (kind, place in `numbers`, terms), see `curves.py`.
"""

import math

from solvable.gaussian.panels import PLANE, pair_on_panels
from solvable.gaussian.series import LINE, LONGEST, field_series, pair_series
from solvable.gaussian.units import RELU
from solvable.numerics.compiled import compiled

ROW = LONGEST + 2
NEGLECTED = 1e-13  # what a power of the correlation may leave of a series


def pair_scratch(fields: int) -> int:
    """Numbers of scratch for `fill_pairs`: coefficients and their count for each field, then nodes."""
    return fields * (2 * ROW + 1) + max(LINE, PLANE)


@compiled()
def relu_pair(c11, c22, c12):
    """The arc-cosine kernels; a field without variance has slope one half and no curvature."""
    scale = math.sqrt(c11 * c22)
    rho = min(1.0, max(-1.0, c12 / scale)) if scale > 0.0 else 0.0
    root = scale * math.sqrt((1.0 - rho) * (1.0 + rho))
    product = (root + c12 * (math.pi - math.acos(rho))) / (2.0 * math.pi)
    bend = root / (2.0 * math.pi * c11) if c11 > 0.0 else 0.0
    other = root / (2.0 * math.pi * c22) if c22 > 0.0 else 0.0
    return product, 0.25 + math.asin(rho) / (2.0 * math.pi), bend, other


@compiled()
def fill_pairs(student, teacher, p, C, numbers, product, slopes, curvature, scratch):
    """Fill matrices (n, n) over all fields, students first: <g_i g_j>, <g'_i g'_j> and <g''_i g_j>."""
    n = C.shape[0]
    counts, nodes = scratch[2 * n * ROW : 2 * n * ROW + n], scratch[2 * n * ROW + n :]
    for i in range(n):
        unit = student if i < p else teacher
        a, b = scratch[2 * i * ROW : (2 * i + 1) * ROW], scratch[(2 * i + 1) * ROW : (2 * i + 2) * ROW]
        if i != 0 and i != p and C[i, i] == C[i - 1, i - 1]:  # the same field again
            counts[i] = counts[i - 1]
            for k in range(2 * ROW):
                scratch[2 * i * ROW + k] = scratch[2 * (i - 1) * ROW + k]
        elif student[0] != RELU or teacher[0] != RELU:
            counts[i] = field_series(unit[0], numbers, unit[1], unit[2], C[i, i], a, b, nodes)
        for j in range(i + 1):
            other = student if j < p else teacher
            if unit[0] == RELU and other[0] == RELU:
                P, G, bend, other_bend = relu_pair(C[i, i], C[j, j], C[i, j])
            else:
                other_a = scratch[2 * j * ROW : (2 * j + 1) * ROW]
                other_b = scratch[(2 * j + 1) * ROW : (2 * j + 2) * ROW]
                scale = math.sqrt(C[i, i] * C[j, j])
                rho = min(1.0, max(-1.0, C[i, j] / scale)) if scale > 0.0 else 0.0
                P, G, bend, other_bend = pair_series(min(abs(counts[i]), abs(counts[j])), rho, a, b, other_a, other_b)
                bend = bend / math.sqrt(C[i, i]) if C[i, i] > 0.0 else 0.0
                other_bend = other_bend / math.sqrt(C[j, j]) if C[j, j] > 0.0 else 0.0
                if counts[i] < 0.0 and counts[j] < 0.0 and abs(rho) ** LONGEST > NEGLECTED:
                    if i == j:
                        P, G, tilted, other_tilted = a[LONGEST + 1], b[LONGEST + 1], a[LONGEST], a[LONGEST]
                    else:
                        P, G, tilted, other_tilted = pair_on_panels(
                            unit, other, numbers, C[i, i], C[j, j], C[i, j], nodes
                        )
                    bend, other_bend = (tilted - C[i, j] * G) / C[i, i], (other_tilted - C[i, j] * G) / C[j, j]
            product[i, j] = product[j, i] = P
            slopes[i, j] = slopes[j, i] = G
            curvature[i, j], curvature[j, i] = bend, other_bend

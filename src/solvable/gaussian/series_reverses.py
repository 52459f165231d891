"""Averages over pairs of fields as series (`series.py`) in reverse: their derivatives are averages over the same pair again.

By Price's theorem d<f_i h_j>/dC_ij = <f'_i h'_j> and d<f_i h_j>/dC_ii = <f''_i h_j>/2. With g' = sum_k b_k h_k every further slope
is known from b, because h_k' = sqrt(k) h_(k-1) / sigma:

    <g''_i g''_j>   sum_k (k + 1) b_i,k+1 b_j,k+1 rho^k / (sigma_i sigma_j)
    <g'''_i g'_j>   sum_k sqrt((k + 1)(k + 2)) b_i,k+2 b_jk rho^k / sigma_i^2
    <g''''_i g_j>   sum_k sqrt((k + 1)(k + 2)(k + 3)) b_i,k+3 a_jk rho^k / sigma_i^3

Where the averages themselves are integrals over both fields, because the series of steep units do not converge, there are none:
derivatives are NaN.
"""

import math

from solvable.gaussian.pair_planes import NEGLECTED, ROW
from solvable.gaussian.series import LONGEST
from solvable.numerics.compiled import compiled


@compiled(inline=True)
def series_of(i, n, scratch):
    """What `fill_pairs` has left of field i: coefficients a and b, and how many."""
    a, b = scratch[2 * i * ROW : (2 * i + 1) * ROW], scratch[(2 * i + 1) * ROW : (2 * i + 2) * ROW]
    return a, b, min(int(abs(scratch[2 * n * ROW + i])), LONGEST)


@compiled()
def further_slopes(i, j, C, scratch):
    """<g''_i g''_j>, <g'''_i g'_j>, <g'''_j g'_i> and <g''''_i g_j>; zero where a field has no variance, NaN without series."""
    n = C.shape[0]
    _, b, count = series_of(i, n, scratch)
    other_a, other_b, other_count = series_of(j, n, scratch)
    spread, other_spread = math.sqrt(C[i, i]), math.sqrt(C[j, j])
    if not (spread > 0.0 and other_spread > 0.0):
        return 0.0, 0.0, 0.0, 0.0
    rho = min(1.0, max(-1.0, C[i, j] / (spread * other_spread)))
    if scratch[2 * n * ROW + i] < 0.0 and scratch[2 * n * ROW + j] < 0.0 and abs(rho) ** LONGEST > NEGLECTED:
        return math.nan, math.nan, math.nan, math.nan
    second, third, other_third, fourth, power = 0.0, 0.0, 0.0, 0.0, 1.0
    for k in range(min(count, other_count)):
        if k + 1 < count and k + 1 < other_count:
            second += power * (k + 1.0) * b[k + 1] * other_b[k + 1]
        root = math.sqrt((k + 1.0) * (k + 2.0))
        if k + 2 < count:
            third += power * root * b[k + 2] * other_b[k]
        if k + 2 < other_count:
            other_third += power * root * other_b[k + 2] * b[k]
        if k + 3 < count:
            fourth += power * root * math.sqrt(k + 3.0) * b[k + 3] * other_a[k]
        power *= rho
    third, other_third = third / C[i, i], other_third / C[j, j]
    return second / (spread * other_spread), third, other_third, fourth / (C[i, i] * spread)


@compiled()
def back_pair(i, j, bars, planes, C, scratch, C_bar):
    """Of bars = (weights of <g_i g_j>, <g'_i g'_j> and <g''_i g_j>), with `planes` and `scratch` as `fill_pairs` has left them."""
    (of_product, of_slopes, of_bend), (_, slopes, curvature) = bars, planes
    second, third, other_third, fourth = further_slopes(i, j, C, scratch)
    C_bar[i, j] += of_product * slopes[i, j] + of_slopes * second + of_bend * third
    C_bar[i, i] += 0.5 * (of_product * curvature[i, j] + of_slopes * third + of_bend * fourth)
    C_bar[j, j] += 0.5 * (of_product * curvature[j, i] + of_slopes * other_third + of_bend * second)

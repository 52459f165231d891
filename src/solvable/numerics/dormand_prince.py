"""An explicit Runge-Kutta method of order 8 with dense output of order 7 (Dormand and Prince's 8(5,3), hairer1993, II.10), for
`driving.drive`: the system is (observe, rhs). Twelve stages a step; interpolation takes three more, from the first step with an
output or a threshold on. These steps are also held to the tolerance between their ends, where their own error says nothing: by
what the polynomial would lack without its last term. Without this, outputs are a hundred times worse than the steps.
"""

import math

import numpy as np

from solvable.numerics.compiled import compiled
from solvable.numerics.control import OWN, SLOPE, TRIAL, Y
from solvable.numerics.driving import first_step, largest
from solvable.numerics.kernel_types import apart
from solvable.numerics.vectors import copy

ORDER = 8
DENSE_ORDER = 7
PACE = (0.9, 8.0, 0.125, 0.0, 6.0, False)
STEP, DENSE, FIFTH = 12, 16, 20  # rows of WEIGHTS: the step itself, coefficients of interpolation, errors
HEIGHT = 27.0 * 256.0 / 7.0**7  # largest of theta^4 (1 - theta)^3, what the last coefficient is multiplied with
SHARE = 0.25  # of the last term that counts as the error: outputs are then as good as those of tsit5
COEFFICIENTS, SUM, ZERO = SLOPE + 16, SLOPE + 23, SLOPE + 24  # rows of memory, after those of the stages
ROWS = OWN + 24

# fmt: off
NODES = np.array([
    0.0, 0.05260015195876773, 0.0789002279381516, 0.1183503419072274, 0.2816496580927726, 1.0 / 3.0, 0.25, 4.0 / 13.0,
    0.6512820512820513, 0.6, 6.0 / 7.0, 1.0, 1.0, 0.1, 0.2, 7.0 / 9.0,
])
# Weights of a sum of stages: of the first stage, then of those from FIRST until before LAST. There is a row for the state at which
# each stage is evaluated (12: the end of the step), for four coefficients of the interpolating polynomial (its first three follow
# from the ends of the step), and for the error: that of an embedded method of order 5, and how far one of order 3 is away.
FIRST = np.array([1, 1, 1, 2, 2, 3, 3, 3, 3, 3, 3, 3, 5, 6, 5, 5, 5, 5, 5, 5, 5, 5])
LAST = np.array([*range(16), 16, 16, 16, 16, 12, 12])
ROWS_OF_WEIGHTS = [
    [0.0],
    [0.05260015195876773],
    [0.0197250569845379, 0.0591751709536137],
    [0.02958758547680685, 0.08876275643042054],
    [0.2413651341592667, -0.8845494793282861, 0.924834003261792],
    [0.037037037037037035, 0.17082860872947386, 0.12546768756682242],
    [0.037109375, 0.17025221101954405, 0.06021653898045596, -0.017578125],
    [0.03709200011850479, 0.17038392571223998, 0.10726203044637328, -0.015319437748624402, 0.008273789163814023],
    [
        0.6241109587160757, -3.3608926294469414, -0.868219346841726, 27.59209969944671, 20.154067550477894,
        -43.48988418106996,
    ],
    [
        0.47766253643826434, -2.4881146199716677, -0.590290826836843, 21.230051448181193, 15.279233632882423,
        -33.28821096898486, -0.020331201708508627,
    ],
    [
        -0.9371424300859873, 5.186372428844064, 1.0914373489967295, -8.149787010746927, -18.52006565999696,
        22.739487099350505, 2.4936055526796523, -3.0467644718982196,
    ],
    [
        2.273310147516538, -10.53449546673725, -2.0008720582248625, -17.9589318631188, 27.94888452941996,
        -2.8589982771350235, -8.87285693353063, 12.360567175794303, 0.6433927460157636,
    ],
    [
        0.054293734116568765, 4.450312892752409, 1.8915178993145003, -5.801203960010585, 0.3111643669578199,
        -0.1521609496625161, 0.20136540080403034, 0.04471061572777259,
    ],
    [
        0.056167502283047954, 0.25350021021662483, -0.2462390374708025, -0.12419142326381637, 0.15329179827876568,
        0.00820105229563469, 0.007567897660545699, -0.008298,
    ],
    [
        0.03183464816350214, 0.028300909672366776, 0.053541988307438566, -0.05492374857139099, 0.0, 0.0,
        -0.00010834732869724932, 0.0003825710908356584, -0.00034046500868740456, 0.1413124436746325,
    ],
    [
        -0.42889630158379194, -4.697621415361164, 7.683421196062599, 4.06898981839711, 0.3567271874552811, 0.0, 0.0,
        0.0, -0.0013990241651590145, 2.9475147891527724, -9.15095847217987,
    ],
    [
        -8.428938276109013, 0.5667149535193777, -3.0689499459498917, 2.38466765651207, 2.117034582445028,
        -0.871391583777973, 2.2404374302607883, 0.6315787787694688, -0.08899033645133331, 18.148505520854727,
        -9.194632392478356, -4.436036387594894,
    ],
    [
        10.427508642579134, 242.28349177525817, 165.20045171727028, -374.5467547226902, -22.113666853125306,
        7.733432668472264, -30.674084731089398, -9.332130526430229, 15.697238121770845, -31.139403219565178,
        -9.35292435884448, 35.81684148639408,
    ],
    [
        19.985053242002433, -387.0373087493518, -189.17813819516758, 527.8081592054236, -11.57390253995963,
        6.8812326946963, -1.0006050966910838, 0.7777137798053443, -2.778205752353508, -60.19669523126412,
        84.32040550667716, 11.99229113618279,
    ],
    [
        -25.69393346270375, -154.18974869023643, -231.5293791760455, 357.6391179106141, 93.40532418362432,
        -37.45832313645163, 104.0996495089623, 29.8402934266605, -43.53345659001114, 96.32455395918828,
        -39.17726167561544, -149.72683625798564,
    ],
    [
        0.01312004499419488, -1.2251564463762044, -0.4957589496572502, 1.6643771824549864, -0.35032884874997366,
        0.3341791187130175, 0.08192320648511571, -0.022355307863886294,
    ],
    [
        0.0542937341165687622 - 0.2440944881889764, 4.45031289275240888, 1.89151789931450038, -5.80120396001058478,
        0.31116436695781989 - 0.7338466882816118, -0.152160949662516079, 0.201365400804030348,
        0.0447106157277725905 - 0.022058823529411766,
    ],
]
# fmt: on
WEIGHTS = np.zeros((len(ROWS_OF_WEIGHTS), 16))
for line, begin, row in zip(WEIGHTS, FIRST, ROWS_OF_WEIGHTS, strict=True):
    line[0], line[begin : begin + len(row) - 1] = row[0], row[1:]


@compiled()
def combine(row, h, base, k, out):
    """base plus h times a row of weighted stages. Five at a time, because such loops run in lanes; where fewer are left, the first
    stage, without weight, stands in."""
    apart()
    w, s, last = WEIGHTS[row], FIRST[row], LAST[row]
    k0, k1, k2 = k[0], k[s if s < last else 0], k[s + 1 if s + 1 < last else 0]
    k3, k4 = k[s + 2 if s + 2 < last else 0], k[s + 3 if s + 3 < last else 0]
    w0, w1, w2 = h * w[0], h * w[s] if s < last else 0.0, h * w[s + 1] if s + 1 < last else 0.0
    w3, w4 = h * w[s + 2] if s + 2 < last else 0.0, h * w[s + 3] if s + 3 < last else 0.0
    for i in range(out.size):
        out[i] = base[i] + w0 * k0[i] + w1 * k1[i] + w2 * k2[i] + w3 * k3[i] + w4 * k4[i]
    s += 4
    while s < last:
        k0, k1, k2 = k[s], k[s + 1 if s + 1 < last else 0], k[s + 2 if s + 2 < last else 0]
        k3, k4 = k[s + 3 if s + 3 < last else 0], k[s + 4 if s + 4 < last else 0]
        w0, w1, w2 = h * w[s], h * w[s + 1] if s + 1 < last else 0.0, h * w[s + 2] if s + 2 < last else 0.0
        w3, w4 = h * w[s + 3] if s + 3 < last else 0.0, h * w[s + 4] if s + 4 < last else 0.0
        for i in range(out.size):
            out[i] += w0 * k0[i] + w1 * k1[i] + w2 * k2[i] + w3 * k3[i] + w4 * k4[i]
        s += 5


@compiled()
def largest_share(parts, y, trial, rtol, atol):
    """Largest |part| / (atol + rtol |y|); NaN if anything is. The parts become these."""
    for i in range(y.size):
        parts[i] = abs(parts[i]) / (atol + rtol * max(abs(y[i]), abs(trial[i])) + 1e-300)
    worst = 0.0
    for i in range(y.size):
        if parts[i] != parts[i] or trial[i] != trial[i]:
            return np.nan
        worst = max(worst, parts[i])
    return worst


@compiled()
def scaled_error(h, y, trial, k, rtol, atol, zero, total):
    """The error in units of what is allowed; NaN if anything is."""
    apart()
    fifth, third = 0.0, 0.0
    for row in range(FIFTH, FIFTH + 2):
        combine(row, h, zero, k, total)
        fifth, third = third, largest_share(total, y, trial, rtol, atol)
    return fifth * (fifth / math.sqrt(fifth * fifth + 0.01 * third * third)) if fifth != 0.0 else fifth


@compiled(inline=True)
def arrive(system, control, report, memory, data):
    """The slope, unless interpolation in the step before knew it; after a jump it may ask for a shorter step."""
    if report.fresh == 0 and report.dense != 0:
        copy(memory[SLOPE + STEP], memory[SLOPE])
        return
    system[1](report.segment, report.time, memory[Y], memory[SLOPE], *data)
    report.evaluations += 1
    if report.fresh != 0:
        for i in range(memory.shape[1]):
            memory[ZERO, i] = 0.0
        first = first_step(memory[Y], memory[SLOPE], report.end - report.time, control.rtol)
        report.step = min(5.0 * report.step, first)


@compiled(inline=True)
def attempt(system, control, report, h, memory, data):
    y, trial, k = memory[Y], memory[TRIAL], memory[SLOPE : SLOPE + 16]
    for stage in range(1, STEP + 1):
        combine(stage, h, y, k, trial)
        if stage < STEP:
            system[1](report.segment, report.time + NODES[stage] * h, trial, k[stage], *data)
    report.evaluations += STEP - 1
    error = scaled_error(h, y, trial, k, control.rtol, control.atol, memory[ZERO], memory[SUM])
    if report.wanted != 0 and error <= 1.0:
        prepare(system, report, h, memory, data)
        for i in range(y.size):
            memory[SUM, i] = SHARE * HEIGHT * memory[COEFFICIENTS + 6, i]
        error = max(error, largest_share(memory[SUM], y, trial, control.rtol, control.atol))
    return error, largest(trial)


@compiled()
def prepare(system, report, h, memory, data):
    """The stages that only interpolation needs, and the coefficients of its polynomial."""
    apart()
    y, trial, k, state = memory[Y], memory[TRIAL], memory[SLOPE : SLOPE + 16], memory[SUM]
    system[1](report.segment, report.time + h, trial, k[STEP], *data)
    for stage in range(STEP + 1, 16):
        combine(stage, h, y, k, state)
        system[1](report.segment, report.time + NODES[stage] * h, state, k[stage], *data)
    report.evaluations += 4
    before, after = k[0], k[STEP]
    f = memory[COEFFICIENTS : COEFFICIENTS + 7]
    for i in range(y.size):
        f[0, i] = trial[i] - y[i]
        f[1, i] = h * before[i] - f[0, i]
        f[2, i] = 2.0 * f[0, i] - h * (after[i] + before[i])
    for row in range(3, 7):
        combine(DENSE - 3 + row, h, memory[ZERO], k, f[row])
    report.dense = 1


@compiled()
def interpolate(system, control, report, h, theta, memory, out, data):
    apart()
    if report.dense == 0:
        prepare(system, report, h, memory, data)
    y, f, x, z = memory[Y], memory[COEFFICIENTS : COEFFICIENTS + 7], theta, 1.0 - theta
    f0, f1, f2, f3, f4, f5, f6 = f[0], f[1], f[2], f[3], f[4], f[5], f[6]
    for i in range(y.size):
        inner = f3[i] + x * (f4[i] + z * (f5[i] + x * f6[i]))
        out[i] = y[i] + x * (f0[i] + z * (f1[i] + x * (f2[i] + z * inner)))

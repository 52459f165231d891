"""The equations of motion of quadratic units whose inputs have one eigenvalue, for whoever needs nothing but the slope.

They are those of `equations.py` without the drift D and the noise S on the way, which nobody reads then. With the covariance C of
all fields, M = diag(s), tau = tr(MC), and G = CMC and H = GMC in the rows of the students

    (D C)_kj = -8 c s_k (G + tau/2 C)_kj
    S_kl     = 64 c^2 s_k s_l (2 H + tau G + (<e^2> + Delta)/4 C)_kl,    <e^2> = tau^2 + 2 tr(MCMC)

Rows lie in slots of eight numbers (`numerics/lanes.py`), the last of which is filled up by whatever comes behind them: nothing is
ever added up across a row but with s, which is zero there.
"""

from solvable.dynamics.equations import batch_at, decay_at, eigenvalue_at, finish, label_noise_at, rate_at
from solvable.dynamics.kernel_data import PLANES, SIGNS, SYSTEM
from solvable.numerics.compiled import compiled
from solvable.numerics.lanes import WIDTH, fill, flat, fma, get, load, load_at, store, store_at


def quadratic_scratch(rows: int) -> int:
    """How many numbers `quadratic_slope` needs."""
    return (4 * rows + 2) * -(-rows // WIDTH) * WIDTH


@compiled(inline=True)
def product(scratch, left, right, out, count, n, wide, width):
    """The first rows of a matrix times an n x n matrix, in the first `wide` of the `width` slots of a row; two rows at a time,
    because each sum waits for itself. All places are slots."""
    for pair in range((count + 1) // 2):
        k, other = 2 * pair, min(2 * pair + 1, count - 1)
        mine, its = (left + k * width) * WIDTH, (left + other * width) * WIDTH
        for v in range(wide):
            a, b = fill(0.0), fill(0.0)
            for i in range(n):
                row = load(scratch, right + i * width + v)
                a, b = fma(fill(scratch[mine + i]), row, a), fma(fill(scratch[its + i]), row, b)
            store(scratch, out + k * width + v, a)
            store(scratch, out + other * width + v, b)


@compiled(inline=True)
def whole_rows(p, n, width):
    """How many rows of a state may be read and written in whole slots: these end before its readouts do."""
    whole = p
    while whole > 0 and (p - whole + 1) * n + p < width * WIDTH:
        whole -= 1
    return whole


@compiled(inline=True)
def set_covariance(p, n, width, whole, eigenvalue, y, fixed, scratch):
    """Rows of C into the first slots; `fixed` are the overlaps of the teachers, row by row."""
    q, row = n - p, width * WIDTH
    for k in range(whole):
        for v in range(width):
            store(scratch, k * width + v, load_at(y, k * n + v * WIDTH) * eigenvalue)
    for k in range(whole, p):
        for j in range(n):
            scratch[k * row + j] = y[k * n + j] * eigenvalue
    for m in range(q):
        for k in range(p):
            scratch[(p + m) * row + k] = y[k * n + p + m] * eigenvalue
        for j in range(q):
            scratch[(p + m) * row + p + j] = fixed[m * q + j] * eigenvalue


@compiled(inline=True)
def weigh(p, n, width, s, scratch, signs, scaled):
    """s, and s of the students alone behind it, into the slots from `signs` on, CM into those from `scaled` on; the trace tau of MC
    and that of MCMC."""
    row, tau, squares = width * WIDTH, 0.0, fill(0.0)
    for i in range(n):
        tau += s[i] * scratch[i * row + i]
        scratch[signs * WIDTH + i] = s[i]
        scratch[signs * WIDTH + row + i] = s[i] if i < p else 0.0
    for i in range(n):
        for v in range(width):
            entries = load(scratch, i * width + v)
            part = entries * load(scratch, signs + v)
            store(scratch, scaled + i * width + v, part)
            squares = fma(part * s[i], entries, squares)
    square = 0.0
    for lane in range(WIDTH):
        square += get(squares, lane)
    return tau, square


@compiled(inline=True)
def quadratic_slope(p, factors, y, fixed, s, dy, scratch):
    """dy of all students. `factors` are the eigenvalue, c, the label noise, what multiplies D C and S, and the decay."""
    n, (eigenvalue, c, label_noise, pull, spread, decay) = s.size, factors
    width = (n + WIDTH - 1) // WIDTH
    scaled, G, H, signs = n * width, 2 * n * width, 3 * n * width, 4 * n * width
    whole = whole_rows(p, n, width)
    set_covariance(p, n, width, whole, eigenvalue, y, fixed, scratch)
    tau, square = weigh(p, n, width, s, scratch, signs, scaled)
    product(scratch, scaled, 0, G, p, n, width, width)
    for k in range(p):
        for v in range(width):
            store(scratch, scaled + k * width + v, load(scratch, G + k * width + v) * load(scratch, signs + v))
    product(scratch, scaled, 0, H, p, n, (p + WIDTH - 1) // WIDTH, width)
    size = 0.25 * (tau * tau + 2.0 * square + label_noise)
    drift, noise = -8.0 * c * pull, 64.0 * c * c * spread
    for k in range(p):
        for v in range(width):
            mine, at = load(scratch, signs + width + v), k * width + v
            C, CMC, CMCMC = load(scratch, at), load(scratch, G + at), load(scratch, H + at)
            driven = fma(C, fill(0.5 * tau), CMC) * (mine + s[k]) * drift
            moved = fma(C, fill(size), fma(CMC, fill(tau), CMCMC + CMCMC)) * mine * (noise * s[k])
            store(scratch, scaled + at, driven + moved)
    for k in range(whole):  # what is written behind a row is written again with the next one
        for v in range(width):
            store_at(dy, k * n + v * WIDTH, load(scratch, scaled + k * width + v))
    for k in range(whole, p):
        for j in range(n):
            dy[k * n + j] = scratch[(scaled + k * width) * WIDTH + j]
    if decay != 0.0:
        for k in range(p):
            for j in range(n):
                dy[k * n + j] -= (2.0 * decay if j < p else decay) * y[k * n + j]


@compiled(SYSTEM, pure=True)
def quadratic_rhs(segment, t, y, dy, problems, blocks, cases, numbers, work):
    """dy/dalpha, as `equations.rhs`."""
    problem, block, s = problems[segment], blocks[segment, 0], work[SIGNS, 0]
    p, eta, lam = problem.students, rate_at(problem, t), eigenvalue_at(problem, block, t)
    for k in range(p):
        s[k] = -y[p * problem.rows + k]
    for m in range(problem.teachers):
        s[p + m] = numbers[problem.teacher_readout + m]
    spread = block.fraction * lam * eta * eta / batch_at(problem, t) if problem.noise else 0.0
    factors = lam, problem.loss_factor, label_noise_at(problem, t), eta, spread, eta * decay_at(problem, t)
    quadratic_slope(p, factors, y, numbers[problem.teacher_overlaps :], s, dy, flat(work[PLANES:]))
    finish(problem, t, y, dy)

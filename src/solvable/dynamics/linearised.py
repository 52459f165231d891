"""The equations of motion linearised: solving (1 - g J) u = v, where J is their Jacobian.

In a block the equations are linear once D and S are given, and D and S depend on the state only through the few entries of
C = sum_b lambda_b Omega^b. So J is a part within each block, and a part of low rank by way of C (and the readouts). In the
eigenbasis X of D among students the first is triangular: cross overlaps decouple, and feed the student overlaps. The second is
a small linear system, for the entries of C and the readouts.

In this basis the state is z: X^T Q X and X^T R in each block, then the readout. What drives it is a generator (p, n + p + 1):
X^T D (X for students), X^T S X, and the readout's drift. `rates` of a block are its eigenvalue, rate x eigenvalue, the factor
of S, and the decay.
"""

from solvable.dynamics.equations import batch_at, decay_at, eigenvalue_at, rate_at
from solvable.numerics.compiled import compiled


@compiled()
def block_rates(problem, block, t):
    eta, lam = rate_at(problem, t), eigenvalue_at(problem, block, t)
    spread = block.fraction * lam * eta * eta / batch_at(problem, t) if problem.noise else 0.0
    return lam, eta * lam, spread, eta * decay_at(problem, t)


@compiled()
def rotate(p, n, X, z, row, out):
    """X^T Q X and X^T R of one block; `row` (p,) is scratch."""
    for i in range(p):
        for j in range(n):
            total = 0.0
            for k in range(p):
                total += X[k, i] * z[k * n + j]
            out[i * n + j] = total
    for i in range(p):
        for j in range(p):
            row[j] = out[i * n + j]
        for j in range(p):
            total = 0.0
            for k in range(p):
                total += row[k] * X[k, j]
            out[i * n + j] = total


@compiled()
def slope_of_block(p, q, rates, gen, z, T, out):
    """dz/dalpha of one block; T are the teachers' overlaps in it."""
    n = p + q
    _, pull, spread, decay = rates
    for i in range(p):
        for m in range(q):
            total = 0.0
            for k in range(p):
                total += gen[i, k] * z[k * n + p + m]
            for r in range(q):
                total += gen[i, p + r] * T[r * q + m]
            out[i * n + p + m] = pull * total - decay * z[i * n + p + m]
        for j in range(i + 1):
            total = 0.0
            for k in range(p):
                total += gen[i, k] * z[k * n + j] + gen[j, k] * z[k * n + i]
            for m in range(p, n):
                total += gen[i, m] * z[j * n + m] + gen[j, m] * z[i * n + m]
            slope = pull * total - 2.0 * decay * z[i * n + j] + spread * gen[i, n + j]
            out[i * n + j] = slope
            out[j * n + i] = slope


@compiled()
def solve_block(p, q, g, rates, gen, u):
    """Solve (1 - g J) u = v within a block, in place: `gen` has a diagonal D among students."""
    n = p + q
    _, pull, _, decay = rates
    for i in range(p):
        damping = 1.0 / (1.0 - g * (pull * gen[i, i] - decay))
        for m in range(p, n):
            u[i * n + m] *= damping
    for i in range(p):
        for j in range(i + 1):
            fed = 0.0
            for m in range(p, n):
                fed += gen[i, m] * u[j * n + m] + gen[j, m] * u[i * n + m]
            found = (u[i * n + j] + g * pull * fed) / (1.0 - g * (pull * (gen[i, i] + gen[j, j]) - 2.0 * decay))
            u[i * n + j] = found
            u[j * n + i] = found


@compiled()
def respond(p, q, g, rates, gen, z, T, to_students, to_cross):
    """Add what this block gives to the answer of C to a change of the generator: of C_ij (p, p, n + 1), to row i of D and to S_ij,
    and of C_im (p, n, q), to row i of D."""
    n = p + q
    lam, pull, spread, decay = rates
    for i in range(p):
        damping = 1.0 / (1.0 - g * (pull * gen[i, i] - decay))
        for m in range(q):
            for k in range(p):
                to_cross[i, k, m] += lam * pull * damping * z[k * n + p + m]
            for r in range(q):
                to_cross[i, p + r, m] += lam * pull * damping * T[r * q + m]
        for j in range(p):
            direct = lam / (1.0 - g * (pull * (gen[i, i] + gen[j, j]) - 2.0 * decay))
            fed = direct * g * pull * pull * damping
            for k in range(p):
                total = 0.0
                for m in range(p, n):
                    total += z[k * n + m] * gen[j, m]
                to_students[i, j, k] += direct * pull * z[k * n + j] + fed * total
            for r in range(q):
                total = 0.0
                for m in range(q):
                    total += T[r * q + m] * gen[j, p + m]
                to_students[i, j, p + r] += direct * pull * z[j * n + p + r] + fed * total
            to_students[i, j, n] += direct * spread


@compiled()
def unknowns(problem):
    """Entries of C that move, and the readouts if they are trained."""
    p, q = problem.students, problem.teachers
    return p * (p + 1) // 2 + p * q + (p if problem.train_readout else 0)


@compiled()
def answer(problem, rate, gen, to_students, to_cross, found):
    """How C and the readouts answer to a change `gen` of the generator."""
    p, q, n, at = problem.students, problem.teachers, problem.rows, 0
    for i in range(p):
        for j in range(i + 1):
            total = to_students[i, j, n] * gen[i, n + j]
            for k in range(n):
                total += gen[i, k] * to_students[i, j, k] + gen[j, k] * to_students[j, i, k]
            found[at] = total
            at += 1
        for m in range(q):
            total = 0.0
            for k in range(n):
                total += gen[i, k] * to_cross[i, k, m]
            found[at] = total
            at += 1
    if problem.train_readout:
        for k in range(p):
            found[at + k] = rate * gen[k, n + p]


@compiled()
def gather(problem, lam, u, found):
    """Add a block's share lambda u of C."""
    p, n, at = problem.students, problem.rows, 0
    for i in range(p):
        for j in range(i + 1):
            found[at] += lam * u[i * n + j]
            at += 1
        for m in range(p, n):
            found[at] += lam * u[i * n + m]
            at += 1

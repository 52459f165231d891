"""What moves rows without samples: teachers that drift or turn, averages and snapshots of students, velocities of readouts."""

from solvable.numerics.compiled import compiled

SOON = 1e-5  # time from which on a plain average has the gain 1/(time since it began); before, that of this time


@compiled()
def gain_of_teachers(problem, Omega, G):
    """Rows of teachers that move: they forget, and the first two turn."""
    first, turn = problem.first_teacher, problem.rotation
    for i in range(problem.teachers if problem.moving > first else 0):
        for j in range(problem.rows):
            G[first + i, j] = -problem.drift * Omega[first + i, j]
            if i == 0:
                G[first, j] += turn * Omega[first + 1, j]
            elif i == 1:
                G[first + 1, j] -= turn * Omega[first, j]


@compiled()
def gain_of_followers(problem, t, Omega, G):
    """Rows of averages, which move towards the students, and of snapshots, which stay."""
    a, s = problem.averages, problem.snapshots
    gain = problem.average_rate
    if gain == 0.0 and a > 0:
        gain = 1.0 / max(t - problem.average_begin, SOON)
    for k in range(problem.students):
        for j in range(problem.rows):
            if a > 0:
                G[a + k, j] = gain * (Omega[k, j] - Omega[a + k, j])
            if s > 0:
                G[s + k, j] = 0.0


@compiled()
def copy_to_followers(problem, y):
    """Averages and snapshots that still are the students have their overlaps, or move as these do."""
    if problem.average_follows:
        copy_students(problem, problem.averages, y)
    if problem.snapshot_follows:
        copy_students(problem, problem.snapshots, y)


@compiled()
def copy_students(problem, first, y):
    """The overlaps of students with all rows, for the rows from `first` on."""
    p, n, m = problem.students, problem.rows, problem.moving
    for b in range(problem.blocks):
        for i in range(m):
            row = (b * m + i) * n
            for k in range(p):
                y[row + first + k] = y[row + k]
        for k in range(p):
            row, copied = (b * m + k) * n, (b * m + first + k) * n
            for j in range(n):
                y[copied + j] = y[row + j]


@compiled()
def move_readouts(problem, rate, friction, y, dy):
    """Readouts and biases, whose pull is in `dy`, or their velocities, which move them."""
    base, count = problem.blocks * problem.moving * problem.rows, problem.readouts
    biases = base + problem.heads * problem.students
    for k in range(base, base + count):
        dy[k] = rate * dy[k] if (problem.train_bias if k >= biases else problem.train_readout) else 0.0
        if problem.readout_velocities:
            dy[count + k] = friction * (dy[k] - y[count + k])
            dy[k] = y[count + k]

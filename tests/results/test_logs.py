"""Weight logs of ordinary training beside the theory."""

import numpy as np
import pytest

import solvable as sv
from seeds import seed


def plain_training(dim, steps, lr, number, every):
    """A network as most code has it: fields w.x, half the squared error, gradient by hand; no word of this library."""
    random = np.random.default_rng(number)
    teacher = np.linalg.qr(random.standard_normal((dim, 2)))[0].T
    first = random.standard_normal((3, dim)) / np.sqrt(dim) * 0.5 + 0.5 * teacher[[0, 1, 0]]
    weights, log = first.copy(), [first.copy()]
    for step in range(1, steps + 1):
        x = random.standard_normal(dim)
        hidden = weights @ x
        error = np.mean(hidden**2) - np.mean((teacher @ x) ** 2)
        weights -= lr * error * (2 / 3) * hidden[:, None] * x
        if step % every == 0:
            log.append(weights.copy())
    return np.array(log), teacher, np.arange(0, steps + 1, every)


@pytest.mark.statistical
def test_a_plain_loop_lies_on_the_theory() -> None:
    """lr = rate / dim for fields w.x; mean of 40 runs within 5.5 standard errors + 3/dim of the deterministic limit."""
    dim, rate = 600, 0.2
    problem = sv.Problem(
        teacher=sv.Teacher(width=2, overlap="sampled"),
        student=sv.Student(width=3),
        inputs=sv.Inputs(dim=dim),
        training=sv.Training(learning_rate=rate, loss_factor=0.5),
    )
    _, teacher, _ = plain_training(dim, 10, rate / dim, seed(0), 10)
    random, first = np.random.default_rng(seed(100)), plain_training(dim, 0, 0.0, seed(0), 1)[0][0]
    weights = np.repeat(first[None], 40, axis=0)  # the same start, other samples
    log = [weights.copy()]
    for step in range(1, 5 * dim + 1):
        x = random.standard_normal((40, dim))
        hidden = np.einsum("rkn,rn->rk", weights, x)
        error = np.mean(hidden**2, axis=1) - np.mean((x @ teacher.T) ** 2, axis=1)
        weights -= rate / dim * (2 / 3) * (error[:, None] * hidden)[:, :, None] * x[:, None, :]
        if step % dim == 0:
            log.append(weights.copy())
    measured = sv.Trajectory.from_weights(problem, np.stack(log, axis=1), teacher, np.arange(6) * dim, plain=True)
    assert measured.level == "weights"
    assert measured.time.tolist() == [k * dim for k in range(6)]
    theory = sv.run(problem, measured.at(0, run=0), sv.Macro(), times=measured.alpha)
    mean = measured.mean("cross_overlap")
    assert (np.abs(mean.mean - theory.cross_overlap[0])[1:] < 5.5 * mean.standard_error[1:] + 3 / dim).all()
    wrong = sv.run(
        problem.replace(training__learning_rate=1.3 * rate), measured.at(0, run=0), sv.Macro(), times=measured.alpha
    )
    assert (np.abs(mean.mean - wrong.cross_overlap[0])[1:] > 5.5 * mean.standard_error[1:] + 3 / dim).any()


@pytest.mark.statistical
def test_risk_and_overlaps_of_a_log() -> None:
    log, teacher, steps = plain_training(50, 100, 0.001, seed(3), 20)
    problem = sv.Problem(
        teacher=sv.Teacher(width=2, overlap="sampled"),
        student=sv.Student(width=3),
        inputs=sv.Inputs(dim=50),
        training=sv.Training(learning_rate=0.05, loss_factor=0.5),
    )
    one = sv.Trajectory.from_weights(problem, log, teacher, steps, plain=True)
    assert one.student_overlap[0, 2] == pytest.approx(log[2] @ log[2].T)
    x = np.random.default_rng(seed(0)).standard_normal((400_000, 50))
    errors = np.mean((x @ log[2].T) ** 2, axis=1) - np.mean((x @ teacher.T) ** 2, axis=1)
    samples = 0.5 * errors**2
    assert abs(one.risk[0, 2] - samples.mean()) < 5 * samples.std() / np.sqrt(len(samples))
    scaled = sv.Trajectory.from_weights(problem, np.sqrt(50) * log, np.sqrt(50) * teacher, steps / 50, clock="alpha")
    assert scaled.risk == pytest.approx(one.risk)
    assert sv.plot.compare(one, ax=sv.plot.figure()[1]) is not None
    with pytest.raises(ValueError, match=r"must be \(time, p, dim\) or \(run, time, p, dim\)"):
        sv.Trajectory.from_weights(problem, log[:2], teacher, steps)
    with pytest.raises(ValueError, match=r"inputs.dim: infinite"):
        sv.Trajectory.from_weights(problem.replace(inputs=sv.Inputs()), log, teacher, steps)


def test_a_pytorch_log() -> None:
    torch = pytest.importorskip("torch")
    dim, rate = 40, 0.1
    model, target = torch.nn.Linear(dim, 2, bias=False).double(), torch.nn.Linear(dim, 1, bias=False).double()
    optimiser = torch.optim.SGD(model.parameters(), lr=rate / dim)
    log = [model.weight.detach().clone()]
    for _ in range(dim):
        x = torch.randn(dim, dtype=torch.float64)
        loss = 0.5 * ((model(x) ** 2).mean() - (target(x) ** 2).mean()) ** 2
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        log.append(model.weight.detach().clone())
    problem = sv.Problem(
        teacher=sv.Teacher(width=1, overlap="sampled"),
        student=sv.Student(width=2),
        inputs=sv.Inputs(dim=dim),
        training=sv.Training(learning_rate=rate, loss_factor=0.5),
    )
    run = sv.Trajectory.from_weights(problem, torch.stack(log), target.weight, np.arange(dim + 1), plain=True)
    assert run.student_overlap[0, -1] == pytest.approx((log[-1] @ log[-1].T).numpy())


def erf_risk(units, readout):
    """Half the mean square of readout . erf(units . x / sqrt(2)) for standard normal x: <erf erf> = 2/pi arcsin."""
    gram = units @ units.T
    norms = np.sqrt(1 + np.diag(gram))
    return readout @ np.arcsin(gram / np.outer(norms, norms)) @ readout / np.pi


@pytest.mark.parametrize("drift", [0.0, 0.2])
def test_a_log_of_two_tasks_with_heads(drift) -> None:
    dim, times = 60, [0, 30, 60, 90]
    random = np.random.default_rng(4)
    problem = sv.Problem(
        teacher=sv.Teacher(width=2, activation="erf", overlap="sampled", drift=drift),
        student=sv.Student(width=3, activation="erf"),
        inputs=sv.Inputs(dim=dim),
        training=sv.Training(learning_rate=1.0, loss_factor=0.5, train_readout=True),
        tasks=sv.Task.sequence([(1.0, 0.0), (0.0, 1.0)], [0.5]),
    )
    W, heads = random.standard_normal((2, 4, 3, dim)) / dim**0.5, random.standard_normal((2, 4, 2, 3))
    B = random.standard_normal((4, 2, dim) if drift else (2, dim)) / dim**0.5
    log = sv.Trajectory.from_weights(problem, W, B, times, readout=heads, plain=True)
    for run, time, task in np.ndindex(2, 4, 2):
        teacher = (B[time] if drift else B)[task]
        expected = erf_risk(np.vstack([W[run, time], teacher]), np.append(heads[run, time, task], -1.0))
        assert log.task_risk[run, time, task] == pytest.approx(expected, rel=1e-10)
    assert log.forgetting[:, 3, 0] == pytest.approx(log.task_risk[:, 3, 0] - log.task_risk[:, 1, 0], rel=1e-12)
    with pytest.raises(ValueError, match=r"readout: shape \(4, 3\) given, must be \(4, 2, 3\), or \(2, 4, 2, 3\)"):
        sv.Trajectory.from_weights(problem, W, B, times, readout=heads[0, :, 0], plain=True)


def test_directions_and_teachers_of_a_log_are_those_of_the_problem() -> None:
    """Directions have entries of order one, whatever the weights' scale; single precision is near enough."""
    dim = 40
    problem = sv.Problem(
        student=sv.Student(width=2, activation="erf"),
        inputs=sv.Inputs(dim=dim),
        training=sv.Training(learning_rate=0.1),
        mixture=sv.Mixture.opposite(1.5),
    )
    random = np.random.default_rng(5)
    W, mean = random.standard_normal((1, 2, dim)) / dim**0.5, random.standard_normal((1, dim))
    mean *= 1.5 / np.linalg.norm(mean)  # of an input
    directions = (dim**0.5 * mean).astype(np.float32)
    log = sv.Trajectory.from_weights(problem, W, None, [0], plain=True, directions=directions)
    assert log.direction_overlap[0, 0] == pytest.approx(W[0] @ mean.T, rel=1e-5)
    with pytest.raises(
        sv.overlaps.InvalidStart, match=r"directions: they overlap otherwise than mixture.gram says, by 2.1"
    ):
        sv.Trajectory.from_weights(problem, W, None, [0], plain=True, directions=mean)
    taught = problem.replace(mixture=None, teacher=sv.Teacher(width=2, activation="erf"))
    teachers = np.eye(2, dim)
    sv.Trajectory.from_weights(taught, W, teachers, [0], plain=True)
    with pytest.raises(
        sv.overlaps.InvalidStart, match=r"teacher_weights: they overlap otherwise than teacher.overlap says, by 3"
    ):
        sv.Trajectory.from_weights(taught, W, 2 * teachers, [0], plain=True)
    sampled = taught.replace(teacher__overlap="sampled")
    assert sv.Trajectory.from_weights(sampled, W, 2 * teachers, [0], plain=True).risk.shape == (1, 1)

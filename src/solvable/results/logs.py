"""A method of `Trajectory`: weight logs of any training as a trajectory."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from solvable.overlaps import InvalidStart, Overlaps, as_array, fixed_overlaps, measure
from solvable.problems import Problem
from solvable.results.blocks import Blocks
from solvable.results.clock import Clock
from solvable.results.ending import Ending

if TYPE_CHECKING:
    from solvable.results.trajectory import Trajectory


def from_weights(
    problem: Problem,
    weights: Any,
    teacher_weights: Any,
    times: Any,
    *,
    readout: Any = None,
    clock: str = "steps",
    plain: bool = False,
    basis: Any = None,
    directions: Any = None,
    velocities: Any = None,
    bias: Any = None,
) -> Trajectory:
    """A trajectory from a log of weights of any training, to compare it with theory.

    Parameters
    ----------
    problem : Problem
        What the training is compared with.
    weights : array
        (time, p, dim), or (run, time, p, dim) for several runs; from NumPy, PyTorch or JAX. With a spectrum: in its
        eigenbasis.
    teacher_weights : array
        (p*, dim) weights of the teachers; (time, p*, dim) where they move.
    times : array
        (time,) in the unit of `clock`.
    readout : array, optional
        (time, p) second layer, if it was trained; (time, heads, p) where tasks have heads of their own.
    clock : str
        Unit of `times`, as in `Clock`.
    plain : bool
        True for networks whose fields are w.x instead of w.x/sqrt(dim), as most code has them. Their learning rate
        is ours divided by dim.
    basis : array, optional
        (dim, dim) eigenvectors of the input covariance as columns, as in `measure`.
    directions : array, optional
        (directions, dim) directions of a mixture, as in `measure`: sqrt(dim) times means of inputs, also if `plain`. They
        must overlap as `mixture.gram` says, and teachers as `teacher.overlap` does.
    velocities : array, optional
        (time, p, dim) or (run, time, p, dim) velocities of momentum, if the problem has it.
    bias : array, optional
        (time,) or (run, time) of the output, if it was trained.

    Returns
    -------
    Trajectory
        With the level "weights".

    Examples
    --------
    >>> weights = np.random.default_rng(0).normal(size=(5, 2, 1000))
    >>> logged = sv.Trajectory.from_weights(problem, weights, np.sqrt(1000) * np.eye(1, 1000), times=np.arange(5))
    >>> logged.cross_overlap.shape
    (1, 5, 2, 1)
    """
    dim = _finite_dim(problem)
    scale = np.sqrt(dim) if plain else 1.0
    W, B = scale * as_array(weights, "weights"), _teachers(problem, scale, teacher_weights)
    W, time = W[None] if W.ndim == 3 else W, np.atleast_1d(np.asarray(times, dtype=float))
    _check(problem, W, time, has_readout=readout is not None)
    values = problem.readout_values
    a = _readouts(readout, values, W.shape[:2])
    B = np.broadcast_to(B, (*W.shape[:2], *B.shape[-2:]))
    alpha = Clock(problem, clock).to_alpha(time)
    more, biases = _following(problem, W, alpha, scale, velocities), _biases(problem, bias, W.shape[:2])
    states = [
        [
            with_bias(
                measure(
                    problem, w, b, k, basis, directions=directions, **{name: rows[i, j] for name, rows in more.items()}
                ),
                biases[i, j],
            )
            for j, (w, b, k) in enumerate(zip(run, bs, ks, strict=True))
        ]
        for i, (run, bs, ks) in enumerate(zip(W, B, a, strict=True))
    ]
    for run in states:
        _check_fixed(problem, run[0])
    built = _built(problem, states, alpha, np.array(a), {"plain": plain})
    scalars = np.array([[one.scalars for one in run] for run in states]) if problem.scalars else None
    ended = None if scalars is None else scalars[:, -1]
    return replace(built, unit=clock, scalars=scalars, end_scalars=ended)


def _following(
    problem: Problem, W: np.ndarray, alpha: np.ndarray, scale: float, velocities: Any
) -> dict[str, np.ndarray]:
    """(run, time, p, dim) rows that follow from a log of weights: anchors and snapshots from entries of it, velocities as given. An
    average is refused: it needs all steps."""
    found, roles = {}, problem.extras
    if "average" in roles:
        raise ValueError("training.average: given, but a log does not hold every step; average the weights themselves")
    if "anchor" in roles:
        found["anchors"] = np.broadcast_to(W[:, :1], W.shape)
    if "snapshot" in roles:
        taken = max(int(np.searchsorted(alpha, problem.training.snapshot or 0.0, side="right")) - 1, 0)
        found["snapshots"] = W[:, np.minimum(np.arange(alpha.size), taken)]
    if "velocity" in roles and velocities is None:
        momentum = problem.training.momentum
        if momentum is None or momentum.beta != 0:
            raise ValueError(
                "velocities: are missing; the problem has momentum, so give their log (time, p, dim), the change of the weights in "
                "the last step: -lr * momentum_buffer in PyTorch"
            )
        velocities = np.zeros_like(W)  # nothing depends on them
    if velocities is not None:
        given = scale * as_array(velocities, "velocities")
        found["velocities"] = given[None] if given.ndim == 3 else given
        if found["velocities"].shape != W.shape:
            raise ValueError(f"velocities: shape {given.shape} given, must be that of the weights")
    return found


def _finite_dim(problem: Problem) -> int:
    if problem.inputs.dim is None:
        raise ValueError(
            "inputs.dim: infinite, but weights have finitely many coordinates; give the problem their number"
        )
    return problem.inputs.dim


def _teachers(problem: Problem, scale: float, given: Any) -> np.ndarray:
    """(p*, dim), or (..., time, p*, dim) where teachers move."""
    if given is None:
        return np.zeros((0, problem.inputs.dim or 0))
    B = scale * as_array(given, "teacher_weights")
    if B.ndim != 2 and not (problem.teacher.is_moving and B.ndim in (3, 4)):
        raise ValueError(
            f"teacher_weights: shape {B.shape} given, must be (p*, dim), or (time, p*, dim) if teachers move"
        )
    return B


def _biases(problem: Problem, given: Any, outputs: tuple[int, ...]) -> np.ndarray:
    """(run, time, head or nothing) of the outputs."""
    count = problem.scalars.count("bias")
    if given is None and problem.training.train_bias:
        raise ValueError("bias: is missing; the problem trains it, so give its log (time,)")
    if given is not None and not count:
        raise ValueError("bias: given although the problem has none; say student.bias or training.train_bias")
    array = np.asarray(problem.student.bias if given is None else as_array(given, "bias"), dtype=float)
    if given is not None and (count > 1 or array.shape not in (outputs, outputs[1:])):
        raise ValueError(
            f"bias: shape {array.shape} given for {count} head(s), must be {outputs[1:]} or {outputs} for one"
        )
    return np.broadcast_to(array[..., None] if given is not None else array, (*outputs, count))


def with_bias(state: Overlaps, bias: np.ndarray) -> Overlaps:
    """A state with these biases of the outputs."""
    if not bias.size:
        return state
    return state.with_scalars(np.concatenate([bias, state.scalars[bias.size :]]))


def _check(problem: Problem, W: np.ndarray, time: np.ndarray, has_readout: bool) -> None:
    """Raise unless W is (run, time, p, dim) and finite, at increasing times."""
    if W.ndim != 4 or W.shape[1] != time.size:
        raise ValueError(
            f"weights: shape {W.shape} given for {time.size} times, must be (time, p, dim) or (run, time, p, dim); a single unit "
            f"is w[None]"
        )
    if W.shape[2:] != (problem.student.width, problem.inputs.dim):
        raise ValueError(f"weights: {W.shape[2:]} at each time, must be {(problem.student.width, problem.inputs.dim)}")
    if problem.training.train_readout and not has_readout:
        raise ValueError("readout: is missing; the problem trains it, so give its log (time, p), or (time, heads, p)")
    if not np.isfinite(time).all() or time[0] < 0 or (np.diff(time) <= 0).any():
        raise ValueError(
            f"times: must be finite, not negative and increasing, got {np.array2string(time, threshold=6)}"
        )
    if not np.isfinite(W).all():
        run, step = np.argwhere(~np.isfinite(W).all(axis=(2, 3)))[0]
        raise ValueError(
            f"weights: not finite in run {run} from entry {step} on (training diverged); give the entries before"
        )


def _built(
    problem: Problem, states: list[list[Overlaps]], alpha: np.ndarray, readout: np.ndarray, settings: dict[str, Any]
) -> Trajectory:
    """From the overlaps of each run at each time."""
    from solvable.dynamics.gaussian_moments import NODES
    from solvable.dynamics.kernel_choice import risks
    from solvable.results.building import Curves, Ends, build

    risk, error = np.array([risks(problem, run, alpha, NODES) for run in states]).swapaxes(0, 1)
    student = np.array([[one.block_student_overlap for one in run] for run in states])
    cross = np.array([[one.block_cross_overlap for one in run] for run in states])
    rest = _rest(problem, states)
    blocks = Blocks(student, cross, *rest)
    curves = Curves(
        alpha,
        risk,
        student.sum(axis=2),
        cross.sum(axis=2),
        readout,
        risk_error=error,
        blocks=blocks,
        task_risk=_task_risk(problem, states, alpha) if problem.tasks else None,
        moving_teacher_overlap=None if rest[0] is None else rest[0].sum(axis=2),
        extra_overlap=None if rest[1] is None else rest[1].sum(axis=2),
    )
    runs = len(states)
    ends = Ends(
        blocks.pick(slice(None), -1),
        readout[:, -1].copy(),
        np.full(runs, Ending.FINISHED),
        np.full(runs, alpha[-1]),
        np.zeros(runs, dtype=np.int64),
    )
    return build(problem, "weights", settings, [run[0] for run in states], risk[:, 0], curves, ends)


def _rest(problem: Problem, states: list[list[Overlaps]]) -> tuple[np.ndarray | None, np.ndarray | None]:
    """(run, time, block, ...) overlaps of moving teachers, and of extra rows."""
    teacher = np.array([[one.block_teacher_overlap for one in run] for run in states])
    extra = np.array([[one.block_extra_overlap for one in run] for run in states])
    return teacher if problem.teacher.is_moving else None, extra if problem.extras else None


def _readouts(given: Any, values: np.ndarray, outputs: tuple[int, ...]) -> np.ndarray:
    """(run, time, ...) readouts in the shape of `values`, for so many runs and times."""
    array, shape = values if given is None else as_array(given, "readout"), (*outputs, *values.shape)
    if array.ndim < values.ndim or array.shape not in (shape[1:], shape, (1, *shape[1:]), values.shape):
        raise ValueError(f"readout: shape {array.shape} given, must be {shape[1:]}, or {shape} with a log of each run")
    return np.broadcast_to(array, shape)


def _check_fixed(problem: Problem, state: Overlaps) -> None:
    """Raise unless directions and teachers overlap as the problem says, up to what single precision leaves."""
    p, q, mixture, inputs = problem.student.width, problem.teacher.width, problem.mixture, problem.inputs
    if mixture is not None:
        found = state.block_extra_overlap[:, :, p + q :][:, : mixture.directions, : mixture.directions]
        _compare(found, mixture.block_gram(inputs.fractions), "directions: they overlap otherwise than mixture.gram says",
                 "they are sqrt(dim) times means of inputs")  # fmt: skip
    if problem.teacher.overlap != "sampled" and not problem.teacher.is_moving:
        expected = fixed_overlaps(problem, None)
        last = p + expected.shape[1]
        _compare(state.stacked[:, p:last, p:last], expected, "teacher_weights: they overlap otherwise than teacher.overlap says",
                 'say overlap="sampled" for teachers whose overlaps come with their weights')  # fmt: skip


def _compare(found: np.ndarray, expected: np.ndarray, what: str, hint: str) -> None:
    difference = np.abs(found - expected).max(initial=0.0)
    if difference > 1e-6 * np.abs(expected).max(initial=0.0):
        raise InvalidStart(f"{what}, by {difference:.3g}; {hint}")


def _task_risk(problem: Problem, states: list[list[Overlaps]], alpha: np.ndarray) -> np.ndarray:
    """(run, time, task)."""
    from solvable.dynamics.gaussian_moments import NODES
    from solvable.dynamics.kernel_choice import task_risks
    from solvable.dynamics.kernel_data import state_of

    packed = [np.array([state_of(one, problem) for one in run]) for run in states]
    return np.array([task_risks(problem, run[0], rows, alpha, NODES) for run, rows in zip(states, packed, strict=True)])

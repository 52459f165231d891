"""Starts: overlaps drawn from the law of random weights, idealised, or prescribed."""

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from solvable.overlaps.drawing import KINDS, Law
from solvable.overlaps.first_scalars import first_scalars
from solvable.overlaps.fixed_rows import fixed_overlaps
from solvable.overlaps.measuring import as_array
from solvable.overlaps.prescribing import Given, Prescribed
from solvable.overlaps.sizes import check_overlaps, hearing
from solvable.overlaps.state import ROLES, InvalidStart, Overlaps
from solvable.problems import Problem

Seed = int | np.random.SeedSequence


def start(
    problem: Problem,
    seed: Seed | None = None,
    *,
    scale: float = 1.0,
    students: Literal["gaussian", "orthogonal", "spanning"] = "gaussian",
    cross: float | None = None,
    student_overlap: Any = None,
    cross_overlap: Any = None,
    teacher_overlap: Any = None,
    direction_overlap: Any = None,
    block_student_overlap: Any = None,
    block_cross_overlap: Any = None,
    block_teacher_overlap: Any = None,
    block_direction_overlap: Any = None,
    readout: Any = None,
) -> Overlaps:
    """A start for a problem: drawn at random, idealised, or with given overlaps.

    Parameters
    ----------
    problem : Problem
        What is learned.
    seed : int or SeedSequence, optional
        Needed for the first three kinds of `students`; left out where overlaps are given.
    scale : float
        Standard deviation of a student's weights.
    students : str
        "gaussian": Gaussian weights (on the sphere: normalised), at finite dim; the overlaps are drawn from their exact
        law, without drawing dim numbers. "orthogonal": student overlap scale^2 times the identity, and independent
        Gaussian cross overlaps with unit teachers (bocchi2026's idealised start). "spanning": as many students as
        inputs, orthogonal and of equal length; quadratic ones then move as infinitely many Gaussian ones. In
        saraomannelli2020's words A(0) is scale^2/dim times the identity.
    cross : float, optional
        Standard deviation of the cross overlaps of "orthogonal" students; left out, scale/sqrt(dim).
    student_overlap, cross_overlap, teacher_overlap : array, optional
        (p, p), (p, p*) and (p*, p*), in place of a seed; they are shared among the blocks by their size. Left out are
        zero cross overlaps and the problem's own teacher.
    block_student_overlap, block_cross_overlap, block_teacher_overlap : array, optional
        The same with a leading block axis.
    direction_overlap, block_direction_overlap : array, optional
        (p, directions) overlaps with the directions of a mixture. Left out, they are drawn with a seed, and zero where other
        overlaps are given.
    readout : array, optional
        (p,) second layer, or (heads, p); left out, the problem's.

    Returns
    -------
    Overlaps
        The state at time zero.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=1000)
    >>> sv.start(problem, seed=0).cross_overlap.shape
    (2, 1)
    >>> sv.start(problem, seed=0, students="orthogonal", cross=0.01).student_overlap
    array([[1., 0.],
           [0., 1.]])
    >>> sv.start(problem, student_overlap=np.eye(2), cross_overlap=[[0.3], [0.1]]).cross_overlap
    array([[0.3],
           [0.1]])
    """
    check_overlaps(problem)
    law = Law(students, scale, cross)
    prescribed = Prescribed(
        Given("student_overlap", student_overlap, block_student_overlap),
        Given("cross_overlap", cross_overlap, block_cross_overlap),
        Given("direction_overlap", direction_overlap, block_direction_overlap),
    )
    _check_choice(problem, seed, law, prescribed)
    values = _readout(problem, readout)
    random = None if seed is None else np.random.default_rng(_checked_seed(seed))
    q, teachers = problem.teacher.width, Given("teacher_overlap", teacher_overlap, block_teacher_overlap)
    fixed = hearing(problem, fixed_overlaps)(problem, random, teachers.spread(problem, q, q))
    Q, R = prescribed.overlaps(problem, fixed) if prescribed.is_any else law.draw(problem, random, fixed)
    result = hearing(problem, _state)(problem, Q, R, fixed, values)
    check_start(problem, result)
    return result


def _check_choice(problem: Problem, seed: Seed | None, law: Law, prescribed: Prescribed) -> None:
    """Raise unless students are either drawn or prescribed, and nothing is given in vain."""
    if law.kind not in KINDS:
        raise InvalidStart(f"students: {law.kind!r} given, must be 'gaussian', 'orthogonal' or 'spanning'")
    if not prescribed.is_any:
        if seed is None:
            missing = "seed: is missing; give seed=0 to draw a start, or prescribe student_overlap and cross_overlap"
            try:
                law.check_dim(problem)
            except InvalidStart as error:
                raise InvalidStart(f"{missing}\n{error}") from None
            raise InvalidStart(missing)
        return
    for name, value, default in zip(("students", "scale", "cross"), law, Law(), strict=True):
        if value != default:
            raise InvalidStart(f"{name}: given although the overlaps are prescribed, so nothing would use it")
    if seed is not None and problem.teacher.overlap != "sampled":
        raise InvalidStart("seed: given although the overlaps are prescribed, so nothing would use it")
    if prescribed.student.total is None and prescribed.student.blocks is None:
        raise InvalidStart("student_overlap: is missing; prescribe it together with cross_overlap")


def _readout(problem: Problem, given: Any) -> np.ndarray:
    values = problem.readout_values if given is None else as_array(given)
    if values.shape != problem.readout_values.shape:
        raise InvalidStart(f"readout: shape {values.shape} given, must be {problem.readout_values.shape}")
    return values


def _state(problem: Problem, Q: np.ndarray, R: np.ndarray, fixed: np.ndarray, readout: np.ndarray) -> Overlaps:
    """Students that overlap by R with the fixed rows, teachers and then directions; with whatever rows follow from them."""
    q = problem.teacher.width
    rows = np.concatenate([R[:, :, q:].transpose(0, 2, 1), fixed[:, q:]], axis=2)
    roles = ("direction",) * rows.shape[1]
    return fitted(problem, Overlaps(Q, R[:, :, :q], fixed[:, :q, :q], readout, roles, rows))


def fitted(problem: Problem, state: Overlaps) -> Overlaps:
    """The state as a run of a problem begins with it: with its anchors, velocities, averages, snapshots and scalars, and no others.

    Parameters
    ----------
    problem : Problem
        What is to be run.
    state : Overlaps
        Any state of its widths.

    Returns
    -------
    Overlaps
        What is missing begins as at time zero: anchors, averages and snapshots are the students, all else is zero.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=100)
    >>> held = problem.replace(training__anchor=0.1)
    >>> sv.overlaps.fitted(held, sv.start(problem, seed=0)).extras
    ('anchor', 'anchor')
    """
    if not isinstance(state, Overlaps):
        return state
    for role in ROLES[1:]:
        if role in problem.extras and role not in state.extras:
            state = state.with_role(role)
        elif role in state.extras and role not in problem.extras:
            state = state.without(role)
    return _with_scalars(problem, state)


def _with_scalars(problem: Problem, state: Overlaps) -> Overlaps:
    """With the numbers of the problem's roles: the state's of a role, or the first ones. Numbers without roles stay."""
    roles, kept = problem.scalars, state.scalar_roles
    if roles == kept:
        return state
    if state.scalars.size and not kept:
        return replace(state, scalar_roles=roles) if state.scalars.size == len(roles) else state
    found = {role: state.scalars[[one == role for one in kept]] for role in dict.fromkeys(kept)}
    numbers = first_scalars(problem)
    for role, values in found.items():
        if len(values) == roles.count(role):
            numbers[[one == role for one in roles]] = values
    return replace(state, scalars=numbers, scalar_roles=roles)


def check_start(problem: Problem, start: Overlaps) -> None:
    """Raise InvalidStart unless a start belongs to a problem.

    Parameters
    ----------
    problem : Problem
        Its widths, blocks, teachers and norms are compared.
    start : Overlaps
        The start.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=10)
    >>> sv.overlaps.check_start(problem, sv.start(problem, seed=0))
    """
    if not isinstance(start, Overlaps):
        hint = {"Weights": "; take weights.overlaps(problem)", "Prediction": "; take its .value"}
        kind = type(start).__name__
        raise TypeError(f"start: must be Overlaps, as from start(...), not {kind}{hint.get(kind, '')}")
    blocks, p, q = problem.inputs.blocks, problem.student.width, problem.teacher.width
    if start.block_cross_overlap.shape != (blocks, p, q):
        raise InvalidStart(
            f"start: has (blocks, students, teachers) = {start.block_cross_overlap.shape}, the problem {(blocks, p, q)}"
        )
    if start.extras != problem.extras:
        raise InvalidStart(f"start: has {_counted(start.extras)}, the problem {_counted(problem.extras)}")
    if start.scalars.size != len(problem.scalars):
        raise InvalidStart(
            f"scalars: {start.scalars.size} given, the problem has {_counted(problem.scalars, 'none')}; "
            f"give as many, or leave them out"
        )
    values = problem.readout_values
    if start.readout.shape != values.shape:
        raise InvalidStart(f"readout: shape {start.readout.shape} at the start, the problem has {values.shape}")
    if not problem.training.train_readout and np.abs(start.readout - values).max() > 1e-12:
        raise InvalidStart(
            f"readout: {np.round(start.readout, 6)} at the start, but the problem's student.readout is "
            f"{np.round(values, 6)} and is not trained; draw the start for this problem"
        )
    biases = start.scalars[: problem.scalars.count("bias")]
    if not problem.training.train_bias and np.abs(biases - problem.student.bias).max(initial=0.0) > 1e-12:
        raise InvalidStart(
            f"scalars: the bias is {np.round(biases, 6)} at the start, but the problem's student.bias is {problem.student.bias:g} "
            f"and is not trained; draw the start for this problem"
        )
    if problem.student.norm == "sphere":
        norms = np.diag(start.student_overlap)
        if np.abs(norms - 1).max() > 1e-9:
            raise InvalidStart(f"student_overlap: on the sphere its diagonal must be 1, but is {np.round(norms, 6)}")
    if problem.mixture is not None:
        gram = problem.mixture.block_gram(problem.inputs.fractions)
        d, n = problem.mixture.directions, p + q
        difference = np.abs(start.block_extra_overlap[:, :d, n : n + d] - gram).max()
        if difference > 1e-9 * np.abs(gram).max():
            raise InvalidStart(f"start: its directions overlap otherwise than mixture.gram says, by {difference:.3g}")
    if problem.teacher.is_moving:
        return
    if problem.teacher.overlap != "sampled":
        expected = fixed_overlaps(problem, None)
        last = p + expected.shape[1]
        found = start.block_teacher_overlap if problem.mixture is None else start.stacked[:, p:last, p:last]
        difference = np.abs(found - expected).max(initial=0.0)
        if difference > 1e-9 * np.abs(expected).max(initial=0.0):
            raise InvalidStart(
                f"teacher_overlap: differs from the problem's teacher.overlap by {difference:.3g}; "
                f'say overlap="sampled" for a teacher whose overlaps come with the start'
            )


def _counted(roles: tuple[str, ...], none: str = "neither directions nor anchors") -> str:
    return " and ".join(f"{roles.count(role)} {role}(s)" for role in dict.fromkeys(roles)) or none


def _checked_seed(seed: Any) -> Seed:
    if isinstance(seed, np.random.SeedSequence):
        return seed
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InvalidStart(f"seed: {seed!r} given, must be a whole number, not negative, or a SeedSequence")
    return int(seed)

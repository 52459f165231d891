"""The reduced process in memory: where its numbers lie, and its first state from overlaps.

In each block, split the coordinates of the weights into those on a fixed orthonormal frame that spans the teachers, and the
rest: V/sqrt(dim) = [B | 0] for the teachers and [C | L] for the students, L lower triangular on a frame that moves with them.
A block too small for that keeps all its coordinates on a fixed frame: C and B are then its weights, and L is empty.
"""

from typing import Any, NamedTuple

import numpy as np

from solvable.dynamics.kernel_data import FRAME, PROBLEM, PROCESS, pack
from solvable.gaussian.losses import LOSSES, TABULATED_LOSS
from solvable.gaussian.tables import tabulate
from solvable.gaussian.units import OWN, POLYNOMIAL, TABULATED, UNITS
from solvable.numerics.lanes import WIDTH, slots
from solvable.overlaps import Overlaps, gram_factor
from solvable.problems import Hermite, Problem, Target
from solvable.problems.networks import Network


class ReducedForm(NamedTuple):
    """What kernels know of the process: `process` has one record, `frames` one for each block."""

    process: np.ndarray
    frames: np.ndarray
    numbers: np.ndarray
    slots: int  # of the state
    work: int  # slots of the workspace

    @property
    def form(self) -> Any:
        return self.process[0]


class Block(NamedTuple):
    """How a block is kept: the dimensions of the teachers' frame (`rank`) and those outside all frames (`freedom`)."""

    rank: int
    freedom: int


def shapes(problem: Problem) -> list[Block]:
    """How each block is kept. A batch needs as many directions outside as there are students, one sample needs one."""
    p, q = problem.student.width, problem.teacher.width
    more = 1 if _is_single(problem) else p
    blocks = []
    for size in problem.inputs.block_sizes:
        freedom = int(size) - q - p
        blocks.append(Block(q, freedom) if freedom > more else Block(int(size), 0))
    return blocks


def _is_single(problem: Problem) -> bool:
    """Whether every step sees one sample."""
    return bool(problem.training.segments["batch"][:, 1].max() == 1)


def reduced_form(problem: Problem) -> ReducedForm:
    """Of a problem, whatever its learning rates and its start."""
    training, p, q = problem.training, problem.student.width, problem.teacher.width
    shaped = shapes(problem)
    form, frames = np.zeros(1, dtype=PROCESS), np.zeros(len(shaped), dtype=FRAME)
    state, draws = _place_frames(p, q, shaped, frames)
    single, noisy = _is_single(problem), bool(training.segments["label_noise"][:, 1].max() > 0)
    loss = LOSSES[training.loss]
    numbers = {
        "teacher_readout": problem.teacher.readout_values,
        "unit_numbers": _numbers(problem.student),
        "teacher_numbers": _numbers(problem.teacher),
        "loss_numbers": _loss_numbers(training.loss),
    }
    known = {
        "students": p, "teachers": q, "blocks": len(shaped), "unit": _unit(problem.student), "teacher_unit": _unit(problem.teacher),
        "product": problem.teacher.target == "product", "loss": loss.kind, "margin": loss.of == "margin",
        "sphere": problem.student.norm == "sphere", "train_readout": training.train_readout, "single": single, "noisy": noisy,
        "readout": state, "normals": draws + (sum(freedom > 0 for _, freedom in shaped) if single else 0) + noisy,
        "degree": numbers["unit_numbers"].size - 1, "teacher_degree": numbers["teacher_numbers"].size - 1,
        "loss_factor": training.loss_factor, "dim": problem.inputs.dim, "batch": round(training.segments["batch"][0, 1]),
    }  # fmt: skip
    known |= dict(zip(numbers, np.cumsum([0, *(values.size for values in numbers.values())]), strict=False))
    for name, value in known.items():
        form[name] = value
    work = _place_work(form, frames, single)
    return ReducedForm(form, frames, np.concatenate(list(numbers.values())), state + p, work)


def _place_frames(p: int, q: int, shaped: list[Block], frames: np.ndarray) -> tuple[int, int]:
    """Where each block has its coordinates in the state and its draws in the workspace; how many slots that takes in both."""
    state = work = 0
    for frame, (rank, freedom) in zip(frames, shaped, strict=True):
        triangle = p * (p + 1) // 2 if freedom else 0
        frame.rank, frame.freedom, frame.draws = rank, freedom, work
        frame.C, frame.L, frame.B = state, state + p * rank, state + p * rank + triangle
        state += p * rank + triangle + q * rank
        work += rank + (p if freedom else 0)
    return state, work


def _place_work(form: np.ndarray, frames: np.ndarray, single: bool) -> int:
    """Slots of the workspace beyond the draws; how many there are in all."""
    p, q, at = int(form["students"][0]), int(form["teachers"][0]), int(form["normals"][0])
    for name, size in [
        ("fields", p), ("teacher_fields", q), ("amplitudes", p), ("pushes", p), ("column", p), ("rate", 1), ("readout_rate", 1),
        ("segments", 1), ("outsides", len(frames)),
    ]:  # fmt: skip
        form[name] = at
        at += size
    if single:
        return at
    form["sums"] = at
    for frame in frames:
        frame.sums = at
        at += p * frame.rank + (p * p if frame.freedom else 0)
    for name, size in [("push_sums", p), ("factor", p * p), ("triangle", p * p), ("wide", 2 * p * p)]:
        form[name] = at
        at += size
    return int(at)


def is_own(problem: Problem) -> bool:
    """Whether functions decide what is learned that compiled code cannot call: targets, units and losses that no table holds."""
    wild = LOSSES[problem.training.loss].kind == TABULATED_LOSS and tabulate(LOSSES[problem.training.loss]) is None
    return wild or OWN in (_unit(problem.student), _unit(problem.teacher)) or isinstance(problem.teacher.target, Target)


def _unit(network: Network) -> int:
    """The kind of a network's unit in compiled code."""
    if isinstance(network.activation, Hermite):
        return POLYNOMIAL
    kind = UNITS[network.activation].kind if isinstance(network.activation, str) else TABULATED
    return OWN if kind == TABULATED and tabulate(network.unit) is None else kind


def _numbers(network: Network) -> np.ndarray:
    """What a unit is made of: coefficients in powers of the field, or a table."""
    if _unit(network) == TABULATED:
        table = tabulate(network.unit)
        assert table is not None
        return table
    coefficients = network.hermite_coefficients
    return np.zeros(1) if coefficients is None else np.polynomial.hermite_e.herme2poly(coefficients)


def _loss_numbers(name: str) -> np.ndarray:
    """The table of the push, if it is one."""
    table = tabulate(LOSSES[name]) if LOSSES[name].kind == TABULATED_LOSS else None
    return np.zeros(1) if table is None else table


def coordinates(problem: Problem, start: Overlaps) -> np.ndarray:
    """(slots,) the state of one run."""
    p, parts = problem.student.width, []
    for (rank, freedom), Q, R, T in zip(
        shapes(problem),
        start.block_student_overlap,
        start.block_cross_overlap,
        start.block_teacher_overlap,
        strict=True,
    ):
        if freedom:
            frame = _triangle(T)
            inside = np.linalg.lstsq(frame, R.T, rcond=1e-12)[0].T
            outside = _triangle(Q - inside @ inside.T)
            parts += [inside.ravel(), *(outside[j:, j] for j in range(p)), frame.ravel()]
        else:
            rows = gram_factor(np.block([[Q, R], [R.T, T]]), rank)
            parts += [rows[:p].ravel(), rows[p:].ravel()]
    return np.concatenate([*parts, start.readout])


def _triangle(gram: np.ndarray) -> np.ndarray:
    """Lower triangular F with F F^T = gram, also where gram is singular."""
    upper: np.ndarray = np.linalg.qr(gram_factor(gram, len(gram)).T)[1]
    return upper.T * np.where(np.diag(upper) < 0, -1.0, 1.0)


def lanes(states: list[np.ndarray]) -> np.ndarray:
    """States of up to eight runs as flat slots; lanes without a run repeat the first."""
    result = slots(len(states[0]))
    result[:] = np.stack([states[i] if i < len(states) else states[0] for i in range(WIDTH)], axis=1).ravel()
    return result


def segments(lanes: list[tuple[Problem, Overlaps]]) -> tuple[np.ndarray, np.ndarray]:
    """(lane, segment) PROBLEM records: what each lane's schedules say, with segments that never begin where it has fewer than
    others; and (segment, block) the eigenvalues of the first lane, which all lanes share."""
    packed = [pack(*lane) for lane in lanes]
    most = max(one.problems.size for one in packed)
    table = np.zeros((WIDTH, most), dtype=PROBLEM)
    table["begin"] = np.inf
    for i, row in enumerate(table):
        problems = packed[i if i < len(packed) else 0].problems
        row[: problems.size] = problems
    return table, packed[0].blocks

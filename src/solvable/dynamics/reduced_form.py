"""The reduced process in memory: where its numbers lie, and its first state from overlaps.

In each block, split the coordinates of the weights into those on a fixed orthonormal frame that spans the teachers, and the
rest: V/sqrt(dim) = [B | 0] for the teachers and [C | L] for the students, L lower triangular on a frame that moves with them.
A block too small for that keeps all its coordinates on a fixed frame: C and B are then its weights, and L is empty.

Directions of means and anchors are on the fixed frame too, behind the teachers; teachers that walk, snapshots and velocities move,
before the students, averages behind them.
"""

from typing import Any, NamedTuple

import numpy as np

from solvable.dynamics.case_form import (
    case_numbers,
    case_words,
    chances,
    has_cases,
    more_normals,
    rows_of,
    triangle,
    work_sizes,
)
from solvable.dynamics.kernel_data import FRAME, PROBLEM, PROCESS, Packed, bias_words, pack, rule_words
from solvable.gaussian.losses import CORRELATION, LOG_COSH, SQUARED, TABULATED_LOSS, Loss
from solvable.gaussian.tables import tabulate
from solvable.gaussian.units import OWN, POLYNOMIAL, TABULATED, UNITS
from solvable.numerics.lanes import WIDTH, slots
from solvable.overlaps import Overlaps, gram_factor
from solvable.problems import Problem, Target
from solvable.problems.networks import Network
from solvable.problems.spec import KernelSpec


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

    def copy(self) -> "ReducedForm":
        """With records of its own, which kernels change."""
        return self._replace(process=self.process.copy(), frames=self.frames.copy())


class Block(NamedTuple):
    """How a block is kept: the dimensions of the teachers' frame (`rank`) and those outside all frames (`freedom`)."""

    rank: int
    freedom: int


def shapes(problem: KernelSpec) -> list[Block]:
    """How each block is kept. A batch needs as many directions outside as there are students (or samples, where a rule asks for
    their lengths), one sample needs one; a random walk as many as there are teachers."""
    rows = rows_of(problem)
    more = 1 if _is_single(problem) else max(problem.student.width, _largest(problem))
    more = max(more, problem.teacher.width) if problem.teacher.drift else more
    blocks = []
    for size in problem.inputs.block_sizes:
        freedom = int(size) - rows.fixed.size - rows.moving.size
        blocks.append(Block(rows.fixed.size, freedom) if freedom > more else Block(int(size), 0))
    return blocks


def _is_single(problem: KernelSpec) -> bool:
    """Whether every step sees one sample."""
    return bool(problem.training.segments["batch"][:, 1].max() == 1)


def _largest(problem: KernelSpec) -> int:
    """The largest batch, if a rule looks at the length of every input in it; else zero."""
    largest = round(problem.training.segments["batch"][:, 1].max())
    return largest if problem.training.is_shaped and largest > 1 else 0


def reduced_form(problem: KernelSpec) -> ReducedForm:
    """Of a problem, whatever its learning rates and its start."""
    training, p, q = problem.training, problem.student.width, problem.teacher.width
    shaped, rows = shapes(problem), rows_of(problem)
    form, frames = np.zeros(1, dtype=PROCESS), np.zeros(len(shaped), dtype=FRAME)
    state, draws = _place_frames(rows.moving.size, rows.fixed.size, shaped, frames)
    single, noisy = _is_single(problem), bool(training.segments["label_noise"][:, 1].max() > 0)
    loss = training.loss_function
    numbers = {
        "teacher_readout": problem.teacher.readout_values,
        "unit_numbers": _numbers(problem.student),
        "teacher_numbers": _numbers(problem.teacher),
        "loss_numbers": _loss_numbers(loss),
    }
    known = {
        "students": p, "teachers": q, "blocks": len(shaped), "unit": _unit(problem.student), "teacher_unit": _unit(problem.teacher),
        "product": problem.teacher.target == "product", "signed": problem.teacher.target == "sign",
        "loss": loss.kind, "margin": loss.of == "margin",
        "sphere": problem.student.norm == "sphere", "train_readout": training.train_readout, "single": single, "noisy": noisy,
        "readout": state, "normals": draws + (sum(freedom > 0 for _, freedom in shaped) if single else 0) + noisy,
        "degree": numbers["unit_numbers"].size - 1, "teacher_degree": numbers["teacher_numbers"].size - 1,
        "loss_factor": training.loss_factor, "dim": problem.inputs.dim, "batch": round(training.segments["batch"][0, 1]),
        **rule_words(problem), **bias_words(problem), "largest": _largest(problem),
    }  # fmt: skip
    sizes: dict[str, int] = {}
    if has_cases(problem):
        words = case_words(problem, rows, draws)
        sizes = work_sizes(problem, words, max(rank for rank, _ in shaped) + rows.moving.size)
        known |= words | {"accumulated": state + problem.heads * p + len(problem.scalars) - 1}
        known["normals"] += more_normals(words)
        numbers |= case_numbers(problem)
    known |= dict(zip(numbers, np.cumsum([0, *(values.size for values in numbers.values())]), strict=False))
    for name, value in known.items():
        form[name] = value
    work = _place_work(form, frames, single, sizes)
    flat = np.concatenate([values.ravel() for values in numbers.values()])
    return ReducedForm(form, frames, flat, state + problem.heads * p + len(problem.scalars), work)


def with_chances(made: ReducedForm, problem: KernelSpec, begins: np.ndarray) -> ReducedForm:
    """With the probabilities of the cases in segments that begin at these times."""
    if not made.form.cases:
        return made
    made.process["chance_table"] = made.numbers.size
    return made._replace(numbers=np.concatenate([made.numbers, chances(problem, begins).ravel()]))


def _place_frames(moving: int, fixed: int, shaped: list[Block], frames: np.ndarray) -> tuple[int, int]:
    """Where each block has its coordinates in the state and its draws in the workspace; how many slots that takes in both."""
    state = work = 0
    for frame, (rank, freedom) in zip(frames, shaped, strict=True):
        below = moving * (moving + 1) // 2 if freedom else 0
        frame.rank, frame.freedom, frame.draws = rank, freedom, work
        frame.C, frame.L, frame.B = state, state + moving * rank, state + moving * rank + below
        state += moving * rank + below + fixed * rank
        work += rank + (moving if freedom else 0)
    return state, work


def _place_work(form: np.ndarray, frames: np.ndarray, single: bool, sizes: dict[str, int]) -> int:
    """Slots of the workspace beyond the draws, with those of cases; how many there are in all. Before and behind the amplitudes of
    students are those of other rows that move, which stay zero."""
    p, q, at = int(form["students"][0]), int(form["teachers"][0]), int(form["normals"][0])
    moving, pushed = max(p, int(form["moving"][0])), int(form["readouts"][0])
    for name, size in [
        ("fields", p), ("teacher_fields", q + moving - p), ("amplitudes", moving), ("pushes", p), ("column", moving), ("rate", 1),
        ("readout_rate", 1), ("segments", 1), ("slopes", 5), ("outsides", len(frames)), *sizes.items(),
    ]:  # fmt: skip
        form[name] = at
        at += size
    if not single:
        form["sums"] = at
        for frame in frames:
            frame.sums = at
            at += p * frame.rank + (p * moving if frame.freedom else 0)
        form["push_sums"], form["factor"] = at, at + pushed
        factors = len(frames) if sizes else 1
        frames["factor"] = at + pushed + p * p * (np.arange(len(frames)) if sizes else 0)
        at += pushed + p * p * factors
    largest = int(form["largest"][0])
    widest = max(0 if single else p, moving - p)
    form["outer"], at = at, at + len(frames) * p * largest
    wide = moving * (moving + max(widest, largest)) if widest else 0
    for name, size in [("triangle", widest * widest), ("wide", wide), ("outer_rows", len(frames) * largest)]:
        form[name] = at
        at += size
    return int(at)


def has_tables(form: Any) -> bool:
    """Return whether units or the loss are looked up in tables."""
    return TABULATED in (form.unit, form.teacher_unit) or form.loss not in (SQUARED, CORRELATION, LOG_COSH)


def is_own(problem: KernelSpec) -> bool:
    """Whether functions decide what is learned that compiled code cannot call: targets, units and losses that no table holds."""
    loss = problem.training.loss_function
    wild = loss.kind == TABULATED_LOSS and tabulate(loss) is None
    return wild or OWN in (_unit(problem.student), _unit(problem.teacher)) or isinstance(problem.teacher.target, Target)


def _unit(network: Network) -> int:
    """The kind of a network's unit in compiled code."""
    kind = UNITS[network.activation].kind if isinstance(network.activation, str) else TABULATED
    if kind == TABULATED and network.hermite_coefficients is not None:
        return POLYNOMIAL
    return OWN if kind == TABULATED and tabulate(network.unit) is None else kind


def _numbers(network: Network) -> np.ndarray:
    """What a unit is made of: coefficients in powers of the field, or a table."""
    if _unit(network) == TABULATED:
        table = tabulate(network.unit)
        assert table is not None
        return table
    coefficients = network.hermite_coefficients
    return np.zeros(1) if coefficients is None else np.polynomial.hermite_e.herme2poly(coefficients)


def _loss_numbers(loss: Loss) -> np.ndarray:
    """The table of the push, if it is one."""
    table = tabulate(loss) if loss.kind == TABULATED_LOSS else None
    return np.zeros(1) if table is None else table


def coordinates(problem: KernelSpec, start: Overlaps) -> np.ndarray:
    """(slots,) the state of one run."""
    (moving, fixed, _), parts = rows_of(problem), []
    for (rank, freedom), Omega in zip(shapes(problem), start.stacked, strict=True):
        if freedom:
            Q, R = Omega[np.ix_(moving, moving)], Omega[np.ix_(moving, fixed)]
            frame = triangle(Omega[np.ix_(fixed, fixed)])
            inside = np.linalg.lstsq(frame, R.T, rcond=1e-12)[0].T if rank else R
            outside = triangle(Q - inside @ inside.T)
            parts += [inside.ravel(), *(outside[j:, j] for j in range(moving.size)), frame.ravel()]
        else:
            weights = gram_factor(Omega, rank)
            parts += [weights[moving].ravel(), weights[fixed].ravel()]
    return np.concatenate([*parts, start.readout.ravel(), start.scalars])


def lanes(states: list[np.ndarray]) -> np.ndarray:
    """States of up to eight runs as flat slots; lanes without a run repeat the first."""
    result = slots(len(states[0]))
    result[:] = np.stack([states[i] if i < len(states) else states[0] for i in range(WIDTH)], axis=1).ravel()
    return result


def segments(lanes: list[tuple[Problem, Overlaps]]) -> tuple[np.ndarray, np.ndarray]:
    """(lane, segment) PROBLEM records: what each lane's schedules say, with segments that never begin where it has fewer than
    others; and (segment, block) the eigenvalues of the first lane, which all lanes share."""
    return segments_of([pack(*lane) for lane in lanes])


def segments_of(packed: list[Packed]) -> tuple[np.ndarray, np.ndarray]:
    """The same for lanes that are packed already."""
    most = max(one.problems.size for one in packed)
    table = np.zeros((WIDTH, most), dtype=PROBLEM)
    table["begin"] = np.inf
    for i, row in enumerate(table.view(np.uint8)):  # as bytes: NumPy goes from field to field
        problems = packed[i if i < len(packed) else 0].problems
        row[: problems.nbytes] = problems.view(np.uint8)
    return table, packed[0].blocks

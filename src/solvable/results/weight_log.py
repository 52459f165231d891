"""A log that any training keeps of its weights, step by step, and that becomes a trajectory."""

from collections.abc import Iterable
from operator import index
from typing import Any

import numpy as np

from solvable.overlaps import Weights, as_array
from solvable.problems import Problem
from solvable.results.logs import from_weights
from solvable.results.trajectory import Trajectory


class WeightLog:
    """A log of weights, kept by a training loop in NumPy, PyTorch or JAX.

    It copies what it is given, so that a loop may go on to change its weights in place. Steps that it was not asked to keep it
    leaves out before it looks at any weights: in a loop it costs next to nothing.

    Parameters
    ----------
    steps : int or sequence of int, optional
        Which steps to keep: every so many, or these; left out, all that are given.

    Examples
    --------
    >>> log, weights = sv.results.WeightLog(steps=100), np.zeros((2, 50))
    >>> for step in range(301):
    ...     log(step, weights)
    ...     weights += 0.01
    >>> log
    WeightLog: 4 states, steps 0 to 300
    """

    def __init__(self, steps: int | Iterable[int] | None = None) -> None:
        numbers = _whole_numbers(1 if steps is None else steps)
        self._every = None if numbers.ndim else int(numbers)
        self._wanted = frozenset(numbers.ravel().tolist())
        self._kept: list[tuple[int, dict[str, np.ndarray]]] = []

    def wants(self, step: int) -> bool:
        """Whether this step is one to keep."""
        step = _whole(step)
        return step in self._wanted if self._every is None else step % self._every == 0

    def __call__(self, step: int, weights: Any, readout: Any = None, velocities: Any = None, bias: Any = None) -> None:
        """Keep a copy of the state after so many steps, if this is one to keep.

        Parameters
        ----------
        step : int
            How many steps were made before.
        weights : array or tensor
            (p, dim) first layer, a unit per row.
        readout : array or tensor, optional
            (p,) second layer, where it is trained; (1, p) of a layer with one output.
        velocities : array or tensor, optional
            (p, dim) velocities, where the problem has momentum: what the last step added to the weights, zero before the first.
        bias : array or tensor, optional
            Bias of the output, where it is trained.
        """
        step = _whole(step)
        if not self.wants(step):
            return
        if self._kept and step <= self._kept[-1][0]:
            raise ValueError(f"step: {step} given after {self._kept[-1][0]}, must increase")
        given = {"weights": weights, "readout": readout, "velocities": velocities, "bias": bias}
        state = {name: _entry(name, value) for name, value in given.items() if value is not None}
        if self._kept:
            _check_alike(state, self._kept[-1][1])
        self._kept.append((step, state))

    def trajectory(
        self,
        problem: Problem,
        teacher_weights: Any,
        *,
        plain: bool = False,
        basis: Any = None,
        directions: Any = None,
    ) -> Trajectory:
        """What was logged, as a trajectory to lay over theory: see `Trajectory.from_weights`.

        Parameters
        ----------
        problem : Problem
            What the training is compared with.
        teacher_weights : array
            (p*, dim) weights of the teachers.
        plain, basis, directions
            As in `Trajectory.from_weights`.

        Returns
        -------
        Trajectory
            With the level "weights", at the steps that were kept.
        """
        self._check_filled()
        rows = {name: np.array([state[name] for _, state in self._kept]) for name in self._kept[0][1]}
        return from_weights(
            problem, rows["weights"], teacher_weights, [step for step, _ in self._kept], clock="steps", plain=plain, basis=basis,
            directions=directions, velocities=rows.get("velocities"), readout=rows.get("readout"), bias=rows.get("bias"),
        )  # fmt: skip

    def first(self, teacher_weights: Any, *, plain: bool = False, basis: Any = None, directions: Any = None) -> Weights:
        """The weights at the first step that was kept, as a start for `run`. A bias begins as the problem's `student.bias`.

        Parameters
        ----------
        teacher_weights, plain, basis, directions
            As in `trajectory`.

        Returns
        -------
        Weights
            Students and teachers.
        """
        self._check_filled()
        state = self._kept[0][1]
        scale = state["weights"].shape[1] ** 0.5 if plain else 1.0
        velocities = None if "velocities" not in state else scale * state["velocities"]
        return Weights(
            scale * state["weights"], scale * as_array(teacher_weights, "teacher_weights"), state.get("readout"), basis,
            directions, velocities=velocities,
        )  # fmt: skip

    def _check_filled(self) -> None:
        if not self._kept:
            raise ValueError("log: is empty; call it with (step, weights) in the training loop")

    def __len__(self) -> int:
        return len(self._kept)

    def __repr__(self) -> str:
        if not self._kept:
            return "WeightLog: empty"
        return f"WeightLog: {len(self)} states, steps {self._kept[0][0]} to {self._kept[-1][0]}"


def _entry(name: str, value: Any) -> np.ndarray:
    """A copy; of a layer with one output, whose weights are (1, p) and whose bias is (1,), without this first axis."""
    array = np.array(as_array(value, name))
    if name == "weights" and array.ndim != 2:
        raise ValueError(f"weights: shape {array.shape} given, must be (p, dim); a single unit is w[None]")
    extra = {"readout": 2, "bias": 1}.get(name)
    return array[0] if array.ndim == extra and len(array) == 1 else array


def _check_alike(state: dict[str, np.ndarray], before: dict[str, np.ndarray]) -> None:
    if state.keys() != before.keys():
        raise ValueError(f"{', '.join(sorted(state.keys() ^ before.keys()))}: given at some steps only")
    for name, array in state.items():
        if array.shape != before[name].shape:
            raise ValueError(f"{name}: shape {array.shape} given after {before[name].shape}, must stay the same")


def _whole(step: Any) -> int:
    """Also of a number of NumPy, PyTorch or JAX, which is not found in a set by its value."""
    try:
        return index(step)
    except TypeError:
        raise ValueError(f"step: {step} given, must be a whole number") from None


def _whole_numbers(steps: Any) -> np.ndarray:
    """One number, or (several,)."""
    listed = list(steps) if isinstance(steps, Iterable) and not hasattr(steps, "shape") else steps
    numbers = np.asarray(listed)
    must = "must be a whole number from 1 on, or several that are not negative"
    if numbers.ndim > 1 or not numbers.size or numbers.dtype.kind not in "iuf":
        raise ValueError(f"steps: {str(steps)[:40]} given, {must}")
    wrong = ~np.isfinite(numbers) | (numbers != np.floor(numbers)) | (numbers < (1 if numbers.ndim == 0 else 0))
    if wrong.any():
        raise ValueError(f"steps: {numbers[wrong].flat[0]} given, {must}")
    return numbers.astype(int)

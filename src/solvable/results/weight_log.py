"""A log that any training keeps of its weights, step by step, and that becomes a trajectory."""

from collections.abc import Iterable
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
        self._every, self._wanted = 1, None
        if isinstance(steps, int | np.integer) and not isinstance(steps, bool):
            if steps < 1:
                raise ValueError(f"steps: {steps} given, must be at least 1")
            self._every = int(steps)
        elif steps is not None:
            self._wanted = _whole_numbers(steps)
        self._kept: list[tuple[int, dict[str, np.ndarray]]] = []

    def wants(self, step: int) -> bool:
        """Whether this step is one to keep."""
        return step % self._every == 0 if self._wanted is None else step in self._wanted

    def __call__(self, step: int, weights: Any, readout: Any = None, velocities: Any = None) -> None:
        """Keep a copy of the state after so many steps, if this is one to keep.

        Parameters
        ----------
        step : int
            How many steps were made before.
        weights : array or tensor
            (p, dim) first layer, a unit per row.
        readout : array or tensor, optional
            (p,) second layer, where it is trained.
        velocities : array or tensor, optional
            (p, dim) velocities, where the problem has momentum.
        """
        if not self.wants(step):
            return
        if self._kept and step <= self._kept[-1][0]:
            raise ValueError(f"step: {step} given after {self._kept[-1][0]}, must increase")
        given = {"weights": weights, "readout": readout, "velocities": velocities}
        state = {name: np.array(as_array(value)) for name, value in given.items() if value is not None}
        if self._kept and state.keys() != self._kept[-1][1].keys():
            raise ValueError(f"{_difference(state, self._kept[-1][1])}: given at some steps only")
        self._kept.append((int(step), state))

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
            directions=directions, velocities=rows.get("velocities"), readout=_as_rows(rows.get("readout")),
        )  # fmt: skip

    def first(self, teacher_weights: Any, *, plain: bool = False, basis: Any = None) -> Weights:
        """The weights at the first step that was kept, as a start for `run`.

        Parameters
        ----------
        teacher_weights, plain, basis
            As in `trajectory`.

        Returns
        -------
        Weights
            Students and teachers.
        """
        self._check_filled()
        state = self._kept[0][1]
        scale = state["weights"].shape[1] ** 0.5 if plain else 1.0
        readout = None if "readout" not in state else state["readout"].squeeze()
        return Weights(scale * state["weights"], scale * as_array(teacher_weights), readout, basis=basis)

    def _check_filled(self) -> None:
        if not self._kept:
            raise ValueError("log: is empty; call it with (step, weights) in the training loop")

    def __len__(self) -> int:
        return len(self._kept)

    def __repr__(self) -> str:
        if not self._kept:
            return "WeightLog: empty"
        return f"WeightLog: {len(self)} states, steps {self._kept[0][0]} to {self._kept[-1][0]}"


def _as_rows(readout: np.ndarray | None) -> np.ndarray | None:
    """(time, p), also of a layer with one output, whose weights are (1, p)."""
    return readout[:, 0] if readout is not None and readout.ndim == 3 and readout.shape[1] == 1 else readout


def _whole_numbers(steps: Any) -> frozenset[int]:
    numbers = np.asarray(list(steps) if isinstance(steps, Iterable) else steps)
    if numbers.ndim != 1 or not numbers.size or numbers.dtype.kind not in "iu" or (numbers < 0).any():
        raise ValueError("steps: must be a whole number, or several that are not negative")
    return frozenset(numbers.tolist())


def _difference(one: dict[str, Any], other: dict[str, Any]) -> str:
    return ", ".join(sorted(one.keys() ^ other.keys()))

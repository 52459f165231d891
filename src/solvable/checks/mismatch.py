"""Why a training of one's own differs from theory: the way from gradient flow to the training, a change at a time."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr, stdtrit

from solvable.levels import Level, run
from solvable.macro import Macro
from solvable.micro import Micro
from solvable.numerics.statistics import standard_error
from solvable.overlaps import Overlaps, Weights
from solvable.problems import Data
from solvable.results import Ending, Trajectory

ROUNDING = 1e-10  # of the largest risk: differences of what is smaller mean nothing
SAME = 1e-6  # of the largest: what single precision leaves of equal numbers
MEANING = {
    "rate": "from gradient flow to the equations: the noise of steps of finite size",
    "size": "from infinite dimension to SGD at this one: finite size",
    "inputs": "from Gaussian inputs to the rows: what their covariance does not tell",
    "training": "from SGD on {inputs} to the training: all in which the code differs from the problem",
}
REMEDY = "; look at plain, lr * dim, loss_factor, basis, batch, momentum"
WALKER = {
    "flow": "gradient flow",
    "rate": "the solution of the equations",
    "size": "SGD on Gaussian inputs",
    "inputs": "SGD on the rows",
}


@dataclass(frozen=True)
class Mismatch:
    """The way from theory to a training of one's own, as changes of the logarithm of the risk.

    Parameters
    ----------
    times : ndarray
        In steps.
    changes, errors : dict of ndarray
        By cause, "rate", "size", "inputs" (with data) and "training": log of the risk after this change over that before, at all
        times, and its standard error. That of "training" counts how far single runs scatter.
    runs : float
        Runs of SGD that the errors are estimated from; left out, they count as known.

    Examples
    --------
    >>> one, none = np.array([0.5]), np.zeros(1)
    >>> found = sv.checks.Mismatch(np.array([100.0]), {"rate": one, "training": none}, {"rate": none, "training": one})
    >>> found.largest, found.clear("training")
    ('rate', False)
    """

    times: np.ndarray
    changes: dict[str, np.ndarray]
    errors: dict[str, np.ndarray]
    runs: float = np.inf

    @property
    def largest(self) -> str:
        """The cause of the largest change."""
        return max(self.changes, key=lambda name: float(np.abs(self.changes[name]).max()))

    def clear(self, name: str, allowed: float = 4.0) -> bool:
        """Whether a change is beyond so many standard errors at any time; those of theory have none. Errors of few runs are
        uncertain themselves: the limit is where Student's distribution has the tail that the normal one has at `allowed`."""
        limit = stdtrit(self.runs - 1, float(ndtr(allowed)))
        return bool((np.abs(self.changes[name]) > limit * self.errors[name] + 1e-9).any())

    def __str__(self) -> str:
        inputs = "the rows" if "inputs" in self.changes else "Gaussian inputs"
        lines = ["from theory to the training, largest change of log risk:"]
        for name, change in self.changes.items():
            i = int(np.abs(change).argmax())
            error = f" ± {self.errors[name][i]:.2g}" if self.errors[name][i] else ""
            word = "" if self.clear(name) else " (within errors)"
            meaning = MEANING[name].format(inputs=inputs) + (REMEDY if name == "training" and not word else "")
            lines.append(f"  {name}: {change[i]:+.2g}{error}{word} at step {self.times[i]:g}, {meaning}")
        return "\n".join(lines)


def mismatch(
    trained: Trajectory,
    data: Data | None = None,
    *,
    first: Weights | None = None,
    runs: int = 64,
    seed: int = 0,
    progress: bool | None = None,
) -> Mismatch:
    """Find out why a training of one's own differs from theory.

    The same problem is followed from the same first weights by gradient flow, by the equations, by SGD at the training's dimension
    on Gaussian inputs, and on the rows; every two neighbours differ by one cause. Risks are those of Gaussian inputs with the
    measured covariance throughout, as overlaps give them.

    Parameters
    ----------
    trained : Trajectory
        A log of weights, as from `WeightLog.trajectory` or `Trajectory.from_weights`. Several runs must begin alike.
    data : Data, optional
        The rows that it was trained on; left out, inputs are taken to be Gaussian. SGD draws from them with replacement. The
        problem's inputs must be `data.inputs`.
    first : Weights, optional
        The weights that it began with, as from `WeightLog.first`: rows that are not Gaussian tell weights of the same overlaps
        apart. Left out, SGD begins with weights drawn to have them.
    runs, seed : int
        Runs of SGD, and their seed. Few runs find only what is large: below eight hardly anything is clear.
    progress : bool, optional
        As in `run`.

    Returns
    -------
    Mismatch
        The changes, and in words what they mean.

    Examples
    --------
    >>> problem = sv.Problem(
    ...     teacher=sv.Teacher(width=1, activation="erf"), student=sv.Student(width=2, activation="erf"),
    ...     inputs=sv.Inputs(dim=100), training=sv.Training(learning_rate=0.5),
    ... )
    >>> trained = sv.run(problem, sv.start(problem, seed=0), sv.Micro(seed=1), times=[0, 5, 10, 20], keep_blocks=True)
    >>> found = sv.checks.mismatch(trained)
    >>> sorted(found.changes), found.clear("training")
    (['rate', 'size', 'training'], False)
    """
    begin = _first(trained, first)
    _check_data(trained, data)
    if runs < 2:
        raise ValueError(f"runs: {runs} given, must be at least 2")
    problem, alpha = trained.problem, trained.alpha[1:]
    levels: dict[str, Level] = {"flow": Macro(small_rate=True), "rate": Macro(), "size": Micro(runs=runs, seed=seed)}
    if data is not None:
        levels["inputs"] = Micro(runs=runs, seed=seed, data=replace(data, order="drawn"))
    floor = ROUNDING * float(trained.risk.max())
    if floor == 0:
        raise ValueError("mismatch: the training has no risk at any time, so nothing is learned that could differ")
    logs = {}
    for name, level in levels.items():
        found = run(problem, begin, level, times=alpha, keep_blocks=True, progress=progress)
        logs[name] = np.log(np.maximum(_risks(name, found), floor))
    own = np.log(np.maximum(trained.risk[:, 1:], floor))
    changes, errors, before = {}, {}, logs.pop("flow")
    for name, after in logs.items():
        changes[name] = after.mean(axis=0) - before.mean(axis=0)
        errors[name] = np.hypot(_error(after), _error(before))
        before = after
    changes["training"] = own.mean(axis=0) - before.mean(axis=0)
    errors["training"] = before.std(axis=0, ddof=1) * np.sqrt(1 / len(own) + 1 / len(before))
    return Mismatch(problem.inputs.dim * alpha, changes, errors, runs)


def _first(trained: Trajectory, first: Weights | None) -> Overlaps | Weights:
    """Where SGD begins: raise unless all runs do, and the weights that are given."""
    if trained.blocks is None or trained.alpha[0] != 0:
        raise ValueError(
            "mismatch: needs a trajectory that begins at time 0 and keeps its blocks, as from_weights makes"
        )
    if trained.alpha.size < 2:
        raise ValueError("mismatch: needs a trajectory with a time after 0; the log has its first entry only")
    begin, *others = (trained.at(0, run=i) for i in range(len(trained.risk)))
    if not all(_is_same(other, begin) for other in others):
        raise ValueError("mismatch: the runs begin at different weights; give one run at a time")
    if first is not None and not _is_same(first.overlaps(trained.problem), begin):
        raise ValueError(
            "first: its overlaps are not those of the log's first entry; give both the same teacher, plain and basis (a bias "
            "begins at student.bias)"
        )
    return first or begin


def _is_same(one: Overlaps, other: Overlaps) -> bool:
    pairs = (one.stacked, other.stacked), (one.readout, other.readout), (one.scalars, other.scalars)
    return all(np.abs(a - b).max(initial=0.0) <= SAME * np.abs(b).max(initial=0.0) for a, b in pairs)


def _check_data(trained: Trajectory, data: Data | None) -> None:
    if data is None:
        return
    if not isinstance(data, Data):
        raise ValueError(f"data: {type(data).__name__} given, must be Data(...) of the rows")
    given, measured = (
        np.sort(np.repeat(one.eigenvalues, one.block_sizes)) for one in (trained.problem.inputs, data.inputs)
    )
    if given.shape != measured.shape or np.abs(given - measured).max() > SAME * measured.max():
        raise ValueError("inputs: their covariance is not that of the data; say inputs=data.inputs")


def _risks(name: str, found: Trajectory) -> np.ndarray:
    """(run, time) as overlaps give them; of runs that end early there are none."""
    if Ending.DIVERGED in found.ending:
        raise ValueError(
            f"mismatch: {WALKER[name]} with the problem's learning rate diverges, the training did not; is "
            f"training.learning_rate = lr * dim, and plain said where fields are w.x?"
        )
    if not found.success:
        raise ValueError(f"mismatch: {WALKER[name]}: {found.message}")
    risks: np.ndarray = found.risk_on(found.problem).values
    return risks


def _error(logs: np.ndarray) -> np.ndarray:
    return standard_error(logs, axis=0) if len(logs) > 1 else np.zeros(logs.shape[1])

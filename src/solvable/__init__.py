"""solvable: the neural networks whose learning can be solved exactly.

Describe once who teaches, who learns, on what inputs and by which rule; every level of description runs on that.
Here are the names that most scripts need, and the rooms, which hold all others. Everything is loaded when it is first used, so
that importing the library costs nothing.
"""

import time
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from solvable import (
        checks,
        dynamics,
        empirical,
        gaussian,
        landscape,
        levels,
        overlaps,
        plot,
        problems,
        results,
        sweeps,
        theory,
    )
    from solvable.empirical import Empirical
    from solvable.gaussian import Activation
    from solvable.levels import run, when
    from solvable.macro import Macro
    from solvable.meso import Meso
    from solvable.micro import Micro
    from solvable.overlaps import Overlaps, measure, start
    from solvable.problems import (
        Data,
        Inputs,
        InvalidProblem,
        PowerLaw,
        Problem,
        Schedule,
        Spectrum,
        Student,
        Teacher,
        Training,
    )  # fmt: skip
    from solvable.results import Trajectory
    from solvable.sweeps.sweep import sweep

__version__ = "0.1.0"
_imported = globals().get(
    "_imported", time.time()
)  # the same after a reload, which leaves all other modules as they were

_HOMES = {
    "gaussian": ("Activation",),
    "problems": (
        "Data", "Inputs", "InvalidProblem", "PowerLaw", "Problem", "Schedule", "Spectrum", "Student", "Teacher", "Training",
    ),
    "overlaps": ("Overlaps", "measure", "start"),
    "results": ("Trajectory",),
    "levels": ("run", "when"),
    "empirical": ("Empirical",),
    "macro": ("Macro",),
    "meso": ("Meso",),
    "micro": ("Micro",),
    "sweeps": ("sweep",),
}  # fmt: skip
_MOVED = {  # what was here once
    "problems": ("Hermite", "Target", "convention"),
    "overlaps": ("InvalidStart", "Weights"),
    "dynamics": ("Moments", "field_covariance", "moments", "step_covariance"),
    "results": ("Clock", "Ending"),
    "levels": ("run_batch",),
}
_LEVELS = ("Empirical", "Macro", "Meso", "Micro")  # files and the command line know them all
_ROOMS = (
    "checks", "dynamics", "empirical", "gaussian", "landscape", "levels", "overlaps", "plot", "problems", "results", "sweeps",
    "theory",
)  # fmt: skip
_WHERE = {name: home for home, names in _HOMES.items() for name in names}
_NOW_IN = {name: home for home, names in _MOVED.items() for name in names}

__all__ = [
    "Activation", "Data", "Empirical", "Inputs", "InvalidProblem", "Macro", "Meso", "Micro", "Overlaps", "PowerLaw", "Problem",
    "Schedule", "Spectrum", "Student", "Teacher", "Training", "Trajectory", "checks", "dynamics", "empirical", "gaussian",
    "landscape", "levels", "measure", "overlaps", "plot", "problems", "results", "run", "start", "sweep", "sweeps", "theory",
    "when",
]  # fmt: skip


if not TYPE_CHECKING:  # which knows the names above, and is to tell of others

    def __getattr__(name: str) -> Any:
        if name in _ROOMS:
            return import_module(f"solvable.{name}")
        if name in _WHERE:
            value = getattr(import_module(f"solvable.{_WHERE[name]}"), name)
            globals()[name] = value
            return value
        hint = f"; it is solvable.{_NOW_IN[name]}.{name}" if name in _NOW_IN else ""
        raise AttributeError(f"module 'solvable' has no attribute {name!r}{hint}")


def __dir__() -> list[str]:
    return __all__

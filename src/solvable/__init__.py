"""solvable: the neural networks whose learning can be solved exactly.

Describe once who teaches, who learns, on what inputs and by which rule; every level of description runs on that.
Everything here is loaded when it is first used, so that importing the library costs nothing.
"""

import time
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from solvable import checks, empirical, landscape, plot, sweeps, theory
    from solvable.dynamics.covariance import step_covariance
    from solvable.dynamics.moments import Moments, field_covariance, moments
    from solvable.empirical import Empirical
    from solvable.gaussian.units import Activation
    from solvable.macro import Macro
    from solvable.meso import Meso
    from solvable.micro import Micro
    from solvable.overlaps import InvalidStart, Overlaps, Weights, measure, start
    from solvable.problems import (
        Data,
        Hermite,
        Inputs,
        InvalidProblem,
        Mixture,
        PowerLaw,
        Problem,
        Schedule,
        Spectrum,
        Student,
        Target,
        Task,
        Teacher,
        Training,
        convention,
    )  # fmt: skip
    from solvable.results import Clock, Ending, Trajectory, run, run_batch, when
    from solvable.sweeps.sweep import sweep

__version__ = "0.1.0"
_imported = globals().get(
    "_imported", time.time()
)  # the same after a reload, which leaves all other modules as they were

_HOMES = {
    "solvable.gaussian.units": ("Activation",),
    "solvable.problems": (
        "Data", "Hermite", "Inputs", "InvalidProblem", "Mixture", "PowerLaw", "Problem", "Schedule", "Spectrum", "Student",
        "Target", "Task", "Teacher", "Training", "convention",
    ),
    "solvable.overlaps": ("InvalidStart", "Overlaps", "Weights", "measure", "start"),
    "solvable.dynamics.covariance": ("step_covariance",),
    "solvable.dynamics.moments": ("Moments", "field_covariance", "moments"),
    "solvable.results": ("Clock", "Ending", "Trajectory", "run", "run_batch", "when"),
    "solvable.empirical": ("Empirical",),
    "solvable.macro": ("Macro",),
    "solvable.meso": ("Meso",),
    "solvable.micro": ("Micro",),
    "solvable.sweeps": ("sweep",),
}  # fmt: skip
_ROOMS = ("checks", "empirical", "landscape", "plot", "sweeps", "theory")
_WHERE = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Activation", "Clock", "Data", "Empirical", "Ending", "Hermite", "Inputs", "InvalidProblem", "InvalidStart", "Macro",
    "Meso", "Micro", "Mixture", "Moments",
    "Overlaps", "PowerLaw", "Problem",
    "Schedule", "Spectrum", "Student", "Target", "Task", "Teacher", "Training", "Trajectory", "Weights", "checks", "convention",
    "empirical", "field_covariance",
    "landscape", "measure", "moments", "plot", "run", "run_batch", "start", "step_covariance", "sweep", "sweeps", "theory", "when",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"solvable.{name}")
    if name in _WHERE:
        value = getattr(import_module(_WHERE[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'solvable' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__

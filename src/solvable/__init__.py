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
        control,
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
    from solvable.control import Control, gradient, optimal
    from solvable.empirical import Empirical
    from solvable.empirical_macro import EmpiricalMacro
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
        Mixture,
        Momentum,
        PowerLaw,
        Problem,
        Ratio,
        Rule,
        Schedule,
        Spectrum,
        Student,
        Task,
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
        "Data", "Inputs", "InvalidProblem", "Mixture", "Momentum", "PowerLaw", "Problem", "Ratio", "Rule", "Schedule", "Spectrum",
        "Student", "Task", "Teacher", "Training",
    ),
    "overlaps": ("Overlaps", "measure", "start"),
    "results": ("Trajectory",),
    "levels": ("run", "when"),
    "empirical": ("Empirical",),
    "empirical_macro": ("EmpiricalMacro",),
    "macro": ("Macro",),
    "meso": ("Meso",),
    "micro": ("Micro",),
    "sweeps": ("sweep",),
    "control": ("Control", "gradient", "optimal"),
}  # fmt: skip
_LEVELS = ("Empirical", "EmpiricalMacro", "Macro", "Meso", "Micro")  # files and the command line know them all
_ROOMS = (
    "checks", "control", "dynamics", "empirical", "gaussian", "landscape", "levels", "overlaps", "plot", "problems", "results",
    "sweeps", "theory",
)  # fmt: skip
_WHERE = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Activation", "Control", "Data", "Empirical", "EmpiricalMacro", "Inputs", "InvalidProblem", "Macro", "Meso", "Micro",
    "Mixture", "Momentum", "Overlaps", "PowerLaw", "Problem", "Ratio", "Rule", "Schedule", "Spectrum", "Student", "Task",
    "Teacher", "Training", "Trajectory", "checks", "control", "dynamics", "empirical", "gaussian", "gradient", "landscape",
    "levels", "measure", "optimal", "overlaps", "plot", "problems", "results", "run", "start", "sweep", "sweeps", "theory",
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
        homes = [] if name.startswith("_") else [f"solvable.{room}.{name}" for room in _ROOMS if name in _offers(room)]
        hint = f"; it is {' or '.join(homes)}" if homes else ""
        raise AttributeError(f"module 'solvable' has no attribute {name!r}{hint}")


def _offers(room: str) -> list[str]:
    """The public names of a room, read from its text: importing it would load third-party packages for a message."""
    import ast
    from pathlib import Path

    text = Path(__file__).with_name(room).joinpath("__init__.py").read_text(encoding="utf-8")
    lists = [
        one for one in ast.parse(text).body if isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == "__all__"
    ]
    return [name for one in lists for name in ast.literal_eval(one.value)]


def __dir__() -> list[str]:
    return __all__

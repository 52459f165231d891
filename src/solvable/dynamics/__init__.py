"""The moments of one step and the equations of motion, for any problem.

Names are loaded when they are first used: most modules here import others of this room, few need all of it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from solvable.dynamics.classification import classification_error
    from solvable.dynamics.covariance import step_covariance
    from solvable.dynamics.gaussian_moments import Moments, field_covariance, moments
    from solvable.dynamics.motion import Derivative, derivative
    from solvable.dynamics.oracle import oracle_error

# Raise it when a change moves results by more than rounding: sweeps then compute anew what they have stored.
VERSION = 7

_HOMES = {
    "classification": ("classification_error",),
    "covariance": ("step_covariance",),
    "gaussian_moments": ("Moments", "field_covariance", "moments"),
    "motion": ("Derivative", "derivative"),
    "oracle": ("oracle_error",),
}
_WHERE = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Derivative", "Moments", "classification_error", "derivative", "field_covariance", "moments", "oracle_error",
    "step_covariance",
]  # fmt: skip


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name in _WHERE:
            value = getattr(import_module(f"solvable.dynamics.{_WHERE[name]}"), name)
            globals()[name] = value
            return value
        raise AttributeError(f"module 'solvable.dynamics' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__

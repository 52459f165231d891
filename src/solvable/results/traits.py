"""TRAITS: what levels are like. A level has its own as `level.traits`; a stored result finds them by the level's name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from solvable.results.trajectory import Trajectory


@dataclass(frozen=True)
class Traits:
    """What a level is like, for `run` and for readers of its results.

    Parameters
    ----------
    counts : str
        What progress is told in.
    keeps_velocities : bool
        Whether fast velocities of momentum are followed; where not, `run` gives the level the effective problem.
    watches_functions : bool
        Whether a threshold may be a function of the overlaps.
    solves_equations : bool
        Whether curves solve equations up to the tolerance `rtol`, with outputs at the times that were asked for.
    adapts_steps : bool
        Whether the fastest term of the equations of motion limits its steps.
    takes_samples : bool
        Whether it follows the single steps of SGD, with outputs after whole numbers of them.
    has_replicas : bool
        Whether a run is an average over replicas.
    flows : bool
        Whether it follows gradient flow on problems that have no step.

    Examples
    --------
    >>> sv.Macro().traits.watches_functions
    True
    """

    counts: str = "steps"
    keeps_velocities: bool = False
    watches_functions: bool = False
    solves_equations: bool = False
    adapts_steps: bool = False
    takes_samples: bool = False
    has_replicas: bool = False
    flows: bool = False


TRAITS = {
    "macro": Traits(counts="alpha", watches_functions=True, solves_equations=True, adapts_steps=True),
    "meso": Traits(adapts_steps=True),
    "micro": Traits(keeps_velocities=True, takes_samples=True),
    "empirical": Traits(keeps_velocities=True, flows=True),
    "empirical_macro": Traits(keeps_velocities=True, has_replicas=True),
    "weights": Traits(keeps_velocities=True),  # logs of weights
}


def traits_of(trajectory: Trajectory) -> Traits:
    """Return the traits of the level that made a trajectory; nothing is known of levels that are not ours."""
    return TRAITS.get(trajectory.level, TRAITS["weights"])

"""The protocol that every level of description has, so that `run` can call it."""

from typing import Any, Protocol

from solvable.levels.plan import Lane, Plan
from solvable.problems import Domain, Problem
from solvable.results.clock import Clock
from solvable.results.traits import Traits


class Level(Protocol):
    """What `run` asks of a level of description, such as `Macro`: a protocol, whose `traits` and `own_clock` may be inherited.

    Examples
    --------
    >>> sv.Macro().name, sv.Macro().clock
    ('macro', 'alpha')
    """

    @property
    def name(self) -> str:
        """Name of the level in files and results."""
        ...

    @property
    def clock(self) -> str:
        """Unit of time that `until` and `times` have where none is given."""
        ...

    @property
    def domain(self) -> Domain:
        """The problems that it can follow; `run` refuses others, and settings that the domain does not know."""
        ...

    @property
    def traits(self) -> Traits:
        """What the level is like."""
        return Traits()

    def own_clock(self, problem: Problem) -> Clock:
        """The clock of a run where no other is asked for; its base tells what the level counts in: steps/dim, or steps."""
        return Clock(problem, self.clock)

    def settings(self) -> dict[str, Any]:
        """Settings that results depend on, as plain values."""
        ...

    def check(self, lanes: list[Lane]) -> None:
        """Raise an error for problems or starts that the level cannot follow."""
        ...

    def solve(self, lanes: list[Lane], plan: Plan) -> Any:
        """Follow any number of lanes of equal shape, and return one Trajectory.

        It has one run for each lane, or the same number of runs for each, lane after lane.
        """
        ...

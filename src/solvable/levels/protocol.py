"""What a level of description is to `run`."""

from typing import Any, Protocol

from solvable.levels.plan import Lane, Plan
from solvable.problems import Domain


class Level(Protocol):
    """A level of description. `solve` takes any number of lanes of equal shape and returns one Trajectory, with one run per
    lane or the same number of runs for each, lane after lane. `check` refuses what the level cannot do."""

    @property
    def name(self) -> str: ...

    @property
    def clock(self) -> str:
        """The unit of time where none is given."""
        ...

    @property
    def domain(self) -> Domain:
        """The problems that it can follow; `run` refuses others, and settings that the domain does not know."""
        ...

    def settings(self) -> dict[str, Any]: ...

    def check(self, lanes: list[Lane]) -> None: ...

    def solve(self, lanes: list[Lane], plan: Plan) -> Any: ...

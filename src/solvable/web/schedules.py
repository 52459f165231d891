"""The best schedule of a small problem, within a second: what the page may ask for, and the answer."""

from typing import Any

from solvable.control import Control
from solvable.control.course import Asked
from solvable.control.finding import optimal_within
from solvable.control.objectives import objective
from solvable.control.searching import TimeUp
from solvable.dynamics.exactness import is_closed
from solvable.dynamics.kernel_data import sizes
from solvable.problems import InvalidProblem
from solvable.runfiles import read_control
from solvable.web.work import View

SECONDS, STEPS, RTOL = 0.8, 5000, 1e-7  # of a search; of one run; its accuracy
STATES, VALUES = 100, 200  # most overlaps that move, and most values of all controls


def check(control: Any) -> dict[str, Control]:
    """The table [control] of a request: names and segments alone."""
    table = read_control({"training": {"learning_rate": 30}} if control is None else control)
    if isinstance(control, dict) and {"objective", "integral", "guesses", "refine"} & control.keys():
        raise InvalidProblem(["control: objective, integral, guesses and refine are not for the explorer"])
    count = sum(one.segments if one.edges is None else len(one.edges) for one in table.control.values())
    if count > VALUES:
        raise InvalidProblem([f"control: {count} values given, must be at most {VALUES} in the explorer"])
    return table.control


def best(view: View, control: dict[str, Control]) -> dict[str, Any]:
    """Facts about the best schedule, with its curve and that of the best constants."""
    problem = view.problem
    moving, rows, _ = sizes(problem)
    states = problem.inputs.blocks * moving * rows
    if not is_closed(problem):
        raise InvalidProblem(
            ["student.activation: a best schedule takes longer than the explorer spends; use the library"]
        )
    if states > STATES:
        raise InvalidProblem(
            [f"student.width: {states} overlaps move, must be at most {STATES} for a best schedule here"]
        )
    asked = Asked(problem, view.until, objective("risk"), RTOL, STEPS)
    try:
        found = optimal_within(SECONDS, asked, view.start, control)
    except TimeUp as error:
        raise InvalidProblem([f"optimal: {error}, without a schedule; the library takes longer"]) from None
    except InvalidProblem:
        raise
    except ValueError as error:
        raise InvalidProblem([str(error)]) from None
    return {
        "risk": found.value,
        "gain": found.gain,
        "gap": found.certificate.gap,
        "message": found.message,
        "constant": {"risk": found.constant[1], "numbers": found.constant[0]},
        "schedule": {name: {"times": one.times, "rates": one.rates, "shape": one.shape}
                     for name, one in found.schedule.items()},
        "curves": {name: {"time": run.alpha.tolist(), "risk": run.risk[0].tolist()}
                   for name, run in [("best", found.trajectory), ("constant", found.constant_trajectory)]},
    }  # fmt: skip

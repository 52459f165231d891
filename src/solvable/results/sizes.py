"""What runs take of memory, told before it is taken."""

from solvable.dynamics.kernel_data import sizes
from solvable.numerics.memory import FLOAT, check_memory, counted
from solvable.numerics.threads import cores
from solvable.results.plan import Lane, Plan

RUN = 1000  # bytes of a run beside its numbers: its seed, its place in lists


def check_outputs(lanes: list[Lane], plan: Plan, runs: int = 1, *, beside: int = 0, copies: int = 1) -> None:
    """Refuse more runs of each lane and more outputs than memory holds. `beside` are the numbers that a level keeps of an output
    beside overlaps and risk; `copies` tells how many of all there are while it works."""
    problem, many, times = lanes[0].problem, len(lanes) * runs, plan.times.size
    moving, rows, readouts = sizes(problem)
    state = problem.inputs.blocks * moving * rows + readouts
    output = moving * rows + readouts + 2 + beside + (state if plan.keep_blocks else 0)
    whole = min(many, cores()) * times * state  # while a run is on its way, its blocks are kept too
    needed = many * (RUN + FLOAT * (4 * state + copies * times * output)) + FLOAT * whole
    check_memory("runs" if many > times else "times", f"{counted(many)} run(s) with {times} outputs", needed)

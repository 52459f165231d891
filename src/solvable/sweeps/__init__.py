"""Grids of problems, levels and seeds that take hours: every result is kept, on one machine or a cluster."""

from solvable.sweeps.measures import Recovery, Run
from solvable.sweeps.records import Damaged
from solvable.sweeps.store import Status, Store
from solvable.sweeps.sweep import Estimate, Sweep, Swept, execute, plan, sweep

__all__ = ["Damaged", "Estimate", "Recovery", "Run", "Status", "Store", "Sweep", "Swept", "execute", "plan", "sweep"]

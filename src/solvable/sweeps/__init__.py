"""Sweeps: grids of problems, levels and seeds whose results are kept, on one machine or a cluster."""

from solvable.sweeps.measures import FewestSamples, Run
from solvable.sweeps.records import Damaged
from solvable.sweeps.store import Status, Store
from solvable.sweeps.sweep import Cost, Sweep, Swept, execute, plan, sweep

__all__ = ["Cost", "Damaged", "FewestSamples", "Run", "Status", "Store", "Sweep", "Swept", "execute", "plan", "sweep"]

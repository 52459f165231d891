"""Sweeps: grids of problems, levels and seeds whose results are kept, on one machine or a cluster."""

from solvable.sweeps.costs import Cost
from solvable.sweeps.executing import execute
from solvable.sweeps.measures import FewestSamples, Run
from solvable.sweeps.planning import Sweep, plan
from solvable.sweeps.records import Damaged
from solvable.sweeps.status import Status
from solvable.sweeps.store import Store
from solvable.sweeps.sweep import sweep
from solvable.sweeps.swept import Swept

__all__ = ["Cost", "Damaged", "FewestSamples", "Run", "Status", "Store", "Sweep", "Swept", "execute", "plan", "sweep"]

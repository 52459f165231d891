"""A sweep on a Dask cluster, for tests: python cluster.py STORE SCHEDULER-FILE POINTS SECONDS."""

import sys

from light import PROBLEM, Light

from solvable.sweeps import execute, plan

if __name__ == "__main__":
    store, address, points, seconds = sys.argv[1:]
    planned = plan(PROBLEM, Light(seconds=float(seconds)), {"light.number": range(int(points))})
    execute(planned, store, cluster=address, progress=False)

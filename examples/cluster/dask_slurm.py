"""A sweep on SLURM through Dask: workers are jobs of their own, may come and go, and need no access to the store.

python examples/cluster/dask_slurm.py examples/sweeps/optimal_rate.toml --jobs 4 --store solvable.store
"""

import argparse

from dask_jobqueue import SLURMCluster

from solvable.sweeps import execute
from solvable.sweeps.files import read


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--store", default="solvable.store")
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--walltime", default="01:00:00")
    options = parser.parse_args()
    planned = read(options.file)
    with SLURMCluster(cores=1, processes=1, memory=options.memory, walltime=options.walltime) as cluster:
        cluster.scale(jobs=options.jobs)
        print(execute(planned, options.store, cluster=cluster.scheduler_address))


if __name__ == "__main__":
    main()

#!/bin/sh
# A sweep as a SLURM job array: every job takes its share and all write into one store. Submit it again to continue.
#   solvable warm-up    (once, on a node of the kind that will compute: else every job compiles the same kernels)
#   sbatch examples/cluster/array.sh examples/sweeps/optimal_rate.toml
#SBATCH --job-name=sweep
#SBATCH --array=1-8
# (as many as SHARES below)
#SBATCH --cpus-per-task=2
#SBATCH --time=01:00:00
#SBATCH --signal=B:TERM@60
#SBATCH --requeue
set -e
. .venv/bin/activate
exec solvable sweep "$1" --store "${STORE:-solvable.store}" --workers "$SLURM_CPUS_PER_TASK" \
    --shard "$SLURM_ARRAY_TASK_ID/${SHARES:-8}"

"""The limit of a data set: seconds and errors against the number of steps, and against data sets that are as exact."""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import sys
import time

import numpy as np

import solvable as sv

PROBLEM = sv.Problem(
    teacher=sv.Teacher(width=1, activation="erf"),
    student=sv.Student(width=2, activation="erf"),
    training=sv.Training(step=0.5, samples=sv.Ratio(3), label_noise=0.1),
)
START = sv.start(PROBLEM, student_overlap=np.eye(2), cross_overlap=[[0.3], [0.1]])


def follow(problem, level, steps):
    wall, work = time.perf_counter(), time.process_time()
    run = sv.run(problem, START, level, until=steps, progress=False)
    return run, time.perf_counter() - wall, time.process_time() - work


if __name__ == "__main__":
    for steps in (30, 100) if "--small" in sys.argv else (30, 100, 300):
        for title, changes in (("all samples", {}), ("a third of them", {"training__batch": sv.Ratio(1)})):
            run, wall, work = follow(PROBLEM.replace(**changes), sv.EmpiricalMacro(), steps)
            print(
                f"{steps} steps, {title}: {wall:.1f} s, {work:.1f} s of processors, {run.settings['particles']} particles; risk "
                f"{run.risk[0, -1]:.5f} ± {run.risk_error[0, -1]:.5f}, training {run.training_loss[0, -1]:.5f} ± "
                f"{run.training_loss_error[0, -1]:.5f}"
            )
    run, wall, work = follow(PROBLEM.replace(inputs__dim=20_000), sv.Empirical(runs=6), 30)
    error = run.risk[:, -1].std(ddof=1) / 6**0.5
    print(f"six data sets at N = 20000, 30 steps: {wall:.1f} s, {work:.1f} s of processors; risk ± {error:.5f}")

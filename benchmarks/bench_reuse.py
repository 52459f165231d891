"""Training on a data set without the data matrix: its forms against each other around the break-even, and two runs that no drawn
matrix allows, with their memory."""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import resource
import sys
import time

import numpy as np
from common import interleaved, report

import solvable as sv
from solvable.empirical.descent import prepare
from solvable.empirical.forms import forms
from solvable.levels import Lane, Plan
from solvable.levels.jobs import Control


def setting(dim, samples):
    problem = sv.Problem(
        teacher=sv.Teacher(width=2, activation="erf"),
        student=sv.Student(width=2, activation="erf"),
        inputs=sv.Inputs(dim=dim),
        training=sv.Training(step=0.5, samples=samples),
    )
    return problem, sv.start(problem, seed=0)


def contestants(problem, start, steps):
    def call(form):
        def follow():
            *_, walks, _ = prepare(
                sv.Empirical(form="revealed"), [Lane(problem, start)], Plan(np.arange(steps + 1.0)), form
            )
            walks[0](Control(1), 0)

        return follow

    return {form: call(form) for form in ("dense", "frames", "coordinates")}


def large(dim, steps):
    problem, start = setting(dim, sv.Ratio(3))
    begin = time.perf_counter()
    sv.run(problem, start, sv.Empirical(), until=steps, progress=False)
    seconds, room = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    drawn = f"a drawn matrix: {24 * dim**2 / 1e9:g} GB"
    print(f"\nN = {dim:g}, n = {3 * dim:g}, {steps} steps: {seconds:.1f} s, {room / 1e6:.2f} GB ({drawn})")


if __name__ == "__main__":
    problem, start = setting(1000, 1500)
    for steps in (25, 150, 250, 350):
        best = forms(problem, steps, steps + 1)[0].name
        title = f"n = 1500, N = 1000, {2 * steps} columns of questions; chosen: {best}"
        report(title, interleaved(contestants(problem, start, steps), 3), "coordinates")
    if "--small" not in sys.argv:
        large(10**6, 6)
        large(2 * 10**5, 60)

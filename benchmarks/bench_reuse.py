"""Training on a data set without the data matrix: its forms against each other around the break-even, where students x steps are
half the dimension (later for full batches, whose questions come to depend on each other), and in small problems; and two runs that
no drawn matrix allows, with their memory and against what a drawn matrix would take, by its cost at 2000 dimensions."""

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


def seconds(dim, steps, form):
    problem, start = setting(dim, sv.Ratio(3))
    begin = time.perf_counter()
    sv.run(problem, start, sv.Empirical(form=form), until=steps, progress=False)
    return time.perf_counter() - begin


def large(dim, steps, small=2000):
    revealed, room = seconds(dim, steps, "auto"), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    drawn = seconds(small, steps, "full") * (dim / small) ** 2
    print(f"\nN = {dim:g}, n = {3 * dim:g}, {steps} steps: {revealed:.1f} s, {room / 1e6:.2f} GB")
    print(
        f"  a drawn matrix: {drawn / revealed:,.0f} times as long, {24 * dim**2 / (1e3 * room):,.0f} times the memory"
    )


if __name__ == "__main__":
    for dim, samples, steps in (
        (100, 300, 20),
        (300, 600, 50),
        *((1000, 1500, many) for many in (25, 150, 250, 350, 450)),
    ):
        problem, start = setting(dim, samples)
        best = forms(problem, steps, steps + 1)[0].name
        title = f"n = {samples}, N = {dim}, {2 * steps} columns of questions; chosen: {best}"
        report(title, interleaved(contestants(problem, start, steps), 3), "coordinates")
    if "--small" not in sys.argv:
        large(10**6, 6)
        large(2 * 10**5, 60)

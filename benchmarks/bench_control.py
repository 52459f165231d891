"""Best schedules: what a gradient costs in runs, however many controls there are, and how long a search for a thousand takes."""

import time

import numpy as np
from common import interleaved, report

import solvable as sv
from solvable.control.course import Course
from solvable.control.gradients import ask
from solvable.control.knobs import knobs

RATE, DECAY = "training.learning_rate", "training.weight_decay"


def setting(unit: str, p: int, q: int) -> tuple[sv.Problem, sv.Overlaps]:
    readout = "unit" if unit == "erf" else "mean"
    problem = sv.Problem(
        teacher=sv.Teacher(width=q, activation=unit, readout=readout),
        student=sv.Student(width=p, activation=unit, readout=readout),
        training=sv.Training(learning_rate=0.5, label_noise=0.05, weight_decay=0.01, loss_factor=0.5),
    )
    start = sv.Overlaps(
        0.25 * np.eye(p)[None], 0.1 * np.eye(p, q)[None], np.eye(q)[None], problem.student.readout_values
    )
    return problem, start


def gradients(unit: str, p: int, q: int, segments: int, until: float) -> None:
    problem, start = setting(unit, p, q)
    control = {name: sv.Control(segments=segments, upper=1.0) for name in (RATE, DECAY)}
    chosen = knobs(problem, until, control)
    course = Course(ask(problem, until, "risk", 1e-8), start, chosen)
    course.place([np.full(segments, 0.3), np.full(segments, 0.01)])
    assert course.record()
    contestants = {"one run (the same steps)": lambda: course.evaluate(gradient=False), "gradient": course.evaluate}
    states = p * (p + q)
    title = f"{unit} {p}/{q}: {states} states, {2 * segments} controls, {course.segments.size} steps"
    report(title, interleaved(contestants), "one run (the same steps)")


def searches() -> None:
    for unit, p, q, segments, until in (("erf", 2, 2, 1000, 60.0), ("quadratic", 6, 3, 1000, 60.0)):
        problem, start = setting(unit, p, q)
        control = {RATE: sv.Control(segments=segments, upper=6.0 if unit == "erf" else 1.5)}
        begin = time.process_time()
        found = sv.optimal(problem, start, until=until, control=control, guesses=1, refine=False, progress=False)
        taken = time.process_time() - begin
        print(
            f"\n{unit} {p}/{q}, {segments} values of the rate: {taken:.1f} s, {found.calls} gradients, {found.message}"
        )


if __name__ == "__main__":
    gradients("quadratic", 6, 3, 50, 60.0)
    gradients("erf", 2, 2, 50, 60.0)
    gradients("erf", 6, 3, 50, 60.0)
    gradients("quadratic", 8, 4, 1000, 200.0)
    searches()

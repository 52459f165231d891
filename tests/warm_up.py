"""Compile every kernel once, before several processes want them: one tiny run of each level and form."""

import solvable as sv

problem = sv.Problem(
    teacher=sv.Teacher(width=1),
    student=sv.Student(width=1),
    inputs=sv.Inputs(dim=40),
    training=sv.Training(learning_rate=0.01),
)
start = sv.start(problem, seed=0)
sv.run(
    problem.replace(inputs__dim=3, training__samples=5),
    sv.start(problem.replace(inputs__dim=3), seed=0),
    sv.Empirical(),
    until=1,
)
for level in (sv.Macro(), sv.Meso(), sv.Micro(), sv.Micro(form="full")):
    sv.run(problem, start, level, until=1, stop=sv.when("risk", below=1e-9))

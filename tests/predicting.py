"""Problems and arguments for every public function that is given a problem: what goes over all predictions takes these."""

import dataclasses
import inspect

import numpy as np

import solvable as sv
from solvable.problems.conventions import CONVENTIONS

PAPER = {key: sv.problems.convention(key).problem for key in CONVENTIONS}
PROBLEMS = [
    PAPER["bocchi2026"](p=4, p_star=2, eta=0.05, N=8),
    PAPER["bocchi2026"](p=2, p_star=2, eta=0.05, N=8),
    PAPER["arnaboldi2023"](p=1, gamma=0.05, d=200),
    PAPER["saraomannelli2020"](m=4, m_star=1, d=4, n=5),
    PAPER["saraomannelli2020"](m=4, m_star=1, d=4),
    PAPER["saraomannelli2020"](m=3, m_star=3, d=3),
    PAPER["worschech2024"](K=2, M=2, eta=0.1),
    PAPER["worschech2024"](K=2, M=2, eta=0.1, beta=1.0, L=2, N=40),
    PAPER["worschech2024"](K=1, M=1, eta=0.1, beta=1.0, L=16, N=16, activation="linear"),
    PAPER["worschech2024"](K=2, M=2, eta=0.1).replace(training__label_noise=0.1),
    PAPER["worschech2024"](K=1, M=1, eta=0.1, activation="linear").replace(teacher__drift=0.1),
    PAPER["worschech2024"](K=1, M=1, eta=0.1, N=40, activation="linear").replace(training__samples=80),
    PAPER["worschech2024"](K=1, M=1, eta=0.1, activation="linear").replace(
        training__rate_rule=sv.problems.AdaGrad(offset=1.0)
    ),
    PAPER["worschech2024"](K=1, M=1, eta=0.1, activation="linear").replace(training__momentum=sv.Momentum(kappa=2.0)),
]
CLASSES = sv.Problem(  # about which no prediction says anything
    student=sv.Student(width=1, activation="linear"),
    training=sv.Training(learning_rate=0.1),
    mixture=sv.Mixture.opposite(1.0),
)


def start_of(problem: sv.Problem) -> sv.Overlaps:
    if problem.student.activation == "quadratic" and problem.student.width == problem.inputs.dim:
        return sv.start(problem, seed=0, students="spanning")
    if problem.student.norm == "sphere":
        return sv.start(problem, seed=0)
    return sv.start(problem, seed=0, students="orthogonal", cross=0.01)


def arguments_of(function, problem: sv.Problem) -> dict:
    """A value for each parameter that has no default, by its name."""
    dim, p, q = problem.inputs.dim or 6, problem.student.width, problem.teacher.width
    random = np.random.default_rng(0)
    made = {
        "problem": lambda: problem,
        "start": lambda: start_of(problem),
        "state": lambda: near_the_plateau(problem),
        "overlaps": lambda: start_of(problem),
        "covariance": lambda: np.eye(p + q),
        "alpha": lambda: 1.0,
        "time": lambda: 1.0,
        "features": lambda: 3,
        "steps": lambda: 3,
        "basis": lambda: np.eye(dim),
        "distance": lambda: 1.0,
        "growth": lambda: 0.1,
        "weights": lambda: sv.overlaps.Weights(
            on_the_sphere(random.standard_normal((p, dim))), random.standard_normal((q, dim))
        ),
        "direction": lambda: np.ones((p, dim)),
        "trajectory": lambda: sv.run(problem, start_of(problem), sv.Macro(), until=0.1),
    }
    needed = [name for name, one in inspect.signature(function).parameters.items() if one.default is one.empty]
    return {name: made[name]() for name in needed}


def worked(function) -> list[tuple[sv.Problem, dict]]:
    """Problems on which a function works, with arguments."""
    found = []
    for problem in (*PROBLEMS, CLASSES):
        try:
            arguments = arguments_of(function, problem)
            function(**arguments)
        except (ValueError, KeyError):
            continue
        found.append((problem, arguments))
    return found


def on_the_sphere(rows: np.ndarray) -> np.ndarray:
    return rows * np.sqrt(rows.shape[1] / (rows**2).sum(axis=1, keepdims=True))


def near_the_plateau(problem: sv.Problem) -> sv.Overlaps:
    try:
        rest = sv.theory.erf_plateau(problem, start_of(problem)).value.state
    except ValueError:
        return start_of(problem)
    tilt = 1e-6 * np.array([1.0, -1.0])[None, :, None] * np.array([1.0, -1.0])
    cross = rest.block_cross_overlap + tilt
    student = rest.block_student_overlap + 1e-5 * np.eye(2)
    return dataclasses.replace(rest, block_cross_overlap=cross, block_student_overlap=student)


def about_a_problem(room) -> list:
    """Public functions that are given a problem, or a trajectory with one."""
    found = [getattr(room, name) for name in room.__all__]
    named = [one for one in found if inspect.isfunction(inspect.unwrap(one)) and not inspect.isclass(one)]
    return [one for one in named if {"problem", "trajectory"} & set(inspect.signature(one).parameters)]

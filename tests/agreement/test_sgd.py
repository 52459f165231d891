"""The deterministic limit against full-weight SGD at finite N: every unit, rule and spectrum, within statistical error.

All runs of a case start from the same weights, so that they differ only by their inputs. Their mean must lie within
`K` standard errors of Macro, plus an allowance of `BIAS` / N for the finite size (means at N differ from the limit at
order 1/N), in every overlap of every block, in every total and in every readout.
"""

from dataclasses import dataclass, field
from functools import cache

import numpy as np
import referee

import solvable as sv

K = 4.0
BIAS = 2.0


@dataclass(frozen=True)
class Case:
    """A problem, when to look, how many runs; `matters`: changes of the description that the comparison must notice."""

    teacher: dict
    student: dict
    training: dict
    dim: int = 600
    spectrum: object = None
    times: tuple = (1.0, 2.0, 4.0)
    runs: int = 100
    matters: dict = field(default_factory=dict)

    def problem(self):
        return sv.Problem(
            teacher=sv.Teacher(overlap="sampled", **self.teacher),
            student=sv.Student(**self.student),
            inputs=sv.Inputs(dim=self.dim, spectrum=self.spectrum),
            training=sv.Training(**self.training),
        )


STEPS = sv.Schedule(times=(0, 1.5, 3), rates=(0.12, 0.03, 0.15))
RAMP = sv.Schedule(times=(0, 1, 3), rates=(0.2, 1.6, 0.1), shape="linear")
FOUR = sv.Spectrum(eigenvalues=(2.0, 1.2, 0.6, 0.2), weights=(1, 2, 3, 4))
FLAT = sv.Spectrum(eigenvalues=(0.9, 0.9, 0.9, 0.9), weights=(1, 2, 3, 4))
SIXTEEN = sv.PowerLaw(beta=0.3, distinct=16)


def flat(count):
    return sv.Spectrum(eigenvalues=(1.0,) * count)


def two(student, teacher, unit, **more):
    """The fields of two networks with the same unit."""
    return {
        "student": {"width": student, "activation": unit, **more},
        "teacher": {"width": teacher, "activation": unit, "readout": more.get("readout", "mean")},
    }


CASES = {
    "quadratic": Case(
        {"width": 2}, {"width": 3}, {"learning_rate": 0.2}, matters={"loss_factor": {"training__loss_factor": 0.5}}
    ),
    "quadratic-4-blocks-noise-decay-half-loss": Case(
        {"width": 1, "readout": "unit"},
        {"width": 2, "readout": "sqrt"},
        {"learning_rate": 0.12, "label_noise": 2.0, "weight_decay": 0.5, "loss_factor": 0.5},
        spectrum=FOUR,
        matters={
            "noise": {"training__label_noise": 0.0},
            "decay": {"training__weight_decay": 0.0},
            "spectrum": {"inputs__spectrum": FLAT},
        },
    ),
    "quadratic-16-blocks-batch-array-readout": Case(
        {"width": 2, "readout": (0.8, -0.4)},
        {"width": 3, "readout": (0.6, -0.3, 0.3)},
        {"learning_rate": 0.2, "batch": 4},
        dim=480,
        spectrum=SIXTEEN,
        times=(1.0, 3.0),
        matters={
            "batch": {"training__batch": 1},
            "readout": {"student__readout": "mean"},
            "spectrum": {"inputs__spectrum": flat(16)},
        },
    ),
    "quadratic-sphere-noise": Case(
        {"width": 1},
        {"width": 3, "norm": "sphere"},
        {"learning_rate": 0.4, "label_noise": 1.0, "loss_factor": 0.5},
        matters={"noise": {"training__label_noise": 0.0}, "sphere": {"student__norm": "free"}},
    ),
    "quadratic-sphere-4-blocks-trained-readout": Case(
        {"width": 2, "readout": "unit"},
        {"width": 2, "norm": "sphere"},
        {"learning_rate": 0.08, "train_readout": True, "readout_rate": 0.12},
        spectrum=FOUR,
        matters={
            "sphere": {"student__norm": "free"},
            "readout": {"training__train_readout": False, "training__readout_rate": None},
            "readout_rate": {"training__readout_rate": None},
        },
    ),
    "quadratic-trained-readout-steps": Case(
        {"width": 1},
        {"width": 2},
        {"learning_rate": STEPS, "train_readout": True},
        matters={
            "schedule": {"training__learning_rate": 0.12},
            "readout": {"training__train_readout": False},
        },
    ),
    "linear-noise-steps-sqrt-readout": Case(
        {"width": 3, "activation": "linear", "readout": "sqrt"},
        {"width": 2, "activation": "linear", "readout": "sqrt"},
        {"learning_rate": sv.Schedule(times=(0, 1.5), rates=(0.6, 0.2)), "label_noise": 0.5, "loss_factor": 0.5},
        matters={"noise": {"training__label_noise": 0.0}, "schedule": {"training__learning_rate": 0.6}},
    ),
    "linear-4-blocks-batch-decay": Case(
        {"width": 1, "activation": "linear", "readout": "unit"},
        {"width": 2, "activation": "linear", "readout": "unit"},
        {"learning_rate": 0.5, "batch": 4, "weight_decay": 0.2},
        dim=400,
        spectrum=FOUR,
        times=(1.0, 3.0),
        matters={"batch": {"training__batch": 1}, "decay": {"training__weight_decay": 0.0}},
    ),
    "linear-16-blocks-trained-readout-ramp": Case(
        {"width": 2, "activation": "linear", "readout": (1.0, -0.5)},
        {"width": 3, "activation": "linear", "readout": (0.5, 1.0, -0.5)},
        {
            "learning_rate": sv.Schedule(times=(0, 1, 3), rates=(0.05, 0.3, 0.1), shape="linear"),
            "train_readout": True,
            "readout_rate": 0.3,
        },
        dim=640,
        spectrum=SIXTEEN,
        matters={
            "ramp": {
                "training__learning_rate": sv.Schedule(times=(0, 1, 3), rates=(0.05, 0.3, 0.1), shape="steps"),
            },
            "readout": {"training__train_readout": False, "training__readout_rate": None},
            "spectrum": {"inputs__spectrum": flat(16)},
        },
    ),
    "linear-sphere-4-blocks": Case(
        {"width": 2, "activation": "linear", "readout": "unit"},
        {"width": 2, "activation": "linear", "readout": "unit", "norm": "sphere"},
        {"learning_rate": 0.3},
        spectrum=FOUR,
        matters={"sphere": {"student__norm": "free"}, "spectrum": {"inputs__spectrum": FLAT}},
    ),
    "erf-unit-readout-ramp": Case(
        {"width": 1, "activation": "erf", "readout": "unit"},
        {"width": 2, "activation": "erf", "readout": "unit"},
        {"learning_rate": RAMP},
        matters={
            "ramp": {"training__learning_rate": sv.Schedule(times=(0, 1, 3), rates=(0.2, 1.6, 0.1))},
            "loss_factor": {"training__loss_factor": 0.5},
        },
    ),
    "erf-4-blocks-noise-half-loss": Case(
        {"width": 2, "activation": "erf", "readout": "sqrt"},
        {"width": 3, "activation": "erf", "readout": "sqrt"},
        {"learning_rate": 2.0, "label_noise": 0.2, "loss_factor": 0.5},
        spectrum=FOUR,
        matters={"noise": {"training__label_noise": 0.0}, "spectrum": {"inputs__spectrum": FLAT}},
    ),
    "erf-16-blocks-batch-decay": Case(
        {"width": 2, "activation": "erf", "readout": "unit"},
        {"width": 2, "activation": "erf", "readout": "unit"},
        {"learning_rate": 2.0, "batch": 4, "weight_decay": 0.1},
        dim=320,
        spectrum=SIXTEEN,
        times=(1.0, 3.0),
        matters={
            "batch": {"training__batch": 1},
            "decay": {"training__weight_decay": 0.0},
            "spectrum": {"inputs__spectrum": flat(16)},
        },
    ),
    "erf-sphere-4-blocks-trained-readout-own-schedule": Case(
        {"width": 2, "activation": "erf", "readout": (1.0, -1.0)},
        {"width": 2, "activation": "erf", "readout": (0.6, -0.9), "norm": "sphere"},
        {
            "learning_rate": 1.0,
            "train_readout": True,
            "readout_rate": sv.Schedule(times=(0, 1.5), rates=(0.2, 1.0)),
        },
        spectrum=FOUR,
        matters={
            "sphere": {"student__norm": "free"},
            "readout_schedule": {"training__readout_rate": 0.2},
            "readout": {"training__train_readout": False, "training__readout_rate": None},
        },
    ),
}  # fmt: skip


def weights_of(problem, seed):
    """Teachers with Gaussian rows; students that know a little of them, and more in some blocks than in others."""
    random = np.random.default_rng(seed)
    p, q, N = problem.student.width, problem.teacher.width, problem.inputs.dim
    teacher = random.standard_normal((q, N))
    _, sizes = referee.blocks_of(problem.inputs)
    by_block = np.repeat(random.uniform(0.5, 1.3, (len(sizes), p)), sizes, axis=0).T
    W = by_block * (0.5 * random.uniform(-1, 1, (p, q)) @ teacher + 0.7 * random.standard_normal((p, N)))
    if problem.student.norm == "sphere":
        W *= np.sqrt(N / np.sum(W**2, axis=1, keepdims=True))
    return W, teacher


@cache
def simulated(name, rate_factor=1.0):
    case = CASES[name]
    problem = case.problem()
    W, teacher = weights_of(problem, seed=1)
    return problem, W, teacher, referee.sgd(problem, W, teacher, case.times, case.runs, seed=2, rate_factor=rate_factor)


def predicted(problem, W, teacher, times, **level):
    return sv.run(problem, sv.measure(problem, W, teacher), sv.Macro(**level), times=times, keep_blocks=True)


def pairs(record, macro):
    """What is compared, (run, time, ...) of SGD beside (time, ...) of Macro, by name."""
    return {
        "student_overlap": (record.student.sum(axis=2), macro.student_overlap[0]),
        "cross_overlap": (record.cross.sum(axis=2), macro.cross_overlap[0]),
        "block_student_overlap": (record.student, macro.blocks.student[0]),
        "block_cross_overlap": (record.cross, macro.blocks.cross[0]),
        "readout": (record.readout, macro.readout[0]),
    }


def excess(record, macro, dim):
    """Largest |mean of SGD - Macro| in units of what is allowed, over all quantities, times and entries."""
    worst = {}
    for name, (runs, limit) in pairs(record, macro).items():
        standard_error = runs.std(axis=0, ddof=1) / np.sqrt(len(runs))
        allowed = K * standard_error + BIAS / dim
        worst[name] = np.max(np.abs(runs.mean(axis=0) - limit) / allowed)
    return max(worst.values()), worst

"""Stories of the explorer: a problem as the tables of a run, and a path of a few steps through it, with a sentence for each.

A step may `change` settings (by the page's names), `keep` the curve before it, drop kept ones (`alone`), look elsewhere (`view`),
`simulate`, or search for the best schedule (`best`). Its numbers are the library's; tests/web/test_stories.py computes them again.
"""

from typing import Any

PLATEAU: dict[str, Any] = {
    "name": "bocchi2026",
    "title": "Plateau and escape: six quadratic students, three teachers (bocchi2026)",
    "state": {
        "teacher": {"width": 3, "activation": "quadratic"},
        "student": {"width": 6, "activation": "quadratic"},
        "inputs": {"dim": 10000},
        "training": {"learning_rate": 0.1},
        "start": {"seed": 0, "students": "orthogonal", "cross": 0.01, "scale": 1.0},
        "run": {"until": 200.0},
    },
    "steps": [
        {
            "say": "Six students learn from three teachers. For a long time nothing seems to happen: the risk rests on a "
                   "plateau until α is about 80, then it falls. Press Play and watch the overlaps.",
        },
        {
            "say": "On the plateau the students have not turned to any teacher: the landscape shows a saddle nearby, with "
                   "directions that lead down.",
            "view": {"view.at": 40.0, "view.tab": "landscape"},
        },
        {
            "say": "Five times the rate: each step goes further, and half of the risk is gone at α = 29 instead of 103. The "
                   "dashed curve is the one before.",
            "keep": True,
            "change": {"training.learning_rate": 0.5},
        },
        {
            "say": "At rate 1 the noise of the steps is too strong: zero error is not stable any more, as a closed form says "
                   "(Theory), and the risk stays high.",
            "keep": True,
            "change": {"training.learning_rate": 1.0},
            "view": {"view.tab": "theory"},
        },
        {
            "say": "Are the equations right? SGD at dimension 10,000 from the same start, laid over the curve of rate 0.1: "
                   "four runs, two million samples each.",
            "alone": True,
            "change": {"training.learning_rate": 0.1},
            "simulate": {"level": "micro", "runs": 4, "seed": 1},
        },
    ],
}  # fmt: skip

SPHERE: dict[str, Any] = {
    "name": "arnaboldi2023",
    "title": "Escaping mediocrity: phase retrieval on the sphere (arnaboldi2023)",
    "state": {
        "teacher": {"width": 1, "activation": "quadratic"},
        "student": {"width": 2, "activation": "quadratic", "norm": "sphere"},
        "inputs": {"dim": 3000},
        "training": {"learning_rate": 0.1, "loss_factor": 0.5},
        "start": {"seed": 1},
        "run": {"until": 120.0},
    },
    "steps": [
        {
            "say": "Two students of fixed length look for one hidden direction. They begin at random, nearly at right angles "
                   "to it, and have to escape from there: mediocrity.",
        },
        {
            "say": "A hundred times as many inputs: the first overlap is ten times smaller, but the escape takes only half as "
                   "long again. It grows as the logarithm of the dimension.",
            "keep": True,
            "change": {"inputs.dim": 300000},
        },
        {
            "say": "SGD at dimension 3000: every run leaves at a time of its own, because near the start the noise of single "
                   "samples decides.",
            "alone": True,
            "change": {"inputs.dim": 3000},
            "view": {"view.log_risk": False},
            "simulate": {"level": "micro", "runs": 8, "seed": 3},
        },
    ],
}  # fmt: skip

WIDE: dict[str, Any] = {
    "name": "saraomannelli2020",
    "title": "How wide must a student be? (saraomannelli2020)",
    "state": {
        "teacher": {"width": 2, "activation": "quadratic"},
        "student": {"width": 8, "activation": "quadratic"},
        "inputs": {"dim": 1000},
        "training": {"learning_rate": 0.02},
        "start": {"seed": 0},
        "run": {"until": 800.0},
    },
    "steps": [
        {
            "say": "Eight students for two teachers, at a small rate: first the students learn how long to be, then they wait "
                   "on a plateau, then they turn.",
        },
        {
            "say": "A single student cannot stand for two teachers: it learns fast, and then stops at a risk of 0.7.",
            "keep": True,
            "change": {"student.width": 1},
        },
        {
            "say": "Two students can. They are even faster than eight, because each has a larger share in the output.",
            "change": {"student.width": 2},
        },
        {
            "say": "Twelve students learn it too, only later: half of the risk is gone at α = 470 instead of 320.",
            "change": {"student.width": 12},
        },
    ],
}  # fmt: skip

SPECTRUM: dict[str, Any] = {
    "name": "worschech2024",
    "title": "Structured data: erf students on a power-law spectrum (worschech2024)",
    "state": {
        "teacher": {"width": 2, "activation": "erf", "readout": "sqrt", "overlap": "sampled"},
        "student": {"width": 2, "activation": "erf", "readout": "sqrt"},
        "inputs": {"dim": 1024, "spectrum": {"beta": 0.5, "distinct": 16}},
        "training": {"learning_rate": 0.2, "loss_factor": 0.5},
        "start": {"seed": 0, "scale": 0.1},
        "run": {"until": 1500.0},
    },
    "view": {"view.log_time": True},
    "steps": [
        {
            "say": "Real data have few strong directions and many weak ones. Here the variances of the inputs fall as a power "
                   "law (Spectrum), and two erf students learn the strong directions first.",
            "view": {"view.tab": "spectrum"},
        },
        {
            "say": "The same on isotropic inputs: a plateau four times as long, and then a faster end. Structure shortens the "
                   "plateau and slows down the end.",
            "keep": True,
            "change": {"inputs.spectrum.distinct": 1},
            "view": {"view.tab": "spectrum"},
        },
        {
            "say": "A single linear student has no plateau at all. On a power law the risk falls as a power of time: the local "
                   "exponent follows the prediction (dashed) until the weakest directions are learned.",
            "alone": True,
            "change": {
                "inputs.spectrum.distinct": 64,
                "inputs.spectrum.beta": 1.0,
                "teacher.activation": "linear",
                "student.activation": "linear",
                "teacher.width": 1,
                "student.width": 1,
                "teacher.overlap": "orthonormal",
                "start.scale": 0.01,
                "training.learning_rate": 0.05,
            },
            "view": {"view.tab": "spectrum"},
        },
    ],
}  # fmt: skip

DIFFUSION: dict[str, Any] = {
    "name": "diffusion",
    "title": "Noise and dimension: SGD, its diffusion and the limit",
    "state": {
        "teacher": {"width": 1, "activation": "quadratic"},
        "student": {"width": 2, "activation": "quadratic"},
        "inputs": {"dim": 1000},
        "training": {"learning_rate": 0.1},
        "start": {"seed": 0, "students": "orthogonal", "cross": 0.01},
        "run": {"until": 40.0},
    },
    "view": {"view.log_risk": False},
    "steps": [
        {
            "say": "SGD at dimension 1000: eight runs from the same start, each with a time of its own at which it leaves the "
                   "plateau.",
            "simulate": {"level": "micro", "runs": 8, "seed": 1},
        },
        {
            "say": "The diffusion leaps over many samples and keeps their noise: the same scatter, without a step for every "
                   "sample.",
            "simulate": {"level": "meso", "runs": 8, "seed": 1},
        },
        {
            "say": "So it goes where SGD is slow: with a million inputs the noise is thirty times weaker, and all runs lie on "
                   "the curve.",
            "change": {"inputs.dim": 1000000},
            "simulate": {"level": "meso", "runs": 8, "seed": 1},
        },
    ],
}  # fmt: skip

DATA: dict[str, Any] = {
    "name": "data",
    "title": "Memorise or understand: a finite data set",
    "state": {
        "teacher": {"width": 1, "activation": "quadratic"},
        "student": {"width": 2, "activation": "quadratic"},
        "inputs": {"dim": 400},
        "training": {"learning_rate": 0.05},
        "start": {"seed": 0, "students": "orthogonal", "cross": 0.1},
        "run": {"until": 200.0},
    },
    "steps": [
        {
            "say": "The blue curve sees every sample once. The red student has only 600 samples and sees them again and again: "
                   "its training loss (dotted) nearly vanishes, but its risk grows. It has memorised.",
            "change": {"data.samples": 1.5, "data.step": 0.05},
            "simulate": {"level": "empirical", "runs": 2, "seed": 0},
        },
        {
            "say": "With 4000 samples training loss and risk fall together. The same student has understood.",
            "change": {"data.samples": 10.0},
            "simulate": {"level": "empirical", "runs": 2, "seed": 0},
        },
        {
            "say": "The same samples in shuffled epochs of five batches instead of all at once: the end is the same.",
            "change": {"data.selection": "shuffled", "data.batch": 2.0},
            "simulate": {"level": "empirical", "runs": 2, "seed": 0},
        },
    ],
}  # fmt: skip

RULES: dict[str, Any] = {
    "name": "rules",
    "title": "Other rules: momentum, repeats, rates that follow the state, other losses",
    "state": {
        "teacher": {"width": 2, "activation": "erf", "readout": "unit"},
        "student": {"width": 2, "activation": "erf", "readout": "unit"},
        "inputs": {"dim": 10000},
        "training": {"learning_rate": 0.5, "loss_factor": 0.5},
        "start": {"seed": 0, "students": "orthogonal", "cross": 0.05, "scale": 0.5},
        "run": {"until": 300.0},
    },
    "steps": [
        {
            "say": "Plain SGD on two erf students: a plateau until α = 140. This is the curve to beat.",
        },
        {
            "say": "Momentum β = 0.5: half of each step goes on in the next ones. With many inputs this is the same as twice "
                   "the rate, and the plateau is half as long.",
            "keep": True,
            "change": {"training.momentum.beta": 0.5},
        },
        {
            "say": "Each fresh sample used twice in a row: the second step corrects the first, and the plateau is shorter "
                   "still.",
            "change": {"training.momentum.beta": 0.0, "training.repeats": 2},
        },
        {
            "say": "Polyak's rate follows the state: twice the risk over the mean square of the gradient. Nobody had to choose "
                   "it, and it leaves the plateau sooner too.",
            "change": {"training.repeats": 1, "training.rate_rule.kind": "polyak"},
        },
        {
            "say": "Huber's loss in the place of the squared one: at the same rate it leaves the plateau sooner.",
            "change": {"training.rate_rule.kind": "nothing", "training.loss": "huber"},
        },
    ],
}  # fmt: skip

SCHEDULE: dict[str, Any] = {
    "name": "schedule",
    "title": "The best learning rate at every time",
    "state": {
        "teacher": {"width": 2, "activation": "erf", "readout": "unit"},
        "student": {"width": 2, "activation": "erf", "readout": "unit"},
        "inputs": {"dim": 10000},
        "training": {"learning_rate": 1.5, "loss_factor": 0.5},
        "start": {"seed": 0, "scale": 0.5, "students": "orthogonal", "cross": 0.05},
        "run": {"until": 100.0},
    },
    "steps": [
        {
            "say": "Two erf students at the constant rate 1.5: a plateau, and then a fast end. Could a rate that changes in "
                   "time do better?",
        },
        {
            "say": "The best schedule: a rate that grows while the students wait on the plateau, and falls only at the very "
                   "end. What it gains over the best constant rate stands beside it.",
            "view": {"view.tab": "schedule"},
            "best": True,
        },
        {
            "say": "With noise on the labels the best rate falls towards zero, because at any other rate the noise stays in "
                   "the weights.",
            "change": {"training.label_noise": 0.1},
            "view": {"view.tab": "schedule"},
            "best": True,
        },
    ],
}  # fmt: skip

PRESETS: list[dict[str, Any]] = [PLATEAU, SPHERE, WIDE, SPECTRUM, DIFFUSION, DATA, RULES, SCHEDULE]

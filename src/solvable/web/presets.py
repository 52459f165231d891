"""Presets of the explorer: a setting of each paper, as the tables of a run."""

from typing import Any

PRESETS: list[dict[str, Any]] = [
    {
        "name": "bocchi2026",
        "title": "Overparameterised quadratic students: plateau and escape",
        "state": {
            "teacher": {"width": 3, "activation": "quadratic"},
            "student": {"width": 6, "activation": "quadratic"},
            "inputs": {"dim": 10000},
            "training": {"learning_rate": 0.1},
            "start": {"seed": 0, "students": "orthogonal", "cross": 0.01, "scale": 1.0},
            "run": {"until": 200.0},
        },
    },
    {
        "name": "arnaboldi2023",
        "title": "Phase retrieval on the sphere: escaping mediocrity",
        "state": {
            "teacher": {"width": 1, "activation": "quadratic"},
            "student": {"width": 2, "activation": "quadratic", "norm": "sphere"},
            "inputs": {"dim": 3000},
            "training": {"learning_rate": 0.1, "loss_factor": 0.5},
            "start": {"seed": 1},
            "run": {"until": 120.0},
        },
    },
    {
        "name": "saraomannelli2020",
        "title": "Many quadratic students at a small rate, from large random weights",
        "state": {
            "teacher": {"width": 2, "activation": "quadratic"},
            "student": {"width": 8, "activation": "quadratic"},
            "inputs": {"dim": 1000},
            "training": {"learning_rate": 0.02},
            "start": {"seed": 0},
            "run": {"until": 800.0},
        },
    },
    {
        "name": "worschech2024",
        "title": "Two erf students on a power-law spectrum",
        "state": {
            "teacher": {"width": 2, "activation": "erf", "readout": "sqrt", "overlap": "sampled"},
            "student": {"width": 2, "activation": "erf", "readout": "sqrt"},
            "inputs": {"dim": 1024, "spectrum": {"beta": 0.5, "distinct": 16}},
            "training": {"learning_rate": 0.2, "loss_factor": 0.5},
            "start": {"seed": 0, "scale": 0.1},
            "run": {"until": 1500.0},
        },
    },
]

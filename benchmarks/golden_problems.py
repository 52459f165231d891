"""The problems of `golden.py`: each setting of a problem, as changes of one problem or data set."""

import numpy as np

import solvable as sv
from solvable import problems

BASE = sv.Problem(
    teacher=sv.Teacher(width=2),
    student=sv.Student(width=3),
    inputs=sv.Inputs(dim=240),
    training=sv.Training(learning_rate=0.2),
)


def problem_of(name: str) -> sv.Problem:
    return BASE.replace(**PROBLEMS[name][1])


def training(**changes: object) -> dict:
    return {f"training__{name}": value for name, value in changes.items()}


def units(student: object, teacher: object = None) -> dict:
    """Return the changes that give students and teachers these units."""
    return {"student__activation": student, "teacher__activation": teacher or student}


def spectrum(*eigenvalues: float | sv.Schedule) -> dict:
    return {"inputs__spectrum": sv.Spectrum(eigenvalues=eigenvalues)}


def steps(*values: float, shape: str = "steps") -> sv.Schedule:
    return sv.Schedule(times=(0.0, 0.7, 1.3), rates=values, shape=shape)


def careful(F, fields, label, output, size):  # noqa: ARG001  (a rule has these arguments)
    if abs(label - output) > 1:
        F[:] = 0.5 * F / size


SOFTPLUS = sv.Activation("softplus", lambda z: np.logaddexp(0, z), lambda z: 1 / (1 + np.exp(-z)))
PSEUDO_HUBER = problems.Loss(
    "pseudo-huber",
    lambda e: np.sqrt(1 + e**2) - 1,
    lambda e: e / np.sqrt(1 + e**2),
    lambda e: (1 + e**2) ** -1.5,
)
TARGET = problems.Target("folded", 2, lambda z: np.abs(z[:, 0]) - z[:, -1] ** 2)
RISK_DRIVEN = problems.RateFunction("risk-driven", lambda t, risk, g, G: risk / (1 + t + g + G))
HERMITE_UNIT = problems.Hermite(coefficients=(0.1, 0.8, 0.2, 0.1))
FAST, SLOW = training(learning_rate=1.0), training(learning_rate=0.3)
ERF, LINEAR, TANH = units("erf") | FAST, units("linear") | FAST, units("tanh") | FAST
RELU, HERMITE = units("relu") | SLOW, units(HERMITE_UNIT) | SLOW
SIGN = {"teacher__target": "sign", "teacher__activation": "linear"}
SPHERE = {"student__norm": "sphere"}
MANY = {"student__width": 7, "teacher__width": 4}
TWO, THREE = spectrum(1.5, 0.5), spectrum(0.2, 0.8, 2.0)
POWER_LAW = {"inputs__spectrum": sv.PowerLaw(beta=0.8, distinct=8)}
PAIR = sv.Mixture(probabilities=(0.3, 0.7), means=((1.0,), (-1.5,)), labels=(1.0, -1.0))
CHANGING = PAIR.replace(probabilities=(steps(0.2, 0.5, 0.9), steps(0.8, 0.5, 0.1)))
CLASSES, LABELS = {"mixture": PAIR}, {"mixture": PAIR, "teacher__width": 0}  # without teachers
XOR = {"mixture": sv.Mixture.xor(1.5, 0.5), "teacher__width": 0}
CORRELATED = {"teacher__overlap": ((1.0, 0.4), (0.4, 1.5)), "teacher__readout": (0.9, -0.5)}
WIDE = {
    "mixture": sv.Mixture(
        probabilities=(0.2, 0.5, 0.3),
        means=((1.0, 0.2), (-1.0, 0.0), (0.0, 1.5)),
        variances=((0.5, 1.5), (1.0, 2.0), (0.7, 0.4)),
        spikes=((0.5, 0.0), (0.0, 1.0), (0.0, 0.0)),
        labels=(0.5, 0.0, -0.5),
        teacher_overlap=((0.3, 0.0), (0.1, 0.2)),
    )
} | TWO
HEADS = {"tasks": sv.Task.sequence([(1.0, 0.2), (-0.3, 0.8)], switches=[1.0], replay=0.2)}
ROW = {"probability": 0.5, "head": 0}
ONE_HEAD = {"tasks": (sv.Task(readout=(1.0, 0.2), **ROW), sv.Task(readout=(0.5, 0.8), **ROW))}
ADAGRAD = training(rate_rule=problems.AdaGrad(offset=1.0))
KEEP = steps(0.5, 0.8, 1.0)
TRAINED = training(train_readout=True, readout_rate=0.3)
BIASES = {"student__bias": 0.2, "teacher__bias": -0.4} | training(train_bias=True)

PROBLEMS: dict[str, tuple[str, dict]] = {  # name: levels (letters of `LEVELS`), changes of `BASE`
    "linear": ("MRFD", LINEAR),
    "quadratic": ("MRrFDd", {}),
    "erf": ("MRrFDd", ERF),
    "relu": ("MRFD", RELU),
    "tanh": ("MRD", TANH),
    "hermite": ("MRFD", HERMITE),
    "own unit": ("MRFD", units(SOFTPLUS) | FAST),
    "erf learns relu": ("MRD", units("erf", "relu") | FAST),
    "one unit each": ("MRD", ERF | {"student__width": 1, "teacher__width": 1}),
    "many quadratic": ("MRFD", MANY),
    "many erf": ("MRD", ERF | MANY | THREE),
    "many relu": ("MRD", RELU | MANY),
    "product": ("MRF", units("tanh") | SLOW | {"teacher__target": "product"}),
    "own target": ("MRF", units("erf") | SLOW | {"teacher__target": TARGET}),
    "sign, linear": ("MRrFD", LINEAR | SIGN),
    "sign, erf": ("MRFD", ERF | SIGN | training(label_noise=0.1)),
    "sign, relu, 2 blocks": ("MRD", RELU | SIGN | TWO),
    "3 blocks": ("MRFD", THREE | training(label_noise=0.2)),
    "3 blocks, relu": ("MRD", RELU | THREE),
    "an eigenvalue of zero": ("MRF", LINEAR | spectrum(0.0, 2.0)),
    "power law, linear": ("MRD", LINEAR | POWER_LAW),
    "moving eigenvalues": (
        "MRD", ERF | spectrum(steps(1.0, 0.3, 2.0), steps(0.5, 1.0, 1.5, shape="linear")),
    ),
    "correlated teachers": ("MRD", CORRELATED),
    "sampled teachers": ("MRD", ERF | TWO | {"teacher__overlap": "sampled"}),
    "teachers drift": ("MRFD", ERF | {"teacher__drift": 0.3}),
    "teachers turn, 2 blocks": ("MRD", TWO | {"teacher__rotation": 0.8}),
    "sphere": ("MRrFD", SPHERE),
    "sphere, erf, 2 blocks": ("MRFD", ERF | TWO | SPHERE | training(batch=3)),
    "readouts": ("MRD", ERF | {"student__readout": (0.9, -0.3, 0.5), "teacher__readout": "unit"}),
    "trained readout": ("MRFD", ERF | training(train_readout=True)),
    "trained readout, relu": ("MRD", RELU | TRAINED),
    "biases": ("MRFD", ERF | BIASES | TRAINED),
    "fixed biases, linear": ("MRD", LINEAR | {"student__bias": 0.1, "teacher__bias": 0.5}),
    "batch": ("MRrFDd", training(batch=5, label_noise=0.3)),
    "decay": ("MRFD", ERF | training(weight_decay=0.5, loss_factor=0.5)),
    "flips": ("MRFD", ERF | training(label_flips=0.2)),
    "input noise, 2 blocks": ("MRFD", TWO | training(input_noise=(0.2, 0.5))),
    "anchor": ("MRFD", ERF | training(anchor=0.5)),
    "anchor to snapshot": ("MRD", ERF | training(anchor=0.5, snapshot=0.6)),
    "momentum": ("MRFD", ERF | SLOW | training(momentum=sv.Momentum(beta=0.5))),
    "slow momentum": ("MRFD", ERF | TRAINED | training(momentum=sv.Momentum(kappa=3.0))),
    "Nesterov, 2 blocks": ("MRFD", TWO | training(momentum=sv.Momentum(kappa=2.0, nesterov=True))),
    "average": ("MRFD", ERF | training(average=problems.Average(rate=1.0))),
    "average from a time on": ("MRD", ERF | TWO | training(average=problems.Average(begin=0.5))),
    "AdaGrad": ("MRFD", LINEAR | ADAGRAD),
    "line search": ("MRD", ERF | training(rate_rule=problems.LineSearch())),
    "Polyak, 2 blocks": ("MRD", LINEAR | TWO | SLOW | training(rate_rule=problems.Polyak())),
    "clipped batches": ("MRD", ERF | training(rate_rule=problems.ClipBatches(norm=0.2), batch=16)),
    "own rate": ("MRFD", RELU | training(rate_rule=RISK_DRIVEN)),
    "clipped samples": ("MRFD", ERF | training(rule=problems.ClipSamples(norm=0.5))),
    "normalised": ("MRFD", ERF | SLOW | training(rule="normalised")),
    "own rule": ("MRFD", ERF | training(rule=sv.Rule("careful", careful))),
    "look-ahead": ("MRFD", ERF | training(lookahead=0.2)),
    "repeats": ("MRFD", ERF | training(repeats=2)),
    "dropout": ("MRFD", ERF | training(dropout=problems.Dropout(keep=0.7))),
    "dropout in steps": (
        "MRD", ERF | training(dropout=problems.Dropout(keep=KEEP, scale="test", test_factor=0.8)),
    ),
    "log-cosh": ("MRFD", ERF | training(loss="log-cosh")),
    "Huber, linear": ("MRFD", LINEAR | training(loss="huber", label_noise=0.5)),
    "absolute": ("MRF", ERF | training(loss="absolute")),
    "correlation": ("MRFD", ERF | SLOW | training(loss="correlation")),
    "logistic, linear": ("MRFD", LINEAR | SIGN | training(loss="logistic")),
    "hinge": ("MRF", ERF | SIGN | training(loss="hinge")),
    "perceptron": ("MRF", LINEAR | SIGN | training(loss="perceptron")),
    "own loss": ("MRD", RELU | training(loss=PSEUDO_HUBER)),
    "too fast": ("MRFD", training(learning_rate=30.0)),
    "rate in steps": ("MRFD", training(learning_rate=steps(0.3, 0.1, 0.2))),
    "rate in lines": ("MRFD", ERF | training(learning_rate=steps(1.5, 0.2, 0.8, shape="linear"))),
    "all in steps": ("MRD", ERF | training(
        batch=steps(1.0, 4.0, 2.0), weight_decay=steps(0.5, 0.0, 0.2),
        label_noise=steps(0.0, 0.5, 0.1), momentum=steps(0.0, 0.5, 0.2),
    )),
    "classes, erf": ("MRrFDd", ERF | LABELS),
    "classes, linear": ("MRD", LINEAR | LABELS),
    "classes, relu, XOR": ("MRFD", RELU | XOR),
    "classes, tanh, AdaGrad": ("MRD", TANH | LABELS | ADAGRAD),
    "classes, hermite, teachers": ("MRD", HERMITE | CLASSES),
    "classes, spikes, 2 blocks": ("MRFD", WIDE),
    "classes that change": ("MRD", ERF | LABELS | {"mixture": CHANGING}),
    "tasks, heads": ("MRFD", ERF | HEADS | training(train_readout=True)),
    "tasks, one head": ("MRD", ONE_HEAD),
    "much at once, erf": ("MRFD", ERF | WIDE | BIASES | TRAINED | training(
        batch=2, label_noise=0.2, weight_decay=0.2, momentum=sv.Momentum(kappa=2.0),
        average=problems.Average(rate=0.5),
    )),
    "much at once, relu": ("MR", RELU | HEADS | training(
        label_flips=0.1, anchor=0.2, input_noise=0.1, lookahead=0.1,
    )),
}  # fmt: skip
SETS = sv.Problem(
    teacher=sv.Teacher(width=2, activation="erf"),
    student=sv.Student(width=3, activation="erf"),
    inputs=sv.Inputs(dim=60),
    training=sv.Training(step=0.5, samples=sv.Ratio(2), label_noise=0.1),
)
SUBSETS = training(batch=40, selection="subsets")
DATA_SETS: dict[str, dict] = {  # name: changes of `SETS`, for Empirical and EmpiricalMacro
    "all": {},
    "subsets": SUBSETS,
    "drawn": training(batch=40, selection="drawn"),
    "shuffled": training(batch=40, selection="shuffled"),
    "partition": training(batch=40, selection="partition"),
    "persistent": training(batch=40, selection="persistent", repeats=3),
    "repeated": training(batch=sv.Ratio(1), samples=None, selection="repeated", repeats=3),
    "momentum, decay": training(momentum=0.5, weight_decay=0.3),
    "trained readout, tanh": SUBSETS | training(train_readout=True) | units("tanh"),
    "sphere, 2 blocks": SUBSETS | TWO | SPHERE,
    "logistic, steps": SIGN | training(loss="logistic", step=steps(0.5, 0.1, 0.3)),
}
OTHER_SETS: dict[str, dict] = {  # for Empirical alone
    "classes, flips, biases": CLASSES | training(label_flips=0.1, train_bias=True),
    "relu, absolute": units("relu") | training(loss="absolute"),
}
FLOW = BASE.replace(teacher__width=1, student__width=2, inputs__dim=4, training__samples=12)

"""Legal problems drawn at random over all settings: a plain one, then three to six features, each on top of the others.

A feature is a function that changes the tables of a description. It is left out where `Problem` refuses the whole, or the family
that draws does: what is legal is asked, not copied. A problem follows from its family and number alone. Rates are the largest that
keep pilot runs of the referee together, times a number below one: then steps are large, and what is wrong with them shows.
"""

import math
import zlib
from typing import NamedTuple

import numpy as np

import solvable as sv
from reference.case_sgd import simulate
from reference.moments import averages_are_cheap
from reference.reading import setting_of
from solvable.levels.effective import effective_lanes

TIMES = (0.75, 2.0)
TRIES = 1000
SOFTPLUS = sv.Activation("softplus", lambda z: np.logaddexp(0, z), lambda z: 1 / (1 + np.exp(-z)))
PSEUDO_HUBER = sv.problems.Loss(
    "pseudo-huber", lambda e: np.sqrt(1 + e**2) - 1, lambda e: e / np.sqrt(1 + e**2), lambda e: (1 + e**2) ** -1.5
)
FOLDED = {q: sv.problems.Target("folded", q, lambda z: np.abs(z[:, 0]) - 0.5 * z[:, -1] ** 2) for q in (1, 2, 3)}


def damped(F, fields, label, output, size):
    """Large errors count less, large inputs too."""
    weight = 1.0 / (1.0 + abs(label - output) * size)
    for k in range(F.size):
        F[k] *= weight / math.sqrt(1.0 + fields[k] * fields[k])


def selective(F, fields, label, output, size):
    """Samples of short inputs count more, and the first student pushes the others back."""
    for k in range(F.size):
        F[k] *= 2.0 / (1.0 + size * size)
        if k > 0:
            F[k] -= 0.3 * F[0]


def _selective(F, z, y, output, size):
    F = F * 2.0 / (1.0 + size * size)
    return F - 0.3 * F[..., :1] * (np.arange(F.shape[-1]) > 0)


DAMPED, SELECTIVE = sv.Rule("damped", damped), sv.Rule("selective", selective)
OWN = {
    "damped": lambda F, z, y, output, size: F / (1 + np.abs(y - output)[..., None] * size) / np.sqrt(1 + z**2),
    "selective": _selective,
}
RISK_DRIVEN = sv.problems.RateFunction("risk-driven", lambda alpha, risk, square, accumulated: risk / (0.5 + risk))
FALLING = sv.problems.RateFunction(
    "falling", lambda alpha, risk, square, accumulated: (1 + alpha) ** -0.5 / (0.3 + 0.2 * accumulated + 0.1 * square)
)


class Drawn(NamedTuple):
    """A problem, the weights that it starts from (students, teachers, directions or None), the names of its features, and the
    random numbers with which a family goes on."""

    problem: sv.Problem
    student: np.ndarray
    teacher: np.ndarray
    directions: np.ndarray | None
    features: tuple[str, ...]
    random: np.random.Generator

    @property
    def start(self):
        return sv.overlaps.Weights(
            self.student, self.teacher if len(self.teacher) else None, directions=self.directions
        )

    def setting(self, problem=None, trained=None):
        """The referee's description of the problem, or of one that differs from it."""
        return setting_of(problem or self.problem, self.student, self.teacher, trained, OWN)


class Draft(NamedTuple):
    """Tables of a description that grows, and what random choices depend on."""

    tables: dict
    dim: int
    random: np.random.Generator

    def pick(self, *of):
        return of[self.random.integers(len(of))]

    def uniform(self, low, high, shape=None):
        return np.round(self.random.uniform(low, high, shape), 3)

    def with_(self, **changes):
        """Tables of parts are joined, `mixture` and `tasks` are set."""
        tables = {name: dict(table) if isinstance(table, dict) else table for name, table in self.tables.items()}
        for name, change in changes.items():
            tables[name] = tables.get(name, {}) | change if isinstance(change, dict) else change
        return self._replace(tables=tables)

    @property
    def blocks(self):
        spectrum = self.tables["inputs"].get("spectrum")
        return 1 if spectrum is None else len(spectrum["eigenvalues"])

    @property
    def widths(self):
        return self.tables["student"]["width"], self.tables["teacher"]["width"]

    def problem(self):
        tables = dict(self.tables)
        training = dict(tables.pop("training"))
        rate = training["learning_rate"]
        for name, relative in training.pop("relative").items():  # rates in units of the rate
            values = {"rates": tuple(float(f"{rate * one:.4g}") for one in relative.get("rates", ()))}
            training[name] = (
                sv.Schedule(**relative | values) if values["rates"] else float(f"{rate * relative['factor']:.4g}")
            )
        if training.pop("in_steps", False):  # the rate is that of one step
            training["step"] = training.pop("learning_rate")
        parts = {
            "student": sv.Student(**tables["student"]),
            "teacher": sv.Teacher(**tables["teacher"]),
            "inputs": sv.Inputs.model_validate(tables["inputs"]),
            "training": sv.Training(**training),
        }
        if tables.get("mixture") is not None:
            parts["mixture"] = tables["mixture"]
        return sv.Problem(**parts, tasks=tables.get("tasks", ()))


def instants(draft, count):
    """Increasing times before the last output that lie on a step at dimensions 1080, 2160, ..., and between two at 36."""
    steps = np.sort(draft.random.choice(np.arange(4, 60), count, replace=False))
    return np.round((steps + 0.5) / 36 - 1e-6, 7).tolist()


def schedule(draft, values, shapes=("steps", "linear")):
    """Between three values, at times that differ from problem to problem."""
    times = (0.0, *instants(draft, 2))
    return {"times": times, "rates": tuple(float(f"{one:.4g}") for one in values), "shape": draft.pick(*shapes)}


def units(draft):
    name = draft.pick("linear", "quadratic", "erf", "erf", "relu", "tanh", "hermite", "own")
    if name == "hermite":
        sizes = draft.uniform(-1, 1, 4) * np.array([0.3, 1.0, 0.4, 0.2])
        return sv.problems.Hermite(coefficients=tuple(np.round(sizes[: draft.random.integers(2, 5)], 3).tolist()))
    return SOFTPLUS if name == "own" else name


def readouts(draft, width, shape=()):
    signs = draft.random.choice([-1.0, 1.0], (*shape, width))
    values = np.round(signs * draft.random.uniform(0.4, 1.2, (*shape, width)) / np.sqrt(width), 3)
    return tuple(map(tuple, values.tolist())) if shape else tuple(values.tolist())


def plain(random, dim, widths):
    """A problem without features: units, widths, readouts, and a spectrum in one of two."""
    draft = Draft({}, dim, random)
    p, q = (int(random.integers(1, most + 1)) for most in widths)
    student = units(draft)
    teacher = student if random.random() < 0.6 else units(draft)
    inputs = {"dim": dim}
    blocks = draft.pick(1, 1, 2, 3)
    if blocks > 1:
        weights = (1, 2, 3)[:blocks] if random.random() < 0.5 else (1,) * blocks
        inputs["spectrum"] = {"eigenvalues": tuple(draft.uniform(0.3, 1.6, blocks).tolist()), "weights": weights}
    return draft.with_(
        student={"width": p, "activation": student, "readout": readouts(draft, p)},
        teacher={"width": q, "activation": teacher, "readout": readouts(draft, q), "overlap": "sampled"},
        inputs=inputs,
        training={"learning_rate": 1.0, "loss_factor": draft.pick(0.5, 1.0), "relative": {}},
    )


def relative(draft, **numbers):
    return draft.with_(training={"relative": draft.tables["training"]["relative"] | numbers})


def batch(draft):
    return draft.with_(training={"batch": draft.pick(2, 3, 5)})


def batch_schedule(draft):
    return draft.with_(training={"batch": sv.Schedule(**schedule(draft, draft.random.choice([1, 2, 4, 5], 3)))})


def rate_schedule(draft):
    return relative(draft, learning_rate=schedule(draft, (1.0, draft.uniform(0.1, 0.6), draft.uniform(0.3, 1.0))))


def decay(draft):
    constant = float(draft.uniform(0.1, 0.8))
    falling = sv.Schedule(**schedule(draft, draft.uniform(0.0, 0.8, 3)))
    return draft.with_(training={"weight_decay": draft.pick(constant, falling)})


def label_noise(draft):
    constant = float(draft.uniform(0.05, 0.5))
    changing = sv.Schedule(**schedule(draft, draft.uniform(0.0, 0.6, 3)))
    return draft.with_(training={"label_noise": draft.pick(constant, constant, changing)})


def trained_readout(draft):
    own = draft.pick({"factor": draft.uniform(0.2, 0.8)}, schedule(draft, draft.uniform(0.1, 0.8, 3)))
    return relative(draft.with_(training={"train_readout": True}), readout_rate=own)


def bias(draft):
    size = float(draft.uniform(-0.6, 0.6))
    kind = draft.pick("student", "teacher", "trained", "trained")
    if kind != "trained":
        return draft.with_(**{kind: {"bias": size}})
    begun = draft.with_(student={"bias": draft.pick(0.0, size)}, training={"train_bias": True})
    return relative(begun, readout_rate=begun.tables["training"]["relative"].get("readout_rate", {"factor": 0.4}))


def sphere(draft):
    return draft.with_(student={"norm": "sphere"})


def loss(draft):
    kind = draft.pick(
        "log-cosh", "correlation", "absolute", "logistic", "perceptron", PSEUDO_HUBER,
        sv.problems.Huber(threshold=float(draft.uniform(0.2, 1.0))), sv.problems.Hinge(sharpness=float(draft.uniform(2, 8))),
    )  # fmt: skip
    of_margin = getattr(kind, "name", kind) in ("logistic", "perceptron", "hinge")
    return draft.with_(training={"loss": kind}, teacher={"target": "sign"} if of_margin else {})


def target(draft):
    kind = draft.pick("sign", "product", "sign", FOLDED.get(draft.widths[1], "sign"))
    return draft.with_(teacher={"target": kind})


def mixture(draft):
    classes, directions = int(draft.random.integers(2, 5)), int(draft.random.integers(1, 3))
    shares = draft.random.dirichlet(np.full(classes, 4.0)).round(3)
    shares[-1] = 1 - shares[:-1].sum()
    probabilities = tuple(shares.tolist())
    if draft.random.random() < 0.3:
        later = np.roll(shares, 1)
        plan = schedule(draft, (1.0, 0.0, 0.0))
        times, shape = plan["times"][:2], plan["shape"]
        probabilities = tuple(
            sv.Schedule(times=times, rates=(a, b), shape=shape)
            for a, b in zip(shares.tolist(), later.tolist(), strict=True)
        )
    alone = draft.random.random() < 0.3  # labels come from classes alone
    signed = draft.tables["teacher"].get("target") == "sign"
    labels = (
        tuple(draft.random.choice([-1.0, 1.0], classes)) if alone else tuple(draft.uniform(-1, 1, classes).tolist())
    )
    rows = lambda low, high, shape: tuple(map(tuple, draft.uniform(low, high, shape).tolist()))
    made = sv.Mixture(
        probabilities=probabilities,
        means=rows(-1.2, 1.2, (classes, directions)),
        vectors=tuple(map(tuple, draft.random.standard_normal((directions, draft.dim)).tolist())),
        variances=rows(0.4, 1.6, (classes, draft.blocks)) if draft.random.random() < 0.7 else None,
        labels=labels if alone or signed or draft.random.random() < 0.7 else None,
        spikes=rows(0.0, 2.0, (classes, directions)) if draft.random.random() < 0.4 else None,
    )
    if not alone:
        return draft.with_(mixture=made)
    draft.tables["teacher"].clear()
    return draft.with_(mixture=made, teacher={"width": 0, "overlap": "orthonormal"})


def tasks(draft):
    p, q = draft.widths
    count = int(draft.random.integers(2, 4))
    rows = readouts(draft, q, (count,))
    heads = draft.pick(None, (0,) * count, (0, 1, 0)[:count])
    if draft.random.random() < 0.6:
        made = sv.Task.sequence(rows, instants(draft, count - 1), replay=draft.pick(0.0, 0.3), heads=heads)
    else:
        shares = [0.5, 0.3, 0.2] if count == 3 else [0.6, 0.4]
        made = tuple(
            sv.Task(readout=row, probability=share, head=None if heads is None else heads[i])
            for i, (row, share) in enumerate(zip(rows, shares, strict=True))
        )
    number = count if heads is None else 1 + max(heads)
    student = {"readout": readouts(draft, p, (number,))} if number > 1 else {}
    return draft.with_(tasks=made, teacher={"readout": "mean"}, student=student)


def dropout(draft):
    keep = float(draft.uniform(0.4, 0.9))
    kind = draft.pick("train", "train", "test", "schedule")
    if kind == "schedule":
        steps = sv.Schedule(**schedule(draft, draft.uniform(0.4, 1.0, 3), ("steps",)))
        return draft.with_(training={"dropout": {"keep": steps, "scale": "test", "test_factor": 0.7}})
    return draft.with_(training={"dropout": {"keep": keep, "scale": kind}})


def input_noise(draft):
    one = float(draft.uniform(0.1, 0.8))
    return draft.with_(training={"input_noise": draft.pick(one, tuple(draft.uniform(0.0, 0.8, draft.blocks).tolist()))})


def flips(draft):
    return draft.with_(training={"label_flips": float(draft.uniform(0.05, 0.35))})


def anchor(draft):
    kind = draft.pick("anchor", "both", "snapshot")
    time = instants(draft, 1)[0]
    pull = {"anchor": float(draft.uniform(0.3, 1.2))} if kind != "snapshot" else {}
    return draft.with_(training=pull | ({"snapshot": time} if kind != "anchor" else {}))


def momentum(draft):
    nesterov = bool(draft.random.integers(2))
    beta, kappa = float(draft.uniform(0.3, 0.85)), float(draft.uniform(1.0, 5.0))
    kinds = {
        "fast": {"beta": beta},
        "slow": {"kappa": kappa},
        "fast in steps": {"beta": sv.Schedule(**schedule(draft, draft.uniform(0.0, 0.8, 3), ("steps",)))},
        "slow schedule": {"kappa": sv.Schedule(**schedule(draft, draft.uniform(1.0, 5.0, 3)))},
    }
    return draft.with_(training={"momentum": sv.Momentum(**kinds[draft.pick(*kinds)], nesterov=nesterov)})


def average(draft):
    kinds = {"rate": float(draft.uniform(0.5, 3))}, {"begin": draft.pick(-0.5, instants(draft, 1)[0])}
    return draft.with_(training={"average": sv.problems.Average(**draft.pick(*kinds))})


def rate_rule(draft):
    kind = draft.pick(
        sv.problems.AdaGrad(offset=float(draft.uniform(0.2, 0.8))),
        sv.problems.ClipBatches(norm=float(draft.uniform(0.1, 0.5))),
        *2 * (sv.problems.LineSearch(largest=3.0), sv.problems.Polyak(), RISK_DRIVEN, FALLING),
    )  # fmt: skip
    return draft.with_(training={"rate_rule": kind})


def rule(draft):
    clip = sv.problems.ClipSamples(norm=float(draft.uniform(0.2, 0.8)))
    return draft.with_(training={"rule": draft.pick("normalised", clip, DAMPED, SELECTIVE, DAMPED, SELECTIVE)})


def lookahead(draft):
    again = {"lookahead": float(draft.uniform(0.2, 1.5))}, {"repeats": int(draft.random.integers(2, 4))}
    return draft.with_(training=draft.pick(*again))


def moving_teachers(draft):
    drift, turn = float(draft.uniform(0.2, 0.8)), float(draft.uniform(-1.0, 1.0))
    both = {"drift": drift}, {"rotation": turn}, {"drift": drift, "rotation": turn}
    return draft.with_(teacher=draft.pick(*both))


def eigenvalue_schedule(draft):
    spectrum = draft.tables["inputs"].get("spectrum", {"eigenvalues": (1.0,)})
    changed = sv.Schedule(**schedule(draft, draft.uniform(0.2, 1.6, 3)))
    return draft.with_(inputs={"spectrum": spectrum | {"eigenvalues": (changed, *spectrum["eigenvalues"][1:])}})


FEATURES = (
    batch, batch_schedule, rate_schedule, decay, label_noise, trained_readout, bias, sphere, loss, target, mixture, tasks, dropout,
    input_noise, flips, anchor, momentum, average, rate_rule, rule, lookahead, moving_teachers, eigenvalue_schedule,
)  # fmt: skip


def sgd(one, noise, runs=150):
    """(run, entry) of short runs of the referee."""
    record = simulate(one.setting(), [round(time * one.problem.inputs.dim) for time in TIMES], runs, noise)
    return np.concatenate([np.reshape(part, (runs, -1)) for part in record], axis=1)


def referee_takes(problem):
    """Raise ValueError for rates of which the referee would need too many nodes."""
    rule = problem.training.rate_rule
    if rule is not None and rule.kind not in ("adagrad", "clip-batches") and not averages_are_cheap(problem):
        raise ValueError("training.rate_rule: averages over too many nodes")


def draw(
    family,
    number,
    *,
    dim=36,
    widths=(3, 3),
    features=FEATURES,
    wanted=((),),
    accepts=lambda problem: None,
    first=plain,
    pilot=sgd,
):
    """The problem of this number. `wanted` are groups of features of which, turn by turn, one is in it; `accepts` raises ValueError
    for problems that the family does not take. Features come on top of `first`; `pilot` gives (run, entry) of short runs, None
    leaves the rate at one."""
    random = np.random.default_rng([zlib.crc32(family.encode()), number])
    for _ in range(TRIES):
        draft = first(random, dim, widths)
        try:
            _check(draft.problem(), accepts)
        except ValueError:
            continue
        order = [features[i] for i in random.permutation(len(features))]
        group = wanted[number % len(wanted)]
        order = [*group, *order]
        count, names = int(random.integers(3, 7)), []
        for feature in order:
            if feature.__name__ in names or len(names) == count:
                continue
            try:
                longer = feature(draft.with_())
                _check(longer.problem(), accepts)
            except ValueError:
                continue
            draft, names = longer, [*names, feature.__name__]
        if not {feature.__name__ for feature in group} <= set(names):
            continue
        found = begin(draft, tuple(names))
        if pilot is None:
            return found
        found = at_a_lively_rate(draft, found, pilot)
        if found is not None:
            return found
    raise RuntimeError(f"{family}: none of {TRIES} problems was accepted")


def _check(problem, accepts):
    referee_takes(problem)
    accepts(problem)


def begin(draft, names):
    """With weights to start from: students that know something of the teachers."""
    problem, random = draft.problem(), draft.random
    p, q, dim = problem.student.width, problem.teacher.width, draft.dim
    V = random.standard_normal((q, dim))
    if problem.teacher.rotation:  # which keeps overlaps where the two are orthogonal and of one length, in every block
        parts = np.split(V, np.cumsum(problem.inputs.block_sizes)[:-1], axis=1)
        V = np.concatenate([np.linalg.qr(part.T)[0].T * np.sqrt(part.shape[1]) for part in parts], axis=1)
    W = 0.7 * random.standard_normal((p, dim))
    if q:
        W = W + 0.5 * random.uniform(-1, 1, (p, q)) / np.sqrt(q) @ V
    if problem.student.norm == "sphere":
        W *= np.sqrt(dim / (W**2).sum(axis=1, keepdims=True))
    directions = None if problem.mixture is None else np.array(problem.mixture.vectors)
    return Drawn(problem, W, V, directions, names, random)


def at_a_lively_rate(draft, found, pilot, largest=3.0, factor=0.5):
    """The same at a rate at which no run of the referee leaves the others far behind; None if there is none."""
    share = draft.random.uniform(0.5, 1.0)
    for power in range(9):
        rate = float(f"{largest * factor**power * share:.4g}")
        tried = found._replace(problem=draft.with_(training={"learning_rate": rate}).problem())
        with np.errstate(all="ignore"):
            if together(pilot(tried, power)):
                return tried
    return None


def together(entries):
    """Whether no entry (run, entry) grows much or has heavy tails."""
    if not np.isfinite(entries).all() or np.abs(entries).max() > 10:
        return False
    moving = entries[:, entries.std(axis=0) > 1e-9]
    apart = np.abs(moving - moving.mean(axis=0)) / moving.std(axis=0)
    return bool((apart**4).mean(axis=0).max(initial=0.0) < 15)


def taken_by(problem, level):
    """Raise ValueError for a problem that a level refuses. Targets of one's own, which only Python can call, are refused with most
    features too, but only where the run begins."""
    if isinstance(problem.teacher.target, sv.problems.Target) and problem.features:
        raise ValueError(f"teacher.target: a function of one's own given together with {problem.features[0]}")
    level.domain.require(problem, type(level).__name__)
    lanes = [sv.levels.Lane(problem, sv.start(problem, seed=0))]
    level.check(lanes if level.traits.keeps_velocities else effective_lanes(lanes))

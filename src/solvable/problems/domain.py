"""What a closed form, a landscape, a paper's notation or a level is for, in the words of physics.

A `Domain` allows the plainest problem: one pass over fresh samples with isotropic inputs, labels without noise, the squared loss,
constant rates, no decay, single samples, free norms, a fixed readout 1/width and orthonormal teachers. Each word allows more.
Widths, dimension, learning rate and loss factor are free. Every other setting of a problem is refused where it is not at its
default, also one that a later version adds: the settings are read from the fields of the problem itself.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

import numpy as np
from pydantic_core import PydanticUndefined

from solvable.gaussian.units import UNITS
from solvable.problems.features import FEATURES
from solvable.problems.inputs import PowerLaw
from solvable.problems.model import InvalidProblem, Model, short
from solvable.problems.networks import Network
from solvable.problems.problem import Problem
from solvable.problems.reuse import REUSE, Ratio
from solvable.problems.schedules import Schedule

ANY = "any"
CLOSED_FORM = "this closed form"

FREE = {"teacher.width", "student.width", "inputs.dim", "training.learning_rate", "training.loss_factor"}
SPECTRA = {f"inputs.spectrum.{name}" for name in ("kind", "beta", "distinct", "eigenvalues", "weights")}
WORDED = {  # what the words of a domain speak of
    "teacher.activation", "teacher.readout", "teacher.target", "teacher.overlap",
    "student.activation", "student.readout", "student.norm",
    "training.batch", "training.weight_decay", "training.loss", "training.label_noise",
    "training.train_readout", "training.readout_rate", "training.samples",
}  # fmt: skip
KNOWN = FREE | SPECTRA | WORDED
PARTS = {"teacher", "student", "inputs", "inputs.spectrum", "training"}
READOUTS = ("mean", "equal", "positive", ANY)
SWITCHES = ("isotropic", "power_law", "label_noise", "decay", "batch", "trained_readout", "samples", "finite_dim")
WORDS: dict[str, tuple[Any, ...]] = {  # that a domain may be described with; a misspelt one would allow more
    "target": ("additive", ANY), "teachers": ("orthonormal", "given", ANY), "norm": ("free", "sphere", ANY),
    "loss": ("squared", ANY), "schedules": (False, "rates", True), "student_readout": READOUTS, "teacher_readout": READOUTS,
    **dict.fromkeys(SWITCHES, (False, True)),
}  # fmt: skip


class NotApplicable(InvalidProblem):
    """A closed form was asked for outside its domain; `problems` has one line per reason."""

    def __init__(self, problems: str | list[str]) -> None:
        super().__init__([problems] if isinstance(problems, str) else problems)


@dataclass(frozen=True, kw_only=True)
class Domain:
    """The set of problems that a closed form, a landscape, a notation or a level is for.

    Parameters
    ----------
    units : str or tuple of str
        Activations by name, of which students and teachers share one; "any" allows all, also different ones.
    target : str
        "additive" or "any".
    teachers : str
        "orthonormal", "given" (a Gram matrix too) or "any" (sampled ones too).
    student_readout, teacher_readout : str or float
        "mean", "equal" (one positive number for all units), "positive", "any", or a number.
    norm : str
        "free", "sphere" or "any".
    isotropic, power_law : bool
        Whether inputs must have the single eigenvalue one; whether they must have a power-law spectrum with positive
        beta.
    label_noise, decay, batch, trained_readout, samples : bool
        Whether these settings are allowed.
    loss : str
        "squared" or "any".
    schedules : bool or str
        Whether schedules are allowed; "rates": of the learning rates alone.
    finite_dim : bool
        Whether the number of inputs must be finite.
    student_width, teacher_width : int, optional
        Widths, if only these are allowed.
    knows : tuple of str
        Paths of further settings that are taken into account, as "training.momentum".

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=3, p_star=2, eta=0.1, N=1000)
    >>> sv.problems.Domain(units="erf").refusals(problem)
    ["student.activation: is 'quadratic', as the teacher's; this closed form is for 'erf' units"]
    """

    units: str | tuple[str, ...] = ANY
    target: str = "additive"
    teachers: str = "orthonormal"
    student_readout: str | float = "mean"
    teacher_readout: str | float = "mean"
    norm: str = "free"
    isotropic: bool = True
    power_law: bool = False
    label_noise: bool = False
    decay: bool = False
    batch: bool = False
    loss: str = "squared"
    trained_readout: bool = False
    samples: bool = False
    schedules: bool | Literal["rates"] = False
    finite_dim: bool = False
    student_width: int | None = None
    teacher_width: int | None = None
    knows: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, allowed in WORDS.items():
            value = getattr(self, name)
            is_number = allowed is READOUTS and type(value) in (int, float)
            if not is_number and not any(type(value) is type(word) and value == word for word in allowed):
                numbers = " or a number" if allowed is READOUTS else ""
                raise ValueError(f"{name}: {value!r} given, must be one of {', '.join(map(repr, allowed))}{numbers}")
        for unit in (self.units,) if isinstance(self.units, str) else self.units:
            if unit != ANY and unit not in UNITS:
                raise ValueError(f"units: {unit!r} given, must be 'any' or names of {', '.join(sorted(UNITS))}")
        if isinstance(self.knows, str):
            raise ValueError(f"knows: {self.knows!r} given, must be a tuple of paths")

    def refusals(self, problem: Problem, who: str = CLOSED_FORM) -> list[str]:
        """One line for each setting of `problem` that is outside: the field, what it is, and what `who` is for."""
        found = (*self._unknown(problem), *self._networks(problem), *self._inputs(problem), *self._training(problem))
        return [f"{path}: {given}; {who} {what}" for path, given, what in found]

    def require(self, problem: Any, who: str = CLOSED_FORM) -> None:
        """Raise NotApplicable, with one line per reason, unless `problem` is inside."""
        if not isinstance(problem, Problem):
            raise TypeError(f"the first argument must be a Problem, not {type(problem).__name__}")
        found = self.refusals(problem, who)
        if found:
            raise NotApplicable(found)

    def _unknown(self, problem: Problem) -> Iterator[tuple[str, str, str]]:
        for path, value in unusual_settings(problem):
            if path not in self.knows:
                yield path, f"is {short(value)}", _STEP if path == "training.step" else "does not know this setting"

    def _networks(self, problem: Problem) -> Iterator[tuple[str, str, str]]:
        student, teacher = problem.student, problem.teacher
        yield from self._units(problem)
        for name, network, allowed in [
            ("student", student, self.student_readout),
            ("teacher", teacher, self.teacher_readout),
        ]:
            if not _has_readout(network, allowed):
                what = _READOUTS[allowed] if isinstance(allowed, str) else f"readouts {allowed:.6g}"
                yield f"{name}.readout", f"is {short(network.readout)}", f"is for {what}"
        for name, width, wanted in [
            ("student", student.width, self.student_width),
            ("teacher", teacher.width, self.teacher_width),
        ]:
            if wanted not in (None, width):
                yield f"{name}.width", f"is {width}, not {wanted}", f"is for {wanted} {name}{'s' * (wanted != 1)}"
        if self.norm not in (ANY, student.norm):
            what = "free norm" if self.norm == "free" else "norm one ('sphere')"
            yield "student.norm", f"is {student.norm!r}", f"is for students of {what}"
        if self.target not in (ANY, teacher.target):
            yield "teacher.target", f"is {short(teacher.target)}", "is for additive targets"
        if self.teachers == "orthonormal" and not teacher.is_orthonormal:
            given = "is 'sampled'" if teacher.overlap == "sampled" else "is another Gram matrix"
            yield "teacher.overlap", given, "is for 'orthonormal' teachers"
        if self.teachers == "given" and teacher.overlap == "sampled":
            yield "teacher.overlap", "is 'sampled'", "is for teachers whose Gram matrix is given"

    def _units(self, problem: Problem) -> Iterator[tuple[str, str, str]]:
        if self.units == ANY:
            return
        allowed = (self.units,) if isinstance(self.units, str) else self.units
        given = {name: getattr(problem, name).activation for name in ("student", "teacher")}
        wrong = {name: f"is {short(unit)}" for name, unit in given.items() if unit not in allowed}
        if len(wrong) == 2 and given["student"] == given["teacher"]:
            wrong = {"student": f"{wrong['student']}, as the teacher's"}
        for name, text in wrong.items():
            yield f"{name}.activation", text, f"is for {' or '.join(map(repr, allowed))} units"
        if not wrong and given["student"] != given["teacher"]:
            yield (
                "student.activation",
                f"is {given['student']!r}, the teacher's {given['teacher']!r}",
                "is for equal ones",
            )

    def _inputs(self, problem: Problem) -> Iterator[tuple[str, str, str]]:
        inputs = problem.inputs
        if inputs.is_scheduled and self.schedules is not True:
            yield "inputs.spectrum.eigenvalues", "a schedule is given", f"is for constant ones; {_AT}"
        elif self.isotropic and (inputs.blocks > 1 or inputs.is_scheduled or inputs.eigenvalues[0] != 1):
            several = inputs.blocks > 1 or inputs.is_scheduled
            given = f"has {inputs.blocks} eigenvalues" if several else f"has the eigenvalue {inputs.eigenvalues[0]:g}"
            yield "inputs.spectrum", given, "is for isotropic inputs of variance one"
        if self.power_law and not (isinstance(inputs.spectrum, PowerLaw) and inputs.spectrum.beta > 0):
            yield "inputs.spectrum", "is not a power law", "is for power laws with positive beta"
        if self.finite_dim and inputs.dim is None:
            yield "inputs.dim", "is infinite", "is for a finite one"

    def _training(self, problem: Problem) -> Iterator[tuple[str, str, str]]:
        training = problem.training
        for name, allowed, plain, what in [
            ("label_noise", self.label_noise, 0, "labels without noise"),
            ("weight_decay", self.decay, 0, "weights without decay"),
            ("batch", self.batch, 1, "single samples"),
            ("train_readout", self.trained_readout, False, "a fixed readout"),
            ("samples", self.samples, None, "fresh samples, not a data set"),
            ("loss", self.loss == ANY, "squared", "the squared loss"),
        ]:
            value = getattr(training, name)
            if name == "batch" and value is None:
                continue
            if isinstance(value, Ratio) and not self.samples:
                yield f"training.{name}", f"is {value!r}", "is for numbers, not for ratios to the dimension"
            elif not allowed and value != plain:
                given = "is a schedule" if isinstance(value, Schedule) else f"is {value!r}"
                yield f"training.{name}", given, f"is for {what}"
            elif self.schedules is not True and isinstance(value, Schedule):
                yield f"training.{name}", "is a schedule", f"is for a constant one; {_AT}"
        if (
            self.schedules is not True
            and training.momentum is not None
            and isinstance(training.momentum.number, Schedule)
        ):
            yield "training.momentum", "has a schedule", f"is for a constant one; {_AT}"
        for name in ("learning_rate", "readout_rate"):
            if not self.schedules and isinstance(getattr(training, name), Schedule):
                yield f"training.{name}", "is a schedule", f"is for a constant one; {_AT}"


EVERYTHING = Domain(
    target=ANY, teachers=ANY, student_readout=ANY, teacher_readout=ANY, norm=ANY, isotropic=False, label_noise=True, decay=True,
    batch=True, loss=ANY, trained_readout=True, samples=True, schedules=True, knows=REUSE,
)  # fmt: skip
ONE_PASS = replace(EVERYTHING, samples=False, knows=())
CASES = replace(ONE_PASS, knows=FEATURES)  # classes, tasks, masks, noise on inputs, anchors, teachers that move

_STEP = "does not know this setting, which is learning_rate / dim: give learning_rate"
_AT = "problem.at(alpha) has that of one time"
_READOUTS = {
    "mean": "readouts 1/width ('mean')",
    "equal": "one positive number for all units",
    "positive": "positive numbers",
}


def require(problem: Any, who: str = CLOSED_FORM, **words: Any) -> None:
    """Raise NotApplicable unless a problem is in the domain of these words.

    Parameters
    ----------
    problem : Problem
        What is checked.
    who : str
        Who asks, for the message.
    **words
        Arguments of `Domain`.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=3, p_star=2, eta=0.1, N=1000)
    >>> problem = problem.replace(training__batch=5)
    >>> sv.problems.require(problem, units="quadratic", batch=True)
    >>> sv.problems.require(problem, units="quadratic")
    Traceback (most recent call last):
    ...
    solvable.problems.domain.NotApplicable: training.batch: is 5; this closed form is for single samples
    """
    Domain(**words).require(problem, who)


def unusual_settings(model: Model, place: str = "") -> Iterator[tuple[str, Any]]:
    """Path and value of all settings that no word speaks of and that are not at their defaults."""
    for name, path, default in _unspoken(type(model), place):
        value = getattr(model, name)
        if path in PARTS and isinstance(value, Model):
            yield from unusual_settings(value, f"{path}.")
        elif default is PydanticUndefined or value != default:
            yield path, value


@cache
def _unspoken(kind: type[Model], place: str) -> tuple[tuple[str, str, Any], ...]:
    """Name, path and default of the fields that no word speaks of: to make a default may take longer than to solve a problem."""
    found = [(name, f"{place}{name}", field) for name, field in kind.model_fields.items()]
    return tuple(
        (name, path, field.get_default(call_default_factory=True)) for name, path, field in found if path not in KNOWN
    )


def _has_readout(network: Network, allowed: str | float) -> bool:
    if allowed == ANY or not network.width:
        return True
    values = network.readout_values.ravel()
    if allowed == "positive":
        return bool((values > 0).all())
    if allowed == "equal":
        return bool(values[0] > 0 and np.ptp(values) <= 1e-12 * values[0])
    wanted = 1 / network.width if allowed == "mean" else float(allowed)
    return all(math.isclose(value, wanted, rel_tol=1e-12) for value in values)

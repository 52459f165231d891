"""The four papers' normalisations: build a problem from a paper's symbols, and read any fitting problem in them.

What differs is the factor c of the squared loss, and with it rate, time and risk. A gradient of c (y - output)^2 is
proportional to c x rate, so a paper with factor c' reads our rate as (c / c') x rate; all risks are multiples of the
mean squared error without label noise, risk / c. In these words (p student width, alpha = steps/dim, Delta label noise):

    key                  c'    rate         time                    risk
    bocchi2026           1     c rate       c rate alpha            mse
    arnaboldi2023        1/2   2 c rate     2 c rate alpha / p      (mse + Delta) / 2
    saraomannelli2020    -     (flow)       4 c rate alpha / p      mse / 2
    worschech2024        1/2   2 c rate     alpha                   mse / 2

so that, at teacher width one and no noise, arnaboldi2023's gamma is twice bocchi2026's eta, its risk half as large, and
its time 2 eta alpha / p. saraomannelli2020's flow is the small-rate limit; its loss L is half the E given here.
"""

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from solvable.problems.domain import Domain, NotApplicable
from solvable.problems.inputs import Inputs, PowerLaw
from solvable.problems.model import InvalidProblem
from solvable.problems.networks import Student, Teacher, Unit
from solvable.problems.problem import Problem
from solvable.problems.training import Schedule, Training


@dataclass(frozen=True)
class Convention:
    """How one paper writes a problem. Get it by `convention(key)`."""

    key: str
    time_symbol: str
    _build: Callable[..., Problem]
    _read: Callable[[Problem], dict[str, Any]]
    _misfits: Callable[[Problem], list[str]]
    _time_factor: Callable[[Problem], float] | None
    _risk: Callable[[Problem, Any], Any]

    def problem(self, **symbols: Any) -> Problem:
        """The problem that the paper's symbols describe (keyword names as in NOTATION.md)."""
        try:
            inspect.signature(self._build).bind(**symbols)
        except TypeError as error:
            known = ", ".join(inspect.signature(self._build).parameters)
            raise ValueError(f"{self.key}: {error}; its symbols are {known}") from None
        return self._build(**symbols)

    def symbols(self, problem: Problem) -> dict[str, Any]:
        """The paper's symbols for a problem; raises NotApplicable, with the reasons, where the paper has none."""
        self.require(problem)
        return self._read(problem)

    def require(self, problem: Problem) -> None:
        if not isinstance(problem, Problem):
            raise TypeError(f"{self.key}: must be given a Problem, not {type(problem).__name__}")
        misfits = self._misfits(problem)
        if misfits:
            raise NotApplicable(misfits)

    def risk(self, problem: Problem, risk: Any) -> Any:
        """Our risk of `problem` in the paper's normalisation."""
        self.require(problem)
        return self._risk(problem, risk)

    def time_factor(self, problem: Problem) -> float | None:
        """The paper's time is this factor times the integral of our rate over alpha (None: it is alpha itself)."""
        self.require(problem)
        return None if self._time_factor is None else self._time_factor(problem)


def convention(key: str) -> Convention:
    if key not in CONVENTIONS:
        raise ValueError(f"convention: {key!r} given, must be one of {', '.join(CONVENTIONS)}")
    return CONVENTIONS[key]


def _rate(problem: Problem, factor: float) -> float | Schedule:
    return _times(problem.training.learning_rate, factor)


def _times(rate: float | Schedule, factor: float) -> float | Schedule:
    if isinstance(rate, Schedule):
        return rate.replace(rates=tuple(factor * value for value in rate.rates))
    return factor * rate


_QUADRATIC = Domain(units="quadratic", teachers="any", schedules=True)


def _bocchi_misfits(problem: Problem) -> list[str]:
    return _QUADRATIC.refusals(problem, "bocchi2026")


def _sarao_misfits(problem: Problem) -> list[str]:
    return replace(_QUADRATIC, label_noise=True, samples=True).refusals(problem, "saraomannelli2020")


def _bocchi(p: int, p_star: int, eta: float | Schedule, N: int | None = None) -> Problem:
    return Problem(
        teacher=Teacher(width=p_star),
        student=Student(width=p),
        inputs=Inputs(dim=N),
        training=Training(learning_rate=eta, loss_factor=1.0),
    )


def _read_bocchi(problem: Problem) -> dict[str, Any]:
    eta = _rate(problem, problem.training.loss_factor)
    return {"p": problem.student.width, "p_star": problem.teacher.width, "eta": eta, "N": problem.inputs.dim}


def _arnaboldi(
    p: int,
    gamma: float | Schedule,
    Delta: float = 0.0,
    d: int | None = None,
    sphere: bool = True,
    second_layer: bool = False,
) -> Problem:
    return Problem(
        teacher=Teacher(width=1),
        student=Student(width=p, norm="sphere" if sphere else "free"),
        inputs=Inputs(dim=d),
        training=Training(
            learning_rate=gamma,
            loss_factor=0.5,
            label_noise=Delta,
            train_readout=second_layer,
            readout_rate=_times(gamma, 1 / p**2) if second_layer else None,
        ),
    )


def _arnaboldi_misfits(problem: Problem) -> list[str]:
    training = problem.training
    domain = replace(_QUADRATIC, norm="any", label_noise=True, trained_readout=True, teacher_width=1)
    misfits = domain.refusals(problem, "arnaboldi2023")
    if training.train_readout and training.readout_schedule != _times(training.schedule, 1 / problem.student.width**2):
        misfits.append("training.readout_rate: is another one; arnaboldi2023 is for learning_rate / width^2")
    return misfits


def _read_arnaboldi(problem: Problem) -> dict[str, Any]:
    return {
        "p": problem.student.width,
        "gamma": _rate(problem, 2 * problem.training.loss_factor),
        "Delta": problem.training.label_noise,
        "d": problem.inputs.dim,
        "sphere": problem.student.norm == "sphere",
        "second_layer": problem.training.train_readout,
    }


def _sarao(
    m: int, m_star: int, d: int | None = None, n: int | None = None, Delta: float = 0.0, rate: float | Schedule = 1e-3
) -> Problem:
    """`rate` only sets the clock: the paper's flow is the small-rate limit. `n` None is its population; label noise of
    variance `Delta` it has not."""
    problem = _bocchi(p=m, p_star=m_star, eta=rate, N=d)
    return problem.replace(training__samples=n, training__label_noise=Delta)


def _read_sarao(problem: Problem) -> dict[str, Any]:
    return {
        "m": problem.student.width,
        "m_star": problem.teacher.width,
        "d": problem.inputs.dim,
        "n": problem.training.samples,
        "Delta": problem.training.label_noise,
        "rate": _rate(problem, problem.training.loss_factor),
    }


def _worschech(
    K: int, M: int, eta: float, beta: float = 0.0, L: int = 1, N: int | None = None, activation: Unit = "erf"
) -> Problem:
    if L == 1 and beta != 0:
        raise InvalidProblem([f"L: is 1, so beta = {beta} would do nothing; give the number of distinct eigenvalues"])
    return Problem(
        teacher=Teacher(
            width=M, activation=activation, readout="sqrt", overlap="orthonormal" if N is None else "sampled"
        ),
        student=Student(width=K, activation=activation, readout=math.sqrt(M) / K),
        inputs=Inputs(dim=N, spectrum=None if L == 1 else PowerLaw(beta=beta, distinct=L)),
        training=Training(learning_rate=eta, loss_factor=0.5),
    )


def _worschech_misfits(problem: Problem) -> list[str]:
    root, spectrum = math.sqrt(problem.teacher.width), problem.inputs.spectrum
    misfits = Domain(
        units=("linear", "erf", "relu"), teachers="any", isotropic=False, schedules=True,
        student_readout=root / problem.student.width, teacher_readout=1 / root,
    ).refusals(problem, "worschech2024")  # fmt: skip
    if spectrum is not None and not isinstance(spectrum, PowerLaw):
        misfits.append("inputs.spectrum: is not a power law; worschech2024 is for those")
    return misfits


def _read_worschech(problem: Problem) -> dict[str, Any]:
    spectrum = problem.inputs.spectrum
    law = spectrum if isinstance(spectrum, PowerLaw) else PowerLaw(beta=0.0, distinct=1)
    return {
        "K": problem.student.width,
        "M": problem.teacher.width,
        "eta": _rate(problem, 2 * problem.training.loss_factor),
        "beta": law.beta,
        "L": law.distinct,
        "N": problem.inputs.dim,
        "activation": problem.student.activation,
    }


def _mse(problem: Problem, risk: Any) -> Any:
    return risk / problem.training.loss_factor


def _scaled(factor: float) -> Callable[[Problem], float]:
    return lambda problem: factor * problem.training.loss_factor / problem.student.width


CONVENTIONS: Mapping[str, Convention] = {
    "bocchi2026": Convention(
        "bocchi2026", "t = ηα", _bocchi, _read_bocchi, _bocchi_misfits, lambda problem: problem.training.loss_factor, _mse
    ),
    "arnaboldi2023": Convention(
        "arnaboldi2023", "t = γα/p", _arnaboldi, _read_arnaboldi, _arnaboldi_misfits, _scaled(2.0),
        lambda problem, risk: (_mse(problem, risk) + problem.training.label_noise) / 2,
    ),
    "saraomannelli2020": Convention(
        "saraomannelli2020", "flow time t", _sarao, _read_sarao, _sarao_misfits, _scaled(4.0),
        lambda problem, risk: _mse(problem, risk) / 2,
    ),
    "worschech2024": Convention(
        "worschech2024", "α", _worschech, _read_worschech, _worschech_misfits, None,
        lambda problem, risk: _mse(problem, risk) / 2,
    ),
}  # fmt: skip

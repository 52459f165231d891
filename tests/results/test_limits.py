"""What is too large is refused with the field and the memory it needs, before it is made; numbers that overflow end in words."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import solvable as sv
from solvable.cli.main import main
from solvable.landscape.critical import weights_at
from solvable.numerics import memory

PROBLEM = sv.Problem(
    teacher=sv.Teacher(width=2),
    student=sv.Student(width=3),
    inputs=sv.Inputs(dim=40),
    training=sv.Training(learning_rate=0.1),
)
RELU = PROBLEM.replace(student__activation="relu", teacher__activation="relu")
ERF = PROBLEM.replace(student__activation="erf", teacher__activation="erf")
DATA = PROBLEM.replace(training__samples=30)
LEVELS = {
    "macro": sv.Macro(nodes=256, max_steps=300),
    "flow": sv.Macro(nodes=256, small_rate=True, max_steps=300),
    "implicit": sv.Macro(method="implicit", max_steps=300),
    "micro": sv.Micro(runs=2),
    "full": sv.Micro(form="full"),
    "meso": sv.Meso(runs=2, max_steps=300),
    "empirical": sv.Empirical(max_steps=300),
}


@pytest.fixture(autouse=True)
def small_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 10**9)


def follow(level: Any, problem: sv.Problem = PROBLEM, **run: Any) -> Any:
    return sv.run(problem, sv.start(problem, seed=0), level, **({"until": 1.0} | run))


WIDE = PROBLEM.replace(student__width=10**4, inputs__dim=10**6)
MANY = PROBLEM.replace(inputs__spectrum=sv.PowerLaw(beta=1, distinct=10))
LONG = PROBLEM.replace(inputs__dim=10**6)
TOO_LARGE = {
    "runs of Micro": (lambda: follow(sv.Micro(runs=10**7)), "^runs: 10000000 run.s. with 41 outputs take .*B of memory, but"),
    "any number": (lambda: follow(sv.Micro(runs=10**5000)), r"^runs: 10\^5000 run.s. with"),
    "times of Micro": (lambda: follow(sv.Micro(runs=10), LONG, times=np.linspace(0, 1, 10**6)), "^times: 10 run.s. with"),
    "runs of Meso": (lambda: follow(sv.Meso(runs=10**7)), "^runs: 10000000 run"),
    "times of Macro": (lambda: follow(sv.Macro(), times=np.linspace(0, 1, 10**7)), "^times: 1 run.s. with 10000000 outputs"),
    "blocks": (
        lambda: follow(sv.Macro(), MANY, times=np.linspace(0, 1, 10**6)),
        "^times: 1 run",
    ),
    "runs of Empirical": (lambda: follow(sv.Empirical(runs=400), DATA), "^runs: 400 run|^times: 400 run"),
    "samples": (lambda: follow(sv.Empirical(threads=1), DATA.replace(training__samples=10**6)), "^inputs.dim: 1000000 samples"),
    "full weights": (lambda: follow(sv.Micro(form="full"), LONG.replace(inputs__dim=10**7)), "^inputs.dim: full weights of"),
    "nodes": (lambda: follow(sv.Macro(nodes=2**30), RELU), "^nodes: 1073741824 nodes for 5 fields take 344 GB"),
    "start": (lambda: sv.start(WIDE, seed=0), "^student.width: overlaps of 10000 students and 2 teachers in 1"),
    "spectrum": (
        lambda: sv.start(PROBLEM.replace(inputs__dim=10**7, inputs__spectrum=sv.PowerLaw(beta=1, distinct=10**7)), seed=0),
        "^inputs.spectrum: overlaps of",
    ),
    "covariance": (lambda: sv.Data(np.broadcast_to(np.float32(1), (3, 10**5))).eigenvalues, "^data: the covariance of 100000"),
    "decision": (lambda: sv.empirical.decide(np.ones((1000, 200)), np.ones((1, 200))), "^rows: decisions on 1000 samples of 200"),
    "recovery": (lambda: sv.empirical.recovery(PROBLEM.replace(inputs__dim=200), 2), "^inputs.dim: 2 data set.s. of 20100 samples"),
    "instances": (lambda: sv.empirical.recovery(PROBLEM, 10**9), "^instances: numbers of samples of 1000000000 data sets"),
    "hessian": (
        lambda: sv.landscape.hessian(
            PROBLEM.replace(inputs__dim=1999), sv.overlaps.Weights(np.ones((3, 1999)), np.ones((2, 1999)))
        ),
        "^hessian: second derivatives by 5997 weights take 1.15 GB",
    ),
    "critical point": (
        lambda: weights_at(LONG, sv.landscape.critical_points(LONG)[0], 0), "^inputs.dim: random directions in 1000000 dimensions",
    ),
    "steps": (lambda: sv.Macro(max_steps=10**30), r"^max_steps: 1e\+30 given, must be at most 10\^18"),
    "steps of Empirical": (lambda: sv.Empirical(max_steps=10**30), r"^max_steps: 1e\+30 given, must be at most 10\^18"),
}  # fmt: skip


@pytest.mark.parametrize("case", TOO_LARGE)
def test_sizes_are_refused_before_they_are_made(case: str) -> None:
    call, message = TOO_LARGE[case]
    with pytest.raises(ValueError, match=message):
        call()


def test_the_command_says_it_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "p.toml"
    PROBLEM.save(file)
    words = [str(file), "--seed", "0", "--until", "1", "--level", "micro", "--runs", str(10**7)]
    assert main(["run", *words]) == 2
    assert capsys.readouterr().err.startswith("solvable: runs: 10000000 run(s) with 41 outputs take")


CHANGES = ["training__learning_rate", "training__label_noise", "training__weight_decay", "training__loss_factor",
           "student__readout", "teacher__readout"]  # fmt: skip


def words(level: Any, problem: sv.Problem) -> str:
    """How a run ends, or why it is refused."""
    try:
        message: str = follow(level, problem, progress=False).message
    except np.linalg.LinAlgError:
        return ""
    except ValueError as error:
        return str(error) if ": " in str(error) else ""
    return message


@pytest.mark.filterwarnings("ignore:training.learning_rate")  # whose step on a data set is small
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("problem", [PROBLEM, ERF, RELU], ids=["quadratic", "erf", "relu"])
@pytest.mark.parametrize("level", LEVELS)
def test_numbers_that_overflow_end_in_words(level: str, problem: sv.Problem) -> None:
    """A named ending or a refusal that names a field; no warning, nothing of linear algebra."""
    if (level == "empirical" and problem is not PROBLEM) or (level == "implicit" and problem is RELU):
        pytest.skip("not for this level")
    changes: list[dict[str, Any]] = [{name: 9e149} for name in CHANGES] + [{"training__learning_rate": 1e300}]
    changes += [{"inputs__spectrum": sv.Spectrum(eigenvalues=(1.0, value))} for value in (9e149, 2e-150)]
    for change in changes:
        changed = problem.replace(**change)
        if level == "empirical":
            changed = changed.replace(training__samples=30)
        assert words(LEVELS[level], changed)


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("training.loss_factor", {"training__loss_factor": 1e300}),
        ("training.label_noise", {"training__label_noise": 1e300}),
        ("student.readout", {"student__readout": 1e200}),
        ("teacher.readout", {"teacher__readout": [1e200, 1.0]}),
        ("teacher.overlap", {"teacher__overlap": [[1e300, 0.0], [0.0, 1.0]]}),
    ],
)
def test_numbers_whose_square_is_none_are_refused(field: str, change: dict[str, Any]) -> None:
    with pytest.raises(sv.InvalidProblem, match=rf"^{field}: .*1e\+[23]00 given, must be at most 1e\+150 in size"):
        PROBLEM.replace(**change)


def test_eigenvalues_whose_square_is_none_are_refused() -> None:
    with pytest.raises(sv.InvalidProblem, match=r"^eigenvalues: 1e\+300 given, must be at most 1e\+150"):
        sv.Spectrum(eigenvalues=(1.0, 1e300))
    with pytest.raises(sv.InvalidProblem, match=r"^eigenvalues: 1e-300 given, must be 0 or at least 1e-150"):
        sv.Spectrum(eigenvalues=(1.0, 1e-300))
    rows = np.array([[1.0, 0.0], [-1.0, 1e-90], [1.0, 2e-90], [-1.0, 0.0]])
    assert sv.Data(rows).inputs.eigenvalues[1] == 0.0

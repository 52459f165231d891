"""Three questions of the README, each answered by a handful of runs: `python examples/questions.py` prints and draws them.

Each takes less than a second where machine code is at hand; the picture is docs/images/questions.png.
"""

import sys
from pathlib import Path

import solvable as sv
from solvable.plot.style import stroke

RATES = (0.05, 0.1, 0.3, 0.7, 1.0)
WIDTHS = (2, 3, 6, 12)
SPECTRA = {"isotropic": None, "power law, beta = 0.5": 0.5, "power law, beta = 1": 1.0}


def quadratic(rate: float = 0.1, width: int = 6) -> sv.Trajectory:
    """Quadratic students learn from three teachers in 10,000 dimensions."""
    problem = sv.Problem(
        teacher=sv.Teacher(width=3),
        student=sv.Student(width=width),
        inputs=sv.Inputs(dim=10_000),
        training=sv.Training(learning_rate=rate),
    )
    return sv.run(problem, sv.start(problem, seed=0), sv.Macro(), until=400)


def erf(beta: float | None) -> sv.Trajectory:
    """Two erf students learn from two teachers, on inputs whose variances fall as a power law."""
    spectrum = None if beta is None else sv.PowerLaw(beta=beta, distinct=64)
    problem = sv.Problem(
        teacher=sv.Teacher(width=2, activation="erf", readout="sqrt", overlap="sampled"),
        student=sv.Student(width=2, activation="erf", readout="sqrt"),
        inputs=sv.Inputs(dim=1024, spectrum=spectrum),
        training=sv.Training(learning_rate=0.1, loss_factor=0.5),
    )
    return sv.run(problem, sv.start(problem, seed=0, scale=0.01), sv.Macro(), until=10_000)


def half_of(run: sv.Trajectory) -> str:
    time = run.exit_time(0.5)[0]
    return f"half the first risk at alpha {time:.0f}" if time < float("inf") else "never half the first risk"


def draw(path: Path) -> list[str]:
    """Draw the three answers side by side; returns them in words."""
    told = []
    with sv.plot.style():
        picture, (left, middle, right) = sv.plot.figure(columns=3, width=10, height=2.9)
        for i, rate in enumerate(RATES):
            run = quadratic(rate=rate)
            left.plot(run.time, run.risk[0], label=f"rate {rate}", **stroke(i))
            told.append(f"rate {rate}: {half_of(run)}, last risk {run.end_risk[0]:.2g}")
        for i, width in enumerate(WIDTHS):
            run = quadratic(width=width)
            middle.plot(run.time, run.risk[0], label=f"{width} students", **stroke(i))
            told.append(f"{width} students: {half_of(run)}, last risk {run.end_risk[0]:.2g}")
        for i, (name, beta) in enumerate(SPECTRA.items()):
            run = erf(beta)
            right.loglog(run.time[1:], run.risk[0, 1:], label=name, **stroke(i))
            told.append(f"{name}: last risk {run.end_risk[0]:.1g}")
        left.set(title="Which learning rate?", xlim=(0, 250), ylim=(-0.05, 1.65))
        middle.set(title="How wide a student?", xlim=(0, 400))
        right.set(title="What do structured data change?", ylim=(1e-9, 1))
        for ax in (left, middle, right):
            ax.set(xlabel=r"$\alpha$ = samples / dimension", ylabel="risk")
            ax.legend(fontsize="small", ncols=2 if ax is left else 1)
        picture.savefig(path, dpi=110)
    return told


if __name__ == "__main__":
    where = Path(sys.argv[1] if len(sys.argv) > 1 else "questions.png")
    print(*draw(where), f"wrote {where}", sep="\n")

"""Figure 2: many runs of SGD around the equations at larger widths."""

from typing import TYPE_CHECKING, Any

import numpy as np

from solvable import theory
from solvable.levels import run, run_batch
from solvable.macro import Macro
from solvable.micro import Micro
from solvable.papers.arnaboldi2023.settings import ANY, KEY, PUBLISHED, RATIO, problem, typical_start
from solvable.papers.claims import Claim, beyond, holds
from solvable.papers.figure import PaperFigure, whole
from solvable.papers.parameters import UNSAID, Parameter, table
from solvable.plot.style import figure, letter

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

PARAMETERS = table(
    Parameter("widths", (5, 20), (5, 20), label="p"),
    Parameter("dim", 5000, 5000, 1000, label="d"),
    Parameter("ratio", UNSAID, 0.05, why=RATIO, label="γ/p"),
    Parameter("label_noise", UNSAID, 1e-4, why=PUBLISHED, label="Δ"),
    Parameter("drawn", UNSAID, 16, why="the paper has many runs; as many as can be told apart", label="runs drawn"),
    Parameter("runs", UNSAID, 48, 32, why="so many that the mean is known to a hundredth of the first risk", label="runs"),
    Parameter("until", UNSAID, 4.0, why="until the teacher is met", label="last t"),
    Parameter("noisy", UNSAID, 200, why="draws of the mean that the paper does not have", label="noisy starts"),
    Parameter("seed", UNSAID, 1, why=ANY),
)  # fmt: skip


def compute(quick: bool) -> "xarray.Dataset":
    import xarray

    values = PARAMETERS.values(quick)
    times = np.linspace(0, values["until"], 81)
    settings = [problem(p, values["dim"], values["ratio"] * p, values["label_noise"]) for p in values["widths"]]
    pairs = [(here, typical_start(here, values["seed"])) for here in settings]
    options: Any = {"times": times, "clock": KEY}
    micro = [
        whole(run(here, first, Micro(runs=values["runs"], seed=values["seed"]), progress=False, **options)).risk
        for here, first in pairs
    ]
    noisy = [
        run_batch(
            here, theory.noisy_starts(here, first, values["noisy"], values["seed"]).value, Macro(rtol=1e-6), **options
        ).risk
        for here, first in pairs
    ]
    macro = [run(here, first, Macro(), **options).risk[0] for here, first in pairs]
    return xarray.Dataset(
        {
            "micro": (("width", "run", "time"), micro),
            "macro": (("width", "time"), macro),
            "noisy": (("width", "draw", "time"), noisy),
        },
        {"width": list(values["widths"]), "time": times},
        {name: values[name] for name in ("dim", "ratio", "drawn")},
    )


def draw(data: "xarray.Dataset") -> "Figure":
    picture, axes = figure(1, 2, height=2.7, sharey=True)
    time, drawn = data["time"].values, int(data.attrs["drawn"])
    for i, (ax, p) in enumerate(zip(axes, data["width"].values, strict=True)):
        lines = ax.plot(time, data["micro"].values[i, :drawn].T, color="C0", linewidth=0.6, alpha=0.6)
        lines[0].set_label("SGD")
        ax.plot(time, data["macro"].values[i], color="black", label="equations (ODE)")
        ax.plot(time, data["noisy"].values[i].mean(axis=0), color="C1", linestyle="--", label="mean from noisy starts")
        ax.set_xlabel("$t$")
        ax.set_title(
            f"$p = {p}$, $d = {data.attrs['dim']}$, $\\gamma/p = {data.attrs['ratio']}$", fontsize=8, loc="right"
        )
        letter(ax, "ab"[i])
        ax.set(xlim=(0, time[-1]), xticks=range(int(time[-1]) + 1))
    axes[0].set_ylabel("$\\mathcal{R} - \\Delta/2$")
    axes[0].set_ylim(bottom=0)
    axes[0].legend(loc="upper right")
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    micro, macro, noisy = (data[name].values for name in ("micro", "macro", "noisy"))
    early, found = data["time"].values <= 1.5, []
    for i, p in enumerate(data["width"].values):
        mean, spread = micro[i].mean(axis=0), micro[i].std(axis=0, ddof=1)
        error = np.hypot(spread / np.sqrt(micro.shape[1]), noisy[i].std(axis=0) / np.sqrt(noisy.shape[1]))
        gap = np.abs(mean - macro[i])
        worst = int(np.argmax(gap))
        score = np.abs(mean - noisy[i].mean(axis=0)) / np.maximum(error, 0.003)
        found += [
            holds(
                FIGURE.key, f"the ODE describes the dynamics on average (largest difference of the mean risk, p = {p})",
                source="appendix D.1", printed=0.0, found=gap[worst], error=spread[worst] / np.sqrt(micro.shape[1]),
                tolerance=0.1 * macro[i, 0],
                evidence=f"{micro.shape[1]} runs from one start; tolerance: a tenth of the first risk",
            ),
            beyond(
                FIGURE.key, f"from noisy starts it does so within errors up to t = 1.5 (in standard errors, p = {p})",
                expected=0.0, found=score[early].max(), tolerance=5.0,
                evidence=f"{micro.shape[1]} runs against {noisy.shape[1]} noisy starts",
            ),
        ]  # fmt: skip
    return found


FIGURE = PaperFigure(f"{KEY}/2", "Five and twenty students around their equations", compute, draw, claims, PARAMETERS)

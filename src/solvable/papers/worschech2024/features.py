"""Figures 3 and 14 to 16: only some of the inputs' coordinates are trained, in the eigenbasis, on photographs, and outside it."""

from typing import TYPE_CHECKING

import numpy as np

from solvable import theory
from solvable.overlaps import start
from solvable.papers.claims import Claim, judge
from solvable.papers.figure import PaperFigure
from solvable.papers.worschech2024.photographs import patches
from solvable.papers.worschech2024.settings import KEY, linear, train_some
from solvable.plot.style import figure, letter
from solvable.problems import Data, PowerLaw, Problem, convention

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

TEST = "tests/theory/test_linear_theory.py"
N, ETA = 256, 0.05
FEATURES = (50, 100, 150, 200)


def compute_three(quick: bool) -> "xarray.Dataset":
    import xarray

    setting, first = linear(ETA, 1.0, N, 1e-4, finite=True)
    alphas = np.geomspace(1, 12 if quick else 1000, 16)
    features = FEATURES[:2] if quick else FEATURES
    values = setting.inputs.eigenvalues
    sgd = np.array([train_some(values, ETA, n, alphas, 40 if quick else 20, n)[0].mean(axis=0) for n in features])
    times = np.geomspace(1e-1, 1e4, 81)
    theories = np.array([theory.feature_risk(setting, first, n, times).value for n in FEATURES])
    small = np.array([theory.feature_risk(setting, first, n, 1000.0, small_rate=True).value for n in FEATURES])
    at_outputs = np.array([theory.feature_risk(setting, first, n, alphas).value for n in features])
    real = _photographs(quick)
    return xarray.Dataset(
        {
            "sgd": (("trained", "alpha"), sgd), "theory": (("features", "time"), theories), "small": ("features", small),
            "at_outputs": (("trained", "alpha"), at_outputs), **real,
        },
        {"trained": list(features), "alpha": alphas, "features": list(FEATURES), "time": times},
    )  # fmt: skip


def _photographs(quick: bool) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
    """SGD on patches in the eigenbasis of their own covariance, and (10) from that spectrum and the very start."""
    data = Data(patches(3000 if quick else 30_000), order="drawn")
    assert data.rows is not None
    pool = (data.prepared(np.asarray(data.rows)) @ data.basis).astype(np.float32)
    values = data.eigenvalues
    alphas = np.array([0.1, 0.3, 1.0] if quick else [1.0, 3.0, 10.0, 30.0, 100.0])
    features = (50, 200)
    setting = convention(KEY).problem(K=1, M=1, eta=ETA, activation="linear")
    setting = setting.replace(inputs=data.inputs, teacher__overlap="sampled")
    found, predicted = [], []
    for n in features:
        risks, first = train_some(values, ETA, n, alphas, 6, n, pool=pool)
        predicted.append([_from(setting, one, n, alphas) for one in first])
        found.append(risks)
    return {
        "real_sgd": (("real_features", "run", "real_alpha"), np.array(found)),
        "real_theory": (("real_features", "run", "real_alpha"), np.array(predicted)),
    }


def _from(setting: Problem, differences: np.ndarray, features: int, alphas: np.ndarray) -> np.ndarray:
    """(10) from these squared differences of student and teacher, coordinate by coordinate: as if the student were at zero."""
    blocks = (differences / differences.size)[:, None, None]
    zero = np.zeros_like(blocks)
    begin = start(setting, block_student_overlap=zero, block_cross_overlap=zero, block_teacher_overlap=blocks)
    found: np.ndarray = theory.feature_risk(setting, begin, features, alphas, small_rate=True).value
    return found


def draw_three(data: "xarray.Dataset") -> "Figure":
    picture, (left, right) = figure(1, 2, height=2.9)
    for i, n in enumerate(FEATURES):
        left.loglog(data["time"], data["theory"][i], color=f"C{i}", label=f"$N_l = {n}$")
        if i < data.sizes["trained"]:
            left.loglog(data["alpha"], data["sgd"][i], "o", color=f"C{i}", markersize=3)
    left.loglog([], [], "o", color="0.4", markersize=3, label="SGD")
    alphas = (0.1, 0.3, 1.0) if data.sizes["real_alpha"] == 3 else (1.0, 3.0, 10.0, 30.0, 100.0)
    for i, n in enumerate((50, 200)):
        right.loglog(alphas, data["real_theory"][i].mean("run"), color=f"C{i}", label=f"(10), $N_l = {n}$")
        right.loglog(
            alphas, data["real_sgd"][i].mean("run"), "o", color=f"C{i}", markersize=4, label="SGD on photographs"
        )
    for ax, text in [(left, "a"), (right, "b")]:
        ax.set_xlabel("$\\alpha$")
        ax.legend(fontsize=7)
        letter(ax, text)
    left.set_ylabel("$\\epsilon_g$")
    return picture


def claims_three(data: "xarray.Dataset") -> list[Claim]:
    known = (0.00485, 0.00201, 0.00136, 0.00115)
    ratio = data["real_sgd"].values.mean(axis=1) / data["real_theory"].values.mean(axis=1)
    gap = np.abs(data["sgd"].values / data["at_outputs"].values - 1)
    return [
        judge(
            f"{KEY}/3", "left: (10) at alpha = 1000 for N_l = 50, 100, 150, 200 (sum of the four)",
            expected=sum(known), found=float(data["small"].sum()), tolerance=5e-5, evidence="theory.feature_risk", beyond=True,
        ),
        judge(
            f"{KEY}/3", "left: at rate 0.05 the error that is left is 2.5 % above (10): the rest acts as noise (N_l = 50)",
            expected=1.025, found=float(data["theory"][0, -1] / data["small"][0]), tolerance=0.003, correction="W26",
            evidence=f"{TEST}::test_some_features_trained",
        ),
        judge(
            f"{KEY}/3", "left: SGD follows the theory (largest relative difference of the mean)",
            expected=0.0, found=float(gap.max()), tolerance=0.25, evidence="20 to 40 runs, random teachers",
        ),
        judge(
            f"{KEY}/3", "right: on photographs SGD over (10), from their spectrum and the very start, is 1.02 (mean over times)",
            expected=1.02, found=float(ratio.mean()), tolerance=0.06, evidence="patches of 8 photographs, 6 runs",
        ),
    ]  # fmt: skip


def compute_spectrum(quick: bool) -> "xarray.Dataset":
    import xarray

    data = Data(patches(3000 if quick else 30_000))
    fit = data.power_law(10, 500)
    ranks = np.arange(1, 1025)
    law = np.array(PowerLaw(beta=0.3, distinct=1024).eigenvalues)
    return xarray.Dataset(
        {"measured": ("rank", data.eigenvalues), "printed": ("rank", law)},
        {"rank": ranks},
        {"beta": fit.beta, "error": fit.error, "drift": fit.drift, "distinct": fit.distinct},
    )


def draw_spectrum(data: "xarray.Dataset") -> "Figure":
    picture, ax = figure(1, 1, height=3.0, width=4.6)
    good = data["measured"] > 1e-10
    ax.loglog(data["rank"][good], data["measured"][good], label="32 x 32 patches of photographs")
    ax.loglog(data["rank"], data["printed"], "--", label="(1) with $\\beta = 0.3$")
    ax.set_xlabel("rank")
    ax.set_ylabel("eigenvalue of the covariance")
    ax.legend(fontsize=7)
    return picture


def claims_spectrum(data: "xarray.Dataset") -> list[Claim]:
    values = data["measured"].values
    return [
        judge(
            f"{KEY}/14", "real images have a power-law spectrum with beta near 0.3 (ranks 10 to 500; the paper has other images)",
            expected=0.3, found=float(data.attrs["beta"]), tolerance=0.12, evidence="Data.power_law",
        ),
        judge(
            f"{KEY}/14", "but for the first eigenvalue, the mean brightness, which holds most of the variance (share)",
            expected=0.78, found=float(values[0] / values.sum()), tolerance=0.08, beyond=True, evidence="eigenvalues",
        ),
    ]  # fmt: skip


def compute_outside(quick: bool) -> "xarray.Dataset":
    import xarray

    setting, _ = linear(ETA, 1.0, N, 1e-4, finite=True)
    values = setting.inputs.eigenvalues
    many, runs = (2, 12) if quick else (10, 40)
    bases = [np.linalg.qr(np.random.default_rng(i).standard_normal((N, N)))[0] for i in range(many)]
    times = np.geomspace(1e-1, 1e4, 61)
    curves = np.array(
        [
            [theory.hidden_feature_risk(setting, basis, n, times, distance=1 + 1e-4).value for basis in bases]
            for n in FEATURES
        ]
    )
    alphas = np.geomspace(0.3, 3 if quick else 300, 12)
    sgd = train_some(values, ETA, 100, alphas, runs, 7, basis=bases[0])[0]
    at_outputs = theory.hidden_feature_risk(setting, bases[0], 100, alphas, distance=1 + 1e-4).value
    return xarray.Dataset(
        {
            "theory": (("features", "basis", "time"), curves),
            "sgd": (("run", "alpha"), sgd),
            "at_outputs": ("alpha", at_outputs),
        },
        {"features": list(FEATURES), "time": times, "alpha": alphas},
    )


def draw_outside(data: "xarray.Dataset") -> "Figure":
    picture, ax = figure(1, 1, height=3.0, width=4.6)
    for i, n in enumerate(FEATURES):
        ax.loglog(data["time"], data["theory"][i].mean("basis"), color=f"C{i}", label=f"$N_l = {n}$")
    ax.errorbar(
        data["alpha"], data["sgd"].mean("run"), data["sgd"].std("run") / np.sqrt(data.sizes["run"]),
        linestyle="", marker="o", markersize=3, color="C1", label="SGD",
    )  # fmt: skip
    ax.set_xlabel("$\\alpha$")
    ax.set_ylabel("$\\epsilon_g$")
    ax.legend(fontsize=7)
    return picture


def claims_outside(data: "xarray.Dataset") -> list[Claim]:
    ends = data["theory"].values[:, :, -1].mean(axis=1)
    sgd = data["sgd"].values
    gap = np.abs(sgd.mean(axis=0) - data["at_outputs"].values) / (sgd.std(axis=0, ddof=1) / np.sqrt(len(sgd)))
    return [
        judge(
            f"{KEY}/15", "(88) for N_l = 50, 100, 150, 200: 0.0124, 0.0049, 0.0023, 0.00095 (largest relative difference)",
            expected=0.0, found=float(np.abs(ends / np.array([0.0124, 0.0049, 0.0023, 0.00095]) - 1).max()), tolerance=0.08,
            evidence="theory.hidden_feature_risk", beyond=True,
        ),
        judge(
            f"{KEY}/15", "SGD outside the eigenbasis follows (82) to (88) (largest difference in standard errors)",
            expected=0.0, found=float(gap.max()), tolerance=4.0, evidence=f"{len(sgd)} runs, N_l = 100",
        ),
    ]  # fmt: skip


BETAS = (0.5, 1.0, 1.25, 1.75)


def compute_slopes(quick: bool) -> "xarray.Dataset":
    import xarray

    dim = 256 if quick else 1024
    features = np.unique(np.geomspace(8, dim // 2, 12).astype(int))
    inside, outside = np.empty((2, len(BETAS), features.size))
    bases = [np.linalg.qr(np.random.default_rng(i).standard_normal((dim, dim)))[0] for i in range(1 if quick else 3)]
    for i, beta in enumerate(BETAS):
        setting, first = linear(ETA, beta, dim, 0.0, finite=True)
        inside[i] = [theory.feature_risk(setting, first, int(n), 1e12, small_rate=True).value for n in features]
        outside[i] = [
            np.mean([theory.hidden_feature_risk(setting, basis, int(n), distance=1.0).value for basis in bases])
            for n in features
        ]
    return xarray.Dataset(
        {"inside": (("beta", "features"), inside), "outside": (("beta", "features"), outside)},
        {"beta": list(BETAS), "features": features},
        {"dim": dim},
    )


def draw_slopes(data: "xarray.Dataset") -> "Figure":
    picture, ax = figure(1, 1, height=3.0, width=4.6)
    for i, beta in enumerate(BETAS):
        ax.loglog(data["features"], data["inside"][i], color=f"C{i}", label=f"$\\beta = {beta}$")
        ax.loglog(data["features"], data["outside"][i], color=f"C{i}", linestyle="--")
    ax.loglog([], [], color="0.4", label="in the eigenbasis, (74)")
    ax.loglog([], [], color="0.4", linestyle="--", label="outside it, (88)")
    ax.set_xlabel("trained coordinates $N_l$")
    ax.set_ylabel("error that is left")
    ax.legend(fontsize=7)
    return picture


def claims_slopes(data: "xarray.Dataset") -> list[Claim]:
    features = data["features"].values
    chosen = (features >= 16) & (features <= int(data.attrs["dim"]) // 8)
    stated = []
    for i, beta in enumerate(BETAS):
        inside, outside = (
            float(np.polyfit(np.log(features[chosen]), np.log(data[name].values[i, chosen]), 1)[0])
            for name in ("inside", "outside")
        )
        stated.append(
            judge(
                f"{KEY}/16", f"beta = {beta}: the error that is left falls as N_l^-beta, nearly (slope over [16, N/8])",
                expected=-beta, found=inside, tolerance=0.2, evidence="theory.feature_risk",
            )
        )  # fmt: skip
        stated.append(
            judge(
                f"{KEY}/16", f"beta = {beta}: and with nearly the same power outside the eigenbasis (difference of the slopes)",
                expected=0.0, found=outside - inside, tolerance=0.15, evidence="theory.hidden_feature_risk",
            )
        )  # fmt: skip
    return stated


THREE = PaperFigure(
    f"{KEY}/3", "Only some inputs trained: power-law data and photographs", compute_three, draw_three, claims_three
)
FOURTEEN = PaperFigure(f"{KEY}/14", "The spectrum of photographs", compute_spectrum, draw_spectrum, claims_spectrum)
FIFTEEN = PaperFigure(f"{KEY}/15", "Trained outside the eigenbasis", compute_outside, draw_outside, claims_outside)
SIXTEEN = PaperFigure(
    f"{KEY}/16", "The error that is left, against the inputs trained", compute_slopes, draw_slopes, claims_slopes
)

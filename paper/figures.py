"""Draws the two figures of the paper: `python paper/figures.py` (half a minute; needs scikit-image and scikit-learn)."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from skimage import data as pictures
from sklearn import datasets
from sklearn.feature_extraction.image import extract_patches_2d

import solvable as sv

HERE = Path(__file__).parent


def levels(folder=HERE):
    """One problem as equations, SGD and diffusion."""
    problem = sv.problems.convention("bocchi2026").problem(p=4, p_star=2, eta=0.1, N=2000)
    start = sv.start(problem, seed=0, students="orthogonal", cross=0.05)
    limit = sv.run(problem, start, sv.Macro(), until=120)
    with sv.plot.style():
        figure, ax = plt.subplots(figsize=(5, 3.2), layout="constrained")
        for level, colour, name in (
            (sv.Micro(runs=8, seed=1), "C1", "SGD"),
            (sv.Meso(runs=8, seed=1), "C2", "diffusion"),
        ):
            found = sv.run(problem, start, level, until=120, progress=False)
            lines = ax.plot(found.time, found.risk.T, color=colour, linewidth=0.7, alpha=0.8)
            lines[0].set_label(name)
        ax.plot(limit.time, limit.risk[0], "k--", linewidth=1.2, label="deterministic limit")
        ax.set(yscale="log", xlabel="α = steps / dimension", ylabel="risk")
        ax.legend()
        figure.savefig(Path(folder) / "levels.png", dpi=200)
    plt.close(figure)


def patches(picture, size=8, count=5000):
    grey = picture.astype(float).reshape(*picture.shape[:2], -1).mean(axis=-1)
    return extract_patches_2d(grey, (size, size), max_patches=count, random_state=0).reshape(count, -1)


def data(folder=HERE):
    """Theory for the covariance of three data sets, and SGD on their rows."""
    tumours = datasets.load_breast_cancer().data
    rows = {
        "handwritten digits": datasets.load_digits().data,
        "photographs": np.concatenate(
            [patches(one()) for one in (pictures.astronaut, pictures.camera, pictures.chelsea)]
        ),
        "tumours": (tumours - tumours.mean(axis=0)) / tumours.std(axis=0),
    }
    with sv.plot.style():
        figure, panels = plt.subplots(1, 3, figsize=(9, 2.8), layout="constrained")
        for ax, (name, given) in zip(panels, rows.items(), strict=True):
            seen = sv.Data(given, order="drawn")
            problem = sv.Problem(
                teacher=sv.Teacher(width=1, activation="erf", overlap="sampled"),
                student=sv.Student(width=2, activation="erf"),
                inputs=seen.inputs,
                training=sv.Training(learning_rate=0.5, loss_factor=0.5),
            )
            start, times = sv.start(problem, seed=1), np.geomspace(0.5, 200, 25)
            theory = sv.run(problem, start, sv.Macro(), times=times)
            found = sv.run(problem, start, sv.Micro(runs=8, data=seen, seed=1), times=times, progress=False)
            error = found.risk.std(axis=0, ddof=1) / len(found.risk) ** 0.5
            ax.plot(times, theory.risk[0], label="theory")
            ax.errorbar(times, found.risk.mean(axis=0), error, fmt="o", markersize=3, label="SGD on the rows")
            ax.set(xscale="log", yscale="log", xlabel="α = steps / dimension", title=f"{name}, {seen.dim} inputs")
        panels[0].set_ylabel("risk (half the squared error)")
        panels[0].legend()
        figure.savefig(Path(folder) / "data.png", dpi=200)
    plt.close(figure)


if __name__ == "__main__":
    levels()
    data()

"""A trajectory in words: the message about its endings, and a card for notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from solvable.numerics.cards import card
from solvable.problems.schedules import value_at
from solvable.results.causes import explain
from solvable.results.ending import Ending
from solvable.results.traits import traits_of

if TYPE_CHECKING:
    from solvable.results.trajectory import Trajectory


MATRICES = {  # what became of the data matrix of a run in steps
    "coordinates": "the data matrix was revealed as far as it was asked about, in coordinates",
    "frames": "the data matrix was revealed as far as it was asked about, in frames",
    "dense": "the data matrix was drawn",
    "rows": "the data matrix was given",
    "gram": "of the data matrix its Gram matrix was used",
}


def message(trajectory: Trajectory) -> str:
    """How the runs ended, with counts, and with the time for those that did not just reach the end."""
    endings, parts = trajectory.endings, []
    for code in np.unique(endings):
        chosen = endings == code
        text = explain(trajectory, int(np.flatnonzero(chosen)[0]))
        if endings.size > 1:
            text = f"{chosen.sum()} of {endings.size} runs: {text}"
        if code != Ending.FINISHED:
            ends = trajectory.end_time[chosen]
            span = f"{ends.min():.6g}" if chosen.sum() == 1 else f"{ends.min():.6g} to {ends.max():.6g}"
            text += f" (at {trajectory.clock.label}: {span})"
        parts.append(text)
    return "; ".join([*parts, *_notes(trajectory)])


def _notes(trajectory: Trajectory) -> list[str]:
    """What became of the data matrix, what of the problem the level took in its limit, and where it could not keep a tolerance."""
    training, raised = trajectory.problem.training, trajectory.settings.get("raised_rtol")
    given, notes = trajectory.settings.get("rtol"), []
    if raised:
        notes.append(
            f"rtol {given:.3g} was raised to {raised:.2g}, because averages over nodes jump in time; give more nodes"
        )
    matrix = trajectory.settings.get("matrix")
    if matrix in MATRICES:
        return [MATRICES[matrix]]
    if training.momentum is None or training.is_slow or traits_of(trajectory).keeps_velocities:
        return notes
    rates, several = training.effective_schedule.rates, trajectory.labels.get("learning_rate", np.zeros(1))
    rate = f"{rates[0]:.6g}" if len(rates) == 1 else f"{rates[0]:.6g} at first"
    if len(np.unique(several)) > 1:
        rate = f"{value_at(training.gain, 0.0):.6g} x learning_rate"
    beta = value_at(training.momentum.number, 0.0)
    return [*notes, f"momentum beta = {beta:g} is the effective rate {rate} here"]


def html(trajectory: Trajectory) -> str:
    problem = trajectory.problem
    dim = "∞" if problem.inputs.dim is None else f"{problem.inputs.dim:,}"
    rows = {
        "level": f"{trajectory.level}, {len(trajectory.risk)} run(s)",
        "problem": f"{problem.student.width} {problem.student.activation} students, {problem.teacher.width} teachers, "
        f"dim {dim}, {problem.inputs.blocks} block(s)",
        "time": f"{trajectory.time[0]:.6g} to {trajectory.time[-1]:.6g} ({trajectory.clock.label})",
        "risk": f"{trajectory.start_risk[0]:.6g} at the start of the first run{_last(trajectory.risk[0])}",
        "ended": trajectory.message,
    }
    return f"<div>{card(rows)}{_sketch(trajectory)}</div>"


def _last(risk: np.ndarray) -> str:
    reached = risk[np.isfinite(risk)]
    return f", {reached[-1]:.6g} at its last output" if reached.size else ""


def _sketch(trajectory: Trajectory, width: int = 360, height: int = 80) -> str:
    """The risks as a small drawing, without a plotting library."""
    time, risks = trajectory.time, trajectory.risk[:20]
    if not np.isfinite(risks).any():
        return ""
    top, span = np.nanmax(risks), max(time[-1] - time[0], 1e-300)
    lines = []
    for risk in risks:
        good = np.isfinite(risk)
        x, y = (time[good] - time[0]) / span * width, height * (1 - risk[good] / max(top, 1e-300))
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
        lines.append(f"<polyline points='{points}' fill='none' stroke='#1f5fa8' stroke-width='1.2'/>")
    label = escape(f"risk against {trajectory.clock.label}")
    return f"<svg width='{width}' height='{height}' role='img' aria-label='{label}'>{''.join(lines)}</svg>"

"""What `solvable run` tells of a trajectory: in words, as JSON, as a picture."""

from pathlib import Path
from typing import Any

import numpy as np

from solvable.cli import cases, sparkline
from solvable.results.traits import traits_of


def summarise(trajectory: Any, output: str | None, plot: str | None) -> dict[str, Any]:
    """Of all runs: times of the first passage and last risks are medians over those that have one."""
    runs = len(trajectory.risk)
    begun = np.flatnonzero(trajectory.end_alpha > 0) if (trajectory.end_alpha > 0).any() else np.arange(runs)
    half, last = trajectory.exit_time(0.5), trajectory.end_risk[begun]
    endings = [ending.name.lower() for ending in trajectory.ending]
    return {
        "problem": trajectory.problem.hash,
        "level": trajectory.level,
        "runs": runs,
        "clock": trajectory.unit,
        "success": trajectory.success,
        "ending": endings[0]
        if len(set(endings)) == 1
        else {name: endings.count(name) for name in sorted(set(endings))},
        "message": trajectory.message,
        "end_time": float(np.median(trajectory.end_time[begun])),
        "risk": {"first": float(trajectory.start_risk[0]), "last": cases.median(last)},
        **_training(trajectory, begun),
        **cases.facts(trajectory, begun),
        "risk_error": float(np.nanmax(trajectory.risk_error, initial=0.0)),
        "overlap_error": float(np.nanmax(trajectory.overlap_error, initial=0.0)),
        "half_risk_time": cases.median(half),
        "half_risk_runs": int(np.isfinite(half).sum()),
        "plateaus": [plateau._asdict() | {"length": plateau.length} for plateau in trajectory.plateaus(0)],
        "nfev": int(trajectory.nfev.sum()),
        "output": output,
        "plot": plot,
    }


def _training(trajectory: Any, runs: np.ndarray) -> dict[str, Any]:
    """Last training loss, with what tells its error, and population loss or gap, where there is a data set."""
    if trajectory.training_loss is None:
        return _loss(trajectory, runs)
    losses = {"training_loss": trajectory.training_loss, "population_loss": trajectory.population_loss}
    if trajectory.base == "steps":
        losses = {"training_loss": trajectory.training_loss, "gap": trajectory.gap}
        losses |= {name: getattr(trajectory, name) for name in ("training_loss_error", "identity_residual")}
        losses = {name: values for name, values in losses.items() if values is not None}
    found = {name: cases.median(np.array([_last(values[i]) for i in runs])) for name, values in losses.items()}
    return found | {name: trajectory.settings[name] for name in ("particles",) if name in trajectory.settings}


def _loss(trajectory: Any, runs: np.ndarray) -> dict[str, Any]:
    """The mean loss in the last states, where it is not the risk."""
    from solvable.dynamics.losses_of_tests import mean_loss

    problem = trajectory.problem
    if problem.training.loss == "squared":
        return {}
    ended = [run for run in runs.tolist() if np.isfinite(trajectory.end_risk[run])]
    losses = [mean_loss(problem, trajectory.last(run), float(trajectory.end_alpha[run])) for run in ended]
    return {"loss": cases.median(np.array(losses))}


def _last(values: np.ndarray) -> float:
    finite = values[np.isfinite(values)]
    return float(finite[-1]) if finite.size else float("nan")


def print_summary(trajectory: Any, summary: dict[str, Any], defaults: dict[str, Any]) -> None:
    """In words; `defaults` is what the file leaves open of the start."""
    if defaults:
        print(f"start: {', '.join(f'{name} = {value}' for name, value in defaults.items())} (not in the file)")
    first, last = summary["risk"]["first"], summary["risk"]["last"]
    print(f"{trajectory.level}: {trajectory.message}")
    ended = f"{last:.6g}" if last is not None else "no finite value"
    many = " (median)" if summary["runs"] > 1 else ""
    print(f"risk {first:.6g} -> {ended} at {trajectory.clock.label} {summary['end_time']:.6g}{many}")
    for line in sparkline.lines(trajectory):
        print(line)
    if summary.get("training_loss") is not None:
        other = "gap" if trajectory.base == "steps" else "population_loss"
        told = f", {other.replace('_', ' ')} {summary[other]:.6g}" if summary.get(other) is not None else ""
        error = f" ± {summary['training_loss_error']:.2g}" if summary.get("training_loss_error") is not None else ""
        print(f"last output: training loss {summary['training_loss']:.6g}{error}{told}{many}")
    if summary.get("loss") is not None:
        print(f"last loss {summary['loss']:.6g}{many}")
    for line in cases.lines(summary, many):
        print(line)
    over = "replicas" if traits_of(trajectory).has_replicas else None
    if summary["risk_error"] > 0:
        print(f"error of the risk, of averages over {over or 'nodes or rows'}: up to {summary['risk_error']:.2g}")
    if summary["overlap_error"] > 0:
        size = f"up to {summary['overlap_error']:.2g}" if summary["overlap_error"] < np.inf else "not known"
        print(f"error of the overlaps, of averages over {over or 'nodes'}: {size}")
    if summary["half_risk_time"] is not None:
        of = f" (median of {summary['half_risk_runs']} of {summary['runs']} runs)" if many else ""
        print(f"half the first risk at {summary['half_risk_time']:.6g}{of}")
    for plateau in summary["plateaus"]:
        span = f"from {plateau['start']:.6g} to {plateau['end']:.6g}"
        print(f"{'first run: ' if many else ''}plateau at risk {plateau['height']:.6g} {span}")
    for name in ("output", "plot"):
        if summary[name] is not None:
            print(f"wrote {summary[name]}")


def draw(trajectory: Any, path: Path) -> None:
    """The risk, or training and test loss of a data set, and beside it the overlaps of the first run with the teachers, where there
    are any."""
    from solvable.plot import compare, cross_overlaps, figure, risk, style, train_and_test
    from solvable.results.files import write_whole

    many, teachers = len(trajectory.risk) > 1, trajectory.problem.teacher.width > 0
    with style():
        picture, panels = figure(columns=1 + teachers, squeeze=False)
        left, *right = panels[0]
        if trajectory.base == "steps" and trajectory.gap is not None:
            train_and_test(trajectory, left)
        else:
            _ = compare(trajectory, ax=left) if many else risk(trajectory, left, phases=True)
            left.set_ylim(bottom=0)
        for ax in right:
            cross_overlaps(trajectory, ax, legend=True)
        write_whole(path, lambda place: picture.savefig(place, format=path.suffix[1:]))

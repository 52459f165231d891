"""What `solvable run` tells of classes and tasks."""

from contextlib import suppress
from typing import Any

import numpy as np


def facts(trajectory: Any, runs: np.ndarray) -> dict[str, Any]:
    """Classification errors where classes give the labels, and risks and forgetting of tasks at the last output: medians over the
    runs that have them."""
    from solvable.results.classifying import of_ends

    found: dict[str, Any] = {}
    if (errors := of_ends(trajectory)) is not None:
        found["classification_error"] = {"first": errors[0], "last": median(errors[1][runs])}
        with suppress(ValueError):
            found["oracle_error"] = trajectory.oracle_error
    if trajectory.task_risk is not None:
        found["task_risk"] = [_last(values) for values in np.moveaxis(trajectory.task_risk[runs], 2, 0)]
        with suppress(ValueError):
            found["forgetting"] = [_last(values) for values in np.moveaxis(trajectory.forgetting[runs], 2, 0)]
    return found


def median(values: np.ndarray) -> float | None:
    """Return the median of the finite entries; None where there are none."""
    finite = values[np.isfinite(values)]
    return float(np.median(finite)) if finite.size else None


def _last(values: np.ndarray) -> float | None:
    """Median over runs at the last output that any of them has."""
    there = np.flatnonzero(np.isfinite(values).any(axis=0))
    return median(values[:, there[-1]]) if there.size else None


def lines(summary: dict[str, Any], many: str) -> list[str]:
    """In words; `many` says that numbers are medians."""
    told = []
    errors = summary.get("classification_error")
    if errors is not None and errors["last"] is not None:
        first = f"{errors['first']:.4g} -> " if np.isfinite(errors["first"]) else ""
        oracle = f", oracle {summary['oracle_error']:.4g}" if "oracle_error" in summary else ""
        told.append(f"classification error {first}{errors['last']:.4g}{many}{oracle}")
    forgotten = summary.get("forgetting") or []
    for task, risk in enumerate(summary.get("task_risk", [])):
        lost = forgotten[task] if task < len(forgotten) else None
        if risk is not None:
            told.append(
                f"task {task + 1}: risk {risk:.6g}{many}" + ("" if lost is None else f", forgetting {lost:.6g}")
            )
    return told

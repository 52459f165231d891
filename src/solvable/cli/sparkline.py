"""The risk against time as one line of characters."""

import sys
from typing import Any

import numpy as np

BARS = "▁▂▃▄▅▆▇█"
WIDTH = 60  # characters
DECADES = 3  # of the risk, from which on heights are logarithms


def lines(trajectory: Any) -> list[str]:
    """The median risk over runs, at evenly spaced times; nothing where fewer than two are finite or the output knows no such
    characters."""
    time, risk = trajectory.time, _median(trajectory.risk)
    known = np.isfinite(risk) & np.isfinite(time)
    if known.sum() < 2 or not _can_print():
        return []
    time, risk = time[known], risk[known]
    even = np.interp(np.linspace(time[0], time[-1], WIDTH), time, risk)
    is_log = even.min() > 0 and even.max() / even.min() > 10**DECADES
    low, scale = (f"{even.min():.3g}", " (logarithmic)") if is_log else ("0", "")
    where = (
        f"from {time[0]:.6g} to {time[-1]:.6g} ({trajectory.clock.label}), risk from {low} to {even.max():.3g}{scale}"
    )
    return [drawn(np.log(even / even.min()) if is_log else even), where]


def drawn(heights: np.ndarray) -> str:
    """A bar for each height, from 0 to the largest."""
    top = heights.max() if heights.max() > 0 else 1.0
    steps = np.clip(np.rint(heights / top * (len(BARS) - 1)), 0, len(BARS) - 1)
    return "".join(BARS[int(step)] for step in steps)


def _median(risk: np.ndarray) -> np.ndarray:
    """Over the runs that are finite at each time."""
    there = np.isfinite(risk).any(axis=0)
    found = np.full(risk.shape[1], np.nan)
    found[there] = np.nanmedian(np.where(np.isfinite(risk), risk, np.nan)[:, there], axis=0)
    return found


def _can_print() -> bool:
    try:
        BARS.encode(sys.stdout.encoding or "ascii")
    except (UnicodeError, LookupError):
        return False
    return True

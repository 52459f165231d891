"""Many independent jobs on all cores, with a report of progress and a clean end on Ctrl-C."""

from collections.abc import Callable, Sequence
from concurrent.futures import wait

import numpy as np

from solvable.numerics.threads import cores, pool
from solvable.results.progress import Report

PULSE = 0.1  # seconds between reports
Job = Callable[["Control", int], None]


class Control:
    """Shared between the jobs: how far each is, and whether to stop."""

    def __init__(self, jobs: int) -> None:
        self.done = np.zeros(jobs)
        self.halt = np.zeros(1)  # for compiled code to look at

    @property
    def stopped(self) -> bool:
        return bool(self.halt[0])


def run_jobs(jobs: Sequence[Job], totals: Sequence[float], threads: int | None, report: Report) -> None:
    """Run all; on Ctrl-C tell them to stop, wait until they have, and return: what they wrote by then is good."""
    control, total = Control(len(jobs)), float(sum(totals))
    workers = pool(min(len(jobs), threads or cores()))
    pending = {workers.submit(job, control, i) for i, job in enumerate(jobs)}
    try:
        while pending:
            try:
                finished, pending = wait(pending, timeout=PULSE)
                for one in finished:
                    one.result()
                report(float(control.done.sum()), total)
            except KeyboardInterrupt:
                if control.stopped:
                    raise
                control.halt[0] = 1.0
                pending = {one for one in pending if not one.cancel()}  # those not begun never begin
    finally:
        control.halt[0] = 1.0
        for one in pending:
            one.cancel()

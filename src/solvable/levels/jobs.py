"""Many independent jobs on all cores, with a report of progress and a clean end on Ctrl-C."""

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import wait

import numpy as np

from solvable.numerics.progress import Report
from solvable.numerics.threads import GRACE, PULSE, abandon, cores, pool, raise_if_abandoned, watching

Job = Callable[["Control", int], None]


class Control:
    """What parallel jobs share: how far each is, and whether to stop."""

    def __init__(self, jobs: int) -> None:
        self.done = np.zeros(jobs)
        self.halt = np.zeros(1)  # for compiled code to look at

    @property
    def stopped(self) -> bool:
        return bool(self.halt[0])


def run_jobs(jobs: Sequence[Job], totals: Sequence[float], threads: int | None, report: Report) -> None:
    """Run all; on Ctrl-C tell them to stop, wait until they have, and return: what they wrote by then is good. Where one does not
    stop in time it may still be writing: then KeyboardInterrupt."""
    control, total = Control(len(jobs)), float(sum(totals))
    many = min(len(jobs), threads or cores())
    workers, numbered = pool(many), iter(enumerate(jobs))  # threads share it: each job is taken once

    def work() -> None:
        with watching(control.halt):
            for i, job in numbered:
                if control.stopped:  # those not begun never begin
                    return
                job(control, i)

    pending = {workers.submit(work) for _ in range(many)}
    latest = math.inf
    try:
        while pending:
            try:
                finished, pending = wait(pending, timeout=PULSE)
                for one in finished:
                    one.result()
                report(float(control.done.sum()), total)
                raise_if_abandoned()
                if pending and time.monotonic() > latest:
                    raise KeyboardInterrupt
            except KeyboardInterrupt:
                if control.stopped:
                    raise
                control.halt[0], latest = 1.0, time.monotonic() + GRACE
    finally:
        control.halt[0] = 1.0
        abandon(pending)

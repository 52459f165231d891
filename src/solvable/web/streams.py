"""Answers that come in lines of JSON while they are computed; a page that goes away or cancels ends the work."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from starlette.concurrency import run_in_threadpool

from solvable.numerics.threads import watching

if TYPE_CHECKING:
    from solvable.web.diagrams import Diagram
    from solvable.web.simulations import Simulation

PATIENCE = 500  # hundredths of a second for which a diagram waits for curves
HEARTBEAT = 0.5  # seconds between lines that say that work goes on


async def pieces(asked: Simulation, release: Callable[[], None]) -> AsyncIterator[bytes]:
    """A line for each piece of a simulation."""
    from solvable.web.preparing import PREPARATION

    try:
        await run_in_threadpool(PREPARATION.begin)
        while asked.kind.kernels and (words := PREPARATION.words(asked.kind.kernels)):
            yield _line({"compiling": words})
            await asyncio.sleep(HEARTBEAT)
        async for found in _computed(asked.pieces()):
            yield _line(
                found if isinstance(found, dict) else {name: _finite(part) for name, part in found.parts().items()}
            )
    except (ValueError, ArithmeticError) as error:
        yield _line({"problems": [" ".join(str(error).split())[:300]]})
    finally:
        release()


async def cells(asked: Diagram, is_busy: Callable[[], bool], release: Callable[[], None]) -> AsyncIterator[bytes]:
    """Lines of a phase diagram; curves that someone waits for go first."""
    from solvable.web.preparing import PREPARATION

    def wait() -> None:
        for _ in range(PATIENCE):
            if not is_busy():
                return
            time.sleep(0.01)

    try:
        await run_in_threadpool(PREPARATION.begin)
        async for found in _computed(asked.lines(wait)):
            yield _line(found)
    except (ValueError, ArithmeticError) as error:
        yield _line({"problems": [" ".join(str(error).split())[:300]]})
    finally:
        release()


async def _computed(parts: Iterator[Any]) -> AsyncIterator[Any]:
    """What an iterator yields, computed in a thread; while it takes long, {"working": seconds}. When this is closed, the work is
    told to stop."""
    flag, began = np.zeros(1), time.monotonic()

    def following() -> Any:
        with watching(flag), suppress(KeyboardInterrupt):  # of work that nobody waits for
            return next(parts, None)
        return None

    try:
        while True:
            job = asyncio.ensure_future(run_in_threadpool(following))
            while not (await asyncio.wait({job}, timeout=HEARTBEAT))[0]:
                yield {"working": round(time.monotonic() - began, 1)}
            found = job.result()
            if found is None:
                return
            yield found
    finally:
        flag[0] = 1.0


def _line(content: dict[str, Any]) -> bytes:
    return json.dumps(content, allow_nan=False).encode() + b"\n"


def _finite(values: np.ndarray) -> list[Any]:
    """JSON has no NaN."""
    held = values.astype(object)
    held[~np.isfinite(values)] = None
    found: list[Any] = held.tolist()
    return found

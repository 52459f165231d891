"""Where points are computed: in this process, in processes of their own, or on a Dask cluster. Engines take chunks of tasks and
give back what became of them; who gets what and what is kept is decided in `drive`."""

import os
import signal
import time
from concurrent.futures import FIRST_COMPLETED, CancelledError, wait
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from solvable.numerics.threads import cores, limit_cores, one_blas_thread
from solvable.problems import Problem
from solvable.results.storage import versions
from solvable.sweeps.measures import Measure
from solvable.sweeps.records import Record, encode
from solvable.sweeps.store import failure_key

ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA", "VECLIB")}
IDLE = 30  # seconds after which a process without work, or without a parent, ends


class Task(NamedTuple):
    key: bytes
    problem: Problem
    measure: Measure


Chunk = tuple[Task, ...]


@dataclass(frozen=True)
class Outcome:
    """The encoded records of a chunk and the seconds it took; None where its worker died."""

    chunk: Chunk
    records: list[bytes] | None
    seconds: float = 0.0
    final: bool = False  # the worker's death is the last word: others have tried before


class Engine(Protocol):
    @property
    def width(self) -> int:
        """How many chunks it works on at once."""
        ...

    def submit(self, chunk: Chunk) -> None: ...

    def finished(self, timeout: float) -> list[Outcome]:
        """What ended since, waiting so long for the first."""
        ...

    def close(self) -> None: ...


def failure(task: Task, message: str) -> bytes:
    return encode(Record(failure_key(task.key), {"failure": message}))


def work(chunk: Chunk) -> tuple[list[bytes], float]:
    """Compute a chunk, in whatever process this is. A point that cannot be computed gives a record that says why."""
    began = time.perf_counter()
    with one_blas_thread():  # bits depend on how many there are
        records = [_record(task) for task in chunk]
    return records, time.perf_counter() - began


def _record(task: Task) -> bytes:
    try:
        about = {"content": task.measure.content(task.problem), "made_by": made_by()}
        return encode(Record(task.key, about, task.measure.compute(task.problem)))
    except Exception as error:
        text = str(error) or type(error).__name__
        return failure(task, text if isinstance(error, ValueError) else f"{type(error).__name__}: {text}")


class Here:
    """One after the other, in this process."""

    width = 1

    def __init__(self) -> None:
        self._done: list[Outcome] = []

    def submit(self, chunk: Chunk) -> None:
        self._done.append(Outcome(chunk, *work(chunk)))

    def finished(self, timeout: float) -> list[Outcome]:  # noqa: ARG002
        done, self._done = self._done, []
        return done

    def close(self) -> None:
        """Nothing is left running."""


def _prepare_worker() -> None:
    """A worker uses one core; Ctrl-C is for the process that has it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    limit_cores(1)


class Processes:
    """Processes on this machine, of loky: when one dies, all chunks in flight come back and a new set is started."""

    def __init__(self, workers: int | None = None) -> None:
        self.width = workers or cores()
        self._executor: Any = None
        self._pending: dict[Any, Chunk] = {}

    def submit(self, chunk: Chunk) -> None:
        from loky import ProcessPoolExecutor

        if self._executor is None:
            self._executor = ProcessPoolExecutor(self.width, timeout=IDLE, initializer=_prepare_worker, env=ONE_THREAD)
        self._pending[self._executor.submit(work, chunk)] = chunk

    def finished(self, timeout: float) -> list[Outcome]:
        from concurrent.futures.process import BrokenProcessPool

        done, _ = wait(self._pending, timeout, FIRST_COMPLETED)
        found, broken = [], False
        for future in done:
            chunk = self._pending.pop(future)
            try:
                found.append(Outcome(chunk, *future.result()))
            except BrokenProcessPool:
                found.append(Outcome(chunk, None))
                broken = True
        if broken:
            for future, chunk in self._pending.items():
                kept = future.done() and not future.cancelled() and future.exception() is None
                found.append(Outcome(chunk, *future.result()) if kept else Outcome(chunk, None))
            self._pending = {}
            self.close()
        return found

    def close(self) -> None:
        if self._executor is not None:
            self._executor.shutdown(wait=True, kill_workers=True)
            self._executor = None


class Cluster:
    """An existing Dask cluster. Workers need this package, not the store: results come back here."""

    def __init__(self, address: str) -> None:
        try:
            from distributed import Client
        except ImportError:
            raise ValueError("--cluster: needs Dask; install solvable[cluster]") from None
        if address.endswith(".json") and not os.path.isfile(address):  # Dask would wait for it
            raise ValueError(f"--cluster: the file {address} does not exist")
        where = {"scheduler_file": address} if address.endswith(".json") else {"address": address}
        try:
            self._client = Client(**where, timeout=15, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise ValueError(f"--cluster: no scheduler answers at {address} ({type(error).__name__})") from None
        self._pending: dict[Any, Chunk] = {}

    @property
    def width(self) -> int:
        """Workers may join and leave."""
        return max(1, sum(self._client.nthreads().values()))

    def submit(self, chunk: Chunk) -> None:
        future = self._client.submit(_work_there, chunk, versions(), pure=False)
        self._pending[future] = chunk

    def finished(self, timeout: float) -> list[Outcome]:
        from distributed import wait as wait_for
        from distributed.scheduler import KilledWorker

        try:
            with self._client.as_current():
                wait_for(list(self._pending), timeout=timeout, return_when="FIRST_COMPLETED")
        except TimeoutError:
            return []
        except CancelledError:  # looked at below
            pass
        found = []
        for future in [one for one in self._pending if one.done()]:
            chunk = self._pending.pop(future)
            try:
                found.append(Outcome(chunk, *future.result()))
            except KilledWorker:
                found.append(Outcome(chunk, None, final=True))
            except CancelledError:
                raise ConnectionError("--cluster: the scheduler has gone; what was stored stays") from None
        return found

    def close(self) -> None:
        for future in self._pending:
            future.cancel()
        self._client.close()


def _work_there(chunk: Chunk, expected: dict[str, str]) -> tuple[list[bytes], float]:
    """On a cluster many threads of one process may work: each keeps to one core."""
    if versions() != expected:
        raise ValueError(f"--cluster: a worker has {versions()}, the sweep {expected}; must be the same")
    limit_cores(1)
    return work(chunk)


def choose(workers: int | None, cluster: str | None) -> Engine:
    if cluster is not None:
        return Cluster(cluster)
    return Here() if workers == 0 else Processes(workers)


@lru_cache
def made_by() -> dict[str, str]:
    """What the bits of a result may depend on beside its description: versions, processor, linear algebra."""
    import platform

    import numpy as np

    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return versions() | {"machine": platform.machine(), "cpu": _cpu(), "blas": f"{blas['name']} {blas['version']}"}


def _cpu() -> str:
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    return ""

"""Engines compute the points of a sweep: in this process, in several processes, or on a Dask cluster.

They take chunks of tasks and return the outcomes; `drive` decides who gets what and what is kept.
"""

import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, CancelledError, wait
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple, Protocol

from solvable.numerics import compiled, trusted_files
from solvable.numerics.installing import missing
from solvable.numerics.interpreting import machine_code_only
from solvable.numerics.threads import cores, limit_cores, one_blas_thread
from solvable.problems import Problem
from solvable.sweeps.makers import making
from solvable.sweeps.measures import Measure
from solvable.sweeps.records import Record, encode
from solvable.sweeps.status import failure_key

ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA", "VECLIB")}
NO_COMPILER = 10.0  # seconds after which a worker that has not begun to compile will not
ONE_KERNEL = 120.0  # seconds that compiling one may take
IDLE = 30  # seconds after which a process without work, or without a parent, ends
CHUNK_SECONDS = 0.25  # of work in a chunk: short enough to lose little in a crash, long enough to send few messages
MESSAGE = 300  # characters that are kept of an error


class PointTask(NamedTuple):
    """One point to compute: the key of its result, its problem and its measure."""

    key: bytes
    problem: Problem
    measure: Measure


Chunk = tuple[PointTask, ...]


@dataclass(frozen=True)
class Outcome:
    """What became of a chunk: the encoded records of its first tasks and the seconds they took, or None where its worker
    died.

    `final` says that others have tried before, so that the failure stands. `error` says why the sweep cannot go on.
    """

    chunk: Chunk
    records: list[bytes] | None
    seconds: float = 0.0
    final: bool = False
    error: Exception | None = None


class Engine(Protocol):
    """What `drive` asks of an engine."""

    @property
    def width(self) -> int:
        """How many chunks it works on at once."""
        ...

    def submit(self, chunk: Chunk, *, alone: bool = False) -> None:
        """`alone`: away from the others, where it can hurt none of them."""
        ...

    def finished(self, timeout: float) -> list[Outcome]:
        """What ended since, waiting so long for the first."""
        ...

    def close(self) -> None: ...


def failure(task: PointTask, message: str, *, final: bool = True) -> bytes:
    """`final`: it would fail again; else the next sweep tries."""
    text = message if len(message) <= MESSAGE else f"{message[:MESSAGE]}..."
    return encode(Record(failure_key(task.key), {"failure": text, "final": final}))


def work(chunk: Chunk) -> tuple[list[bytes], float]:
    """Compute a chunk, in whatever process this is, or as much of it as fits into the time of one: at least the first task. A point
    that cannot be computed gives a record that says why."""
    began = time.perf_counter()
    records = []
    machine_code_only()  # interpreted kernels round otherwise
    with one_blas_thread():  # bits depend on how many there are
        for task in chunk:
            records.append(_record(task))
            if time.perf_counter() - began > CHUNK_SECONDS:
                break
    return records, time.perf_counter() - began


def _record(task: PointTask) -> bytes:
    try:
        about = {"content": task.measure.content(task.problem), "made_by": made_by()}
        return encode(Record(task.key, about, task.measure.compute(task.problem)))
    except (ValueError, ArithmeticError) as error:  # of the point itself
        return failure(task, str(error) or type(error).__name__)
    except Exception as error:  # of this machine, perhaps
        return failure(task, f"{type(error).__name__}: {error}", final=False)


class Here:
    """Engine that computes one chunk after the other in this process."""

    width = 1

    def __init__(self) -> None:
        self._done: list[Outcome] = []

    def submit(self, chunk: Chunk, *, alone: bool = False) -> None:  # noqa: ARG002
        self._done.append(Outcome(chunk, *work(chunk)))

    def finished(self, timeout: float) -> list[Outcome]:  # noqa: ARG002
        done, self._done = self._done, []
        return done

    def close(self) -> None:
        """Nothing is left running."""


def _prepare_worker(quiet: bool) -> None:
    """A worker uses one core; Ctrl-C is for the process that has it. `quiet`: another worker says that kernels are compiled."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _one_core()
    compiled.announce(not quiet)
    trusted_files.announce(not quiet)


@lru_cache
def _one_core() -> None:
    """For good: a limit that is lifted by one thread would be lifted for all."""
    from threadpoolctl import threadpool_limits

    limit_cores(1)
    threadpool_limits(1, user_api="blas")


class _Pool:
    """Processes of loky. When one dies, all that were given work give it back, and new ones are started with the next."""

    def __init__(self, workers: int, *, quiet: bool) -> None:
        self.workers, self.quiet = workers, quiet
        self._executor: Any = None
        self.pending: dict[Any, Chunk] = {}
        self._broken: list[Chunk] = []

    def submit(self, chunk: Chunk, doing: Callable[[Chunk], tuple[list[bytes], float]] = work) -> None:
        from concurrent.futures.process import BrokenProcessPool

        from loky import ProcessPoolExecutor

        if self._executor is None:
            self._executor = ProcessPoolExecutor(
                self.workers, timeout=IDLE, initializer=_prepare_worker, initargs=(self.quiet,), env=ONE_THREAD
            )
        try:
            self.pending[self._executor.submit(doing, chunk)] = chunk
        except BrokenProcessPool:  # a death that nobody has looked at yet
            self._broken.append(chunk)

    def collect(self, done: Iterable[Any]) -> list[Outcome]:
        found = [self._outcome(future, self.pending.pop(future)) for future in done if future in self.pending]
        if any(outcome.records is None for outcome in found) or self._broken:
            found += [self._outcome(future, chunk) for future, chunk in self.pending.items()]
            found += [Outcome(chunk, None) for chunk in self._broken]
            self.pending, self._broken = {}, []
            self.close()
        return found

    def _outcome(self, future: Any, chunk: Chunk) -> Outcome:
        from loky.process_executor import TerminatedWorkerError

        try:
            return Outcome(chunk, *future.result(timeout=0))
        except (TerminatedWorkerError, TimeoutError, CancelledError):
            return Outcome(chunk, None)
        except Exception as error:  # what cannot travel between processes
            hint = "workers=0 computes in this process"
            return Outcome(chunk, None, error=ValueError(f"workers: a point cannot be sent to one ({error}); {hint}"))

    def close(self) -> None:
        if self._executor is not None:
            self._executor.shutdown(wait=True, kill_workers=True)
            self._executor = None


class _Pioneer:
    """The first chunk, which runs alone: its worker compiles missing machine code, which the others then load from disk.

    The others wait until it is back, or until nothing has been compiled for a while.
    """

    def __init__(self) -> None:
        handle, self._notes = tempfile.mkstemp(prefix="solvable-", suffix=".notes")
        os.close(handle)
        self.is_over = False

    def work(self) -> Callable[[Chunk], tuple[list[bytes], float]]:
        return partial(_work_and_note, self._notes)

    def look(self) -> None:
        if not self.is_over:
            found = os.stat(self._notes)
            if time.time() - found.st_mtime > (NO_COMPILER if found.st_size == 1 else ONE_KERNEL):
                self.end()

    def end(self) -> None:
        if not self.is_over:
            self.is_over = True
            with suppress(FileNotFoundError):
                os.unlink(self._notes)


def _work_and_note(notes: str, chunk: Chunk) -> tuple[list[bytes], float]:
    """`work`, with one byte in a file at its beginning and one for each kernel that is compiled, which is said too."""

    def note() -> None:
        with suppress(FileNotFoundError), open(notes, "r+b") as file:  # gone: nobody waits any more
            file.seek(0, os.SEEK_END)
            file.write(b".")

    note()
    compiled.announce(True)
    trusted_files.announce(True)
    compiled.LISTENERS.append(note)
    try:
        return work(chunk)
    finally:
        compiled.LISTENERS.remove(note)


class Processes:
    """Engine with several processes on this machine, and a separate one for tasks that may have killed theirs."""

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or cores()
        self._pools = {alone: _Pool(1 if alone else self.workers, quiet=self.workers > 1) for alone in (False, True)}
        self._pioneer: _Pioneer | None = None

    @property
    def width(self) -> int:
        """One, until the first chunk has found or made machine code."""
        if self._pioneer is not None:
            self._pioneer.look()
        return self.workers if self._pioneer is not None and self._pioneer.is_over else 1

    def submit(self, chunk: Chunk, *, alone: bool = False) -> None:
        if self._pioneer is None and self.workers > 1:
            self._pioneer = _Pioneer()
            self._pools[alone].submit(chunk, self._pioneer.work())
        else:
            self._pools[alone].submit(chunk)

    def finished(self, timeout: float) -> list[Outcome]:
        done, _ = wait([future for pool in self._pools.values() for future in pool.pending], timeout, FIRST_COMPLETED)
        found = [outcome for pool in self._pools.values() for outcome in pool.collect(done)]
        if found and self._pioneer is not None:
            self._pioneer.end()
        return found

    def close(self) -> None:
        if self._pioneer is not None:
            self._pioneer.end()
        for pool in self._pools.values():
            pool.close()


class Cluster:
    """Engine on an existing Dask cluster. Workers need this package, not the store: results come back here."""

    def __init__(self, address: str) -> None:
        try:
            from distributed import Client
        except ImportError:
            raise missing("--cluster", "Dask", "cluster") from None
        if address.endswith(".json") and not os.path.isfile(address):  # Dask would wait for it
            raise ValueError(f"--cluster: the file {address} does not exist")
        where = {"scheduler_file": address} if address.endswith(".json") else {"address": address}
        try:
            self._client = Client(**where, timeout=15, set_as_default=False)
        except (OSError, TimeoutError, ValueError):
            raise ValueError(
                f"--cluster: no scheduler answers at {address}; must be like tcp://host:8786 or a scheduler file"
            ) from None
        self._pending: dict[Any, Chunk] = {}
        self._width, self._asked = 0, 0.0
        if not self._client.nthreads():
            print("the cluster has no workers yet; waiting for them", file=sys.stderr)

    @property
    def width(self) -> int:
        """Workers may join and leave."""
        if time.monotonic() - self._asked > 1.0:
            self._width, self._asked = max(1, sum(self._client.nthreads().values())), time.monotonic()
        return self._width

    def submit(self, chunk: Chunk, *, alone: bool = False) -> None:  # noqa: ARG002
        future = self._client.submit(_work_there, chunk, making(), pure=False)
        self._pending[future] = chunk

    def finished(self, timeout: float) -> list[Outcome]:
        from distributed import wait as wait_for

        try:
            with self._client.as_current():
                wait_for(list(self._pending), timeout=timeout, return_when="FIRST_COMPLETED")
        except TimeoutError:
            return []
        except CancelledError:  # looked at below
            pass
        return [self._outcome(future, self._pending.pop(future)) for future in list(self._pending) if future.done()]

    def _outcome(self, future: Any, chunk: Chunk) -> Outcome:
        from distributed.scheduler import KilledWorker

        try:
            return Outcome(chunk, *future.result())
        except KilledWorker:
            return Outcome(chunk, None, final=True)
        except CancelledError:
            return Outcome(
                chunk, None, error=ConnectionError("--cluster: the scheduler has gone; what was stored stays")
            )
        except Exception as error:
            return Outcome(chunk, None, error=ValueError(f"--cluster: {error}"))

    def close(self) -> None:
        for future in self._pending:
            future.cancel()
        self._client.close()


def _work_there(chunk: Chunk, expected: dict[str, str]) -> tuple[list[bytes], float]:
    if making() != expected or not expected["code"]:
        raise ValueError(f"a worker has {making()}, the sweep {expected}; must be the same")
    _one_core()
    return work(chunk)


def choose(workers: int | None, cluster: str | None) -> Engine:
    if cluster is not None:
        return Cluster(cluster)
    return Here() if workers == 0 else Processes(workers)


def made_by() -> dict[str, str]:
    """What the bits of a result may depend on beside its description: versions, our code, processor, linear algebra."""
    return making() | _machine()


@lru_cache
def _machine() -> dict[str, str]:
    import platform

    import numpy as np

    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return {"machine": platform.machine(), "cpu": _cpu(), "blas": f"{blas['name']} {blas['version']}"}


def _cpu() -> str:
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    return ""

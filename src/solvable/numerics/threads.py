"""Threads that stay, and that the main thread waits for: what computes frees the interpreter lock, so Ctrl-C is heard at once.

A job that nobody waits for any more is told by its `halt`, which kernels and loops look at. What cannot look (one call of LAPACK,
the compiler) computes on for nobody: threads are daemons, so that the interpreter can end without them.
"""

import atexit
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Executor, Future, wait
from contextlib import contextmanager
from contextvars import copy_context
from functools import lru_cache, partial, wraps
from queue import SimpleQueue
from typing import Any, ParamSpec, TypeVar

import numpy as np

PULSE = 0.1  # seconds between looks at whether to go on
GRACE = 0.5  # seconds in which a job that is told to stop should have stopped
P = ParamSpec("P")
R = TypeVar("R")


class _OneBlasThread:
    """How many are within `one_blas_thread`. A thread of its own sets the number of the process when the first enters and restores
    it when the last has left: threadpoolctl hears no other thread than the one that set it."""

    def __init__(self) -> None:
        self.lock, self.inside, self.over = threading.Lock(), 0, threading.Event()
        self.keeper: threading.Thread | None = None

    def enter(self) -> None:
        with self.lock:
            if self.inside == 0:
                ready, self.over = threading.Event(), threading.Event()
                self.keeper = threading.Thread(target=_keep, args=[ready, self.over], daemon=True)
                try:
                    self.keeper.start()
                    ready.wait()
                except BaseException:  # Ctrl-C
                    self.over.set()
                    raise
            self.inside += 1

    def leave(self) -> None:
        with self.lock:
            self.inside -= 1
            if self.inside == 0 and self.keeper is not None:
                self.over.set()
                self.keeper.join()


def _keep(ready: threading.Event, over: threading.Event) -> None:
    from threadpoolctl import threadpool_limits

    try:
        with threadpool_limits(1, user_api="blas"):
            ready.set()
            over.wait()
    finally:
        ready.set()


_blas = _OneBlasThread()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Within it, matrix products use the thread that asks for them and no other. Stays of several threads may overlap: what was
    before returns when the last has left."""
    from threadpoolctl import threadpool_limits

    _blas.enter()
    try:
        with threadpool_limits(1, user_api="blas"):  # for libraries that have a number for each thread
            yield
    finally:
        _blas.leave()


_limit: list[int] = []


def limit_cores(count: int) -> None:
    """Make `cores()` return `count` from now on; for a process that shares its machine with many like it."""
    _limit[:] = [count]


def cores() -> int:
    if _limit:
        return _limit[0]
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Job(Future[Any]):
    """Work of one thread; `halt` (1,) becomes nonzero when nobody waits for its result any more."""

    def __init__(self) -> None:
        super().__init__()
        self.halt = np.zeros(1)

    def run(self, call: Callable[[], Any]) -> None:
        if not self.set_running_or_notify_cancel():
            return
        try:
            with watching(self.halt):
                self.set_result(call())
        except BaseException as error:
            self.set_exception(error)


_own = threading.local()


@contextmanager
def watching(flag: np.ndarray) -> Iterator[None]:
    """Within it, what this thread computes is wanted as long as `flag` (1,) is zero."""
    outer, _own.halt = getattr(_own, "halt", None), flag
    try:
        yield
    finally:
        _own.halt = outer


def halt() -> np.ndarray:
    """(1,) for compiled code to look at: not zero when nobody waits any more for what this thread computes."""
    flag: np.ndarray | None = getattr(_own, "halt", None)
    return np.zeros(1) if flag is None else flag


def raise_if_abandoned() -> None:
    """End a job that nobody waits for any more; loops that take long call it now and then."""
    if halt()[0]:
        raise KeyboardInterrupt


def abandon(jobs: Iterable[Future[Any]]) -> None:
    """Nobody waits for these any more: those not begun never begin, the others are told. Later jobs do not queue behind them."""
    left = [job for job in jobs if not job.done() and not job.cancel()]
    for job in left:
        assert isinstance(job, Job)
        job.halt[0] = 1.0
        _abandoned.add(job)
    if left:
        _pool.cache_clear()


_abandoned: "weakref.WeakSet[Job]" = weakref.WeakSet()


@atexit.register
def _take_leave() -> None:
    """Kernels that were told to stop should not be on their way when the interpreter takes them down."""
    wait(list(_abandoned), timeout=2 * PULSE)


def gather(jobs: Iterable[Future[Any]], meanwhile: Callable[[], None] = lambda: None) -> list[Any]:
    """The results of all; if this thread is interrupted, or nobody waits for it any more, the jobs are abandoned. While it waits
    it calls `meanwhile` now and then."""
    begun: list[Future[Any]] = []
    try:
        for job in jobs:
            begun.append(job)
        for job in begun:
            while not _ends_soon(job):
                meanwhile()
                raise_if_abandoned()
        return [job.result() for job in begun]
    except BaseException:
        abandon(begun)
        raise


def _ends_soon(job: Future[Any]) -> bool:
    """Wait for a moment; whether it is done."""
    try:
        job.exception(timeout=PULSE)
    except TimeoutError:
        return job.done()
    except CancelledError:
        return True
    return True


@contextmanager
def bell(ring: Callable[[], None], seconds: float | None) -> Iterator[None]:
    """Call `ring` if what stands within it takes longer than so many seconds (None: any), if it fails, and as soon as nobody waits
    any more for what this thread computes."""
    watched = seconds is not None or getattr(_own, "halt", None) is not None
    over = _watch(ring, seconds) if watched else None
    try:
        yield
    except BaseException:
        ring()
        raise
    finally:
        if over is not None:
            over.set()


def _watch(ring: Callable[[], None], seconds: float | None) -> threading.Event:
    """A thread that calls `ring` in time, unless the event that is returned is set before."""
    over, flag = threading.Event(), halt()
    end = np.inf if seconds is None else time.monotonic() + seconds

    def watch() -> None:
        while not over.wait(max(0.0, min(PULSE, end - time.monotonic()))):
            if flag[0] or time.monotonic() >= end:
                ring()
                return

    threading.Thread(target=watch, daemon=True).start()
    return over


def interruptible(function: Callable[P, R]) -> Callable[P, R]:
    """In the main thread, let another one compute while this one waits and hears Ctrl-C; for what may spend seconds in one call."""

    @wraps(function)
    def heard(*args: P.args, **kwargs: P.kwargs) -> R:
        call = partial(function, *args, **kwargs)
        if threading.current_thread() is not threading.main_thread():
            return call()
        job = Job()
        threading.Thread(target=job.run, args=[partial(copy_context().run, call)], daemon=True).start()
        found: R = gather([job])[0]
        return found

    return heard


def pool(threads: int) -> Executor:
    """Threads that stay. One alone is for the main thread, which must hear Ctrl-C while it waits; another thread that asks for one
    may as well do the work itself, beside others that do the same."""
    if threads == 1 and threading.current_thread() is not threading.main_thread():
        return _here
    return _pool(threads)


class _Here(Executor):
    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        done: Future[Any] = Future()
        try:
            done.set_result(fn(*args, **kwargs))
        except BaseException as error:
            done.set_exception(error)
        return done


_here = _Here()


class _Workers(Executor):
    """A pool of daemon threads, which end when the pool is gone."""

    def __init__(self, threads: int) -> None:
        self._calls: SimpleQueue[tuple[Job, Callable[[], Any]] | None] = SimpleQueue()
        for _ in range(threads):
            threading.Thread(target=_work, args=[self._calls], daemon=True).start()
        weakref.finalize(self, _dismiss, self._calls, threads).atexit = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        job = Job()
        self._calls.put((job, partial(fn, *args, **kwargs)))
        return job


def _work(calls: SimpleQueue[Any]) -> None:
    while (item := calls.get()) is not None:
        job, call = item
        job.run(call)
        del item, job, call  # what was computed is not kept while there is nothing to do


def _dismiss(calls: SimpleQueue[Any], threads: int) -> None:
    for _ in range(threads):
        calls.put(None)


@lru_cache(maxsize=4)
def _pool(threads: int) -> _Workers:
    return _Workers(threads)


def _after_fork() -> None:
    """Threads do not survive a fork; one of them may have held the lock."""
    _pool.cache_clear()
    _blas.lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

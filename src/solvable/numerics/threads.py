"""Threads that stay: kernels free the interpreter lock, and Ctrl-C reaches the thread that waits for them."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any


def one_blas_thread() -> AbstractContextManager[Any]:
    """Within it, matrix products use the thread that asks for them and no other."""
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1, user_api="blas")


_limit: list[int] = []


def limit_cores(count: int) -> None:
    """From now on this process has so few cores, for a process that is one of many."""
    _limit[:] = [count]


def cores() -> int:
    if _limit:
        return _limit[0]
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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


@lru_cache(maxsize=4)
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not survive a fork

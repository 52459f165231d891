"""Threads that stay: kernels free the interpreter lock, and Ctrl-C reaches the thread that waits for them."""

import os
from concurrent.futures import ThreadPoolExecutor
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


@lru_cache(maxsize=4)
def pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=pool.cache_clear)  # threads do not survive a fork

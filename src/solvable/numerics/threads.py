"""Threads that stay: kernels free the interpreter lock, and Ctrl-C reaches the thread that waits for them."""

import os
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache


def cores() -> int:
    return len(os.sched_getaffinity(0))


@lru_cache(maxsize=4)
def pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads)


os.register_at_fork(after_in_child=pool.cache_clear)  # threads do not survive a fork

"""How the benchmarks measure: contestants interleaved in one run, the fastest repeat of each, told as ratios."""

import time
from collections.abc import Callable

TURN = 0.01  # seconds


def interleaved(
    contestants: dict[str, Callable[[], object]], repeats: int = 7, clock: Callable[[], float] = time.process_time
) -> dict[str, float]:
    """CPU seconds of the fastest call of each, in `repeats` turns; every contestant is warmed up once. A turn of short calls is
    several of them, because the first finds the caches as its predecessor left them. Another clock for those who compute in
    threads of their own."""
    best = dict.fromkeys(contestants, float("inf"))
    for call in contestants.values():
        call()
    for _ in range(repeats):
        for name, call in contestants.items():
            end = clock() + TURN
            while True:
                begin = clock()
                call()
                now = clock()
                best[name] = min(best[name], now - begin)
                if now >= end:
                    break
    return best


def report(title: str, times: dict[str, float], ours: str) -> None:
    print(f"\n{title}")
    for name, seconds in sorted(times.items(), key=lambda item: item[1]):
        ratio = "" if name == ours else f"   {seconds / times[ours]:8.1f} x {ours}"
        print(f"  {name:45s} {1e3 * seconds:10.3f} ms{ratio}")

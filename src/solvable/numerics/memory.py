"""Checks that there is enough memory, before it is taken; an error names the field that asks for too much."""

import math
import os
from pathlib import Path

FLOAT = 8  # bytes
SMALL = 2**26  # bytes that are always there: to ask takes longer than a small run
UNKNOWN = 2**36  # bytes that are assumed where nobody tells
GROUPS = Path("/proc/self/cgroup")
GROUP_ROOT = Path("/sys/fs/cgroup")
MEMINFO = Path("/proc/meminfo")
NAMES = {
    2: ("memory.max", "memory.current"),
    1: ("memory.limit_in_bytes", "memory.usage_in_bytes"),
}  # by cgroup version
# when memory is needed; totals, in version 1, are with those of inner groups
GIVEN_BACK = ("inactive_file", "active_file", "slab_reclaimable")
UNITS = ("B", "kB", "MB", "GB", "TB", "PB", "EB")


def check_memory(field: str, what: str, needed: int) -> None:
    """ValueError unless `needed` bytes are there. `field` is at fault, and `what` would take them: "10 runs with 5 outputs"."""
    if needed <= SMALL:
        return
    there = available_memory()
    if needed > there:
        raise ValueError(f"{field}: {what} take {in_words(needed)} of memory, but {in_words(there)} are free")


def available_memory() -> int:
    """Bytes that this process may still take: of the machine, and of the group of processes that it belongs to."""
    found = [_machine(), *_groups()]
    return max(0, min(one for one in found if one is not None)) if any(one is not None for one in found) else UNKNOWN


def in_words(count: int) -> str:
    """Bytes in a unit that leaves few digits."""
    if count >= 1000 ** len(UNITS):
        return f"10^{int(math.log10(count))} B"
    power = max(i for i in range(len(UNITS)) if i == 0 or count >= 1000**i)
    return f"{count / 1000**power:.3g} {UNITS[power]}"


def counted(number: int) -> str:
    """A whole number that may have any number of digits."""
    if number < 10**15:
        return str(number)
    return f"{number:.3g}" if number < 10**300 else f"10^{int(math.log10(number))}"


def _machine() -> int | None:
    try:
        for line in MEMINFO.read_text().splitlines():
            name, _, value = line.partition(":")
            if name == "MemAvailable":
                return int(value.split()[0]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:  # elsewhere: all that there is
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _groups() -> list[int | None]:
    """What limits leave, of the group and of those that hold it; files it has read count as used, and are given back."""
    try:
        lines = GROUPS.read_text().splitlines()
    except OSError:
        return []
    left: list[int | None] = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers not in ("", "memory"):
            continue
        root = GROUP_ROOT / controllers
        here = root / path.lstrip("/")
        for folder in [here, *here.parents]:
            if folder.is_relative_to(root):
                left.append(_left(folder, *NAMES[1 if controllers else 2]))
    return left


def _left(folder: Path, most: str, used: str) -> int | None:
    try:
        limit, taken = (
            int((folder / most).read_text()),
            int((folder / used).read_text()),
        )  # "max" is no number: no limit
        counts = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        return limit - taken + sum(int(counts.get(f"total_{name}", counts.get(name, 0))) for name in GIVEN_BACK)
    except (OSError, ValueError):
        return None

"""What levels that draw random numbers share: their whole numbers checked, their seeds told, a stream for each run."""

import hashlib
from typing import Any

import numpy as np

from solvable.numerics.memory import counted
from solvable.numerics.random import child, seed_sequence
from solvable.results.plan import Lane

MOST = 10**18  # that compiled code counts to


def check_whole(level: Any, **least: int) -> None:
    """Raise unless these fields of a level are whole numbers, at least so large; `threads` may be None, `seed` a SeedSequence.
    Compiled code counts in 64 bits; only seeds may be larger."""
    for name, low in least.items():
        value = getattr(level, name)
        if (name == "threads" and value is None) or (name == "seed" and isinstance(value, np.random.SeedSequence)):
            continue
        if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < low:
            raise ValueError(f"{name}: {value!r} given, must be a whole number, at least {low}")
        if "seed" not in name and name != "runs" and value > MOST:
            raise ValueError(f"{name}: {counted(int(value))} given, must be at most 10^18")
        object.__setattr__(level, name, int(value))


def seed_settings(seed: int | np.random.SeedSequence) -> dict[str, Any]:
    found = seed_sequence(seed)
    entropy = found.entropy if isinstance(found.entropy, int) else np.asarray(found.entropy).tolist()
    return {"seed": entropy, "seed_path": list(found.spawn_key)}


def lane_seed(seed: int | np.random.SeedSequence, kind: int, lane: Lane) -> np.random.SeedSequence:
    """From which the seed of each run is `child(..., run)`: from what a run is, not from what runs beside it. `kind` tells ways of
    drawing apart."""
    content = hashlib.sha256(f"{lane.problem.likeness} {lane.start.hash}".encode()).digest()
    return child(seed, kind, *np.frombuffer(content[:16], dtype="<u4").tolist())

"""Seeds of levels that draw random numbers: one stream for each run."""

import hashlib
from typing import Any

import numpy as np

from solvable.levels.plan import Lane
from solvable.numerics.random import Purpose, child, seed_sequence


class Common(np.random.SeedSequence):
    """A seed whose streams are the same for all problems and starts: runs of similar ones then differ by little more than the
    problems do (common random numbers)."""


def seed_settings(seed: int | np.random.SeedSequence) -> dict[str, Any]:
    found = seed_sequence(seed)
    entropy = found.entropy if isinstance(found.entropy, int) else np.asarray(found.entropy).tolist()
    return {"seed": entropy, "seed_path": list(found.spawn_key)}


def lane_seed(seed: int | np.random.SeedSequence, purpose: Purpose, lane: Lane) -> np.random.SeedSequence:
    """The seed of a lane; run number i has the seed `child(..., i)`.

    It follows from problem and start, not from what runs beside it, unless the seed is `Common`.
    """
    if isinstance(seed, Common):
        return child(seed, purpose)
    content = hashlib.sha256(f"{lane.problem.likeness} {lane.start.hash}".encode()).digest()
    return child(seed, purpose, *np.frombuffer(content[:16], dtype="<u4").tolist())

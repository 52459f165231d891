"""What the families of random problems share: how many problems, what counts as a difference, and what is told in the end.

`SOLVABLE_LAWS=500 make test-laws` draws 500 problems of each family. A problem follows from its family and number; those beyond the
first few are slow. Every z beyond `K` is followed: the same problem with `MORE` times as many fresh runs must not be beyond it
again. The numbers of a session are added up where it ends (`conftest.py`).
"""

import os

import numpy as np
import pytest

from comparing import joint_chance, moving

COUNT = int(os.environ.get("SOLVABLE_LAWS", "50"))
K, MORE, RARE = 4.5, 4, 1e-7
GATE = 2  # problems of each family in `make test-full`


def numbers(gate=GATE, count=None):
    """Parameters of a test of one family: the first few for the gate, the others for `make test-laws`."""
    count = COUNT if count is None else count
    marks = [[pytest.mark.full]] * gate + [[pytest.mark.slow, pytest.mark.laws]] * (max(count, gate) - gate)
    return [pytest.param(number, marks=mark) for number, mark in enumerate(marks)]


def worst_of_law(one, two):
    """The largest |z| of means and variances of (run, entry), and where it is. Entries that do not move must be equal. Standard
    errors of variances come from fourth moments of both together, for tails are alike if the law is."""
    still = np.maximum(one.std(axis=0), two.std(axis=0)) <= 1e-10
    apart = np.abs(one.mean(axis=0) - two.mean(axis=0))[still]
    if apart.size and apart.max() > 1e-8:
        return np.inf, f"an entry that does not move, {apart.max():.3g}"
    entries = np.flatnonzero((one.std(axis=0) > 1e-10) | (two.std(axis=0) > 1e-10))
    one, two = moving(one, two)
    found = []
    for x, y, what in ((one, two, "mean"), (_squares(one), _squares(two), "variance")):
        z = (x.mean(axis=0) - y.mean(axis=0)) / np.sqrt(x.var(axis=0) / len(x) + y.var(axis=0) / len(y))
        z = np.where(np.isfinite(z), np.abs(z), np.inf)
        at = int(z.argmax()) if z.size else 0
        found.append((float(z[at]) if z.size else 0.0, f"{what} of entry {entries[at] if z.size else '-'}"))
    return max(found)


def _squares(x):
    return (x - x.mean(axis=0)) ** 2


def compare_laws(note, sample, runs):
    """Fail unless two samples have one law. `sample(runs, again)` gives both as (run, entry); `again` numbers fresh noise."""
    z, where = worst_of_law(*sample(runs, 0))
    note(runs=runs, z=z)
    if z <= K:
        return
    first = f"|z| = {z:.2f} ({where})"
    z, where = worst_of_law(*(pair := sample(MORE * runs, 1)))
    note(runs=MORE * runs, followed=1)
    if z > K or joint_chance(*pair) < RARE:
        pytest.fail(f"{first}, and with {MORE} times as many fresh runs |z| = {z:.2f} ({where})")


def described(family, drawn):
    """What a failure shows: how to run it alone, and the problem."""
    return f"family {family}, features {', '.join(drawn.features)}\n{drawn.problem!r}"


def carried_on(near, far):
    """Means of (run, entry) at dims N and 4 N carried on to infinite dim, and their standard errors: what falls as 1/N is gone."""
    mean = (4 * far.mean(axis=0) - near.mean(axis=0)) / 3
    variance = (16 * far.var(axis=0, ddof=1) / len(far) + near.var(axis=0, ddof=1) / len(near)) / 9
    return mean, np.sqrt(variance)

"""Which steps see a sample: the law of one sample's weights sigma(t), as particles draw it.

`draw(t)` gives sigma(t) of every particle, and before that the mean of sigma(t) and of its square given the past, which replace the
draw wherever averages are linear in it: less noise for the same law.
"""

from typing import NamedTuple

import numpy as np


class Chosen(NamedTuple):
    """Of one step, for every particle: sigma, and the means of sigma and of its square given the past."""

    sigma: np.ndarray | float
    mean: np.ndarray | float
    square: np.ndarray | float

    @property
    def is_foreseen(self) -> bool:
        """Whether the past tells something about sigma. Noise of different steps is then nearly dependent, and its covariance must
        come from the draws themselves, which leaves it positive; otherwise means given the past are more exact."""
        return isinstance(self.mean, np.ndarray)


class All:
    """Every step sees every sample."""

    def draw(self, _: int) -> Chosen:
        return Chosen(1.0, 1.0, 1.0)


class Chances:
    """Numbers uniform between zero and one for all particles, one row after the other: first those given, on quasi-random points,
    which choose evenly among all particles, then random ones."""

    def __init__(self, given: np.ndarray, random: np.random.Generator) -> None:
        self.given, self.random, self.particles = iter(given), random, given.shape[1]

    def draw(self) -> np.ndarray:
        """(particles,)"""
        found: np.ndarray | None = next(self.given, None)
        return np.asarray(self.random.random(self.particles)) if found is None else found


def draws(selection: str, share: float, steps: int) -> int:
    """How many times a selection draws in so many steps."""
    if selection in ("shuffled", "partition"):
        return 1 if selection == "partition" else -(-steps // round(1 / share))
    return 0 if selection == "all" else steps


class Subsets:
    """A share of the samples in each step, drawn anew; with replacement a sample may come several times."""

    def __init__(self, share: float, replaced: bool, chances: Chances) -> None:
        self.share, self.replaced, self.chances = share, replaced, chances

    def draw(self, _: int) -> Chosen:
        if self.replaced:
            from scipy.stats import poisson

            return Chosen(poisson.ppf(self.chances.draw(), self.share) / self.share, 1.0, 1.0 / self.share + 1.0)
        chance = self.chances.draw()
        chosen = max(1, round(self.share * chance.size))
        sigma = np.zeros(chance.size)
        sigma[np.argpartition(chance, chosen - 1)[:chosen]] = chance.size / chosen  # exactly so many
        return Chosen(sigma, 1.0, chance.size / chosen)


class Epochs:
    """Each sample once in an epoch of so many steps, at a place that is drawn for every epoch or kept for ever."""

    def __init__(self, steps: int, kept: bool, chances: Chances) -> None:
        self.steps, self.kept, self.chances = steps, kept, chances

    def draw(self, t: int) -> Chosen:
        now = t % self.steps
        if t == 0 or (now == 0 and not self.kept):
            self.place = (self.steps * self.chances.draw()).astype(int)
        comes = (self.place == now).astype(float)
        if self.kept and t >= self.steps:
            mean = comes
        else:
            mean = (self.place >= now) / (self.steps - now)  # whoever has not come yet comes with equal chances
        return Chosen(self.steps * comes, self.steps * mean, self.steps**2 * mean)


class Persistent:
    """Each sample is in or out by itself, redrawn with the chance 1/repeats in every step."""

    def __init__(self, share: float, repeats: float, chances: Chances) -> None:
        self.share, self.again, self.chances = share, 1.0 / repeats, chances
        self.inside = np.zeros(chances.particles)

    def draw(self, t: int) -> Chosen:
        drawn = self.chances.draw()
        chance = np.full(drawn.size, self.share)
        if t > 0:
            chance = self.again * self.share + (1.0 - self.again) * self.inside
        self.inside = (drawn < chance).astype(float)
        return Chosen(self.inside / self.share, chance / self.share, chance / self.share**2)

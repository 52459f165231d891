"""Which steps see a sample: the law of one sample's weights sigma(t), as particles draw it.

`draw(t)` gives sigma(t) of every particle, and before that the mean of sigma(t) and of its square given the past, which replace the
draw wherever averages are linear in it: less noise for the same law.
"""

from typing import Any, NamedTuple

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


class Subsets:
    """A share of the samples in each step, drawn anew; with replacement a sample may come several times."""

    def __init__(self, share: float, replaced: bool, particles: int, random: Any) -> None:
        self.share, self.replaced, self.particles, self.random = share, replaced, particles, random

    def draw(self, _: int) -> Chosen:
        if self.replaced:
            return Chosen(self.random.poisson(self.share, self.particles) / self.share, 1.0, 1.0 / self.share + 1.0)
        chosen = max(1, round(self.share * self.particles))
        sigma = self.random.permutation(np.repeat([self.particles / chosen, 0.0], [chosen, self.particles - chosen]))
        return Chosen(sigma, 1.0, self.particles / chosen)


class Epochs:
    """Each sample once in an epoch of so many steps, at a place that is drawn for every epoch or kept for ever."""

    def __init__(self, steps: int, kept: bool, particles: int, random: Any) -> None:
        self.steps, self.kept, self.random = steps, kept, random
        self.place = random.permutation(np.arange(particles) % steps)  # as many for each step

    def draw(self, t: int) -> Chosen:
        now = t % self.steps
        if now == 0 and t > 0 and not self.kept:
            self.random.shuffle(self.place)
        comes = (self.place == now).astype(float)
        if self.kept and t >= self.steps:
            mean = comes
        else:
            mean = (self.place >= now) / (self.steps - now)  # whoever has not come yet comes with equal chances
        return Chosen(self.steps * comes, self.steps * mean, self.steps**2 * mean)


class Persistent:
    """Each sample is in or out by itself, redrawn with the chance 1/repeats in every step."""

    def __init__(self, share: float, repeats: float, particles: int, random: Any) -> None:
        self.share, self.again, self.random = share, 1.0 / repeats, random
        self.inside = np.zeros(particles)

    def draw(self, t: int) -> Chosen:
        chance = np.full(self.inside.size, self.share)
        if t > 0:
            chance = self.again * self.share + (1.0 - self.again) * self.inside
        self.inside = (self.random.random(chance.size) < chance).astype(float)
        return Chosen(self.inside / self.share, chance / self.share, chance / self.share**2)

"""Dynamical mean-field theory of training on a finite data set, marched forward once.

For N, n -> infinity at a fixed ratio n/N a sample's fields z(t) see, beside a Gaussian part h(t), what the sample itself has pushed
before, and a weight sees, beside Gaussian noise, what it has told all samples before:

    z(t) = h(t) + (1/ratio) sum_{s<t} R(t,s) G(s),       G(t) = sigma(t) F(z(t), u, noise)
    w(t+1) = (1 - eta kappa) w(t) + eta ( sqrt(lambda) xi(t) + lambda sum_{r<=t} Gamma(t,r) w(r) + lambda Gamma*(t) w* )
    K(t,s) = <G(t) G(s)^T>/ratio,  Gamma(t,r) = <dG(t)/dh(r)>,  Gamma*(t) = <dG(t)/du>

The first process is followed by particles, the second is linear, so that its moments C, m and responses R are propagated exactly.
Everything at time t follows from earlier times: there is no fixed point to find. Responses come from tangents, with one kick time
for each particle, and are then corrected until Stein's identity <G eps^T> = [Gamma*, Gamma] factor holds on the directions that the
particles resolve (`anchor`). The selection is averaged out by hand wherever it enters linearly.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from solvable.empirical_macro.particles import Fields, Innovations
from solvable.empirical_macro.selections import All, Chances, Chosen, Epochs, Persistent, Subsets, draws
from solvable.empirical_macro.setting import Setting
from solvable.empirical_macro.weights import MeanFieldWeights

DRAWN = 16  # draws of a selection on quasi-random points; further ones are random
RESOLVED = 1e-4  # of the largest variance: directions on which responses are corrected


@dataclass
class Marched:
    """What a pass found at the `reached` times 0, 1, ...: overlaps per block, readouts, training loss, kernels, and by how much
    tangents missed Stein's identity; `diverged` where it ended because the overlaps did."""

    students: np.ndarray  # (time, blocks, p, p)
    cross: np.ndarray  # (time, blocks, p, q)
    readout: np.ndarray  # (time, p)
    training_loss: np.ndarray  # (time,)
    correlation: np.ndarray | None  # (time, p, time, p): of the fields; None unless it is asked for
    response: np.ndarray | None  # (time, p, time, p)
    residual: np.ndarray  # (time,)
    rank: int
    reached: int
    diverged: bool


class March:
    """One pass with so many particles."""

    def __init__(self, setting: Setting, particles: int, seed: np.random.SeedSequence) -> None:
        self.on, self.particles = setting, particles
        self.p, self.q = setting.cross.shape[1:]
        self.blocks, self.times = setting.eigenvalues.size, setting.steps.size
        rows = (self.times + 1) * self.p
        self.weights = MeanFieldWeights(setting)
        self.fields_of_teachers = np.tensordot(setting.eigenvalues, setting.teachers, axes=1)
        self.readout = setting.readout.astype(float).copy()
        self.readout_velocity = np.zeros(self.p)
        self.random = np.random.default_rng(seed.spawn(1)[0])
        self.seed = seed
        self.K = np.zeros((rows, rows))
        self.Gamma = np.zeros((rows, rows))
        self.Gamma_star = np.zeros((rows, self.q))
        self._meet(0)

    def _meet(self, begin: int) -> None:
        """Particles for a data set, or a batch, that is first seen at this time."""
        on, p, M = self.on, self.p, self.particles
        self.begin = begin
        last = begin + on.repeats if on.fresh else self.times + 1
        looks, pushes = min(last, self.times + 1) - begin, min(last, self.times) - begin
        self.innovations = Innovations(
            M, 1 + self.q + p * looks, self.seed.spawn(1)[0], min(DRAWN, draws(on.selection, on.share, pushes)), 1 + self.q + p
        )  # fmt: skip
        noise = self.innovations.rows[self.innovations.more()] if on.label_noise > 0 else np.zeros(M)
        self.fields = Fields(self.q + p * looks, self.innovations)
        u = self.fields.add(np.zeros((self.q, 0)), self.fields_of_teachers)
        self.teacher_rank = self.fields.rank
        self.label = on.labels(u.T) + np.sqrt(on.label_noise) * noise
        self.G = np.zeros((pushes * p, M))
        self.tangents = np.zeros((p, pushes * p, M))
        self.kicks = (np.arange(M) * max(pushes, 1)) // M  # ascending
        self.choice = self._selection()

    def _selection(self) -> All | Subsets | Epochs | Persistent:
        on, chances = self.on, Chances(self.innovations.uniform, self.random)
        if on.selection in ("subsets", "drawn"):
            return Subsets(on.share, on.selection == "drawn", chances)
        if on.selection in ("shuffled", "partition"):
            return Epochs(round(1 / on.share), on.selection == "partition", chances)
        if on.selection == "persistent":
            return Persistent(on.share, on.repeats, chances)
        return All()

    def run(
        self, watch: Callable[[int], bool] = lambda _: False, bound: float = np.inf, *, two_times: bool = False
    ) -> Marched:
        """All steps, or fewer where `watch(t)` says so or the squared norms pass the bound."""
        on, p, T = self.on, self.p, self.times
        losses, readouts, residuals = np.full(T + 1, np.nan), np.full((T + 1, p), np.nan), np.full(T + 1, np.nan)
        reached, diverged = 0, False
        for t in range(T + 1):
            if on.fresh and t > self.begin and (t - self.begin) % on.repeats == 0:
                self._meet(t)
            size = np.einsum("bkk->", self.weights.C[:, t * p : (t + 1) * p, t * p : (t + 1) * p])
            diverged = not size <= bound
            z = None if diverged else self._look(t)
            diverged = diverged or not np.isfinite(self.loss)
            if diverged:
                break
            assert z is not None
            losses[t], readouts[t], reached = self.loss, self.readout, t + 1
            if t == T or watch(t):
                break
            residuals[t] = self._push(t, z)
            now, upto = slice(t * p, (t + 1) * p), (t + 1) * p
            self.weights.move(t, self.Gamma[now, :upto], self.Gamma_star[now], self.K[:upto, now])
        if reached > 1:
            residuals[reached - 1 :] = residuals[reached - 2]
        found = self._marched(losses, readouts, residuals, reached, diverged)
        if two_times:
            found.correlation, found.response = self._kernels()
        return found

    def _marched(
        self, losses: np.ndarray, readouts: np.ndarray, residuals: np.ndarray, reached: int, diverged: bool
    ) -> Marched:
        p, T = self.p, self.times
        rows = self.weights.C.reshape(self.blocks, T + 1, p, T + 1, p)
        students = np.einsum("btktl->tbkl", rows).copy()
        cross = np.moveaxis(self.weights.m.reshape(self.blocks, T + 1, p, self.q), 0, 1).copy()
        students[reached:], cross[reached:] = np.nan, np.nan
        return Marched(students, cross, readouts, losses, None, None, residuals, self.fields.rank, reached, diverged)

    def _kernels(self) -> tuple[np.ndarray, np.ndarray]:
        """Correlation and response of fields at two times, (time, p, time, p)."""
        lam, shape = self.on.eigenvalues, (self.times + 1, self.p) * 2
        weighted = (
            np.tensordot(one, kernel, axes=1)
            for one, kernel in (
                (lam, self.weights.C),
                (lam * self.on.fractions, self.weights.R),
            )
        )
        correlation, response = (one.reshape(shape) for one in weighted)
        return correlation, response

    def _look(self, t: int) -> np.ndarray:
        """Fields of all particles at time t (p, particles), and the training loss."""
        on, p = self.on, self.p
        first, now = self.begin * p, slice(t * p, (t + 1) * p)
        lam = on.eigenvalues
        with_u = np.tensordot(lam, self.weights.m[:, now], axes=1)
        with_h = np.tensordot(lam, self.weights.C[:, now, first : t * p], axes=1)
        h = self.fields.add(np.hstack([with_u, with_h]), np.tensordot(lam, self.weights.C[:, now, now], axes=1))
        past = (t - self.begin) * p
        self.memory = np.tensordot(lam * on.fractions, self.weights.R[:, now, first : t * p], axes=1) / on.ratio
        z = h + self.memory @ self.G[:past] if past else h
        self.loss = float(on.loss(self.label, self.readout @ on.unit[0](z)).mean())
        return z

    def _push(self, t: int, z: np.ndarray) -> float:
        """Amplitudes, kernels and responses of time t; how far Stein's identity was off."""
        on, p, M = self.on, self.p, self.particles
        first, past = self.begin * p, (t - self.begin) * p
        activity, slope, bend = (function(z) for function in on.unit)
        push, push_slope = on.push(self.label, self.readout @ activity)
        weighted = self.readout[:, None] * slope
        F = weighted * push
        J = weighted[:, None] * weighted[None] * push_slope
        J[np.arange(p), np.arange(p)] += self.readout[:, None] * bend * push
        chosen = self.choice.draw(t - self.begin)
        self.G[past : past + p] = chosen.sigma * F
        expected = chosen.mean * F
        now = slice(t * p, (t + 1) * p)
        drawn = self.G[past : past + p]
        self.K[now, first : t * p] = (drawn if chosen.is_foreseen else expected) @ self.G[:past].T / (M * on.ratio)
        self.K[now, now] = (drawn @ drawn.T if chosen.is_foreseen else (chosen.square * F) @ F.T) / (M * on.ratio)
        self.K[first : t * p, now] = self.K[now, first : t * p].T
        self._respond(t, J, chosen)
        off = self._anchor(t, expected)
        if on.train_readout:
            drift = (chosen.mean * push * activity).mean(axis=1)
            self.readout_velocity = on.beta * self.readout_velocity + on.readout_steps[t] * drift
            self.readout = self.readout + self.readout_velocity
        return off

    def _respond(self, t: int, J: np.ndarray, chosen: Chosen) -> None:
        """Gamma(t, r) from tangents of the particles that were kicked at r, and Gamma(t, t) from all."""
        p, M = self.p, self.particles
        here, past = t - self.begin, (t - self.begin) * self.p
        active = int(np.searchsorted(self.kicks, here, side="right"))
        fresh = int(np.searchsorted(self.kicks, here, side="left"))
        mean, sigma = (np.broadcast_to(one, M)[:active] for one in (chosen.mean, chosen.sigma))
        self.Gamma[t * p : (t + 1) * p, t * p : (t + 1) * p] = (chosen.mean * J).mean(axis=2)
        edges = np.searchsorted(self.kicks[:fresh], np.arange(here))
        counts = np.diff(np.append(edges, fresh))
        for j in range(p):
            D = np.zeros((p, active))
            if past:
                D[:, :fresh] = self.memory @ self.tangents[j, :past, :fresh]
            D[j, fresh:] += 1.0
            moved = np.einsum("kli,li->ki", J[:, :, :active], D)
            self.tangents[j, past : past + p, :active] = sigma * moved
            if here and fresh:
                sums = np.add.reduceat(mean[:fresh] * moved[:, :fresh], edges, axis=1) / np.maximum(counts, 1)
                self.Gamma[t * p : (t + 1) * p, self.begin * p + j : t * p : p] = sums

    def _anchor(self, t: int, expected: np.ndarray) -> float:
        """Correct the responses where the particles know better: <G eps^T> = [Gamma*, Gamma] factor. First Gamma, on the resolved
        directions of the part of h that is independent of u; then Gamma*, so that <G u^T> = Gamma m + Gamma* T holds exactly: a
        truncation that takes both together, from no guess of Gamma*, has a bias. Returns by how much tangents missed the former, in
        units of what the response to the present alone, Gamma(t,t) C(t,s), would give: <G h^T> itself may vanish."""
        p, q, now, first = self.p, self.q, slice(t * self.p, (t + 1) * self.p), self.begin * self.p
        known, rank, past = self.fields.known, self.teacher_rank, slice(first, (t + 1) * p)
        of_u, of_h, own = known[:q, :rank], known[q:, :rank], known[q:, rank:]
        seen = expected @ self.fields.noise.T / self.particles
        left = seen[:, rank:] - self.Gamma[now, past] @ own
        size = np.linalg.norm(self.Gamma[now, now]) * np.linalg.norm(own[-p:] @ own.T)
        values, vectors = np.linalg.eigh(own.T @ own)
        kept = values > RESOLVED * values[-1]
        self.Gamma[now, past] += ((left @ vectors[:, kept]) / values[kept]) @ vectors[:, kept].T @ own.T
        rest = seen[:, :rank] - self.Gamma[now, past] @ of_h
        self.Gamma_star[now] = np.linalg.lstsq(of_u.T, rest.T, rcond=None)[0].T
        return float(np.linalg.norm(left @ own.T) / np.maximum(size, 1e-300))

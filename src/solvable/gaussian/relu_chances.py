"""The chance that the output of ReLU units has the wrong sign: an average over parallel lines, each of which is exact.

Students' fields, given the others, are z = m + R g with standard normal g, of which g = x + t u with a fixed direction u and x
orthogonal to it. Along t the output bias + sum_k a_k max(0, z_k) is linear between the places where units switch on or off, so the
chance that it is negative is a sum over these pieces. It is a continuous function of x, also where all units are off and the
output vanishes, which is what a single field made exact would not be: below zero it does not matter.
"""

import numpy as np

from solvable.gaussian.quadratic_chances import NONE, normal_chance


def lines_through(mean: np.ndarray, covariance: np.ndarray, readout: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Directions of fields of this law: (student,) along the lines, which is that of the mean slope of the output, and (student,
    rest) across them. Those that move the output most come first, where Sobol nodes are best."""
    values, vectors = np.linalg.eigh(covariance)
    kept = values > NONE * max(values.max(), 1.0)
    R = vectors[:, kept] * np.sqrt(values[kept])
    spread = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    slope = R.T @ (readout * normal_chance(mean / spread))
    size = np.linalg.norm(slope)
    u = slope / size if size > 0 else np.eye(len(slope), 1)[:, 0]
    if len(u) < 2:
        return R @ u, R[:, :0]
    across = R @ np.linalg.qr(np.column_stack([u, np.eye(len(u))]))[0][:, 1:]
    return R @ u, across @ np.linalg.svd(readout[:, None] * across)[2].T


def along_lines(fields: np.ndarray, steps: np.ndarray, readout: np.ndarray, bias: float) -> np.ndarray:
    """(line,) P(output < 0) for fields (line, student) + t `steps` (student,) with a standard normal t; no output counts half."""
    moving = steps != 0
    with np.errstate(divide="ignore", invalid="ignore"):
        kinks = np.where(moving, -fields / steps, np.inf)
    order = np.argsort(kinks, axis=1)
    sign = np.sign(steps)
    first = np.where(moving, steps < 0, fields > 0)  # units that are on where t is very negative

    def pieces(begin: np.ndarray, change: np.ndarray) -> np.ndarray:
        """A sum over the units that are on, in each piece of a line."""
        changes = np.take_along_axis(np.broadcast_to(change, fields.shape), order, axis=1)
        return np.cumsum(np.column_stack([begin, changes]), axis=1)

    count = pieces(first.sum(axis=1), sign)
    slope = pieces(first @ (readout * steps), readout * np.abs(steps))
    offset = pieces((first * fields) @ readout, readout * sign * fields)
    slope, offset = np.where(count > 0, slope, 0.0), bias + np.where(count > 0, offset, 0.0)
    ends = np.full((2, len(fields), 1), np.inf)
    edges = np.concatenate([-ends[0], np.take_along_axis(kinks, order, axis=1), ends[1]], axis=1)
    low, high = edges[:, :-1], edges[:, 1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.clip(-offset / slope, low, high)
    low, high = np.where(slope < 0, root, low), np.where(slope > 0, root, high)
    share = np.where(slope == 0, 0.5 - 0.5 * np.sign(offset), 1.0)
    asked = (share > 0) & (high > low)
    found = np.zeros(share.shape)
    found[asked] = share[asked] * (normal_chance(high[asked]) - normal_chance(low[asked]))
    return found.sum(axis=1)

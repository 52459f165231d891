"""Two samples of runs beside each other: do they have the same law?"""

import numpy as np
from scipy import stats

COMPONENTS = 20


def moving(one, two):
    """Both (run, entry), with the entries that scatter alone."""
    scatters = np.concatenate([one, two]).std(axis=0) > 1e-10
    return one[:, scatters], two[:, scatters]


def scores(one, two):
    """Differences of means and of variances of (run, entry), in standard errors (those of variances from the fourth
    moments)."""
    one, two = moving(one, two)
    spreads, errors = [], []
    for x in (one, two):
        square = (x - x.mean(axis=0)) ** 2
        spreads.append(square.mean(axis=0))
        errors.append(square.var(axis=0) / len(x))
    means = (one.mean(axis=0) - two.mean(axis=0)) / np.sqrt(spreads[0] / len(one) + spreads[1] / len(two))
    return means, (spreads[0] - spreads[1]) / np.sqrt(errors[0] + errors[1])


def joint_chance(one, two):
    """Of a difference of all means as large as this: a sum of squares over the principal components of the entries, which are
    correlated with each other, at most twenty."""
    one, two = moving(one, two)
    scale = np.sqrt(one.var(axis=0) + two.var(axis=0))
    a, b = one / scale, two / scale
    values, vectors = np.linalg.eigh(np.cov(a.T) / len(a) + np.cov(b.T) / len(b))
    kept = (values > 1e-3 * values[-1]) & (np.arange(len(values)) >= len(values) - COMPONENTS)
    along = ((a.mean(axis=0) - b.mean(axis=0)) @ vectors)[kept] / np.sqrt(values[kept])
    return float(stats.chi2.sf(along @ along, kept.sum()))


def chances(one, two):
    """Of each entry's law being that different, by Kolmogorov and Smirnov's test."""
    one, two = moving(one, two)
    return np.array([stats.ks_2samp(x, y).pvalue for x, y in zip(one.T, two.T, strict=True)])


def same_law(one, two, k, rare):
    """Whether means and variances are within `k` standard errors, and no difference of all means together or of an entry's law is
    less probable than `rare`."""
    means, variances = scores(one, two)
    return (
        np.abs(means).max() < k
        and np.abs(variances).max() < k
        and chances(one, two).min() > rare
        and joint_chance(one, two) > rare
    )

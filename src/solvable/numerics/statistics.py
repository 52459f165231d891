"""Small statistics that several rooms use: standard errors, slopes of logarithms."""

from typing import Any

import numpy as np


def standard_error(values: Any, axis: int | None = None) -> Any:
    """Of the mean of independent values, along an axis or of all of them."""
    array = np.asarray(values)
    count = array.size if axis is None else array.shape[axis]
    found = array.std(axis=axis, ddof=1) / np.sqrt(count)
    return float(found) if np.ndim(found) == 0 else found


def log_slope(x: Any, y: Any, begin: float = 0.0, end: float = np.inf) -> Any:
    """Slope of log y over log x between two values of x, by least squares: the exponent of a power law. For each row of y where
    there are several."""
    x, y = np.asarray(x), np.asarray(y)
    chosen = (x >= begin * (1 - 1e-9)) & (x <= end * (1 + 1e-9))
    found = np.polyfit(np.log(x[chosen]), np.log(y[..., chosen]).T, 1)[0]
    return float(found) if np.ndim(found) == 0 else found

"""Random thresholds, one per feature, with scikit-learn's draws and order of rows.

Geurts, Ernst, Wehenkel: Extremely randomized trees. Machine Learning 63, 2006. With the smallest
and the largest value of a node's rows, and r the next number of the random stream,

    t = (max − min) · r / (2³¹ − 1) + min,    or min if this equals max.

The side of missing values is drawn, too. Rows are partitioned after each draw, so the order of the
rows depends on all earlier draws, as in scikit-learn.
"""

import numpy as np

from algorithms.runtime.array_moves import swap
from algorithms.runtime.jit import inner_kernel
from algorithms.trees.kernels.feature_sampling import LARGEST, draw_below, draw_number


@inner_kernel
def read_range(given, search, feature, start, end):
    """Read a node's values of a feature; return minimum, maximum, and number of missing values."""
    values = given.values[given.columns[feature]]
    low, high = np.float32(np.inf), np.float32(-np.inf)
    n_missing = 0
    for p in range(start, end):
        x = values[search.samples[p]]
        search.x[p] = x
        if np.isnan(x):
            n_missing += 1
        else:
            low = min(low, x)
            high = max(high, x)
    return low, high, n_missing


@inner_kernel
def draw_threshold(state, low, high, n_missing):
    """Return a threshold between two values, and whether missing values go left."""
    low, high = np.float64(low), np.float64(high)
    threshold = (high - low) * np.float64(draw_number(state)) / np.float64(LARGEST) + low  # t
    to_left = draw_below(state, 0, 2) if n_missing else 0
    return low if threshold == high else threshold, to_left


@inner_kernel
def partition_by_threshold(search, start, end, threshold, to_left):
    """Partition a node's rows from both ends; return the start of the right side."""
    x = search.x
    while start < end:
        if to_left if np.isnan(x[start]) else x[start] <= threshold:
            start += 1
        else:
            end -= 1
            swap(x, start, end)
            swap(search.samples, start, end)
    return start

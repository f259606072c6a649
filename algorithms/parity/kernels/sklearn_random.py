"""One threshold a feature, drawn at random, with scikit-learn's draws and order of rows.

Geurts, Ernst, Wehenkel: Extremely randomized trees. Machine Learning 63, 2006. With the least and
the largest value of a node's rows, and r the stream's next number,

    t = (max − min) · r / (2³¹ − 1) + min,    and min where that is max,

and rows with missing values go to a side that is drawn as well. Rows are parted right away, so
that each draw sees them in the order that those before it left.
"""

import numpy as np

from algorithms.runtime.array_moves import swap
from algorithms.runtime.jit import inner_kernel
from algorithms.trees.kernels.feature_sampling import LARGEST, draw_below, draw_number


@inner_kernel
def read_range(given, search, feature, start, end):
    """Read a node's values of a feature; return the least, the largest and how many are missing."""
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
    """Return a threshold between two values, and whether missing ones go to its left."""
    low, high = np.float64(low), np.float64(high)
    threshold = (high - low) * np.float64(draw_number(state)) / np.float64(LARGEST) + low  # t
    to_left = draw_below(state, 0, 2) if n_missing else 0
    return low if threshold == high else threshold, to_left


@inner_kernel
def part_by(search, start, end, threshold, to_left):
    """Part a node's rows from both ends; return the first place of the right side."""
    x = search.x
    while start < end:
        if to_left if np.isnan(x[start]) else x[start] <= threshold:
            start += 1
        else:
            end -= 1
            swap(x, start, end)
            swap(search.samples, start, end)
    return start

"""Minimal variance sampling of rows (Ibragimov, Gusev 2019), block by block.

A row with derivative g is kept with probability p = min(1, √(g² + λ) / μ) and gets the weight
1 / p. In each block μ is such that the expected number of kept rows is the wanted one.
"""

import math

import numpy as np

from algorithms.runtime.jit import inner_kernel, kernel
from algorithms.runtime.math_functions import uniform

BLOCK = 8192  # rows of a block


@inner_kernel
def find_threshold(values, n, wanted):
    """Return μ with Σ min(1, v / μ) = wanted over n values; they are reordered.

    Each step halves the range of values that μ may lie in, around the value in its middle.
    """
    low, high = 0, n
    small, n_large = 0.0, 0
    while low < high:
        pivot = values[(low + high) // 2]
        below, above, i = low, high, low
        part = 0.0
        while i < above:  # three parts: below, equal, above
            value = values[i]
            if value < pivot:
                values[i] = values[below]
                values[below] = value
                part += value
                below += 1
                i += 1
            elif value > pivot:
                above -= 1
                values[i] = values[above]
                values[above] = value
            else:
                i += 1
        equal = above - below
        size = np.float64(n_large + (high - above) + equal)
        if pivot > 0.0:
            size += (small + part) / pivot
        if size > wanted:  # μ is larger than the pivot
            small += part + equal * pivot
            low = above
        else:
            n_large += (high - above) + equal
            high = below
    left = wanted - n_large
    return small / left if left > 0.0 else np.inf


@kernel
def draw_by_gradients(g, share, l2, seed, values, out, first, last):
    """Write the weights of the rows of the blocks first … last − 1.

    Parameters
    ----------
    g : float64 (n_outputs, n_rows)
    share : fraction of the rows to keep
    l2 : λ
    seed : uint32
    values : (BLOCK,) float64, scratch space
    out : float32 (n_rows,), written: 0 for rows that are left out
    """
    n_rows = g.shape[1]
    for block in range(first, last):
        start, end = block * BLOCK, min((block + 1) * BLOCK, n_rows)
        for i in range(start, end):
            values[i - start] = gradient_size(g, l2, i)
        threshold = find_threshold(values, end - start, share * (end - start))
        for i in range(start, end):
            p = gradient_size(g, l2, i) / threshold if threshold > 0.0 else 1.0
            if p >= 1.0:
                out[i] = 1.0
            else:
                out[i] = np.float32(1.0 / p) if uniform(seed, i) < p else np.float32(0.0)


@inner_kernel
def gradient_size(g, l2, i):
    """Return √(Σ g² + λ) of a row."""
    total = l2
    for k in range(len(g)):
        total += g[k, i] * g[k, i]
    return math.sqrt(total)

"""Minimal variance sampling of rows (Ibragimov, Gusev 2019), block by block.

A row with derivative g is kept with probability p = min(1, √(g² + λ) / μ) and gets the weight
1 / p. In each block μ is such that the expected number of kept rows is the wanted one.
"""

import math

import numpy as np

from algorithms.runtime.jit import inner_kernel, kernel, linked_kernel
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
    values : float64 (2, BLOCK), scratch space
    out : float32 (n_rows,), written: 0 for rows that are left out
    """
    n_rows = g.shape[1]
    for block in range(first, last):
        start = block * BLOCK
        n = min(BLOCK, n_rows - start)
        sizes, moved = values[0, :n], values[1, :n]
        write_sizes(g, l2, start, sizes)
        for i in range(n):
            moved[i] = sizes[i]
        threshold = find_threshold(moved, n, share * n)
        write_mvs_weights(sizes, threshold, seed, start, out[start : start + n])


@inner_kernel
def write_sizes(g, l2, start, sizes):
    """Write √(Σ g² + λ) of consecutive rows; ``start`` is the first one."""
    for i in range(len(sizes)):
        sizes[i] = l2
    for k in range(len(g)):
        own = g[k, start : start + len(sizes)]
        for i in range(len(sizes)):
            sizes[i] += own[i] * own[i]
    for i in range(len(sizes)):
        sizes[i] = math.sqrt(sizes[i])


@inner_kernel
def write_mvs_weights(sizes, threshold, seed, start, out):
    """Write the weights of consecutive rows, without branches, so that the loop is vectorized.

    Parameters
    ----------
    sizes : float64 (n,), √(Σ g² + λ) of each row
    threshold : μ
    start : number of the first row
    """
    if not threshold > 0.0:
        out[:] = np.float32(1.0)
        return
    for i in range(len(out)):
        p = sizes[i] / threshold
        drawn = np.float32(1.0 / p)
        drawn = drawn if uniform(seed, start + i) < p else np.float32(0.0)
        out[i] = np.float32(1.0) if p >= 1.0 else drawn


@kernel
def sum_squares(values):
    """Return Σ v² of a float64 array: two sums, of every second value, added at the end.

    The order within eight values is that of `numpy.einsum` with vectors of two float64 numbers.
    """
    even = odd = 0.0
    n_whole = len(values) // 8 * 8
    for first in range(0, n_whole, 8):
        for i in range(first + 6, first - 1, -2):
            even += values[i] * values[i]
            odd += values[i + 1] * values[i + 1]
    for i in range(n_whole, len(values) - 1, 2):
        even += values[i] * values[i]
        odd += values[i + 1] * values[i + 1]
    if len(values) % 2:
        even += values[len(values) - 1] * values[len(values) - 1]
    return even + odd


@linked_kernel
def mean_size(values, sums):
    """Return the mean of √v², summed in the order of `numpy.mean`.

    Parameters
    ----------
    values : float64 (a power of 2,)
    sums : float64 (at least ⌈n / 128⌉,), scratch space
    """
    n = len(values)
    size = min(n, 128)
    count = n // size
    for part in range(count):
        sums[part] = sum_sizes(values, part * size, size)
    while count > 1:
        count //= 2
        for i in range(count):
            sums[i] = sums[2 * i] + sums[2 * i + 1]
    return sums[0] / n


@inner_kernel
def sum_sizes(values, first, size):
    """Return Σ √v² of some values, with eight sums if there are so many values."""
    total = 0.0
    if size < 8:
        for i in range(first, first + size):
            total += size_of(values[i])
        return total
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    e, f, g, h = 0.0, 0.0, 0.0, 0.0
    for i in range(first, first + size, 8):
        a += size_of(values[i])
        b += size_of(values[i + 1])
        c += size_of(values[i + 2])
        d += size_of(values[i + 3])
        e += size_of(values[i + 4])
        f += size_of(values[i + 5])
        g += size_of(values[i + 6])
        h += size_of(values[i + 7])
    return ((a + b) + (c + d)) + ((e + f) + (g + h))


@inner_kernel
def size_of(value):
    """Return √v²."""
    return math.sqrt(value * value)

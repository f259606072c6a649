"""Sample rows by hashes of their numbers: bagging, and gradient-based one-side sampling (GOSS).

GOSS (Ke et al. 2017, algorithm 2) ranks rows by |g h|, summed over the scores. The bits of
non-negative float32 numbers are ordered like their values. So the leading bits are a sort key, and
a histogram of the keys gives the threshold of the a n largest rows.
"""

from typing import NamedTuple

import numpy as np

from algorithms.runtime.jit import inner_kernel, kernel
from algorithms.runtime.math_functions import hash_of

KEY_BITS = 17  # dropped bits of a float32; 64 keys per factor of 2
KEYS = 1 << (31 - KEY_BITS)


class OneSide(NamedTuple):
    """Parameters of one-side sampling."""

    edge: int  # all rows with a larger key are taken
    most: int  # rows with this key are taken if their hash is at most this; uint32
    others_most: int  # all other rows are taken if their hash is at most this; uint32
    factor: float  # float32, (1 − a) / b: weight of the other rows
    seed: int  # uint32, seed of the hashes for rows with the key ``edge``
    others_seed: int  # seed of the hashes for the other rows


@kernel
def count_keys(g, h, sizes, counts, first, last):
    """Write Σ|g h| over the scores of the rows first … last − 1, and count the rows of each key.

    Parameters
    ----------
    g, h : (n_scores, n_rows) float32
    sizes : (n_rows,) float32, written
    counts : (KEYS,) int64, added to
    """
    first, last = np.uint64(first), np.uint64(last)
    for i in range(first, last):
        sizes[i] = abs(g[0, i] * h[0, i])
    for k in range(1, g.shape[0]):
        for i in range(first, last):
            sizes[i] += abs(g[k, i] * h[k, i])
    bits = sizes.view(np.int32)
    for i in range(first, last):
        counts[bits[i] >> KEY_BITS] += 1


@kernel
def draw_one_side(sizes, rule, g, h, order, number, first, last, weight, rows):
    """Write the sampled rows among first … last − 1, and scale g and h of the small-gradient ones.

    Parameters
    ----------
    sizes : (n_rows,) float32, result of `count_keys`
    rule : OneSide
    g, h : (n_scores, n_rows) float32, changed
    order : uint32 (n_rows,), the number of each row in the whole table, which is hashed; (0,) if
        rows are consecutive
    number : in that case, the number of the row ``first``
    weight : (last − first,) float32, written: 0 for rows that are not sampled
    rows : uint32 (last − first,), written

    Returns
    -------
    number of sampled rows
    """
    begin, end = np.uint64(first), np.uint64(last)
    bits = sizes.view(np.int32)
    if len(order):
        for i in range(begin, end):
            weight[i - begin] = weight_of(bits[i] >> KEY_BITS, rule, order[i])
    else:
        number = np.uint64(number)
        for i in range(begin, end):
            weight[i - begin] = weight_of(bits[i] >> KEY_BITS, rule, number + (i - begin))
    for k in range(np.uint64(g.shape[0])):
        for i in range(begin, end):
            factor = max(weight[i - begin], np.float32(1.0))
            g[k, i] *= factor
            h[k, i] *= factor
    count = np.uint64(0)
    for i in range(begin, end):
        rows[count] = np.uint32(i)
        count += np.uint64(weight[i - begin] > 0.0)
    return np.int64(count)


@inner_kernel
def weight_of(key, rule, number):
    """Return the weight of a row: 1 if it is large, ``factor`` if it is sampled, else 0."""
    zero, one = np.float32(0.0), np.float32(1.0)
    is_edge = (key == rule.edge) & (hash_of(rule.seed, number) <= rule.most)
    is_drawn = hash_of(rule.others_seed, number) <= rule.others_most
    return one if (key > rule.edge) | is_edge else rule.factor if is_drawn else zero


@kernel
def draw_rows(seed, below, first, last, out):
    """Write the numbers in first … last − 1 with a hash below a bound; return how many.

    Parameters
    ----------
    below : int64; a row is sampled with probability below / 2³²
    out : uint32 (last − first,), written
    """
    count = np.uint64(0)
    for i in range(np.uint64(first), np.uint64(last)):
        out[count] = np.uint32(i)
        count += np.uint64(np.int64(hash_of(seed, i)) < below)
    return np.int64(count)


@kernel
def draw_placed(seed, below, order, out):
    """Write the positions of the numbers with a hash below a bound; return how many.

    Parameters
    ----------
    seed, below : as in `draw_rows`
    order : uint32 (n_rows,), the number at each position
    out : uint32 (n_rows,), written
    """
    count = np.uint64(0)
    for i in range(np.uint64(len(order))):
        out[count] = np.uint32(i)
        count += np.uint64(np.int64(hash_of(seed, order[i])) < below)
    return np.int64(count)


@kernel
def hash_rows(seed, out):
    """Write the hash of each number 0 … n − 1 into a uint32 array."""
    for i in range(np.uint64(len(out))):
        out[i] = hash_of(seed, i)

"""Which rows and features a tree is grown on: decided by hashes of their numbers.

Bagging takes a row with probability `subsample`. One-side sampling (GOSS, Ke et al. 2017) takes
the a·n rows with the largest |g h|, and of the others b·n at random, which then weigh (1 − a) / b
times as much: the factor by which they are fewer.
"""

import numpy as np

from algorithms._kernels.hist_sketch import draw_rows, hash_rows

ALL = 1 << 32
MIX = 0x9E3779B97F4A7C15
KEY_BITS = 15  # of a float32 that are dropped when |g h| is counted
KEYS = 1 << (31 - KEY_BITS)


def seed_of(seed, *numbers):
    """Return 32 bits that depend on a seed and some numbers."""
    mixed = int(seed)
    for number in numbers:
        mixed = (mixed ^ (int(number) + 1)) * MIX % (1 << 64)
        mixed ^= mixed >> 29
    return mixed % ALL


def hash_numbers(seed, count):
    """Return the hashes of 0 … count − 1, uint32."""
    out = np.empty(count, np.uint32)
    hash_rows(np.uint32(seed), out)
    return out


def draw_share(seed, n_rows, share):
    """Return the rows of a bag, ascending, uint32; at least one."""
    out = np.empty(n_rows, np.uint32)
    out[0] = 0
    count = draw_rows(np.uint32(seed), int(share * ALL), 0, n_rows, out)
    return out[: max(count, 1)]


def draw_features(seed, n_features, share):
    """Return the features that a tree may use, ascending."""
    wanted = max(1, round(share * n_features))
    order = hash_numbers(seed, n_features)
    return np.sort(np.argsort(order, kind="stable")[:wanted])


def sample_one_side(g, h, top_rate, other_rate, seed):
    """Return the rows of one-side sampling, and how much each row weighs.

    Parameters
    ----------
    g, h : (n_scores, n_rows) float32; h may be (n_scores, 0)
    top_rate, other_rate : a and b
    seed : int below 2³²

    Returns
    -------
    rows : uint32, ascending
    factor : float32 (n_rows,)
    """
    key = keys_of(g, h)
    n = len(key)
    edge, share = top_edge(np.bincount(key, minlength=1), top_rate, n)
    drawn = hash_numbers(seed, n)
    top = (key > edge) | ((key == edge) & (drawn < share * ALL))
    n_top = int(np.count_nonzero(top))
    again = hash_numbers(seed_of(seed, 1), n)
    other = ~top & (again < other_rate * n / max(n - n_top, 1) * ALL)
    factor = np.ones(n, np.float32)
    factor[other] = (n - n_top) / max(int(other_rate * n), 1)
    return np.flatnonzero(top | other).astype(np.uint32), factor


def keys_of(g, h):
    """Return a number below `KEYS` for each row's |g h|, in the same order; int32 (n_rows,)."""
    size = np.abs(g * h if h.shape[1] else g).sum(axis=0)
    return size.astype(np.float32).view(np.int32) >> KEY_BITS


def top_edge(counts, top_rate, n_rows):
    """Return the key on the edge of the a·n largest, and the share of its rows that are among them.

    Parameters
    ----------
    counts : int64, rows by key
    top_rate : a
    n_rows : n
    """
    above = np.cumsum(counts[::-1])[::-1]  # rows whose key is at least k
    wanted = max(int(top_rate * n_rows), 1)
    edge = int(np.searchsorted(-above, -wanted, side="right")) - 1
    higher = above[edge + 1] if edge + 1 < len(above) else 0
    return edge, (wanted - higher) / (above[edge] - higher)

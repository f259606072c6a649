"""Samples of rows and features for a tree, drawn by hashes of row and feature numbers.

Bagging takes a row with probability `subsample`. One-side sampling (GOSS, Ke et al. 2017) takes
the a·n rows with the largest |g h| (|g| in the paper), and b·n of the others at random, whose g
and h are multiplied by (1 − a) / b to represent the rows left out.
"""

import numpy as np

from algorithms.gbdt.kernels.row_sampling import (
    KEYS,
    OneSide,
    count_keys,
    draw_one_side,
    draw_placed,
    draw_rows,
    hash_rows,
)

ALL = 1 << 32
MIX = 0x9E3779B97F4A7C15
AS_NUMBERED = np.empty(0, np.uint32)  # means the original row order


def seed_of(seed, *numbers):
    """Return 32 bits that depend on a seed and some numbers."""
    mixed = int(seed)
    for number in numbers:
        mixed = (mixed ^ (int(number) + 1)) * MIX % (1 << 64)
        mixed ^= mixed >> 29
    return mixed % ALL


def seeds_of(seed, *numbers):
    """Return `seed_of` of arrays of seeds and numbers, uint64; they broadcast.

    Parameters
    ----------
    seed : int, or uint64 array, below 2³²
    numbers : non-negative integer arrays
    """
    mixed = np.uint64(seed) if np.ndim(seed) == 0 else seed
    for number in numbers:
        mixed = (mixed ^ (np.asarray(number).astype(np.uint64) + np.uint64(1))) * np.uint64(MIX)
        mixed ^= mixed >> np.uint64(29)
    return mixed & np.uint64(ALL - 1)


def hash_numbers(seed, count):
    """Return the hashes of 0 … count − 1, uint32."""
    out = np.empty(count, np.uint32)
    hash_rows(np.uint32(seed), out)
    return out


def sampled_share(params):
    """Return the approximate fraction of the rows that a tree is grown on.

    Parameters
    ----------
    params : the estimator
    """
    if params.data_sample_strategy == "goss":
        return params.top_rate + params.other_rate
    return params.subsample if params.subsample_freq > 0 else 1.0


def draw_share(seed, n_rows, share, order=AS_NUMBERED):
    """Return the rows of a bag, ascending, uint32; the first row if none is drawn.

    Parameters
    ----------
    seed : int below 2³²
    n_rows : int
    share : fraction of the rows, in (0, 1)
    order : uint32 (n_rows,), row's number at each position; (0,) if rows are not reordered
    """
    out = np.empty(n_rows, np.uint32)
    if len(order):
        count = draw_placed(np.uint32(seed), int(share * ALL), order, out)
    else:
        count = draw_rows(np.uint32(seed), int(share * ALL), 0, n_rows, out)
    return at_least_one(out[:count], order)


def at_least_one(rows, order=AS_NUMBERED):
    """Return the rows of a sample, or the first row of the table if it is empty; uint32."""
    if len(rows):
        return rows
    return np.flatnonzero(order == 0).astype(np.uint32) if len(order) else np.zeros(1, np.uint32)


def draw_features(seed, n_features, share):
    """Return the features that a tree may use, ascending."""
    wanted = max(1, round(share * n_features))
    order = hash_numbers(seed, n_features)
    return np.sort(np.argsort(order, kind="stable")[:wanted])


def size_rows(g, h, workers):
    """Return Σ|g h| over scores of each row, float32 (n_rows,), and the rows by key, int64.

    Parameters
    ----------
    g, h : (n_scores, n_rows) float32
    workers : Workers
    """
    n_rows = g.shape[1]
    sizes, tables = np.empty(n_rows, np.float32), []

    def share(first, last):
        counts = np.zeros(KEYS, np.int64)
        count_keys(g, h, sizes, counts, first, last)
        tables.append(counts)

    workers.share(share, n_rows)
    return sizes, np.sum(tables, axis=0)


def one_side_rule(counts, top_rate, other_rate, seed):
    """Return the `OneSide` rule of a table.

    Parameters
    ----------
    counts : (KEYS,) int64, number of rows by key, over all rows
    top_rate, other_rate : a and b
    seed : int below 2³²
    """
    n = int(counts.sum())
    edge, share = top_edge(counts, top_rate, n)
    n_others = n - max(int(top_rate * n), 1)
    return OneSide(
        edge=np.int32(edge),
        most=most_of(share),
        others_most=most_of(other_rate * n / max(n_others, 1)),
        factor=np.float32(max(n_others / (other_rate * n), 1.0)),
        seed=np.uint32(seed),
        others_seed=np.uint32(seed_of(seed, 1)),
    )


def most_of(share):
    """Return the largest hash of a fraction of all hashes, uint32."""
    return np.uint32(min(max(int(share * ALL) - 1, 0), ALL - 1))


def take_one_side(sizes, rule, g, h, runs, workers, order=AS_NUMBERED):
    """Return the rows that a `OneSide` rule takes, ascending, uint32.

    g and h of sampled rows with small gradients are multiplied in place.

    Parameters
    ----------
    sizes : from `size_rows`
    rule : OneSide
    g, h : (n_scores, n_rows) float32, changed in place
    runs : list of (first, last + 1, number of the first in the whole table), consecutive rows
    workers : Workers
    order : uint32 (n_rows,), row's number at each position; (0,) if rows are not reordered
    """
    taken = []
    for start, end, number in runs:

        def share(low, high, start=start, number=number):
            begin, end = start + low, start + high
            rows, weight = np.empty(high - low, np.uint32), np.empty(high - low, np.float32)
            count = draw_one_side(sizes, rule, g, h, order, number + low, begin, end, weight, rows)
            taken.append((begin, rows[:count]))

        workers.share(share, end - start)
    ordered = sorted(taken, key=lambda one: one[0])
    return np.concatenate([np.empty(0, np.uint32), *(rows for _, rows in ordered)])


def top_edge(counts, top_rate, n_rows):
    """Return the smallest key of the a·n largest rows, and the fraction of its rows that belong.

    Parameters
    ----------
    counts : int64, number of rows by key
    top_rate : a
    n_rows : n
    """
    keys = np.flatnonzero(counts)[::-1]
    taken = np.cumsum(counts[keys])  # rows whose key is at least this one
    wanted = max(int(top_rate * n_rows), 1)
    at = int(np.searchsorted(taken, wanted))
    edge_count = int(counts[keys[at]])
    return int(keys[at]), (wanted - int(taken[at]) + edge_count) / edge_count

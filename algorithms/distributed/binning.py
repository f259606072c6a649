"""Distributed binning: the same bins as on one machine.

Edges depend on a sample that is drawn by row numbers, and on its values, not on their order. Each
rank receives the sample of some of the features, chooses their edges with the booster's own
function, and sends them to the others.
"""

import json
from dataclasses import replace

import numpy as np

from algorithms.gbdt.binning import ALL, SAMPLE_SEED, Binner, find_bins, find_missing

AT_ONCE = 1 << 26  # maximum number of sample bytes that are sent together


def find_shared_bins(ranks, X, rows, categorical, limits, sample, workers):
    """Return the `Binner` of the whole table.

    Parameters
    ----------
    ranks : Ranks
    X : (n_rows, n_features) float32 or float64, the rank's own rows, NaN where missing
    rows : Rows
    categorical, sample, workers : as in `gbdt.binning.find_bins`
    limits : EdgeLimits; its ``min_in_leaf`` is used only if the sample holds all rows
    """
    n_features = X.shape[1]
    own_missing = find_missing(X, workers) if len(X) else np.zeros(n_features, bool)
    any_missing = ranks.total(own_missing, "bins") > 0
    drawn = X
    if rows.total > sample:
        drawn = X[rows.draw(SAMPLE_SEED, ALL * sample // rows.total)]
        limits = replace(limits, min_in_leaf=0)
    n_drawn = int(ranks.total([len(drawn)], "bins")[0])
    step = max(ranks.size, AT_ONCE // max(n_drawn * X.dtype.itemsize, 1))
    bins = []
    for low in range(0, n_features, step):
        chunk = slice(low, min(low + step, n_features))
        parts = ranks.gather(np.ascontiguousarray(drawn[:, chunk]).tobytes(), "bins")
        columns = np.frombuffer(b"".join(parts), X.dtype).reshape(-1, chunk.stop - low)
        share = share_of(ranks.rank, ranks.size, columns.shape[1])
        at = slice(low + share.start, low + share.stop)
        bins.append(bins_of(columns[:, share], any_missing[at], categorical[at], limits, workers))
    return merge(ranks, bins, n_features, step)


def share_of(rank, size, count):
    """Return a rank's share of ``count`` items, a slice."""
    return slice(count * rank // size, count * (rank + 1) // size)


def owners_of(counts, size):
    """Return the rank that scans each feature, int64; ranks have about equal numbers of bins."""
    middle = np.cumsum(counts) - counts / 2.0
    owner = np.minimum(middle * size // max(counts.sum(), 1), size - 1)
    return owner.astype(np.int64)


def bins_of(columns, any_missing, categorical, limits, workers):
    """Return (edges, codes, missing, all codes) of each feature, as lists, from a sample.

    If a feature has missing values, a row of NaN is added, because the sample may have none.
    """
    bins = [None] * columns.shape[1]
    for has_missing in (False, True):
        which = np.flatnonzero(any_missing == has_missing)
        table = columns[:, which]
        if has_missing:
            table = np.concatenate([table, np.full((1, len(which)), np.nan, columns.dtype)])
        table = np.ascontiguousarray(table)
        if not len(which):
            continue
        sample = len(table) + 1  # all rows
        given = categorical[which], limits.max_bin, sample, limits.min_in_bin
        binner = find_bins(table, *given, workers, limits.min_in_leaf)
        for j, f in enumerate(which):
            codes = None if binner.codes[j] is None else binner.codes[j].tolist()
            all_codes = (
                binner.high_cardinality[j].tolist() if j in binner.high_cardinality else None
            )
            bins[f] = (binner.edges[j].tolist(), codes, int(binner.missing[j]), all_codes)
    return bins


def merge(ranks, local_bins, n_features, step):
    """Return the `Binner` of all features, from the bins that each rank has found."""
    text = json.dumps(local_bins).encode()  # JSON preserves floats exactly
    parts = [json.loads(part) for part in ranks.gather(text, "bins")]
    features = [
        one for chunk in range(-(-n_features // step)) for part in parts for one in part[chunk]
    ]
    edges, codes, missing, high_cardinality = zip(*features, strict=True)
    return Binner(
        tuple(np.array(item, np.float64) for item in edges),
        tuple(None if item is None else np.array(item, np.int64) for item in codes),
        np.array(missing, np.int64),
        {
            f: np.array(item, np.int64)
            for f, item in enumerate(high_cardinality)
            if item is not None
        },
    )

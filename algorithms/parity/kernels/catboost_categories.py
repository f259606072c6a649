"""Float64 split scores of one-hot columns, packs and target statistics in CatBoost's order."""

import math

import numpy as np

from algorithms.parity.kernels.catboost_scores import (
    L2,
    LEAST,
    add_leaf,
    add_packed_leaf,
    add_rows,
    add_split,
)
from algorithms.runtime.jit import inner_kernel, kernel
from algorithms.symmetric.kernels.segment_scores import ONE_HOT, PACK


@kernel
def build_all_leaves(bins, g, weight, rows, starts, ends, n_leaves, stride, planes):
    """Write the histograms of all leaves, each summed from its rows.

    Parameters
    ----------
    bins : uint8 (n_rows, n_columns)
    g : float64 (n_outputs, n_rows)
    weight : float32 (n_rows,), or (0,) if all are 1
    rows : uint32, rows grouped by leaf
    starts, ends : int64, range of each leaf in ``rows``
    n_leaves : int
    stride : number of entries of a column
    planes : float64 (n_leaves, n_outputs, 2, n_columns · stride), written
    """
    n_columns = bins.shape[1]
    for leaf in range(n_leaves):
        add_rows(
            bins, g, weight, rows, starts[leaf], ends[leaf], 0, n_columns, stride, planes[leaf]
        )


@inner_kernel
def add_one_hot_leaf(planes, first, n_levels, kind, l2, sums):
    """Add all splits of a leaf by one level against the others."""
    false_g = false_w = 0.0
    for b in range(n_levels):
        false_g += planes[0, first + b]
        false_w += planes[1, first + b]
    for b in range(n_levels):
        true_g, true_w = planes[0, first + b], planes[1, first + b]
        false_g -= true_g
        false_w -= true_w
        add_split(kind, false_g, false_w, true_g, true_w, l2, sums, b)
        false_g += true_g
        false_w += true_w


@kernel
def scan_candidates(
    planes, n_leaves, n_splits, kinds, masks, low, high, stride, l2, kind, sums, best_score,
    best_split,
):  # fmt: skip
    """Write the best split of each of the candidates low … high − 1.

    Parameters
    ----------
    planes : float64 (n_leaves, n_outputs, 2, n_candidates · stride)
    n_leaves : int
    n_splits : int64 (n_candidates,)
    kinds : int8 (n_candidates,): FLOATS, PACK or ONE_HOT
    masks : int64 (n_candidates,), the usable bits of a PACK
    l2 : λ
    kind : L2, or else Cosine
    sums : (2, stride) float64, scratch space
    best_score : (n_candidates,) float64, written
    best_split : (n_candidates,) int64, written
    """
    for f in range(low, high):
        count = n_splits[f]
        for b in range(count):
            sums[0, b] = 0.0
            sums[1, b] = LEAST
        for k in range(planes.shape[1]):
            for leaf in range(n_leaves):
                if kinds[f] == PACK:
                    add_packed_leaf(planes[leaf, k], f * stride, count, kind, l2, sums)
                elif kinds[f] == ONE_HOT:
                    add_one_hot_leaf(planes[leaf, k], f * stride, count, kind, l2, sums)
                else:
                    add_leaf(planes[leaf, k], f * stride, count + 1, kind, l2, sums)
        best_score[f] = -np.inf
        for b in range(count):
            if kinds[f] == PACK and (masks[f] >> b) & 1 == 0:
                continue
            score = sums[0, b] if kind == L2 else sums[0, b] / math.sqrt(sums[1, b])
            if score > best_score[f]:
                best_score[f] = score
                best_split[f] = b

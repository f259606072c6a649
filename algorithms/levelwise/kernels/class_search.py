"""Search of the best gini split of every slot of a level, over every distinct threshold.

With l_k, r_k the weight of class k left and right of a threshold, the split with the smallest
impurity is the one with the largest

    S = G(l) + G(r),    G(l) = Σ l_k² / Σ l_k

Thresholds between bins are scored first. Inside a bin with class weights m_k, l moves from its
start by some δ with 0 ≤ δ_k ≤ m_k, and r moves back by δ. G is convex. So for two classes no S
inside the bin exceeds the largest S at the four corners. For more classes, with p and q the shares
at the start, v = Σ m_k, and the sides' weights at least n_L (at the start) and n_R (at the end),

    S(l + δ) ≤ S(l) + Σ m_k max(0, 2 p_k − |p|² − 2 q_k + |q|²) + 2 v² (1 / n_L + 1 / n_R).

This is the tangent plus the largest possible curvature term of G. A bin is searched entry by entry
only if its bound exceeds the best score of the slot.

Scores that differ only by rounding count as equal. Of these the first column is taken, and in it
the lowest threshold, as scikit-learn does for equal scores.
"""

import numpy as np

from algorithms.levelwise.kernels.class_arrays import CODE_BITS
from algorithms.levelwise.kernels.level_arrays import value_at
from algorithms.runtime.array_moves import copy
from algorithms.runtime.jit import inner_kernel, kernel
from algorithms.trees.kernels.tree_arrays import ROW

TIE = 1e-13  # relative to the slot's weight: closer scores count as equal (rounding errors),
PART = 0.01  # unless the tolerance exceeds this share of n H, the maximum gain
SLACK = 1e-12  # relative tolerance of the bounds
TWO = 2


@inner_kernel
def cell_of(lane, b):
    """Return the index of the sum of a lane and bin."""
    return (np.uint64(lane) << CODE_BITS) | np.uint64(b)


@inner_kernel
def weight_of(totals):
    """Return the weight of all classes, without the row count in the last entry."""
    n = 0.0
    for k in range(len(totals) - 1):
        n += totals[k]
    return n


@inner_kernel
def tie_of(totals):
    """Return the difference up to which scores count as equal."""
    n = weight_of(totals)
    s = 0.0
    for k in range(len(totals) - 1):
        s += totals[k] * totals[k]
    return min(TIE * n, PART * max(n - s / n, 0.0))


@inner_kernel
def score_of(left, totals, n_left, n, least):
    """Return S, or -inf if a side weighs too little."""
    n_right = n - n_left
    if n_left <= 0.0 or n_right <= 0.0 or n_left < least or n_right < least:
        return -np.inf
    a = 0.0
    c = 0.0
    for k in range(len(totals) - 1):
        right = totals[k] - left[k]
        a += left[k] * left[k]
        c += right * right
    return a / n_left + c / n_right


@inner_kernel
def keep_best(level, f, slot, score, entry, tie):
    """Store a split of a column if it is better, or if it comes first among equals."""
    best = level.score[f, slot]
    if score > best + tie or (score >= best - tie and entry < level.entry[f, slot]):
        level.score[f, slot] = score
        level.entry[f, slot] = entry


@inner_kernel
def add_bin(sums, slot, b, left):
    """Add a bin's sums of a slot; return their weight."""
    n_classes = len(left)
    n = 0.0
    for k in range(n_classes):
        w = sums[cell_of(slot * n_classes + k, b)]
        left[k] += w
        n += w
    return n


@inner_kernel
def last_bin(sums, slot, n_classes, n_bins):
    """Return the last bin that contains rows of a slot."""
    b = n_bins - 1
    while b > 0:
        for k in range(n_classes):
            if sums[cell_of(slot * n_classes + k, b)] > 0.0:
                return b
        b -= 1
    return b


@kernel
def search_borders(codes, limits, level, left, first, last):
    """Score the thresholds between bins, of the columns first … last − 1; write the best.

    Parameters
    ----------
    codes : level_arrays.Codes
    limits : ClassLimits
    level : ClassLevel; ``score`` and ``entry`` are written
    left : float64 (K,), scratch
    """
    least = limits.min_weight_leaf
    for f in range(first, last):
        sums = level.sums[f]
        for slot in range(len(level.open)):
            level.score[f, slot] = -np.inf
            level.entry[f, slot] = 0
            if level.open[slot] == 0:
                continue
            totals = level.totals[slot]
            n = weight_of(totals)
            tie = tie_of(totals)
            n_left = 0.0
            left[:] = 0.0
            for b in range(last_bin(sums, slot, len(left), codes.bins[f])):
                added = add_bin(sums, slot, b, left)
                if added > 0.0:
                    n_left += added
                    score = score_of(left, totals, n_left, n, least)
                    if score > -np.inf:
                        keep_best(level, f, slot, score, codes.starts[f, b + 1], tie)


@kernel
def search_inside(table, codes, limits, rows, level, best, left, first, last):
    """Search the bins that may contain a better split, in the columns first … last − 1.

    Parameters
    ----------
    table : CodedTable; codes : level_arrays.Codes; limits : ClassLimits; rows : ClassRows
    level : ClassLevel; ``score`` and ``entry`` are written
    best : float64 (n_slots,), the best score of each slot over all columns so far
    left : float64 (2, K), scratch
    """
    before, inside = left[0], left[1]
    n_classes = len(before)
    for f in range(first, last):
        sums = level.sums[f]
        for slot in range(len(level.open)):
            if level.open[slot] == 0:
                continue
            totals = level.totals[slot]
            n = weight_of(totals)
            n_left = 0.0
            before[:] = 0.0
            for b in range(last_bin(sums, slot, n_classes, codes.bins[f]) + 1):
                if codes.plain[f, b] == 0:
                    known = max(best[slot], level.score[f, slot]) - SLACK * n
                    start = (n_left, n)
                    if bound_inside(sums, slot, b, before, totals, start) >= known:
                        copy(before, inside, 0, n_classes)
                        where = (f, slot, b, known)
                        search_bin(table, codes, limits, rows, level, where, inside, start)
                n_left += add_bin(sums, slot, b, before)


@inner_kernel
def bound_inside(sums, slot, b, left, totals, start):
    """Return an upper bound of S inside a bin, from the weights left of it."""
    n_left, n = start
    n_classes = len(left)
    v = 0.0
    for k in range(n_classes):
        v += sums[cell_of(slot * n_classes + k, b)]
    if v == 0.0:
        return -np.inf
    if n_classes == TWO:
        m_0 = sums[cell_of(slot * TWO, b)]
        m_1 = sums[cell_of(slot * TWO + 1, b)]
        bound = -np.inf
        for corner in range(4):
            l_0 = left[0] + m_0 * (corner & 1)
            l_1 = left[1] + m_1 * (corner >> 1)
            bound = max(
                bound, two_class_score(l_0, l_1) + two_class_score(totals[0] - l_0, totals[1] - l_1)
            )
        return bound
    n_right = n - n_left
    if n_left <= 0.0 or n_right - v <= 0.0:
        return np.inf
    p_2 = 0.0
    q_2 = 0.0
    for k in range(n_classes):
        p_2 += (left[k] / n_left) ** 2
        q_2 += ((totals[k] - left[k]) / n_right) ** 2
    bound = n_left * p_2 + n_right * q_2 + 2.0 * v * v * (1.0 / n_left + 1.0 / (n_right - v))
    for k in range(n_classes):
        m = sums[cell_of(slot * n_classes + k, b)]
        p, q = left[k] / n_left, (totals[k] - left[k]) / n_right
        bound += m * max(0.0, 2.0 * p - p_2 - 2.0 * q + q_2)
    return bound


@inner_kernel
def two_class_score(l_0, l_1):
    """Return G of two classes; 0 for an empty side."""
    n = l_0 + l_1
    return (l_0 * l_0 + l_1 * l_1) / n if n > 0.0 else 0.0


@inner_kernel
def search_bin(table, codes, limits, rows, level, where, left, start):
    """Score every threshold inside a bin; values are read only if a score is good enough.

    Parameters
    ----------
    where : (f, slot, b, least); scores below ``least`` are ignored
    left : float64 (K,), weights left of the bin, updated
    start : the sum of ``left``, and the weight of the slot
    """
    f, slot, b, least = where
    n_left, n = start
    totals = level.totals[slot]
    tie = tie_of(totals)
    first_lane = np.uint16(slot * len(left))
    before = np.uint64(0)
    is_first = True
    for j in range(codes.starts[f, b], codes.starts[f, b + 1]):
        row = np.uint64(table.order[f, j] & ROW)
        k = np.uint16(rows.lane[row] - first_lane)
        if k >= len(left):
            continue
        if not is_first:
            score = score_of(left, totals, n_left, n, limits.min_weight_leaf)
            lowest = value_at(table, f, before) + table.close
            if score >= least and value_at(table, f, row) > lowest:
                keep_best(level, f, slot, score, j, tie)
        is_first = False
        before = row
        left[k] += rows.weight[row]
        n_left += rows.weight[row]

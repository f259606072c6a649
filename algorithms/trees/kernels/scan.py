"""Search of the best split of one feature in one node, over every distinct value.

A scan processes the feature's list in blocks of 64 entries. Sums up to each entry are stored. A
bound without a division then decides whether any split of the block can exceed the best known
score, which is rare. Only then are the splits scored, and only the best of them are evaluated by
the criterion itself, in scikit-learn's arithmetic, so that ties are the same. Few entries are
compared with the bound one by one.

For regression, and for two classes by gini, the score of a split is (s_L, s_R, n_L, n_R as in
`criteria`, with s the weight of class 1)

    S = s_L² / n_L + s_R² / n_R,    and  S > T  if and only if  s_L² n_R + s_R² n_L > T n_L n_R;

by gini the proxy is 2 S − 2 s. For more classes, and for entropy, see `scan_classes`.
"""

import numpy as np

from algorithms.runtime.jit import inner_kernel
from algorithms.trees.kernels.criteria import proxy_of_pair
from algorithms.trees.kernels.rank import value_of
from algorithms.trees.kernels.tree_arrays import (
    BLOCK,
    DISTINCT,
    EXACT,
    FLAG,
    ROW,
    SQUARED_ERROR,
)

LOW = 0xFFFFFFFF
ROUNDING = 1e-14  # relative tolerance, above the rounding error of any proxy or score here
SIGN = np.uint32(31)
FEW = 32  # maximum number of entries that are compared with the bound one by one


@inner_kernel
def fits(table, rows, f, column, j, stop):
    """Return whether a split before entry j is allowed: its value is distinct, or missing."""
    if j == stop or rows.lists[f, j] >> SIGN:
        return True
    if table.kind[column] == EXACT:
        return False
    if table.kind[column] == DISTINCT and rows.lists[f, j - 1] >> SIGN:
        return True
    here = value_of(table, rows, column, rows.lists[f, j] & ROW)
    before = value_of(table, rows, column, rows.lists[f, j - 1] & ROW)
    return here > before + table.close


@inner_kernel
def may_split(sign, value_left, value_right, lower, upper):
    """Return whether the sides satisfy a monotonic constraint and the node's bounds."""
    if sign == 0:
        return True
    low = min(value_left, value_right)
    high = max(value_left, value_right)
    return lower <= low and high <= upper and (value_left - value_right) * sign <= 0.0


@inner_kernel
def sum_block(rows, f, p, m, s, n, block, packed):
    """Write s and n up to each of the m entries from p on; return both after the last."""
    if len(rows.weight):
        for i in range(m):
            row = rows.lists[f, p + i] & ROW
            n += rows.weight[row]
            s += rows.weight[row] * rows.target[row]
            block[0, i] = s
            block[1, i] = n
        return s, n
    if len(rows.mark):
        total = (np.int64(n) << 32) + np.int64(s)
        for i in range(m):
            total += rows.mark[rows.lists[f, p + i] & ROW]
            packed[i] = total
        for i in range(m):
            block[0, i] = np.float64(packed[i] & LOW)
            block[1, i] = np.float64(packed[i] >> 32)
        return np.float64(total & LOW), np.float64(total >> 32)
    for i in range(m):
        n += 1.0
        s += rows.target[rows.lists[f, p + i] & ROW]
        block[0, i] = s
        block[1, i] = n
    return s, n


@inner_kernel
def add_row(rows, row, s, n):
    """Return s and n with a row added."""
    if len(rows.weight):
        return s + rows.weight[row] * rows.target[row], n + rows.weight[row]
    if len(rows.mark):
        return s + np.float64(rows.mark[row] & LOW), n + np.float64(rows.mark[row] >> 32)
    return s + rows.target[row], n + 1.0


@inner_kernel
def is_above(s_left, n_left, s, n, threshold):
    """Return whether S > threshold up to rounding, without a division; False if a side is empty."""
    s_right = s - s_left
    n_right = n - n_left
    scaled = s_left * s_left * n_right + s_right * s_right * n_left
    return scaled > threshold * (n_left * n_right)


@inner_kernel
def any_passes_bound(lists, f, p, m, all_apart, block, s, n, threshold):
    """Return whether a split of the block between distinct values scores above the threshold."""
    any_passes = np.int64(0)
    for i in range(m):
        above = is_above(block[0, i], block[1, i], s, n, threshold)
        apart = (lists[f, p + i + np.uint64(1)] | all_apart) >> SIGN
        any_passes |= np.int64(above) & np.int64(apart)
    return any_passes != 0


@inner_kernel
def score_block(lists, f, p, m, all_apart, block, s, n):
    """Write the score S before each entry of the block; -inf where values are not distinct."""
    for i in range(m):
        s_left = block[0, i]
        n_left = block[1, i]
        s_right = s - s_left
        n_right = n - n_left
        score = s_left * s_left / n_left + s_right * s_right / n_right  # S
        is_apart = (lists[f, p + i + np.uint64(1)] | all_apart) >> SIGN
        block[2, i] = score if is_apart else -np.inf


@inner_kernel
def best_score(block, m):
    """Return the first index with the highest score, or -1 if no score is a number."""
    a = b = c = d = -np.inf  # four maxima, so that an entry does not wait for the one before it
    i = np.uint64(0)
    while i + np.uint64(4) <= np.uint64(m):
        a = max(a, block[2, i])
        b = max(b, block[2, i + np.uint64(1)])
        c = max(c, block[2, i + np.uint64(2)])
        d = max(d, block[2, i + np.uint64(3)])
        i += np.uint64(4)
    while i < np.uint64(m):
        a = max(a, block[2, i])
        i += np.uint64(1)
    top = max(a, b, c, d)
    if top == -np.inf:
        return -1
    best = 0
    while block[2, best] != top:
        best += 1
    return best


@inner_kernel
def places(table, rules, column, start, stop, n_rows, rows_left):
    """Return the first and the last split that leaves enough rows per side, and FLAG or 0.

    FLAG: an entry without flag may differ from the one before it, too.
    """
    fewest = rules.min_samples_leaf
    first = max(start + 1, start + fewest - rows_left)
    last = min(stop, start + n_rows - rows_left - fewest)
    looks_up = table.kind[column] != EXACT or start + n_rows - rows_left > stop
    return first, last, FLAG if looks_up else np.uint32(0)


@inner_kernel
def slack_of(rules, score, n):
    """Return how far below a score another score may be and still have the larger proxy."""
    return ROUNDING * (abs(score) if rules.criterion == SQUARED_ERROR else n)


@inner_kernel
def allowed(rules, sign, s_left, n_left, s, n, lower, upper):
    """Return whether both sides weigh enough and satisfy a monotonic constraint."""
    s_right = s - s_left
    n_right = n - n_left
    if n_left < rules.min_weight_leaf or n_right < rules.min_weight_leaf:
        return False
    if rules.criterion == SQUARED_ERROR:
        return may_split(sign, s_left / n_left, s_right / n_right, lower, upper)
    value_left = (n_left - s_left) / n_left  # the share of class 0
    return may_split(sign, value_left, (n_right - s_right) / n_right, lower, upper)


@inner_kernel
def scan_pairs(table, rows, rules, f, node, side, totals, best, scratch):
    """Return the best proxy of a feature above ``best``, and its entry in the list, or 0.

    Parameters
    ----------
    f : index of the feature's list
    node : (start, stop, n_rows, lower, upper, column, sign): the entries of present values, the
        number of all rows, the monotonic bounds of the node, the feature's column of the table,
        and its monotonic constraint
    side : (n_rows, n, s) left of the first entry: those of missing rows if they go left
    totals : as in `impurity`
    best : proxy to exceed
    """
    start, stop, n_rows, _, _, column, _ = node
    rows_left, _, _ = side
    n = totals[0]
    s = totals[1] if rules.criterion == SQUARED_ERROR else totals[2]
    limits = places(table, rules, column, start, stop, n_rows, rows_left)
    if limits[1] - start <= FEW:
        return scan_few(table, rows, rules, f, node, side, (n, s), best, limits)
    return scan_blocks(table, rows, rules, f, node, side, (n, s), best, limits, scratch)


@inner_kernel
def scan_few(table, rows, rules, f, node, side, whole, best, limits):
    """Do the same as `scan_pairs` entry by entry.

    Parameters
    ----------
    whole : (n, s) of the node
    limits : as `places` returns them
    """
    start, stop, _, lower, upper, column, sign = node
    _, n_left, s_left = side
    n, s = whole
    first, last, all_apart = limits
    threshold = bound_of(rules, best, n, s)
    place = 0
    own = np.uint64(f)
    for i in range(np.uint64(start), np.uint64(last)):
        s_left, n_left = add_row(rows, rows.lists[own, i] & ROW, s_left, n_left)
        j = i + np.uint64(1)
        if not (rows.lists[own, j] | all_apart) >> SIGN or (
            rules.filtered and not is_above(s_left, n_left, s, n, threshold)
        ):
            continue
        if (
            np.int64(j) >= first
            and fits(table, rows, f, column, np.int64(j), stop)
            and allowed(rules, sign, s_left, n_left, s, n, lower, upper)
        ):
            proxy = proxy_of_pair(rules.criterion, s_left, n_left, s, n)
            if proxy > best:
                best = proxy
                place = np.int64(j)
                threshold = bound_of(rules, best, n, s)
    return best, place


@inner_kernel
def bound_of(rules, best, n, s):
    """Return the score S up to which no split has a larger proxy than ``best``."""
    score = best if rules.criterion == SQUARED_ERROR else s + 0.5 * best
    return score - slack_of(rules, score, n)


@inner_kernel
def scan_blocks(table, rows, rules, f, node, side, whole, best, limits, scratch):
    """Do the same as `scan_pairs` in blocks; parameters as in `scan_few`."""
    start, stop, _, lower, upper, column, sign = node
    _, n_left, s_left = side
    n, s = whole
    first, last, all_apart = limits
    block, packed = scratch.block, scratch.packed
    own = np.uint64(f)
    threshold = bound_of(rules, best, n, s)
    place = 0
    p = start
    while p < last:
        m = min(BLOCK, last - p)
        size, begin = np.uint64(m), np.uint64(p)
        s_left, n_left = sum_block(rows, own, begin, size, s_left, n_left, block, packed)
        if p + BLOCK >= first and (
            not rules.filtered
            or any_passes_bound(rows.lists, own, begin, size, all_apart, block, s, n, threshold)
        ):
            score_block(rows.lists, own, begin, size, all_apart, block, s, n)
            block[2, : max(0, min(m, first - p - 1))] = -np.inf
            i = best_score(block, m)
            while i >= 0 and block[2, i] > threshold:
                j = p + i + 1
                if fits(table, rows, f, column, j, stop) and allowed(
                    rules, sign, block[0, i], block[1, i], s, n, lower, upper
                ):
                    proxy = proxy_of_pair(rules.criterion, block[0, i], block[1, i], s, n)
                    if proxy > best or (proxy == best and 0 < j < place):
                        best = proxy
                        place = j
                    threshold = max(threshold, block[2, i] - slack_of(rules, block[2, i], n))
                block[2, i] = -np.inf
                i = best_score(block, m)
        p += BLOCK
    return best, place

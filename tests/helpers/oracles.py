"""Slow, simple implementations ("oracles") of the kernels' results."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np

CLOSE = np.float32(1e-7)
FLAG, ROW = 1 << 31, (1 << 31) - 1
DISTINCT, EXACT, NEAR = 0, 1, 2


# ------------------------------------------------------------------ sorted lists


def fits_split(a, b):
    """Return True if a split fits between two float32 values, a before b."""
    return bool(np.float32(b) > np.float32(a) + CLOSE)


def column_kind(values):
    """Return the kind of a column, by its sorted present values."""
    present = np.sort(values[~np.isnan(values)])
    close = [(a, b) for a, b in pairwise(present) if not fits_split(a, b)]
    if len(close) * 16 <= len(present):
        return DISTINCT
    return EXACT if all(a == b for a, b in close) else NEAR


def sort_column(values):
    """Return (order with flags, kind, number of missing values) of a column."""
    present = [i for i in range(len(values)) if not np.isnan(values[i])]
    # equal numbers in the order of rows; −0.0 is before 0.0, as its bits are
    present.sort(key=lambda i: (values[i], not np.signbit(values[i]), i))
    missing = [i for i in range(len(values)) if np.isnan(values[i])]
    kind = column_kind(values)
    flags = list_flags(values, present, kind, has_distant_value(values)) + [False] * len(missing)
    order = [
        row | (FLAG if flag else 0) for row, flag in zip(present + missing, flags, strict=True)
    ]
    return np.array(order, np.uint32), kind, len(missing)


def has_distant_value(values):
    """Return, for each row, whether no other row has a value close to its own."""
    return [
        all(
            fits_split(min(a, b), max(a, b))
            for j, b in enumerate(values)
            if j != i and not np.isnan(b)
        )
        for i, a in enumerate(values)
    ]


def list_flags(values, rows, kind, alone):
    """Return the flags of rows in the order of their values."""
    if kind == DISTINCT:
        return [alone[row] for row in rows]
    steps = [fits_split(values[a], values[b]) for a, b in pairwise(rows)]
    return ([False] if rows else []) + steps


def split_positions(values, entries):
    """Return, for each entry but the first, whether a split fits before it."""
    rows = [int(e) & ROW for e in entries]
    return [fits_split(values[a], values[b]) for a, b in pairwise(rows)]


# ------------------------------------------------------------------ criteria


def impurity(criterion, y, w):
    """Return H of rows with class codes, or values, and weights."""
    n = math.fsum(w)
    if criterion == "squared_error":
        mean = math.fsum(w * y) / n
        return math.fsum(w * (y - mean) ** 2) / n
    shares = [math.fsum(w[y == k]) / n for k in np.unique(y)]
    if criterion == "misclassification":
        return 1.0 - max(shares)
    if criterion == "gini":
        return 1.0 - math.fsum(p * p for p in shares)
    return -math.fsum(p * math.log2(p) for p in shares if p > 0)


def decrease(criterion, y, w, left):
    """Return n H − n_L H_L − n_R H_R of a split: its weighted impurity decrease."""
    whole, sides = impurity(criterion, y, w) * w.sum(), 0.0
    for side in (left, ~left):
        sides += impurity(criterion, y[side], w[side]) * w[side].sum()
    return whole - sides


def splits_of(x):
    """Yield (threshold, missing go left, rows on the left) of every split of a column."""
    known = ~np.isnan(x)
    values = np.sort(x[known])
    cuts = [np.float64(a) / 2 + np.float64(b) / 2 for a, b in pairwise(values) if fits_split(a, b)]
    for cut in cuts:
        yield cut, False, known & (x <= cut)
    if known.all() or not known.any():
        return
    yield np.inf, False, known
    for cut in cuts:
        yield cut, True, ~known | (x <= cut)


def best_split(criterion, x, y, w, min_samples_leaf=1, min_weight_leaf=0.0):
    """Return (decrease, threshold, missing go left) of a column's best split, or None."""
    best = None
    for cut, missing_left, left in splits_of(x):
        rows, weights = (left.sum(), (~left).sum()), (w[left].sum(), w[~left].sum())
        if min(rows) < min_samples_leaf or min(weights) < min_weight_leaf:
            continue
        result = decrease(criterion, y, w, left)
        if best is None or result > best[0] + 1e-12:
            best = (result, cut, missing_left)
    return best


def best_cut(x, codes, weight, min_weight_leaf=0.0):
    """Return (score, value before the cut) of the best cut of a column by gini, or None.

    Two classes with whole weights: the score Σ n_k² / n of both sides is an exact fraction. Of
    equal cuts the lowest counts.
    """
    best = None
    for low, high in pairwise(np.unique(x)):
        sides = [
            [int(weight[side & (codes == k)].sum()) for k in (0, 1)] for side in (x <= low, x > low)
        ]
        if not fits_split(low, high) or min(map(sum, sides)) < min_weight_leaf:
            continue
        score = sum(Fraction(a * a + b * b, a + b) for a, b in sides)
        if best is None or score > best[0]:
            best = (score, low)
    return best


# ------------------------------------------------------------------ random draws


def xorshift(state):
    """Return the next state of the 32-bit stream, and the number below 2³¹ drawn from it."""
    state = state or 1
    state ^= state << 13 & 0xFFFFFFFF
    state ^= state >> 17
    state ^= state << 5 & 0xFFFFFFFF
    return state, state % (1 << 31)


class Draws:
    """A feature shuffle as described by scikit-learn, with lists."""

    def __init__(self, n_features, state):
        self.features = list(range(n_features))
        self.state = state

    def number(self, low, high):
        self.state, drawn = xorshift(self.state)
        return low + drawn % (high - low)

    def node(self, known, is_constant, max_features):
        """Return (features to search, constant features) of a node.

        Parameters
        ----------
        known : list of features that are constant in the node above
        is_constant : function of a feature
        """
        n_known = len(known)
        drawn_known, waiting_known = [], self.features[:n_known]
        results, waiting, searched = [], self.features[n_known:], []
        visited = 0
        while waiting and (visited < max_features or visited <= len(results) + len(drawn_known)):
            visited += 1
            low = len(drawn_known)
            at = self.number(low, low + len(waiting_known) + len(waiting))
            if at < n_known:
                at -= low
                waiting_known[0], waiting_known[at] = waiting_known[at], waiting_known[0]
                drawn_known.append(waiting_known.pop(0))
                continue
            at -= n_known
            feature = waiting[at]
            if is_constant(feature):
                waiting[at], waiting[0] = waiting[0], waiting[at]
                results.append(waiting.pop(0))
            else:
                waiting[at], waiting[-1] = waiting[-1], waiting[at]
                searched.append(waiting.pop())
        self.features = known + results + waiting + searched[::-1]
        return searched, known + results


# ------------------------------------------------------------------ partition, walk, pruning


def part_list(values, entries, goes_left, place, kind, alone):
    """Return the two sides of a list, renumbered, with their flags.

    Parameters
    ----------
    values : of the rows as they are numbered in ``entries``
    goes_left : function of a row
    place : new number of each row
    """
    sides = []
    for expected in (True, False):
        rows = [r for r in (int(e) & ROW for e in entries) if bool(goes_left(r)) == expected]
        flags = list_flags(values, rows, kind, alone)
        sides.append([int(place[r]) | (FLAG if f else 0) for r, f in zip(rows, flags, strict=True)])
    return sides


def find_leaf(tree, x):
    """Return the leaf of one row, going down a tree with scikit-learn's names of arrays."""
    node = 0
    while tree.children_left[node] >= 0:
        value = np.float32(x[tree.feature[node]])
        missing_left = np.isnan(value) and tree.missing_go_to_left[node]
        left = missing_left or np.float64(value) <= tree.threshold[node]
        node = tree.children_left[node] if left else tree.children_right[node]
    return int(node)


def prune(tree, alpha):
    """Return the leaves after cost-complexity pruning, with sums recomputed each time."""
    risk = tree.weighted_n_node_samples * tree.impurity / tree.weighted_n_node_samples[0]
    cut = set()

    def leaves_below(node):
        if node in cut or tree.children_left[node] < 0:
            return [node]
        sides = (tree.children_left[node], tree.children_right[node])
        return [leaf for side in sides for leaf in leaves_below(int(side))]

    def inner_below(node):
        if node in cut or tree.children_left[node] < 0:
            return []
        sides = (tree.children_left[node], tree.children_right[node])
        return [node, *(n for side in sides for n in inner_below(int(side)))]

    while inner := inner_below(0):
        strength = {}
        for node in inner:
            below = leaves_below(node)
            gain = risk[node] - math.fsum(risk[leaf] for leaf in below)
            strength[node] = gain / (len(below) - 1)
        weakest = min(sorted(strength), key=strength.get)
        if strength[weakest] > alpha:
            break
        cut.add(weakest)
    return sorted(leaves_below(0))

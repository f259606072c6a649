"""Search for the best split of a node, with scikit-learn's draws, order and ties.

Features are drawn until enough are searched, by a Fisher-Yates shuffle that continues through the
whole tree; constant features are skipped. Of splits with equal proxies the first one is taken, in
the order of the draws, then of missing values on the right before the left, then of ascending
thresholds.
"""

import numpy as np

from algorithms.parity.kernels.sklearn_arrays import ALL, LEFT, RIGHT, WHOLE
from algorithms.parity.kernels.sklearn_criteria import (
    keeps_order,
    middle_value,
    proxy,
    side_impurities,
)
from algorithms.parity.kernels.sklearn_random import (
    draw_threshold,
    partition_by_threshold,
    read_range,
)
from algorithms.parity.kernels.sklearn_rows import (
    is_close,
    is_constant,
    move_missing_to_start,
    partition_rows,
    sort_rows,
)
from algorithms.parity.kernels.sklearn_sums import move_to, start_sides
from algorithms.runtime.array_moves import copy, swap
from algorithms.runtime.interrupts import is_interrupted
from algorithms.runtime.jit import inner_kernel
from algorithms.trees.kernels.feature_sampling import draw_below
from algorithms.trees.kernels.tree_arrays import CLOSE

EPSILON = 2.0**-52


@inner_kernel
def search_features(given, rules, search, split):
    """Draw features and search each; write the best split to the record.

    On return ``entry`` is the position of the split, or the node's end if there is none, and
    ``list`` is the feature drawn last. ``features`` has, in this order: constant features that were
    drawn, known constant features, features found constant here, features not drawn yet, and, from
    ``f_i`` on, the searched features.

    Parameters
    ----------
    split : a record of `tree_arrays.SPLIT`, with rows, bounds and number of constants set; written
    """
    features, constants = search.features, search.constants
    start, end = split["start"], split["end"]
    split["entry"] = end
    n_known = split["n_constants"]
    n_total = n_known
    n_found = 0
    n_drawn = 0
    n_visited = 0
    f_i = len(features)
    best = -np.inf
    while f_i > n_total and (n_visited < rules.max_features or n_visited <= n_found + n_drawn):
        if is_interrupted(search.flag):
            break
        n_visited += 1
        f_j = draw_below(search.state, n_drawn, f_i - n_found)
        if f_j < n_known:
            swap(features, n_drawn, f_j)
            n_drawn += 1
            continue
        f_j += n_found
        feature = features[f_j]
        split["list"] = feature
        low, high = np.float32(0.0), np.float32(0.0)
        if rules.at_random:
            low, high, n_missing = read_range(given, search, feature, start, end)
            constant = n_missing == end - start or (n_missing == 0 and high <= low + CLOSE)
        else:
            n_missing = sort_rows(given, search, feature, start, end)
            constant = is_constant(search.x, start, end - n_missing, n_missing)
        if constant:
            swap(features, f_j, n_total)
            n_found += 1
            n_total += 1
            continue
        f_i -= 1
        swap(features, f_i, f_j)
        best = search_feature(given, rules, search, split, low, high, n_missing, best)
    copy(constants, features, 0, n_known)
    copy(features, constants, n_known, n_total)
    split["n_constants"] = n_total


@inner_kernel
def search_feature(given, rules, search, split, low, high, n_missing, best):
    """Score the splits of a feature, all of them or a random one; return the best proxy.

    Parameters
    ----------
    split : as in `search_features`; ``list`` is the feature
    low, high : smallest and largest value for a random split; otherwise the rows are sorted
    """
    start, end = split["start"], split["end"]
    for missing_pass in range(2 if n_missing and not rules.at_random else 1):
        to_left, drawn = missing_pass, 0.0
        before, last = start, end - n_missing
        if rules.at_random:
            drawn, to_left = draw_threshold(search.state, low, high, n_missing)
            last = partition_by_threshold(search, start, end, drawn, to_left)
            before = last - 1
        elif missing_pass == 1:
            move_missing_to_start(search, start, end, n_missing)
            before, last = start + n_missing, end
        best = try_places(
            given, rules, search, split, n_missing, to_left, before, last, drawn, best
        )
    return best


@inner_kernel
def try_places(given, rules, search, split, n_missing, to_left, before, last, drawn, best):
    """Score the splits at some positions, missing values on one side; return the best proxy.

    Parameters
    ----------
    before, last : position before the first, and the last position
    drawn : threshold, if it is random
    """
    start, end, feature = split["start"], split["end"], split["list"]
    x = search.x
    start_sides(given, rules, search, start, end)
    place = before
    while place < last:
        place += 1
        while place < last and is_close(x, place):
            place += 1
        if place == end:
            break
        candidate = score(given, rules, search, split, feature, place)
        if candidate > best:
            best = candidate
            split["feature"] = feature
            split["entry"] = place
            split["missing_left"] = to_left if n_missing else place - start > end - place
            if rules.at_random:
                split["threshold"] = drawn
            elif place == end - n_missing and not to_left:
                split["threshold"] = np.inf  # only missing values on the right
            else:
                split["threshold"] = x[place - 1] / 2.0 + x[place] / 2.0
    return best


@inner_kernel
def score(given, rules, search, split, feature, place):
    """Return the proxy of the split at a position; −inf if it is not allowed."""
    start, end = split["start"], split["end"]
    if place - start < rules.min_samples_leaf or end - place < rules.min_samples_leaf:
        return -np.inf
    move_to(given, rules, search, end, place)
    sign = rules.monotonic[feature] if len(rules.monotonic) else np.int8(0)
    if sign != 0 and not keeps_order(rules, search, place, split, sign):
        return -np.inf
    n_left, n_right = search.weights[LEFT], search.weights[RIGHT]
    if n_left < rules.min_weight_leaf or n_right < rules.min_weight_leaf:
        return -np.inf
    return proxy(rules, search, place)


@inner_kernel
def complete_split(given, rules, search, split, h):
    """Partition the rows of a node by its best split; write impurities and improvement.

    Parameters
    ----------
    h : impurity of the node
    """
    start, end, place = split["start"], split["end"], split["entry"]
    if not rules.at_random or split["list"] != split["feature"]:  # otherwise already partitioned
        partition_rows(given, search, split)
    start_sides(given, rules, search, start, end)
    move_to(given, rules, search, end, place)
    h_left, h_right = side_impurities(given, rules, search, start, place, end)
    n = search.weights[WHOLE]
    share_left, share_right = search.weights[LEFT] / n, search.weights[RIGHT] / n
    gain = h - share_right * h_right - share_left * h_left
    split["impurity_left"] = h_left
    split["impurity_right"] = h_right
    split["middle"] = middle_value(rules, search, place)
    split["improvement"] = n / search.weights[ALL] * gain
    split["is_leaf"] = split["improvement"] + EPSILON < rules.min_impurity_decrease

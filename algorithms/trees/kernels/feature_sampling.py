"""Sampling of the features that a node searches, in scikit-learn's order.

The order decides between equal splits, so the same seed must give the same order: a 32-bit xorshift
stream (Marsaglia 2003), a Fisher-Yates shuffle that continues through the whole tree, and a list of
the features that are constant in a node and therefore in all nodes below it. At least one feature
that is not constant is drawn, even beyond ``max_features``.
"""

import numpy as np

from algorithms.runtime.array_moves import copy, swap
from algorithms.runtime.jit import inner_kernel
from algorithms.trees.kernels.rank import is_constant_unsorted
from algorithms.trees.kernels.search import is_constant
from algorithms.trees.kernels.tree_arrays import RANDOM, VISITS

LARGEST = np.uint32(0x7FFFFFFF)


@inner_kernel
def draw_number(state):
    """Return the stream's next number in 0 … 2³¹ − 1."""
    s = np.uint32(state[RANDOM])
    if s == 0:
        s = np.uint32(1)
    s = np.uint32(s ^ np.uint32(s << np.uint32(13)))
    s = np.uint32(s ^ np.uint32(s >> np.uint32(17)))
    s = np.uint32(s ^ np.uint32(s << np.uint32(5)))
    state[RANDOM] = s
    return np.uint32(s & LARGEST)


@inner_kernel
def draw_below(state, low, high):
    """Return the stream's next number in low … high − 1."""
    return low + np.int64(draw_number(state) % np.uint32(high - low))


@inner_kernel
def draw_features(table, rows, rules, growth, start, end, n_known):
    """Write the features to search into ``visit``; return the number of constant ones.

    ``features`` holds, in this order: constant features that were drawn, known constant features,
    features found constant here, features not drawn yet, and, from ``f_i`` on, the features to
    search.

    Parameters
    ----------
    start, end : of the node
    n_known : number of features known to be constant; they come first in ``features``
    """
    features, constants = growth.features, growth.constants
    f_i = len(features)
    n_visited = 0
    n_found = 0
    n_drawn = 0
    n_total = n_known
    n_search = 0
    while f_i > n_total and (n_visited < rules.max_features or n_visited <= n_found + n_drawn):
        n_visited += 1
        f_j = draw_below(growth.state, n_drawn, f_i - n_found)
        if f_j < n_known:
            swap(features, n_drawn, f_j)
            n_drawn += 1
            continue
        f_j += n_found
        feature = features[f_j]
        if len(table.ranks):
            constant = is_constant_unsorted(table, rows, rows.columns[feature], start, end)
        else:
            constant = is_constant(table, rows, feature, start, end)
        if constant:
            swap(features, f_j, n_total)
            n_found += 1
            n_total += 1
            continue
        f_i -= 1
        swap(features, f_i, f_j)
        growth.visit[n_search] = feature
        n_search += 1
    copy(constants, features, 0, n_known)
    copy(features, constants, n_known, n_total)
    growth.state[VISITS] = n_search
    return n_total

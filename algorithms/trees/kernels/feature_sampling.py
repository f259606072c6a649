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
    features = growth.features
    draws = start_draws(features, n_known)
    n_search = 0
    while may_draw(rules, draws):
        at, draws = draw_feature(growth.state, features, draws)
        if at < 0:
            continue
        feature = features[at]
        if len(table.ranks):
            constant = is_constant_unsorted(table, rows, rows.columns[feature], start, end)
        else:
            constant = is_constant(table, rows, feature, start, end)
        draws = place_feature(features, draws, at, constant)
        if not constant:
            growth.visit[n_search] = feature
            n_search += 1
    growth.state[VISITS] = n_search
    return end_draws(growth, draws)


@inner_kernel
def start_draws(features, n_known):
    """Return the state of a node's draws.

    Returns
    -------
    tuple of int: number of features known to be constant, and of those drawn among them; number of
    draws; number of features found constant; the first feature to search, ``f_i``
    """
    return n_known, np.int64(0), np.int64(0), np.int64(0), np.int64(len(features))


@inner_kernel
def may_draw(rules, draws):
    """Return whether a further feature is drawn for a node."""
    n_known, n_drawn, n_visited, n_found, f_i = draws
    return f_i > n_known + n_found and (
        n_visited < rules.max_features or n_visited <= n_found + n_drawn
    )


@inner_kernel
def draw_feature(state, features, draws):
    """Return the index of a drawn feature in ``features``, or -1 if it is known to be constant."""
    n_known, n_drawn, n_visited, n_found, f_i = draws
    n_visited += 1
    at = draw_below(state, n_drawn, f_i - n_found)
    if at < n_known:
        swap(features, n_drawn, at)
        n_drawn += 1
        at = -1
    else:
        at += n_found
    return at, (n_known, n_drawn, n_visited, n_found, f_i)


@inner_kernel
def place_feature(features, draws, at, constant):
    """Move a drawn feature to the constant ones or to those to search; return the new state."""
    n_known, n_drawn, n_visited, n_found, f_i = draws
    if constant:
        swap(features, at, n_known + n_found)
        n_found += 1
    else:
        f_i -= 1
        swap(features, f_i, at)
    return n_known, n_drawn, n_visited, n_found, f_i


@inner_kernel
def end_draws(growth, draws):
    """Put the constant features first; return their number."""
    n_known, _, _, n_found, _ = draws
    copy(growth.constants, growth.features, 0, n_known)
    copy(growth.features, growth.constants, n_known, n_known + n_found)
    return n_known + n_found

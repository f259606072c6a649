"""Additions to `grower` for categorical columns: arrays, flags, and category sets of the nodes.

The grower returns before it searches a node, and a separate kernel (`category_order`) orders the
categories of the node. Trees without categorical columns skip this step and its compilation.
"""

import numpy as np

from algorithms.prediction.kernels.categorical_predict import SET
from algorithms.trees.kernels.category_arrays import Categories
from algorithms.trees.kernels.tree_arrays import EXACT, FLAG, ROW


def new_categories(counts, rules):
    """Return the `Categories` of a tree.

    Parameters
    ----------
    counts : (n_features,) int64, number of codes of each feature; 0 for a numeric feature
    rules : tree_arrays.Rules
    """
    most = int(counts.max())
    totals = 1 + rules.n_classes if rules.n_classes else 3
    return Categories(
        counts=counts,
        first=np.empty(most + 1, np.int64),
        code=np.empty(most, np.float32),
        key=np.empty(most),
        order=np.empty(most, np.int64),
        sums=np.empty((most, totals)),
        spare=np.empty((3, totals)),
    )


def flag_codes(table, counts):
    """Mark the lists of categorical columns as EXACT, however few of their values are equal."""
    for column in np.flatnonzero(counts):
        known = table.values.shape[1] - table.missing[column]
        entries = table.order[column]
        rows = entries & ROW
        codes = table.values[column, rows[:known]]
        entries[:] = rows
        entries[1:known][codes[1:] != codes[:-1]] |= FLAG
        table.kind[column] = EXACT


def find_sets(table, rows, nodes, counts):
    """Return the category sets of the nodes: node → (codes, ascending int32, whether they go left).

    The codes are those of the side with fewer rows. All other codes, including those that do not
    occur in the node, go to the other side. A missing value without training rows goes there, too.

    Parameters
    ----------
    rows : tree_arrays.Rows of the grown tree; a node's rows are contiguous, its left side first
    nodes : tree_arrays.NODE, of the whole tree
    counts : as in `new_categories`
    """
    start = np.zeros(len(nodes), np.int64)
    sets = {}
    for node in np.flatnonzero(nodes["left"] >= 0).tolist():  # parents before their children
        left, right, f = (int(nodes[name][node]) for name in ("left", "right", "feature"))
        middle = start[node] + nodes["n"][left]
        start[left], start[right] = start[node], middle
        if counts[f]:
            to_left = bool(2 * nodes["n"][left] <= nodes["n"][node])
            child = left if to_left else right
            side = rows.source[start[child] : start[child] + nodes["n"][child]]
            codes = np.unique(table.values[rows.columns[f], side])
            sets[node] = (codes[~np.isnan(codes)].astype(np.int32), to_left)
    return sets


def pack_sets(sets, n_nodes):
    """Return the sets of a tree in the layout for prediction: SET (n_nodes,), and words of bits."""
    packed = np.zeros(n_nodes, SET)
    packed["words"] = -1
    words, total = [], 0
    for node, (codes, to_left) in sets.items():
        bits = np.zeros(int(codes.max(initial=-1)) // 32 + 1, np.uint32)
        np.bitwise_or.at(bits, codes // 32, np.uint32(1) << (codes % 32).astype(np.uint32))
        packed[node] = (total, len(bits), to_left)
        words.append(bits)
        total += len(bits)
    return packed, np.concatenate([*words, np.empty(0, np.uint32)])

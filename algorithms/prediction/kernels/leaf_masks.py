"""Leaf search by bit masks: each split removes the leaves that a row cannot reach (QuickScorer).

A split that sends a row to the right removes the leaves on its left side. The first leaf that no
split of the tree removes is the leaf of the row: each leaf before it is on the left of a split on
the row's path that sends the row right. With one bit per leaf, from left to right, it is the lowest
bit of the `and` of all masks, in any order and for many rows at once. All categorical splits of a
tree on one column share a table with their combined mask per category: a tree with thirty such
splits on six columns needs six table lookups, and no step depends on the previous one. Numeric
splits are evaluated four at a time; those that send missing values left are separate, so that the
comparison alone decides the side of NaN.

Lucchese and others: QuickScorer, a fast algorithm to rank documents with additive ensembles of
regression trees. SIGIR 2015. Tables for categories are an addition.
"""

import numpy as np

from algorithms.prediction.kernels.categorical_walk import lay_out
from algorithms.prediction.kernels.walk import (
    BLOCK,
    MEMBERS_LEFT,
    MISSING_LEFT,
    ZERO_MISSING,
    add_leaves,
)
from algorithms.runtime.intrinsics import first_bit
from algorithms.runtime.jit import inner_kernel, kernel

MAX_LEAVES = 64  # leaves per tree
OF_MISSING, OF_ZERO, FIRST_CODE = np.int64(0), np.int64(1), np.int64(2)  # entries of a table
EVERY = np.uint64(0xFFFFFFFFFFFFFFFF)
NUMERIC_SPLIT = np.dtype(
    [
        ("threshold", np.float64),  # x <= threshold goes left
        ("column", np.int64),  # index among the used columns
        ("right", np.uint64),  # mask of the leaves kept if x goes right
    ]
)
FOUR = 4  # numeric splits evaluated together; padded with splits that remove nothing
LOOKUP = np.dtype([("column", np.int64), ("first", np.int64)])  # table of a column


@kernel
def add_masked_trees(
    lookups, numeric_splits, bounds, leaves, first_leaves, tables, sizes, values, output, reading,
    transposed, width, codes, masks, at, out,
):  # fmt: skip
    """Add the trees' leaf values to the scores of transposed rows.

    Parameters
    ----------
    lookups, numeric_splits : LOOKUP and NUMERIC_SPLIT, tree by tree
    bounds : (n_trees, 5) int64, begin and end of a tree's lookups, begin of its numeric splits,
        begin of those that send missing values left, and end of these
    leaves : int64, node indices of all leaves, those of each tree from left to right
    first_leaves : (n_trees,) int64, index of the first leaf of each tree
    tables : uint64, combined masks per code
    sizes : (n_used,) int64, entries of each table of a column; 0: numeric splits only
    values : (n_nodes, n_values) float64, times the weights of the trees
    output : (n_trees,) int64, the first score that a tree adds to
    reading : walk.Reading
    transposed : float64, blocks of BLOCK rows, each in column-major order
    width : number of columns; the used columns are the first
    codes : int64, scratch space for BLOCK rows of the used columns
    masks : uint64, scratch space for BLOCK rows
    at : (BLOCK,) int64, scratch space
    out : (n_rows, n_scores) float64, added to
    """
    for start in range(0, len(out), BLOCK):
        n = min(BLOCK, len(out) - start)
        block = transposed[start * width : (start + BLOCK) * width]
        for j in range(len(sizes)):
            if sizes[j] > 0:
                place(reading, block, codes, j * BLOCK, n, sizes[j])
        for t in range(len(first_leaves)):
            for i in range(np.uint64(n)):
                masks[i] = EVERY
            for k in range(bounds[t, 0], bounds[t, 1]):
                apply_lookup(lookups[k], tables, codes, masks, n)
            for k in range(bounds[t, 2], bounds[t, 3], FOUR):
                compare_four(numeric_splits, k, False, block, masks, n)
            for k in range(bounds[t, 3], bounds[t, 4], FOUR):
                compare_four(numeric_splits, k, True, block, masks, n)
            for i in range(np.uint64(n)):
                at[i] = leaves[np.uint64(first_leaves[t] + first_bit(masks[i]))]
            add_leaves(values, at, output[t], reading.rounds_sums, out, start, n)


@kernel
def transpose_rows(X, used_columns, transposed, first, last):
    """Transpose the rows first … last − 1 of the used columns for `add_masked_trees`.

    Parameters
    ----------
    X : (n_rows, n_features) float32 or float64, C-contiguous
    used_columns : int64, columns of X
    transposed : float64, written
    """
    size = len(used_columns) * BLOCK
    for start in range(first, last, BLOCK):
        block = transposed[(start - first) // BLOCK * size :]
        lay_out(X, used_columns, block, start, min(BLOCK, last - start))


@inner_kernel
def place(reading, block, codes, first, n, size):
    """Write the table entry of each of n values of a column; see `walk.goes_left`."""
    for i in range(np.uint64(first), np.uint64(first + n)):
        x = block[i]
        value = np.float64(np.float32(x)) if reading.rounds_values else x
        value = 0.0 if abs(value) <= reading.zero else value
        code = size - 1
        if 0.0 <= value < np.float64(size):
            code = min(np.int64(value) + FIRST_CODE, size - 1)
        code = OF_ZERO if value == 0.0 else code
        codes[i] = OF_MISSING if np.isnan(x) else code


@inner_kernel
def apply_lookup(lookup, tables, codes, masks, n):
    """Apply the combined masks of categorical splits to n rows."""
    offset, first = np.uint64(lookup["column"] * BLOCK), np.uint64(lookup["first"])
    for i in range(np.uint64(n)):
        masks[i] &= tables[first + np.uint64(codes[offset + i])]


@inner_kernel
def compare_four(numeric_splits, k, missing_left, block, masks, n):
    """Apply four numeric splits, starting with the k-th, to the masks of n rows."""
    column, threshold, right = read(numeric_splits[k])
    column_1, threshold_1, right_1 = read(numeric_splits[k + 1])
    column_2, threshold_2, right_2 = read(numeric_splits[k + 2])
    column_3, threshold_3, right_3 = read(numeric_splits[k + 3])
    for i in range(np.uint64(n)):
        mask = left_over(block[column + i], threshold, right, missing_left)
        mask &= left_over(block[column_1 + i], threshold_1, right_1, missing_left)
        mask &= left_over(block[column_2 + i], threshold_2, right_2, missing_left)
        mask &= left_over(block[column_3 + i], threshold_3, right_3, missing_left)
        masks[i] &= mask


@inner_kernel
def read(number):
    """Return the position of a split's column in a block, its threshold, and its mask."""
    return np.uint64(number["column"] * BLOCK), number["threshold"], number["right"]


@inner_kernel
def left_over(x, threshold, right, missing_left):
    """Return the mask of the leaves that a split keeps for a value."""
    if missing_left:
        return right if x > threshold else EVERY
    return EVERY if x <= threshold else right


@kernel
def fill_tables(steps, categorical_nodes, firsts, sizes, keeps, bits, tables):
    """Apply the masks of all categorical splits to the tables.

    Parameters
    ----------
    steps : walk.STEP (n_nodes,)
    categorical_nodes : int64 (n_splits,), nodes with categorical splits
    firsts, sizes : int64 (n_splits,), begin and size of the table of each
    keeps : uint64 (n_splits,), mask of the leaves kept if the row goes right
    bits : uint64, the words of all sets
    tables : uint64, written to
    """
    for k in range(len(categorical_nodes)):
        step, keep = steps[categorical_nodes[k]], keeps[k]
        kind, size = step["kind"], sizes[k]
        word, n_codes = np.int64(step["threshold"]), 64 * step["words"]
        members_left = (kind & MEMBERS_LEFT) != 0
        missing_left = (kind & MISSING_LEFT) != 0
        table = tables[firsts[k] : firsts[k] + size]
        for code in range(min(n_codes, size - FIRST_CODE - 1)):
            is_member = (bits[word + (code >> 6)] >> np.uint64(code & 63)) & np.uint64(1) != 0
            if is_member != members_left:
                table[code + FIRST_CODE] &= keep
        if members_left:
            for entry in range(min(n_codes + FIRST_CODE, size - 1), size):
                table[entry] &= keep
        zero_left = missing_left
        if kind & ZERO_MISSING == 0:
            zero_left = (bits[word] & np.uint64(1) != 0) == members_left
        if not zero_left:
            table[OF_ZERO] &= keep
        if not missing_left:
            table[OF_MISSING] &= keep

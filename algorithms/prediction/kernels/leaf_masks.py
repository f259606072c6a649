"""Find leaves without a walk, by the leaves that each question of a tree leaves over.

A question that sends a row to the right leaves all leaves over but those on its left. What all
questions of a tree leave over together begins with the leaf where the row arrives: of the leaves
before it, each lies on the left of a question on the row's way that sends it to the right. With a
bit for each leaf, from left to right, that is the lowest bit of masks put together by `and`, in any
order and for many rows at once. All questions for sets that a tree asks of one column share a table
of what they leave over together, category by category: a tree of thirty such questions about six
columns takes six looks at tables, and no step depends on the one before. Questions for numbers are
taken four at a time, those apart that send missing values to the left: where NaN goes is then a
matter of the comparison alone.

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

MOST_LEAVES = 64  # of a tree
OF_MISSING, OF_ZERO, FIRST_CODE = np.int64(0), np.int64(1), np.int64(2)  # entries of a table
EVERY = np.uint64(0xFFFFFFFFFFFFFFFF)
NUMBER = np.dtype(
    [
        ("threshold", np.float64),  # x <= threshold goes left
        ("column", np.int64),  # which of those that are asked
        ("right", np.uint64),  # what it leaves over where x goes right
    ]
)
FOUR = 4  # questions for numbers at a time; where there are fewer, some that ask nothing
LOOK = np.dtype([("column", np.int64), ("first", np.int64)])  # where a column's table begins


@kernel
def add_masked_trees(
    looks, numbers, bounds, leaves, first_leaves, tables, sizes, values, output, reading,
    laid, width, codes, masks, at, out,
):  # fmt: skip
    """Add the trees' leaves to the scores of rows that are laid out.

    Parameters
    ----------
    looks, numbers : LOOK and NUMBER, tree by tree
    bounds : (n_trees, 5) int64, where the looks of a tree begin and end, and where its numbers
        begin, those of them that send missing values to the left, and where these end
    leaves : int64, the nodes of all leaves, those of each tree from left to right
    first_leaves : (n_trees,) int64, where those of a tree begin
    tables : uint64, what is left over, code by code
    sizes : (n_asked,) int64, entries of each table of a column; 0: it is asked for numbers alone
    values : (n_nodes, n_values) float64, times the weights of the trees
    output : (n_trees,) int64, the first score that a tree adds to
    reading : walk.Reading
    laid : float64, a block of BLOCK rows after the other, each of them column by column
    width : how many columns; those that are asked are the first
    codes : int64, room for BLOCK rows of the asked columns
    masks : uint64, room for BLOCK rows
    at : (BLOCK,) int64, scratch space
    out : (n_rows, n_scores) float64, added to
    """
    for start in range(0, len(out), BLOCK):
        n = min(BLOCK, len(out) - start)
        block = laid[start * width : (start + BLOCK) * width]
        for j in range(len(sizes)):
            if sizes[j] > 0:
                place(reading, block, codes, j * BLOCK, n, sizes[j])
        for t in range(len(first_leaves)):
            for i in range(np.uint64(n)):
                masks[i] = EVERY
            for k in range(bounds[t, 0], bounds[t, 1]):
                look_up(looks[k], tables, codes, masks, n)
            for k in range(bounds[t, 2], bounds[t, 3], FOUR):
                compare_four(numbers, k, False, block, masks, n)
            for k in range(bounds[t, 3], bounds[t, 4], FOUR):
                compare_four(numbers, k, True, block, masks, n)
            for i in range(np.uint64(n)):
                at[i] = leaves[np.uint64(first_leaves[t] + first_bit(masks[i]))]
            add_leaves(values, at, output[t], reading.rounds_sums, out, start, n)


@kernel
def lay_rows(X, asked, laid, first, last):
    """Lay out the rows first … last − 1 of some columns, as `add_masked_trees` reads them.

    Parameters
    ----------
    X : (n_rows, n_features) float32 or float64, C-contiguous
    asked : int64, columns of X
    laid : float64, written
    """
    size = len(asked) * BLOCK
    for start in range(first, last, BLOCK):
        block = laid[(start - first) // BLOCK * size :]
        lay_out(X, asked, block, start, min(BLOCK, last - start))


@inner_kernel
def place(reading, block, codes, first, n, size):
    """Write which entry of a column's tables each of n values has: see `walk.goes_left`."""
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
def look_up(look, tables, codes, masks, n):
    """Take from the masks of n rows the leaves that questions for sets leave over."""
    own, first = np.uint64(look["column"] * BLOCK), np.uint64(look["first"])
    for i in range(np.uint64(n)):
        masks[i] &= tables[first + np.uint64(codes[own + i])]


@inner_kernel
def compare_four(numbers, k, missing_left, block, masks, n):
    """Take from the masks of n rows what four questions for numbers remove, from the k-th on."""
    column, threshold, right = read(numbers[k])
    column_1, threshold_1, right_1 = read(numbers[k + 1])
    column_2, threshold_2, right_2 = read(numbers[k + 2])
    column_3, threshold_3, right_3 = read(numbers[k + 3])
    for i in range(np.uint64(n)):
        mask = left_over(block[column + i], threshold, right, missing_left)
        mask &= left_over(block[column_1 + i], threshold_1, right_1, missing_left)
        mask &= left_over(block[column_2 + i], threshold_2, right_2, missing_left)
        mask &= left_over(block[column_3 + i], threshold_3, right_3, missing_left)
        masks[i] &= mask


@inner_kernel
def read(number):
    """Return where a question's column begins in a block, its threshold, and what is left over."""
    return np.uint64(number["column"] * BLOCK), number["threshold"], number["right"]


@inner_kernel
def left_over(x, threshold, right, missing_left):
    """Return which leaves a question leaves over of a value."""
    if missing_left:
        return right if x > threshold else EVERY
    return EVERY if x <= threshold else right


@kernel
def fill_tables(steps, asking, firsts, sizes, keeps, bits, tables):
    """Take from tables what each question for a set removes.

    Parameters
    ----------
    steps : walk.STEP (n_nodes,)
    asking : int64 (n_questions,), the nodes that ask for sets
    firsts, sizes : int64 (n_questions,), where each one's table begins, and its entries
    keeps : uint64 (n_questions,), what each one leaves over where it sends a row to the right
    bits : uint64, the words of all sets
    tables : uint64, written to
    """
    for k in range(len(asking)):
        step, keep = steps[asking[k]], keeps[k]
        kind, size = step["kind"], sizes[k]
        word, n_codes = np.int64(step["threshold"]), 64 * step["words"]
        members_left = (kind & MEMBERS_LEFT) != 0
        missing_left = (kind & MISSING_LEFT) != 0
        own = tables[firsts[k] : firsts[k] + size]
        for code in range(min(n_codes, size - FIRST_CODE - 1)):
            found = (bits[word + (code >> 6)] >> np.uint64(code & 63)) & np.uint64(1) != 0
            if found != members_left:
                own[code + FIRST_CODE] &= keep
        if members_left:
            for entry in range(min(n_codes + FIRST_CODE, size - 1), size):
                own[entry] &= keep
        zero_left = missing_left
        if kind & ZERO_MISSING == 0:
            zero_left = (bits[word] & np.uint64(1) != 0) == members_left
        if not zero_left:
            own[OF_ZERO] &= keep
        if not missing_left:
            own[OF_MISSING] &= keep

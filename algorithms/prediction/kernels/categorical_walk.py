"""Traversal of trees with categorical splits, or with zeros read as missing values.

Such a split takes several times as long as a comparison, and branches on the kind of split are
mispredicted. So all these splits of a tree are evaluated for a block of rows before the traversal,
one split after another. The results, 0 for left and above 0.5 for right, are stored in columns
after those of X, and the numeric traversal (`numeric_walk`) reads them as numbers. A block is
stored in column-major order: the rows of one split are contiguous.

A categorical split has one 64-bit word for values without a code (missing values, and zero, which
may count as missing), words for codes, and a word for larger codes: a bit is 1 if the value goes
right. So each result is the lookup of one bit.
"""

import numpy as np

from algorithms.prediction.kernels.numeric_walk import EIGHT, descend, eight_of
from algorithms.prediction.kernels.walk import BLOCK, IS_SET, add_leaves, goes_left
from algorithms.runtime.jit import inner_kernel, kernel

BETWEEN = 0.5  # threshold of a node that reads a stored result
WORD = 64  # codes
OF_MISSING, OF_ZERO = np.int64(0), np.int64(1)
RIGHT = np.int64(62)  # this bit alone makes the float64 2.0
LARGEST = 2.0**31  # upper bound of codes, exclusive
BEYOND = np.int64(1 << 32)


@kernel
def add_categorical_trees(
    nodes,
    roots,
    paths,
    values,
    output,
    splits,
    begins,
    ends,
    used_columns,
    coded,
    bits,
    X,
    reading,
    block,
    codes,
    at,
    out,
):
    """Add the trees' leaves to the scores of the rows of X.

    Parameters
    ----------
    nodes, roots, paths, values, output, at, out : as in `numeric_walk.add_numeric_trees`, except
        that the feature of a node is the position in ``block`` of the column's first row
    splits : (n_splits,) walk.STEP, the splits, whose features are such positions
        For categorical splits ``threshold`` is the first word and ``words`` the number of words.
    begins, ends : (n_trees,) int64, range of the splits of each tree
    used_columns : int64, used columns of X, in the order of the block
    coded : int64, positions of the columns with categorical splits
    bits : uint64
    X : (n_rows, n_features) float32 or float64, C-contiguous
    reading : walk.Reading
    block : float64, scratch space: BLOCK rows of these columns and of one tree's results
    codes : int64, scratch space: BLOCK rows of these columns
    """
    results = block.view(np.int64)
    for start in range(0, len(out), BLOCK):
        n = min(BLOCK, len(out) - start)
        lay_out(X, used_columns, block, start, n)
        for j in coded:
            encode(reading, block, codes, j * BLOCK, n)
        for t in range(len(roots)):
            to = len(used_columns) * BLOCK
            for k in range(begins[t], ends[t]):
                evaluate_split(splits[k], bits, reading, block, results, codes, to, n)
                to += BLOCK
            for i in range(0, n, EIGHT):
                descend(nodes, block, i, 1, eight_of(roots[t]), paths[t], True, at, i)
            add_leaves(values, at, output[t], reading.rounds_sums, out, start, n)


@inner_kernel
def lay_out(X, used_columns, block, start, n):
    """Write n rows of the used columns in column-major order."""
    for j in range(len(used_columns)):
        for i in range(n):
            block[j * BLOCK + i] = X[start + i, used_columns[j]]


@inner_kernel
def encode(reading, block, codes, first, n):
    """Write the bit position of n values of a column in any set; see `kernels.walk`."""
    for i in range(np.uint64(first), np.uint64(first + n)):
        x = block[i]
        value = np.float64(np.float32(x)) if reading.rounds_values else x
        value = 0.0 if abs(value) <= reading.zero else value
        code = np.int64(value) + WORD if 0.0 <= value < LARGEST else BEYOND
        code = OF_ZERO if value == 0.0 else code
        codes[i] = OF_MISSING if np.isnan(x) else code


@inner_kernel
def evaluate_split(split, bits, reading, block, results, codes, to, n):
    """Write for n rows of a block whether a split sends them right."""
    column = np.uint64(split["feature"])
    if split["kind"] & IS_SET:
        first = np.uint64(split["threshold"])
        beyond = WORD * (split["words"] + 1)
        for i in range(np.uint64(n)):
            code = np.uint64(min(codes[column + i], beyond))
            word = bits[first + (code >> np.uint64(6))]
            bit = np.int64((word >> (code & np.uint64(63))) & np.uint64(1))
            results[np.uint64(to) + i] = bit << RIGHT
        return
    for i in range(np.uint64(n)):
        block[np.uint64(to) + i] = (
            0.0 if goes_left(split, block[column + i], bits, reading) else 1.0
        )

"""The arrays of level-wise growth, and their names.

All nodes of a level, *slots* 0 … K − 1, are searched at once. Each column's values are put once a
fit into at most `MOST` bins of neighbours, a *code* a row; what a bin holds of a slot is summed in
row order, without a random access. Sums bound what any threshold inside a bin can reach, so
that only a few bins are looked into; none of the distinct thresholds is left out.

Sums of both signs apart give the bounds. Rows of no open node, and rows of weight 0, are in no
slot, the number K.

Of the two sides of a split only the one with fewer rows is summed. It gets a *plane* of sums of its
own; the other one keeps its parent's plane, from which the small one's sums are taken away.
"""

from typing import NamedTuple

import numpy as np

from algorithms.runtime.jit import inner_kernel

MOST = 240  # bins of values; so that MISSING keeps apart under every shift
MISSING = 255  # code of missing values
CODES = 256
COARSEST = 4  # bits by which codes may be shifted
BLOCK_ROWS = 1 << 14  # rows whose totals are summed before they are added to those of others

# What is known of a node: rows, weight w, sums of w v and w v², and the tree's largest |v|.
ROWS, WEIGHT, SUM, SQUARES, LARGEST = range(5)
TOTALS = 5
# What is summed of a bin: w, rows, and w v of the rows where it is positive and negative.
OF_WEIGHT, OF_ROWS, ABOVE, BELOW = range(4)
CELL = 4


class CodedTable(NamedTuple):
    """The columns of X, sorted; X itself stays where it is, and is asked for single values."""

    order: np.ndarray  # uint32 (n_columns, n_rows): rows sorted by value, in the low 31 bits
    missing: np.ndarray  # int64 (n_columns,): how many entries are missing, at the end
    double: np.ndarray  # float64, X laid flat; or (0,)
    single: np.ndarray  # float32, X laid flat, where ``double`` is empty
    row_step: int  # how far the next row is
    column_step: int
    close: float  # values at most so far apart, float32, are not parted


class Codes(NamedTuple):
    """The bins of each column's values, shared by all trees that are grown on a table."""

    code: np.ndarray  # uint8 (n_columns, n_rows): bin of each row, or MISSING
    starts: np.ndarray  # int64 (n_columns, MOST + 1): first entry of each bin, and the end
    bins: np.ndarray  # int64 (n_columns,): how many there are
    plain: np.ndarray  # uint8 (n_columns, MOST): 1 where all values of a bin are equal


class Limits(NamedTuple):
    """What a tree may look like, and how a side counts: its score is s² / (w + λ)."""

    min_samples_split: int
    min_samples_leaf: int
    min_weight_leaf: float
    min_impurity_decrease: float
    total_weight: float
    l2: float  # λ


class Level(NamedTuple):
    """The rows of one tree, and the slots of the level at hand."""

    at: np.ndarray  # uint16 (n_rows,): node of each row, numbered level by level
    slot: np.ndarray  # uint16 (n_rows,)
    value: np.ndarray  # float64 (n_rows,): v
    pair: np.ndarray  # float64 (n_rows, 2): w, w v
    weight: np.ndarray  # float64 (n_rows,): w; (0,): every row weighs 1
    used: np.ndarray  # bool (n_rows,): whether the tree is grown on a row
    totals: np.ndarray  # float64 (K, TOTALS)
    open: np.ndarray  # uint8 (K,): 1 where the node may be split
    picked: np.ndarray  # uint32 (n_rows,): rows to be summed, from the start of each block on
    into: np.ndarray  # uint16 (n_rows,): planes they are summed into
    count: np.ndarray  # int64 (n_blocks,): how many there are of each block
    small: np.ndarray  # int64: the slots they are in, one of each pair of sides
    plane: np.ndarray  # int64 (K,): where the sums of each slot are
    n_planes: int
    n_kept: int  # planes that lie with their column; those from there on in a thread's own rows
    sums: np.ndarray  # float64 (rows, room): planes of bins, CELL entries each; see `plane_of`
    score: np.ndarray  # float64 (n_columns, K): best found, -inf: none
    entry: np.ndarray  # int64 (n_columns, K): of the column's list, before which the split lies
    gaps: np.ndarray  # uint8 (n_columns, K): whether the slot has missing values
    to_left: np.ndarray  # uint8 (n_columns, K): whether these go left
    n_left: np.ndarray  # float64 (n_columns, K): rows that go left
    shift: int  # bits by which codes are shifted, so that bins are fewer and larger


# A bin that may hide a better threshold than those at its ends: what lies left of it and in it.
DOUBT = np.dtype(
    [
        ("column", np.int32),
        ("slot", np.int32),
        ("turn", np.int32),  # 1: missing values lie left as well
        ("bin", np.int32),
        ("n_left", np.float64),
        ("w_left", np.float64),
        ("s_left", np.float64),
        ("w", np.float64),
        ("above", np.float64),
        ("below", np.float64),
    ]
)


@inner_kernel
def plane_of(level, f, own, plane):
    """Return the row of ``level.sums`` where a plane of a column lies, and its first entry.

    The first rows are the columns'. What the last level sums is of no use later, so it lies in
    rows of the thread that needs it; ``own`` is the row for this column.
    """
    size = np.uint64(CODES >> level.shift) * np.uint64(CELL)
    if plane < level.n_kept:
        return np.uint64(f), np.uint64(plane) * size
    return np.uint64(own), np.uint64(plane - level.n_kept) * size


@inner_kernel
def value_at(table, f, row):
    """Return a value of X, rounded to float32."""
    at = np.uint64(row) * np.uint64(table.row_step) + np.uint64(f) * np.uint64(table.column_step)
    if len(table.double):
        return np.float32(table.double[at])
    return table.single[at]

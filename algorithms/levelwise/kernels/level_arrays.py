"""Arrays of level-wise growth, and their names.

All nodes of a level, the *slots* 0 … K − 1, are searched at once. Once per fit, each column's
values are put into at most `MAX_BINS` bins of neighboring values, with one *code* per row. The sums
of a bin for each slot are accumulated in row order, without random access. These sums bound the
score of any threshold inside a bin, so only a few bins are searched inside. No distinct threshold
is missed.

The bounds need the sums of positive and of negative values separately. Rows of no open node, and
rows of weight 0, have the slot number K.

Of the two sides of a split only the one with fewer rows is summed. It gets its own *plane*
of sums. The other side takes over its parent's plane, from which the smaller side's sums are
subtracted.
"""

from typing import NamedTuple

import numpy as np

from algorithms.runtime.jit import inner_kernel

MAX_BINS = 240  # maximum number of bins; leaves a separate code for MISSING under every shift
MISSING = 255  # code of missing values
CODES = 256
COARSEST = 4  # maximum shift of codes, in bits
BLOCK_ROWS = 1 << 14  # rows per block; the totals of blocks are added in order

# Totals of a node: rows, weight w, sums of w v and w v², and the tree's largest |v|.
ROWS, WEIGHT, SUM, SQUARES, LARGEST = range(5)
TOTALS = 5
# Sums of a bin: w, rows, the sum of positive w v, and the sum of negative w v.
OF_WEIGHT, OF_ROWS, ABOVE, BELOW = range(4)
CELL = 4


class CodedTable(NamedTuple):
    """The sorted columns of X; single values are read from X itself."""

    order: np.ndarray  # uint32 (n_columns, n_rows): rows sorted by value, in the low 31 bits
    missing: np.ndarray  # int64 (n_columns,): number of missing entries, at the end
    double: np.ndarray  # float64, flat view of X; or (0,)
    single: np.ndarray  # float32, flat X, if ``double`` is empty
    row_step: int  # distance between consecutive rows
    column_step: int
    close: float  # no split between values at most this far apart, float32


class Codes(NamedTuple):
    """The bins of each column's values, shared by all trees that are grown on a table."""

    code: np.ndarray  # uint8 (n_columns, n_rows): bin of each row, or MISSING
    starts: np.ndarray  # int64 (n_columns, MAX_BINS + 1): first entry of each bin, and the end
    bins: np.ndarray  # int64 (n_columns,): number of bins
    plain: np.ndarray  # uint8 (n_columns, MAX_BINS): 1 if all values of a bin are equal


class Limits(NamedTuple):
    """Restrictions of a tree, and the λ of a side's score s² / (w + λ)."""

    min_samples_split: int
    min_samples_leaf: int
    min_weight_leaf: float
    min_impurity_decrease: float
    total_weight: float
    l2: float  # λ


# Indices of the state of a level.
SLOTS = 0  # number of slots
PLANES = 1  # number of planes
KEPT = 2  # number of planes that are stored with their column; later ones are in a thread's rows
SMALL = 3  # number of smaller sides
SHIFT = 4  # bits by which codes are shifted to merge bins
NEW_SHIFT = 5  # how many of these bits are new
OLD_PLANES = 6  # number of planes that are merged
BASE = 7  # first node
OPEN = 8  # whether a node may be split
SPLITS = 9  # number of splits
DEPTH = 10
STATES = 11
LINE_OF_CACHE = 8  # numbers of eight bytes


class Level(NamedTuple):
    """The rows of one tree, the slots of the current level, and the nodes of the tree.

    A tree of depth D has at most S = 2^D sides of splits in its last level, and N = 2^(D + 1) − 1
    nodes. T is the number of threads.
    """

    at: np.ndarray  # uint16 (n_rows,): node of each row, by level; of the grown tree: depth first
    slot: np.ndarray  # uint16 (n_rows,)
    value: np.ndarray  # float64 (n_rows,): v
    pair: np.ndarray  # float64 (n_rows, 2): w, w v
    weight: np.ndarray  # float64 (n_rows,): w; (0,): every row weighs 1
    wanted: np.ndarray  # bool (n_rows,), whether to use a row; (0,): all with nonzero weight
    used: np.ndarray  # bool (n_rows,): whether the tree is trained on a row
    blocks: np.ndarray  # float64 (n_blocks, S, TOTALS): totals of each block of rows
    totals: np.ndarray  # float64 (S, TOTALS)
    open: np.ndarray  # uint8 (S,): 1 where the node may be split
    picked: np.ndarray  # uint32 (n_rows,): rows to sum, stored from the start of each block
    into: np.ndarray  # uint16 (n_rows,): planes they are summed into
    count: np.ndarray  # int64 (n_blocks,): number of picked rows of each block
    small: np.ndarray  # int64 (S / 2,): slots of the picked rows, one of each pair of sides
    plane: np.ndarray  # int64 (S,): plane of each slot
    next_plane: np.ndarray  # int64 (S,): of the next level
    shifts: np.ndarray  # int64 (S / 2 + 1,): shift of the codes for each number of planes
    sums: np.ndarray  # float64 (rows, room): planes of bins, CELL entries each; see `plane_of`
    score: np.ndarray  # float64 (n_columns, S / 2): best found, -inf: none
    entry: np.ndarray  # int64 (n_columns, S / 2): entry of the column's list after the split
    has_missing: np.ndarray  # uint8 (n_columns, S / 2): whether the slot has missing values
    to_left: np.ndarray  # uint8 (n_columns, S / 2): whether missing values go left
    n_left: np.ndarray  # float64 (n_columns, S / 2): rows that go left
    best: np.ndarray  # float64 (S / 2,): best score of all columns
    candidates: np.ndarray  # CANDIDATE (T, room): candidate bins of each thread
    n_candidates: np.ndarray  # int64 (T,)
    taken: np.ndarray  # int64 (T + 1, LINE_OF_CACHE): first entries count what threads have taken:
    # candidates of each thread, and columns
    many: int  # columns that are summed at once in the last level
    plan: np.ndarray  # nodes.STEP (S / 2,): split of each slot
    grown: np.ndarray  # NODE (N,), numbered level by level
    grown_values: np.ndarray  # float64 (N,)
    stack: np.ndarray  # int64 (N,), scratch
    number: np.ndarray  # int64 (N,): depth-first number of each node
    nodes: np.ndarray  # NODE (N,): the tree, depth first
    values: np.ndarray  # float64 (N,), of these nodes
    max_depth: int
    state: np.ndarray  # int64 (STATES,)


# A candidate bin, which may contain a better threshold than its ends: sums left of it and in it.
CANDIDATE = np.dtype(
    [
        ("column", np.int32),
        ("slot", np.int32),
        ("turn", np.int32),  # 1: missing values go left, too
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
def plane_of(level, f, thread_row, plane):
    """Return the row of ``level.sums`` that holds a plane of a column, and its first entry.

    The first rows belong to the columns. Sums of the last level are not needed later, so they are
    stored in rows of the thread that computes them; ``thread_row`` is the row for this column.
    """
    size, n_kept = np.uint64(CODES >> level.state[SHIFT]) * np.uint64(CELL), level.state[KEPT]
    if plane < n_kept:
        return np.uint64(f), np.uint64(plane) * size
    return np.uint64(thread_row), np.uint64(plane - n_kept) * size


@inner_kernel
def value_at(table, f, row):
    """Return a value of X, rounded to float32."""
    at = np.uint64(row) * np.uint64(table.row_step) + np.uint64(f) * np.uint64(table.column_step)
    if len(table.double):
        return np.float32(table.double[at])
    return table.single[at]

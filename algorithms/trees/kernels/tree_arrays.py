"""Arrays shared by the tree kernels, and their names.

A *list* holds the rows of one column sorted by value, missing values last. Its entries hold a row
in the low 31 bits, and `FLAG` in the high bit. The kind of column defines the flag:

    DISTINCT  hardly any two values are equal: the flag marks a value different from all others
    EXACT     the flag marks a value larger than that of the entry before it; without it: equal
    NEAR      the same, but without it the value may also be a little larger

A split is possible between values that are more than `Table.close` apart.
"""

from typing import NamedTuple

import numpy as np

from algorithms.runtime.interrupts import NEVER

FLAG = np.uint32(1 << 31)
ROW = np.uint32((1 << 31) - 1)
BLOCK = 64  # entries scanned at once
MAX_SUBTREE_ROWS = 32  # maximum number of rows of a node whose subtree is grown by `small_subtree`
CLOSE = np.float32(1e-7)  # scikit-learn's FEATURE_THRESHOLD: no split between values this close

DISTINCT, EXACT, NEAR = 0, 1, 2
GINI, ENTROPY, SQUARED_ERROR = 0, 1, 2
MISCLASSIFICATION = 3
ABSOLUTE_ERROR, POISSON = 8, 9

# Results of the grower: the action that the caller must take.
DONE, MORE_ROOM, SEARCH, PARTITION, ORDER, NOTHING, INTERRUPTED = range(7)

# Phases of a node that is being grown.
OPEN, OPENED, SEARCHED, SPLITTING = range(4)

# Indices of the grower's state vector.
WAITING, HEAP, COUNT, DEPTH, RANDOM, PHASE, BUDGET, VISITS, SLOT = range(9)
STATES = 9

NODE = np.dtype(
    [
        ("left", np.int32),
        ("right", np.int32),
        ("feature", np.int32),
        ("missing_left", np.int32),
        ("threshold", np.float64),
        ("impurity", np.float64),
        ("n", np.int64),
        ("weight", np.float64),
    ]
)
TASK = np.dtype(  # a node to be made, with the rows start … end − 1
    [
        ("start", np.int64),
        ("end", np.int64),
        ("depth", np.int64),
        ("parent", np.int64),
        ("is_left", np.int64),
        ("n_constants", np.int64),
        ("impurity", np.float64),
        ("lower", np.float64),
        ("upper", np.float64),
    ]
)
SPLIT = np.dtype(  # a node that was made, and its best split
    [
        ("node", np.int64),
        ("start", np.int64),
        ("end", np.int64),
        ("depth", np.int64),
        ("is_leaf", np.int64),
        ("feature", np.int64),
        ("list", np.int64),  # the feature's list
        ("entry", np.int64),  # entry of the feature's list after the split
        ("n_left", np.int64),
        ("missing_left", np.int64),
        ("threshold", np.float64),
        ("n_constants", np.int64),
        ("impurity_left", np.float64),
        ("impurity_right", np.float64),
        ("weight_left", np.float64),
        ("weight_right", np.float64),
        ("improvement", np.float64),
        ("lower", np.float64),
        ("upper", np.float64),
        ("middle", np.float64),
    ]
)


NO_RANKS = np.empty((0, 0), np.uint32)
NO_REACH = np.empty(0, np.int64)


class Table(NamedTuple):
    """The columns of X, sorted or ranked once and shared by all trees that are grown on them."""

    values: np.ndarray  # float32 (n_columns, n_rows); ranked: value of each rank, then NaN
    order: np.ndarray  # uint32 (n_columns, n_rows): one list per column; (n_columns, 0): ranked
    kind: np.ndarray  # int64 (n_columns,): DISTINCT, EXACT or NEAR
    missing: np.ndarray  # int64 (n_columns,): number of missing values
    ranks: np.ndarray = NO_RANKS  # uint32 (n_rows, n_columns), see `rank`; (0, 0): not ranked
    reach: np.ndarray = (
        NO_REACH  # int64 (n_columns,): distance in ranks up to which values may be close
    )
    close: np.float32 = CLOSE  # values at most this far apart count as equal


class Rows(NamedTuple):
    """The rows of one tree; a node's rows are always contiguous.

    Rows are numbered by their index here, and renumbered whenever a node is split, so that a small
    node reads contiguous memory.
    """

    lists: np.ndarray  # uint32 (n_features, m); ranked: (max_features, m), of those searched
    columns: np.ndarray  # int64 (n_features,): the table's column of each feature
    source: np.ndarray  # uint32 (m,): row of the table
    mark: np.ndarray  # int64 (m,): integer weight << 32 | class code; (0,) for regression
    target: np.ndarray  # float64 (m,): y, or the code of two classes with float weights; or (0,)
    weight: np.ndarray  # float64 (m,); (0,): every row weighs 1, or has the weight in `mark`


class Rules(NamedTuple):
    """Restrictions of a tree, and its criterion."""

    criterion: int
    n_classes: int  # 0: regression
    max_depth: int
    min_samples_split: int
    min_samples_leaf: int
    min_weight_leaf: float
    min_impurity_decrease: float
    max_features: int
    max_leaf_nodes: int  # 0: depth-first growth without a limit
    total_weight: float
    filtered: int  # 1: no weight is negative, so bounds on the criterion are valid
    big: int  # several threads share the work on nodes with at least this many rows
    x_log_x: np.ndarray  # float64: i log2(i), or (0,) if weights are not small integers
    monotonic: np.ndarray  # int8 (n_features,): -1, 0, 1 on the first class or the value; or (0,)
    by_ratio: int = 0  # 1: the feature is chosen by gain ratio
    at_random: int = 0  # 1: one random threshold per feature
    ordered: int = 0  # 1: the caller orders a node's category lists before it is searched


class Growth(NamedTuple):
    """Output and state of the grower: the tree, and all data needed to continue."""

    nodes: np.ndarray  # NODE
    values: np.ndarray  # float64 (capacity, n_classes or 1)
    todo: np.ndarray  # TASK, a stack
    splits: np.ndarray  # SPLIT; the first one when growing depth first
    heap: np.ndarray  # int64, slots of splits
    state: np.ndarray  # int64 (STATES,)
    totals: np.ndarray  # float64: weight, then one sum per class, or the sums of y and of y²
    features: np.ndarray  # int64 (n_features,), in the order of the draws
    constants: np.ndarray  # int64 (n_features,)
    visit: np.ndarray  # int64 (n_features,): features to search in the current node
    proxy: np.ndarray  # float64 (n_features,): best proxy of each feature of visit
    position: np.ndarray  # int64 (n_features,): entry after its best split; 0: none
    to_left: np.ndarray  # int64 (n_features,): whether missing values go left
    place: np.ndarray  # uint32 (m,): new number of each row
    flag: np.ndarray = NEVER  # int64: see `interrupts`


class SmallSubtree(NamedTuple):
    """Positions of a small subtree's rows in all lists, and its nodes; see `small_subtree`.

    n_features is 0 if no subtree is grown by itself.
    """

    row_at: np.ndarray  # uint8 (MAX_SUBTREE_ROWS, n_features): the row at each position
    bit_of: np.ndarray  # uint32 (MAX_SUBTREE_ROWS, n_features): the bit of each row's position
    starts: np.ndarray  # uint32 (n_features,): bits of positions with a larger value than before
    positions: np.ndarray  # uint32 (MAX_SUBTREE_ROWS + 2, n_features): bits of each waiting node
    weight: np.ndarray  # float64 (MAX_SUBTREE_ROWS,)
    y: np.ndarray  # float64 (MAX_SUBTREE_ROWS,)
    weighted: np.ndarray  # float64 (MAX_SUBTREE_ROWS,): weight times y
    code: np.ndarray  # int64 (MAX_SUBTREE_ROWS,): class codes
    rest: np.ndarray  # uint32 (n_features,): positions of a searched feature not scanned yet
    cut: np.ndarray  # uint32 (n_features,): bit of the first position right of its best split
    n_left: np.ndarray  # float64 (n_features,): weight of the scanned rows
    s_left: np.ndarray  # float64 (n_features,): sum of their weighted y


class Scratch(NamedTuple):
    """Scratch space of the kernels; each thread has its own."""

    block: np.ndarray  # float64 (3, BLOCK): sums and scores of the splits of a block
    packed: np.ndarray  # int64 (BLOCK,)
    classes: np.ndarray  # float64 (3, n_classes): weights left of a split
    sums: np.ndarray  # float64 (3, n_totals): of sides, and of missing rows
    entries: np.ndarray  # uint32 (m + 1,)
    wide: np.ndarray  # int64 (m,)
    items: np.ndarray  # uint64 (2, m), or (2, 0) if columns are sorted
    counts: np.ndarray  # uint32 (PASSES, BUCKETS) of `rank`
    few: np.ndarray  # uint32 (FEW,) of `rank`
    cells: np.ndarray  # int64 (CELLS + SPARE,), see `unsorted_search`
    open_cells: np.ndarray  # uint8 (CELLS,)
    small: SmallSubtree

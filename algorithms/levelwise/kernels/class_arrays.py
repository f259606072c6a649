"""Arrays of level-wise classification trees, and their names.

As in `level_arrays`, all nodes of a level, the *slots*, are searched at once on binned columns. A
row's *lane* is its slot times K plus its class. So a level sums one weight per row and column into
the entry of a lane and bin. Rows without an open slot have the last lane.
"""

from typing import NamedTuple

import numpy as np

CODES = 256  # bins per lane
CODE_BITS = np.uint64(8)
BLOCK_ROWS = 1 << 14  # rows per block; the sums of blocks are added in order
EPSILON = 2.0**-52


STEP = np.dtype(  # split of a node
    [
        ("threshold", np.float64),
        ("feature", np.int32),  # -1: a leaf
        ("first_side", np.int32),  # index of the left side among all sides of the level
        # Bin of the slot's last row on the left; values are compared only in this bin.
        ("bin", np.int32),
        ("unused", np.int32),
    ]
)


class ClassRows(NamedTuple):
    """The rows of all trees, with their weights in the current round; all weights are positive."""

    kind: np.ndarray  # uint8 (n_rows,): class 0 … K − 1
    weight: np.ndarray  # float64 (n_rows,)
    lane: np.ndarray  # uint16 (n_rows,)
    at: np.ndarray  # uint16 (n_rows,): node, numbered level by level


class ClassLimits(NamedTuple):
    """Restrictions of a tree."""

    min_samples_split: int
    min_weight_leaf: float
    min_impurity_decrease: float


class ClassLevel(NamedTuple):
    """The slots of the current level, and the best splits found for them."""

    totals: np.ndarray  # float64 (n_slots, K + 1): weight of each class, then row count
    open: np.ndarray  # uint8 (n_slots,): 1 where the node may be split
    sums: np.ndarray  # float64 (n_columns, lanes * CODES): weight of each lane and bin
    score: np.ndarray  # float64 (n_columns, n_slots): best found, -inf: none
    entry: np.ndarray  # int64 (n_columns, n_slots): list entry after the split

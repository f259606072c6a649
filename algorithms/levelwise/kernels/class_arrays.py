"""The arrays of boosted trees for classes, and their names.

As in `level_layout`, all nodes of a level, *slots*, are searched at once on columns whose values
were put into bins. A row's *lane* is its slot times K plus its class, so that one addition a row
and column, of the row's weight, is all that a level sums; rows of no open slot have the last lane.
"""

from typing import NamedTuple

import numpy as np

CODES = 256  # bins of a lane
CODE_BITS = np.uint64(8)
BLOCK_ROWS = 1 << 14  # rows whose sums are made before they are added to those of others
EPSILON = 2.0**-52


STEP = np.dtype(  # how a node is split
    [
        ("threshold", np.float64),
        ("feature", np.int32),  # -1: a leaf
        ("first_side", np.int32),  # number of the left side among all sides of the level
        ("bin", np.int32),  # of the slot's last row on the left: only there values are compared
        ("unused", np.int32),
    ]
)


class ClassRows(NamedTuple):
    """The rows of all trees, with their weights in the round at hand; every weight is positive."""

    kind: np.ndarray  # uint8 (n_rows,): class 0 … K − 1
    weight: np.ndarray  # float64 (n_rows,)
    lane: np.ndarray  # uint16 (n_rows,)
    at: np.ndarray  # uint16 (n_rows,): node, numbered level by level


class ClassLimits(NamedTuple):
    """What a tree may look like."""

    min_samples_split: int
    min_weight_leaf: float
    min_impurity_decrease: float


class ClassLevel(NamedTuple):
    """The slots of the level at hand, and what was found for them."""

    totals: np.ndarray  # float64 (n_slots, K + 1): weight of each class, and rows
    open: np.ndarray  # uint8 (n_slots,): 1 where the node may be split
    sums: np.ndarray  # float64 (n_columns, lanes * CODES): weight of each lane and bin
    score: np.ndarray  # float64 (n_columns, n_slots): best found, -inf: none
    entry: np.ndarray  # int64 (n_columns, n_slots): of the list, before which the split lies

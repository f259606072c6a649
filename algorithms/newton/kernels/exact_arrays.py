"""The arrays of exact growth: columns as sorted lists, and what is known of a level's nodes.

All nodes of a level, *slots* 0 … K − 1, are searched in one pass over each column's list. The
lists hold present entries only, so a missing value costs nothing, and sparse columns are no
special case: what a slot has more than its entries in a list is missing there.
"""

from typing import NamedTuple

import numpy as np

ROW = np.dtype(  # one cache line holds four, and a random access brings all that is asked of a row
    [
        ("g", np.float32),
        ("h", np.float32),
        ("slot", np.uint32),  # of its node, plus 1; 0 where it is in no open node, or not drawn
        ("at", np.int32),  # its node
    ]
)
STATE = np.dtype(  # a slot during the pass over a column
    [
        ("g", np.float64),  # sums of the entries that were passed: G_L, H_L
        ("h", np.float64),
        ("next", np.float64),  # the least H_L at which a threshold is tried
        ("score", np.float64),  # best so far; at first what a split must reach
        ("total_g", np.float64),
        ("total_h", np.float64),
        ("last", np.float32),  # value of the last entry
        ("skip", np.uint32),  # 1: the slot is not searched in this column
        ("gap_g", np.float64),  # sums of the rows that are missing in this column
        ("gap_h", np.float64),
        ("lower", np.float64),  # bounds on the sides' values
        ("upper", np.float64),
        ("n", np.int64),  # entries that were passed
        ("gaps", np.int64),  # 1: there are such rows
        ("found", np.int64),
        ("missing_left", np.int64),
        ("best_g", np.float64),  # sums of the best split's left side
        ("best_h", np.float64),
        ("threshold", np.float32),
        ("unused", np.float32),
    ]
)
FOUND = np.dtype(
    [
        ("score", np.float64),  # −inf: no split
        ("g", np.float64),  # of the left side
        ("h", np.float64),
        ("threshold", np.float32),  # x < threshold goes left
        ("missing_left", np.int32),
    ]
)
PLAN = np.dtype(
    [
        ("feature", np.int32),  # −1: a leaf
        ("threshold", np.float32),
        ("missing_left", np.int32),
        ("first_side", np.int32),  # number of the left side among the nodes of the next level
    ]
)
G, H, N = range(3)  # columns of totals


class Lists(NamedTuple):
    """The present entries of each column, sorted by value."""

    order: np.ndarray  # uint32 (n_entries,): rows
    value: np.ndarray  # float32 (n_entries,)
    start: np.ndarray  # int64 (n_columns + 1,)


class Level(NamedTuple):
    """The slots of the level at hand."""

    totals: np.ndarray  # float64 (K, 3): Σg, Σh, rows
    least: np.ndarray  # float64 (K,): score that a split must reach
    lower: np.ndarray  # float64 (K,): bounds on values
    upper: np.ndarray
    open: np.ndarray  # bool (K,): whether it may be split
    allowed: np.ndarray  # bool (K, n_columns), or (0, 0): every column may be used


class Rules(NamedTuple):
    """How splits are rated."""

    least_h: float  # least H of a side, above 0
    reg_lambda: float  # λ
    reg_alpha: float
    max_delta_step: float  # bound on |w|; 0: none
    step: float  # ε: thresholds are tried ε H apart; 0: all are
    plain: int  # 1: neither alpha, max_step nor a monotone column

"""Array types of exact growth: sorted columns, and the state of the nodes of a level.

All nodes of a level, *slots* 0 … K − 1, are searched in one pass over each sorted column. Sorted
columns hold present entries only: missing values cost nothing, and sparse columns are no special
case. The rows of a slot without an entry in the column are missing there.
"""

from typing import NamedTuple

import numpy as np

ROW = np.dtype(  # four rows per cache line; one random access loads all fields of a row
    [
        ("g", np.float32),
        ("h", np.float32),
        ("slot", np.uint32),  # slot of its node plus 1; 0 if it is in no open node or not sampled
        ("at", np.int32),  # its node
    ]
)
STATE = np.dtype(  # state of a slot during the pass over a column
    [
        ("g", np.float64),  # sums of the entries so far: G_L, H_L
        ("h", np.float64),
        ("next", np.float64),  # minimum H_L of the next threshold to try
        ("score", np.float64),  # best score so far; initially the minimum score of a split
        ("total_g", np.float64),
        ("total_h", np.float64),
        ("last", np.float32),  # value of the previous entry
        ("skip", np.uint32),  # 1: the slot is not searched in this column
        ("gap_g", np.float64),  # sums of the rows that are missing in this column
        ("gap_h", np.float64),
        ("lower", np.float64),  # bounds on the sides' values
        ("upper", np.float64),
        ("n", np.int64),  # number of entries so far
        ("gaps", np.int64),  # 1: the slot has rows that are missing in this column
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
    """Present entries of each column, sorted by value."""

    order: np.ndarray  # uint32 (n_entries,): rows
    value: np.ndarray  # float32 (n_entries,)
    start: np.ndarray  # int64 (n_columns + 1,)


class Level(NamedTuple):
    """Slots of the current level."""

    totals: np.ndarray  # float64 (K, 3): Σg, Σh, rows
    least: np.ndarray  # float64 (K,): minimum score of a split
    lower: np.ndarray  # float64 (K,): bounds on values
    upper: np.ndarray
    open: np.ndarray  # bool (K,): whether it may be split
    allowed: np.ndarray  # bool (K, n_columns), or (0, 0) if all columns are allowed


class Rules(NamedTuple):
    """Parameters of the score of a split."""

    least_h: float  # minimum H of a side, above 0
    reg_lambda: float  # λ
    reg_alpha: float
    max_delta_step: float  # bound on |w|; 0: none
    step: float  # ε: thresholds are ε H apart; 0: all are tried
    plain: int  # 1: no reg_alpha, no max_delta_step and no monotone column

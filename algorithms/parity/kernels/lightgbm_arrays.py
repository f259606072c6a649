"""The arrays in which LightGBM's own trees are grown.

A feature's *cells* are Σg and Σh of the rows of a leaf in each of its bins, float64, and follow
one another in `Work.cells` from `Table.first` on. Of one bin, the *filler*, no sums are kept: its
cell is what the others leave of the leaf's whole, and where the filler is the first bin it has no
cell at all.
"""

from typing import NamedTuple

import numpy as np

from algorithms.runtime.interrupts import NEVER

EPSILON = float(np.float32(1e-15))  # LightGBM's constants are single precision

LEAF = np.dtype(
    [
        ("start", np.int64),  # its rows are rows[start : end]
        ("end", np.int64),
        ("depth", np.int64),
        ("node", np.int64),
        ("g", np.float64),  # Σg and Σh as the split that made it told them
        ("h", np.float64),
        ("value", np.float64),
    ]
)
SPLIT = np.dtype(
    [
        ("gain", np.float64),
        ("feature", np.int64),
        ("bin", np.int64),  # the last one that goes left
        ("missing_left", np.int64),
        ("is_set", np.int64),  # 1: `members` says which bins go left
        ("left_g", np.float64),
        ("left_h", np.float64),
        ("right_g", np.float64),
        ("right_h", np.float64),
        ("left_value", np.float64),
        ("right_value", np.float64),
    ]
)
NODE = np.dtype(
    [
        ("left", np.int64),  # −1: a leaf
        ("right", np.int64),
        ("feature", np.int64),
        ("bin", np.int64),
        ("missing_left", np.int64),
        ("is_set", np.int64),
        ("gain", np.float64),
        ("value", np.float64),
        ("count", np.int64),
    ]
)


class Table(NamedTuple):
    """The training rows by their bins."""

    columns: np.ndarray  # int32 (n_features, n_rows)
    first: np.ndarray  # int64 (n_features + 1,): first cell of each feature, and their number
    filler: np.ndarray  # int64 (n_features,): the bin whose cell is what the others leave
    has_missing: np.ndarray  # int64 (n_features,): 1 where the last bin is for missing values
    is_set: np.ndarray  # int64 (n_features,): 1 where bins are categories, the first one of none


class Rules(NamedTuple):
    """Limits on the growth of a tree."""

    num_leaves: int
    max_depth: int
    min_rows: int
    min_h: float
    alpha: float
    ridge: float
    min_gain: float
    max_step: float  # bound on |value|; 0: none
    smooth: float  # rows' worth of its parent's value that a leaf is drawn to
    set_smooth: float
    set_ridge: float
    most_in_set: int
    few_bins: int  # up to as many bins, each category is tried alone
    min_rows_of_category: int


class Work(NamedTuple):
    """Working arrays and result of tree growth; reused for every tree."""

    rows: np.ndarray  # uint32 (n_rows,): those of a leaf together
    spare: np.ndarray  # uint32 (n_rows,)
    leaves: np.ndarray  # LEAF (num_leaves,)
    splits: np.ndarray  # SPLIT (num_leaves + 1,): best of each leaf, and of one feature
    members: np.ndarray  # uint8 (num_leaves + 1, most_bins): bins that go left, where `is_set`
    usable: np.ndarray  # uint8 (num_leaves, n_features): whether a leaf's feature has a split
    cells: np.ndarray  # float64 (num_leaves, n_cells, 2): Σg and Σh
    nodes: np.ndarray  # NODE (2 num_leaves − 1,)
    goes_left: np.ndarray  # uint8 (2 num_leaves − 1, most_bins): of nodes that ask for a set
    scores: np.ndarray  # float64 (most_bins,)
    order: np.ndarray  # int64 (2 * most_bins,)
    flag: np.ndarray = NEVER  # int64: see `interrupts`

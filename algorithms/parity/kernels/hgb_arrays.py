"""Arrays for the growth of scikit-learn's HistGradientBoosting trees."""

from typing import NamedTuple

import numpy as np

from algorithms.runtime.interrupts import NEVER

MIN_H = 1e-3  # minimum of Σh of a child
TINY = 1e-15  # keeps values finite if Σh is 0
SUPPORT = 10.0  # minimum weight, in rows, of a category that is sorted; also the smoothing

SPLIT = np.dtype(
    [
        ("gain", np.float64),
        ("feature", np.int64),
        ("bin", np.int64),  # the last bin that goes left
        ("missing_left", np.int64),
        ("is_categorical", np.int64),  # 1: categorical; bins that go left: `members`
        ("g", np.float64),  # of the left child
        ("h", np.float64),
    ]
)


class Table(NamedTuple):
    """Bins of the training rows; the last bin of each feature is for missing values."""

    columns: np.ndarray  # uint8 (n_features, n_rows)
    counts: np.ndarray  # int64 (n_features,): number of bins, without that of missing values
    has_missing: np.ndarray  # int64 (n_features,)
    is_categorical: np.ndarray  # int64 (n_features,): 1 if bins are categories


class Rules(NamedTuple):
    """Limits on the growth of a tree."""

    num_leaves: int
    max_depth: int  # 0: unlimited
    min_child_samples: int
    reg_lambda: float


class Work(NamedTuple):
    """Working arrays and result of tree growth; reused for every tree."""

    rows: np.ndarray  # uint32 (n_rows,): the rows of a leaf are contiguous
    spare: np.ndarray  # uint32 (n_rows,)
    leaves: np.ndarray  # LEAF (num_leaves,)
    splits: np.ndarray  # SPLIT (num_leaves + 1,): best of each leaf, and of one feature
    members: np.ndarray  # uint8 (num_leaves + 1, n_bins): bins that go left in a categorical split
    histogram: np.ndarray  # float64 (num_leaves, n_features, n_bins, 3): Σg, Σh and number of rows
    nodes: np.ndarray  # NODE (2 num_leaves − 1,)
    goes_left: np.ndarray  # uint8 (2 num_leaves − 1, n_bins): of categorical splits
    heap: np.ndarray  # int64 (num_leaves,): leaves that can be split
    scores: np.ndarray  # float64 (n_bins,)
    order: np.ndarray  # int64 (n_bins,)
    flag: np.ndarray = NEVER  # int64: see `interrupts`

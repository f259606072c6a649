"""Arrays for the growth of LightGBM's trees.

A feature's histogram has Σg and Σh of a leaf's rows in each of its bins, float64. The histograms
of all features are contiguous in `Work.histogram`, each from entry `Table.first` on. The entry of
one bin per feature, ``most_freq_bin``, is computed as in LightGBM: the total of the leaf minus all
other entries. If ``most_freq_bin`` is the first bin, its entry is not used.
"""

from typing import NamedTuple

import numpy as np

from algorithms.runtime.interrupts import NEVER

FIRST, LAST, NUMBER = range(3)  # indices into `Work.forced_state`

EPSILON = float(np.float32(1e-15))  # LightGBM's constants are single precision

SPLIT = np.dtype(
    [
        ("gain", np.float64),
        ("feature", np.int64),
        ("bin", np.int64),  # the last bin that goes left
        ("missing_left", np.int64),
        ("is_categorical", np.int64),  # 1: categorical; bins that go left: `members`
        ("left_g", np.float64),
        ("left_h", np.float64),
        ("right_g", np.float64),
        ("right_h", np.float64),
        ("left_value", np.float64),
        ("right_value", np.float64),
    ]
)


class Table(NamedTuple):
    """The bins of the training rows."""

    columns: np.ndarray  # int32 (n_features, n_rows)
    first: np.ndarray  # int64 (n_features + 1,): first entry of each feature, and the total
    most_freq_bin: np.ndarray  # int64 (n_features,): bin whose entry is the rest of the total
    has_missing: np.ndarray  # int64 (n_features,): 1 if the last bin is for missing values
    is_categorical: np.ndarray  # int64 (n_features,): 1 if bins are categories
    weight: np.ndarray  # float64 (n_features,): factors of gains


class Rules(NamedTuple):
    """Limits on the growth of a tree."""

    num_leaves: int
    max_depth: int
    min_child_samples: int
    min_child_weight: float
    reg_alpha: float
    reg_lambda: float
    min_split_gain: float
    max_delta_step: float  # bound on |value|; 0: none
    path_smooth: float
    cat_smooth: float
    cat_l2: float
    max_cat_threshold: int
    max_cat_to_onehot: int
    min_data_per_group: int


class Work(NamedTuple):
    """Working arrays and result of tree growth; reused for every tree."""

    rows: np.ndarray  # uint32 (n_rows,): the rows of a leaf are contiguous
    spare: np.ndarray  # uint32 (n_rows,)
    leaves: np.ndarray  # LEAF (num_leaves,)
    splits: np.ndarray  # SPLIT (num_leaves + 1,): best of each leaf, and of one feature
    members: np.ndarray  # uint8 (num_leaves + 1, max_bins): bins that go left, if categorical
    usable: np.ndarray  # uint8 (num_leaves, n_features): whether a feature can split a leaf
    histogram: np.ndarray  # float64 (num_leaves, n_cells, 2): Σg and Σh
    nodes: np.ndarray  # NODE (2 num_leaves − 1,)
    goes_left: np.ndarray  # uint8 (2 num_leaves − 1, max_bins): of categorical splits
    scores: np.ndarray  # float64 (max_bins,)
    order: np.ndarray  # int64 (2 * max_bins,)
    forced: np.ndarray  # int64 (n_forced, 4), from `forced_splits.find_forced_bins`
    queue: np.ndarray  # int64 (n_forced, 4): forced split and leaf, in their order
    forced_state: np.ndarray  # int64 (3,): first and last + 1 waiting entry, split in work or −1
    last_value: np.ndarray  # float64 (1,): of the smaller child of the last split
    flag: np.ndarray = NEVER  # int64: see `interrupts`

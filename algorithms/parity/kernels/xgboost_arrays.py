"""Records and arrays for the growth of XGBoost's trees.

XGBoost sums gradients and hessians in float64, compares gains in float32, and stores parameters as
float32. With other dtypes than these, results would be rounded differently.
"""

from typing import NamedTuple

import numpy as np

RT_EPS = np.float32(1e-6)  # XGBoost's kRtEps: least gain of a split, guard of divisions and logs
LARGEST = np.finfo(np.float32).max  # bound of an unbounded weight

STATS = np.dtype(
    [
        ("g", np.float64),  # G, the sum of the gradients
        ("h", np.float64),  # H, the sum of the hessians
        ("weight", np.float32),  # w*, within the bounds of the parent
        ("gain", np.float32),  # as a leaf: G² / (H + λ)
        ("lower", np.float32),  # bounds of the weights of its children
        ("upper", np.float32),
    ]
)
SPLIT = np.dtype(
    [
        ("gain", np.float32),  # of both children minus that of the node
        ("threshold", np.float32),  # x < threshold goes left
        ("feature", np.int32),
        ("missing_left", np.uint8),
        ("left_g", np.float64),
        ("left_h", np.float64),
        ("right_g", np.float64),
        ("right_h", np.float64),
    ]
)


class Rules(NamedTuple):
    """Parameters of leaf weights and split gains."""

    reg_lambda: np.float32  # λ
    reg_alpha: np.float32  # α
    min_child_weight: np.float32
    max_delta_step: np.float32
    monotone: np.ndarray  # int32 (n_features,): −1, 0 or 1; (0,) without constraints
    gain_by_weight: bool  # see `xgboost_releases.Release`


class Columns(NamedTuple):
    """Present values of each feature, ascending, for the exact method."""

    start: np.ndarray  # int64 (n_features + 1,): first entry of each feature
    values: np.ndarray  # float32 (n_present,)
    rows: np.ndarray  # int32 (n_present,)
    forward: np.ndarray  # bool (n_features,): whether missing values are tried on the right


class Cuts(NamedTuple):
    """Bins of the histogram method."""

    start: np.ndarray  # int64 (n_features + 1,)
    values: np.ndarray  # float32 (n_bins,): a bin holds x < value
    least: np.ndarray  # float32 (n_features,): lower bound of each feature's first bin

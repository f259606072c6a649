"""The records and arrays of the kernels that grow XGBoost's own trees.

XGBoost sums derivatives in float64 and compares gains in float32; its parameters are float32. So
the types here are part of the rules: another one would round otherwise.
"""

from typing import NamedTuple

import numpy as np

LEAST_GAIN = np.float32(1e-6)  # a split that brings no more than this is none
LARGEST = np.finfo(np.float32).max  # the bound of a weight that is not bounded

STATS = np.dtype(
    [
        ("g", np.float64),  # G, the sum of the gradients
        ("h", np.float64),  # H, the sum of the hessians
        ("weight", np.float32),  # w*, within the bounds of the parent
        ("gain", np.float32),  # of staying a leaf: G² / (H + λ)
        ("lower", np.float32),  # bounds of the weights of its sides
        ("upper", np.float32),
    ]
)
SPLIT = np.dtype(
    [
        ("gain", np.float32),  # that of both sides less that of the node
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
    monotone: np.ndarray  # int32 (n_features,): −1, 0 or 1; (0,) where no feature is bound


class Columns(NamedTuple):
    """The present values of every feature, ascending, as the exact method scans them."""

    start: np.ndarray  # int64 (n_features + 1,): where each feature begins
    values: np.ndarray  # float32 (n_present,)
    rows: np.ndarray  # int32 (n_present,)
    forward: np.ndarray  # bool (n_features,): whether missing values are tried on the right


class Cuts(NamedTuple):
    """Where the bins of the histogram method end."""

    start: np.ndarray  # int64 (n_features + 1,)
    values: np.ndarray  # float32 (n_bins,): a bin holds x < value
    least: np.ndarray  # float32 (n_features,): below all values of a feature

"""Arrays for the growth of scikit-learn's trees.

These kernels follow the rules and the order of summation of scikit-learn's splitters. In each node
the rows are sorted in place by each feature that is drawn. So the order of the rows, in which
weights and values are summed, is also that of scikit-learn. Records of nodes, splits and tasks are
those of the default grower (`tree_arrays`).

Each of several outputs has `Rules.n_classes` sums, or one in regression; those of the first output
come first. Sums of classes that an output does not have stay 0.
"""

from typing import NamedTuple

import numpy as np

from algorithms.runtime.interrupts import NEVER
from algorithms.trees.kernels.tree_arrays import STATES

# The node and the sides of a split: rows of ``sums``, and the first entries of ``weights``.
WHOLE, LEFT, RIGHT = range(3)
# Further entries of ``weights``: Σ w y² of the node, and Σ w of all rows.
SQUARES, ALL = 3, 4
WEIGHTS = 5
# Further entry of the grower's state: end of the rows that are summed on the left.
POSITION = STATES

# Rows of ``deviations``. Left sides are stored at their last row, right sides at their first row:
# for the split at position p, at p − 1 and at p.
ERROR_LEFT, ERROR_RIGHT, MEDIAN_LEFT, MEDIAN_RIGHT, SORTED, TREE_WEIGHT, TREE_VALUE = range(7)
DEVIATIONS = 7
RANK, ORDER = range(2)  # rows of ``ranks``

PENDING = 128  # maximum number of parts to be sorted: twice the number of bits of a length


class Given(NamedTuple):
    """Inputs of tree growth; kernels do not write to them."""

    values: np.ndarray  # float32 (n_columns, n_rows)
    columns: np.ndarray  # int64 (n_features,): the row of ``values`` of each feature
    missing: np.ndarray  # bool (n_features,): whether any value is missing
    y: np.ndarray  # float64 (n_outputs, n_rows): class codes, or values
    weight: np.ndarray  # float64 (n_rows,)


class Work(NamedTuple):
    """The tree, and the state from which growth continues in the next call."""

    nodes: np.ndarray  # tree_arrays.NODE
    values: np.ndarray  # float64 (capacity, n_values), see `Search.sums`
    todo: np.ndarray  # tree_arrays.TASK, a stack
    splits: np.ndarray  # tree_arrays.SPLIT; only the first one in depth-first growth
    heap: np.ndarray  # int64, slots of splits
    state: np.ndarray  # int64 (STATES + 1,)


class Search(NamedTuple):
    """Scratch arrays of the split search of a node."""

    state: np.ndarray  # shared with `Work`
    features: np.ndarray  # int64 (n_features,), in the order of the draws
    constants: np.ndarray  # int64 (n_features,)
    samples: np.ndarray  # int64 (m,): rows; those of a node are contiguous
    x: np.ndarray  # float64 (m,): values of the current feature, in the order of ``samples``
    sums: np.ndarray  # float64 (3, n_values): Σ w of each class of each output, or Σ w y of each
    weights: np.ndarray  # float64 (WEIGHTS,)
    deviations: np.ndarray  # float64 (DEVIATIONS, m + 1); (DEVIATIONS, 0) for other criteria
    ranks: np.ndarray  # int64 (2, m); (2, 0) for other criteria
    pending: np.ndarray  # int64 (PENDING, 3): start, end and depth of a part to be sorted
    medians: np.ndarray  # float64 (n_outputs,): weighted medians of the node, for absolute errors
    n_outputs: int
    flag: np.ndarray = NEVER  # int64: see `interrupts`

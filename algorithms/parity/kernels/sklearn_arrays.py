"""The arrays of the kernels that grow scikit-learn's own trees.

These kernels follow the rules of scikit-learn's best splitter to the order of every sum: a node's
rows are sorted anew by every feature that it draws, in place, so that the order of the rows, in
which weights and values are added, is the library's too. Records of nodes, of splits and of the
stack are those of the default grower (`layout`).
"""

from typing import NamedTuple

import numpy as np

from algorithms.runtime.interrupts import NEVER
from algorithms.trees.kernels.tree_arrays import STATES

# Sides of a split: rows of ``sums``, and the first places of ``weights``.
WHOLE, LEFT, RIGHT = range(3)
# Further places of ``weights``: Σ w y² of the node, and Σ w of all rows.
SQUARES, ALL = 3, 4
WEIGHTS = 5
# One more place of the grower's state: how far the rows of the node were moved to the left.
POSITION = STATES

# Rows of ``deviations``. Those of the left side end before a place, those of the right begin
# there, so what belongs to the split at place p stands at p − 1 and at p.
ERROR_LEFT, ERROR_RIGHT, MEDIAN_LEFT, MEDIAN_RIGHT, SORTED, TREE_WEIGHT, TREE_VALUE = range(7)
DEVIATIONS = 7
RANK, ORDER = range(2)  # rows of ``ranks``

PENDING = 128  # parts of an array that wait to be sorted: twice the binary digits of its length


class Given(NamedTuple):
    """Inputs of tree growth; kernels do not write to them."""

    values: np.ndarray  # float32 (n_columns, n_rows)
    columns: np.ndarray  # int64 (n_features,): the row of ``values`` of each feature
    missing: np.ndarray  # bool (n_features,): whether any value is missing
    y: np.ndarray  # float64 (n_rows,): class codes, or values
    weight: np.ndarray  # float64 (n_rows,)


class Work(NamedTuple):
    """The tree that is written, and what the grower needs to go on where it stopped."""

    nodes: np.ndarray  # layout.NODE
    values: np.ndarray  # float64 (capacity, n_classes or 1)
    todo: np.ndarray  # layout.TASK, a stack
    splits: np.ndarray  # layout.SPLIT; the first one when growing depth first
    heap: np.ndarray  # int64, slots of splits
    state: np.ndarray  # int64 (STATES + 1,)


class Search(NamedTuple):
    """Outputs of the split search of a node."""

    state: np.ndarray  # that of Work
    features: np.ndarray  # int64 (n_features,), in the order of the draws
    constants: np.ndarray  # int64 (n_features,)
    samples: np.ndarray  # int64 (m,): rows; those of a node stand together
    x: np.ndarray  # float64 (m,): float32 values of the feature at hand, in the rows' order
    sums: np.ndarray  # float64 (3, n_classes or 1): Σ w of each class, or Σ w y
    weights: np.ndarray  # float64 (WEIGHTS,)
    deviations: np.ndarray  # float64 (DEVIATIONS, m + 1); (DEVIATIONS, 0) for other criteria
    ranks: np.ndarray  # int64 (2, m); (2, 0) for other criteria
    pending: np.ndarray  # int64 (PENDING, 3): start, end and depth of a part to be sorted
    flag: np.ndarray = NEVER  # int64: see `interrupts`

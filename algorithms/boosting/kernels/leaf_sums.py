"""Sum of the leaf values of boosted trees times the learning rate; row sampling for a round."""

import numpy as np

from algorithms.prediction.kernels.predict import FEATURE
from algorithms.runtime.jit import kernel

ROWS_AT_ONCE = 1024  # rows per block; a block goes through all trees before the next block


@kernel
def add_trees(steps, roots, depth, values, output, rate, X, raw, first, last):
    """Add each row's leaf values times the learning rate to its scores: rows first … last − 1.

    Every row takes as many steps as the tree is deep; a leaf is its own child. So there is no
    branch to mispredict, and the processor walks several rows at once. X has no missing values.

    Parameters
    ----------
    steps : (n_nodes,) predict.STEP, of all trees
    roots, depth, output : (n_trees,) int64, each tree's first step, its depth, its output
    values : (n_nodes,) float64, of each step
    X : (n_rows, n_features) float32, C-contiguous, finite
    raw : (n_outputs, n_rows) float64, C-contiguous, updated
    """
    for start in range(first, last, ROWS_AT_ONCE):
        end = min(start + ROWS_AT_ONCE, last)
        for t in range(len(roots)):
            k = np.uint64(output[t])
            for row in range(np.uint64(start), np.uint64(end)):
                at = np.uint64(roots[t])
                for _ in range(depth[t]):
                    step = steps[at]
                    x = X[row, np.uint64(step["feature"] & FEATURE)]
                    at = np.uint64(step["left"]) + np.uint64(x > step["threshold"])
                raw[k, row] += rate * values[at]


@kernel
def draw_mask(uniform, count, mask):
    """Mark ``count`` rows drawn without replacement, by scikit-learn's sequential draw.

    A row is drawn with probability (rows still to draw) / (rows not yet visited).

    Parameters
    ----------
    uniform : (n_rows,) float64 in [0, 1)
    mask : (n_rows,) bool, written
    """
    drawn = 0
    n = len(mask)
    for i in range(n):
        mask[i] = uniform[i] * (n - i) < count - drawn
        drawn += mask[i]

"""Sum the leaves of boosted trees, each times the learning rate; draw the rows of a round."""

import numpy as np

from algorithms.prediction.kernels.predict import FEATURE
from algorithms.runtime.jit import kernel

ROWS_AT_ONCE = 1024  # rows that pass all trees before the next ones do


@kernel
def add_trees(steps, roots, depth, values, output, rate, X, raw, first, last):
    """Add the values of each row's leaves, times the rate, to its scores: rows first … last − 1.

    Every row takes as many steps as a tree is deep: a leaf is its own child. So nothing has to
    be predicted by the processor, which then walks several rows at once. X has no missing values.

    Parameters
    ----------
    steps : (n_nodes,) predict.STEP, of all trees
    roots, depth, output : (n_trees,) int64, each tree's first step, its depth, the score it adds to
    values : (n_nodes,) float64, of each step
    X : (n_rows, n_features) float32, C-contiguous, finite
    raw : (n_outputs, n_rows) float64, C-contiguous, written
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

    A row is drawn with the probability (rows still wanted) / (rows still to come).

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

"""Sum of the leaf values of boosted trees times the learning rate; row sampling for a round."""

import numpy as np

from algorithms.prediction.kernels.predict import FEATURE
from algorithms.runtime.jit import inner_kernel, kernel

FOUR = np.uint64(4)
ROWS_AT_ONCE = 128  # rows per block; a block goes through all trees before the next block


@kernel
def add_trees(steps, roots, depth, values, output, rate, X, raw, first, last):
    """Add each row's leaf values times the learning rate to its scores: rows first … last − 1.

    Every row takes as many steps as the tree is deep; a leaf is its own child. So there is no
    branch to mispredict, and four rows are walked at once. X has no missing values.

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
            k, root = np.uint64(output[t]), np.uint64(roots[t])
            in_fours = end - (end - start) % 4
            for row in range(np.uint64(start), np.uint64(in_fours), FOUR):
                at_0, at_1, at_2, at_3 = root, root, root, root
                for _ in range(depth[t]):
                    at_0 = next_step(steps[at_0], X, row)
                    at_1 = next_step(steps[at_1], X, row + np.uint64(1))
                    at_2 = next_step(steps[at_2], X, row + np.uint64(2))
                    at_3 = next_step(steps[at_3], X, row + np.uint64(3))
                raw[k, row] += rate * values[at_0]
                raw[k, row + np.uint64(1)] += rate * values[at_1]
                raw[k, row + np.uint64(2)] += rate * values[at_2]
                raw[k, row + np.uint64(3)] += rate * values[at_3]
            for row in range(np.uint64(in_fours), np.uint64(end)):
                at = root
                for _ in range(depth[t]):
                    at = next_step(steps[at], X, row)
                raw[k, row] += rate * values[at]


@inner_kernel
def next_step(step, X, row):
    """Return the index of the step that a row takes next."""
    x = X[row, np.uint64(step["feature"] & FEATURE)]
    return np.uint64(step["left"]) + np.uint64(x > step["threshold"])


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

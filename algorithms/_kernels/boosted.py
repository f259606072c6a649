"""Sum the leaves of boosted trees, each times the learning rate; draw the rows of a round."""

import numpy as np

from algorithms._kernels.jit import kernel
from algorithms._kernels.predict import FEATURE


@kernel
def add_tree(steps, depth, values, rate, X, out, first, last):
    """Add the value of each row's leaf, times the rate, to ``out``, for the rows first … last − 1.

    Every row takes as many steps as the tree is deep: a leaf is its own child. So nothing has to
    be predicted by the processor, which then walks several rows at once. X has no missing values.

    Parameters
    ----------
    steps : (n_nodes,) STEP
    depth : of the tree
    values : (n_nodes,) float64, of each step
    X : (n_rows, n_features) float32, C-contiguous, finite
    out : (n_rows,) float64, written
    """
    for row in range(np.uint64(first), np.uint64(last)):
        at = np.uint64(0)
        for _ in range(depth):
            step = steps[at]
            x = X[row, np.uint64(step["feature"] & FEATURE)]
            at = np.uint64(step["left"]) + np.uint64(x > step["threshold"])
        out[row] += rate * values[at]


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

"""Float32 thresholds t between two adjacent values of a column: low < t ≤ high.

XGBoost takes the float32 nearest to the mean of both values. If the two values are neighbors in
float32, the mean may be rounded down to the lower one; then the upper one is taken.
"""

import numpy as np

from algorithms.levelwise.kernels.level_arrays import value_at
from algorithms.runtime.jit import inner_kernel, kernel
from algorithms.trees.kernels.tree_arrays import ROW


@kernel
def narrow_thresholds(table, feature, middle, near):
    """Increase thresholds that were rounded down to a value of their column.

    Parameters
    ----------
    table : CodedTable
    feature : int64 (n,), column of each threshold; −1: leave it unchanged
    middle : (n,) float64
    near : (n,) float32, the nearest floats, written to
    """
    for k in range(len(feature)):
        if feature[k] >= 0 and near[k] < middle[k] and holds(table, feature[k], near[k]):
            near[k] = np.nextafter(near[k], np.float32(np.inf))


@inner_kernel
def holds(table, f, value):
    """Return whether a column has a value, by binary search in its sorted entries."""
    low, high = np.int64(0), table.order.shape[1] - table.missing[f]
    while low < high:
        half = (low + high) // 2
        if value_at(table, f, table.order[f, half] & ROW) < value:
            low = half + 1
        else:
            high = half
    present = table.order.shape[1] - table.missing[f]
    return low < present and value_at(table, f, table.order[f, low] & ROW) == value

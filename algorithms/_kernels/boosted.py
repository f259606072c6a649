"""Sum the leaves of boosted trees, each times the learning rate."""

from algorithms._kernels.jit import kernel


@kernel
def add_scaled(values, leaves, rate, out, first, last):
    """Add the value of each row's leaf, times the rate, to ``out``, for the rows first … last − 1.

    Parameters
    ----------
    values : (n_nodes,) float64
    leaves : (n_rows,) int64
    out : (n_rows,) float64
    """
    for row in range(first, last):
        out[row] += rate * values[leaves[row]]


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

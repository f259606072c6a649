"""Weighted quantiles by the definition of scikit-learn's gradient boosting."""

import numpy as np


def weighted_quantile(values, weight, share):
    """Return the first value, in ascending order, at which the weight reaches ``share``.

    Parameters
    ----------
    values : (n,) float64, at least one
    weight : (n,) float64 ≥ 0; None: every value weighs 1
    share : between 0 and 1
    """
    share = 100.0 * share / 100.0  # the same rounding as in scikit-learn, which uses percentages
    if weight is None or (weight == 1.0).all():
        wanted = int(np.ceil(share * len(values))) - 1
        at = min(max(wanted, 0), len(values) - 1)
        return np.partition(values, at)[at]
    order = np.argsort(values)
    below = np.cumsum(weight[order])
    wanted = share * below[-1]
    if wanted == 0.0:  # skips leading values with weight 0
        wanted = np.nextafter(0.0, 1.0)
    at = min(np.searchsorted(below, wanted), len(values) - 1)
    return values[order[at]]


def rows_of_groups(group, rows):
    """Yield each group and its rows, in ascending order.

    Parameters
    ----------
    group : (n,) integers, the group of every row
    rows : (m,) int, rows to use; None means all
    """
    groups = group if rows is None else group[rows]
    order = np.argsort(groups, kind="stable")
    ends = np.flatnonzero(np.diff(groups[order])) + 1
    for part in np.split(order, ends):
        if len(part):
            yield int(groups[part[0]]), part if rows is None else rows[part]

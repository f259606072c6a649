"""Histogram of the thresholds of one feature's splits."""

import numpy as np
import pandas as pd


def split_value_histogram(values, bins, *, xgboost_style):
    """Return counts and edges, or a frame of the bins that are not empty.

    Parameters
    ----------
    values : (n_splits,) float64
    bins : as in `numpy.histogram`; None is the number of distinct values
    xgboost_style : bool
        Whether to return a frame. It has at most as many bins as there are distinct values.

    Returns
    -------
    counts int64 (n_bins,) and edges float64 (n_bins + 1,), or a frame with the columns SplitValue
    (upper edge) and Count
    """
    n_values = len(np.unique(values))
    if bins is None or (isinstance(bins, int | np.integer) and xgboost_style):
        bins = max(n_values if bins is None else min(bins, n_values), 1)
    counts, edges = np.histogram(values, bins=bins)
    if not xgboost_style:
        return counts, edges
    kept = counts > 0
    return pd.DataFrame({"SplitValue": edges[1:][kept], "Count": counts[kept]})

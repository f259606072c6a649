"""Training rows as bins of the usable columns."""

from dataclasses import dataclass

import numpy as np

from algorithms.gbdt import binning
from algorithms.gbdt.binning import Binner, bin_dense, columns_at_once, sample_rows, take_columns
from algorithms.gbdt.gradient_quantization import IN_ORDER
from algorithms.gbdt.split_table import split_columns
from algorithms.symmetric.borders import find_borders

SAMPLE = 200_000  # rows on which borders are chosen, as in CatBoost


@dataclass(frozen=True)
class BinnedTable:
    """Bins of the columns that have a border."""

    features: np.ndarray  # int64 (n_used,), columns of X
    borders: tuple  # float32 arrays, one a used column
    nan_right: np.ndarray  # bool (n_features,): missing values lie above all borders
    rows: np.ndarray  # uint8 (n_rows, n_used)
    columns: np.ndarray  # uint8 (n_used, n_rows)
    derived = None  # `DerivedColumns` in a `CategoricalTable`

    @property
    def size(self):
        """Number of bins."""
        return self.rows.size

    @property
    def n_bins(self):
        """Number of bins of each used column, int64 (n_used,)."""
        return np.array([len(own) + 1 for own in self.borders], np.int64)


def bin_rows(X, params, workers):
    """Return the `BinnedTable` of X.

    Parameters
    ----------
    X : (n_rows, n_features) float32, or float64 that is read as the nearest float32; C-contiguous,
        NaN where missing
    params : the estimator
    workers : Workers

    Raises
    ------
    ValueError
        If there are missing values and ``nan_mode`` is "Forbidden".
    """
    table = split_columns(X, bundles=False, rounds=X.dtype == np.float64)
    drawn = sample_rows(len(X), SAMPLE)
    has_nan = find_missing(X, params.nan_mode, workers)
    borders = []

    def choose(values):
        return find_borders(
            values, params.feature_border_type, params.border_count, params.nan_mode
        )

    step = columns_at_once(len(drawn), workers)
    for first in range(0, X.shape[1], step):
        features = np.arange(first, min(first + step, X.shape[1]))
        borders += workers.each(choose, list(take_columns(table, features, drawn, workers)))
    nan_right = has_nan & (params.nan_mode == "Max")
    used = np.array([f for f, own in enumerate(borders) if len(own)], np.int64)
    kept = tuple(borders[f] for f in used)
    codes = (None,) * len(used)
    missing = np.where(nan_right[used], [len(own) for own in kept], -1).astype(np.int64)
    binner = Binner(tuple(own.astype(np.float64) for own in kept), codes, missing)
    if len(used) < X.shape[1]:
        values = np.ascontiguousarray(X[:, used], np.float32)
        table = split_columns(values, bundles=False)
    rows, columns = bin_dense(table, binner, workers, IN_ORDER[0])
    return BinnedTable(used, kept, nan_right, rows, columns)


def find_missing(X, nan_mode, workers):
    """Return which columns have missing values, bool (n_features,)."""
    has_nan = binning.find_missing(X, workers)
    if nan_mode == "Forbidden" and has_nan.any():
        raise ValueError("X has missing values, and nan_mode is 'Forbidden'")
    return has_nan

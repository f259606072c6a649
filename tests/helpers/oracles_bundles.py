"""Oracles of the kernels of bundles, sparse columns and runs of bins."""

import numpy as np


def runs(values, n_zeros):
    """Return the distinct values that are not missing, and their counts."""
    return np.unique(np.append(values[~np.isnan(values)], np.zeros(n_zeros)), return_counts=True)


def find_bundles(entries, order, needed, most, room, max_cells=256):
    """Return bundles as lists of features, and the features without a bundle.

    Parameters
    ----------
    entries : list of sets of rows, one a feature
    """
    bundles, left_out = [], []
    for f in order:
        for bundle in bundles:
            hits = len(entries[f] & bundle["rows"])
            if bundle["used"] + needed[f] <= max_cells and bundle["hits"] + hits <= most:
                break
        else:
            if len(bundles) == room:
                left_out.append(f)
                continue
            bundle = {"rows": set(), "used": 1, "hits": 0, "features": []}
            bundles.append(bundle)
            hits = 0
        bundle["hits"] += hits
        bundle["used"] += needed[f]
        bundle["rows"] |= entries[f]
        bundle["features"].append(f)
    return [bundle["features"] for bundle in bundles], left_out


def bins_of(bins, n_rows):
    """Return the bin of every row and feature of a `booster_arrays.Bins`."""
    values = np.zeros((n_rows, len(bins.count)), np.int64)
    places, sparse = bins.layout, bins.sparse
    n_dense = bins.rows.shape[1]
    for f, column in enumerate(places.column):
        if column < 0:
            continue
        if column < n_dense:
            cells = bins.rows[:, column].astype(np.int64)
        else:
            cells = np.zeros(n_rows, np.int64)
            own = slice(sparse.of_feature[f], sparse.of_feature[f + 1])
            cells[sparse.rows[own]] = sparse.bins[own]
        default, first = places.default[f], places.first[f]
        if default < 0:
            values[:, f] = cells
            continue
        others = np.delete(np.arange(bins.count[f]), default)
        values[:, f] = default
        for place, b in enumerate(others):
            values[cells == first + place, f] = b
    return values

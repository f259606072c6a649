"""Dask arrays and frames: split them into parts, and apply a function to their blocks."""

import numpy as np
import pandas as pd


def is_collection(X):
    """Return whether X is one of Dask's arrays or frames, without importing Dask."""
    return hasattr(X, "__dask_graph__") and hasattr(X, "to_delayed")


def is_frame(X):
    """Return whether a collection is a frame or series."""
    return hasattr(X, "npartitions") and hasattr(X, "map_partitions")


def parts_of(X, others):
    """Return X and the other collections by blocks of rows: a list of tuples of delayed objects.

    Parameters
    ----------
    X : Dask array (n_rows, n_features) or frame
    others : list of Dask arrays (n_rows,) or series

    Raises
    ------
    TypeError, ValueError
        If one is not a collection, or the partitions differ.
    """
    for one in (X, *others):
        if not is_collection(one):
            raise TypeError(
                f"X, y and weights must all be Dask collections, not {type(one).__name__}"
            )
    if not is_frame(X):
        if X.ndim != 2:
            raise ValueError(f"Expected 2D array, got {X.ndim}D array instead")
        X = X.rechunk({1: -1})
    delayed = [blocks(X), *(blocks(with_chunks_of(one, X)) for one in others)]
    counts = {len(one) for one in delayed}
    if len(counts) > 1:
        raise ValueError(
            f"X, y and weights fall into {[len(one) for one in delayed]} parts: "
            "repartition them equally"
        )
    return list(zip(*delayed, strict=True))


def with_chunks_of(one, X):
    """Return an array with the chunks of X, if the lengths of all chunks are known.

    Raises
    ------
    ValueError
        If it has several columns, or another number of rows than X.
    """
    if is_frame(one) or is_frame(X):
        return one
    if one.ndim > 1:
        if one.ndim > 2 or one.shape[1] != 1:
            raise ValueError(f"y and weights should be 1d arrays, got one of shape {one.shape}")
        one = one[:, 0]
    known = not np.isnan([*one.chunks[0], *X.chunks[0]]).any()
    if known and len(one) != len(X):
        raise ValueError(f"X has {len(X)} rows, but y or weights have {len(one)}")
    return one.rechunk({0: X.chunks[0]}) if known else one


def blocks(one):
    """Return the delayed blocks of a collection."""
    return list(np.ravel(np.array(one.to_delayed(), object)))


def known_categories(X):
    """Return a frame whose categories are known and the same in all parts."""
    if not is_frame(X):
        return X
    unknown = [
        name
        for name, dtype in X.dtypes.items()
        if isinstance(dtype, pd.CategoricalDtype) and not X[name].cat.known
    ]
    return X.categorize(columns=unknown) if unknown else X


def sample_of(X):
    """Return an empty table with the columns of a collection."""
    return X._meta if is_frame(X) else np.empty((0, X.shape[1]), X.dtype)  # noqa: SLF001 - Dask's name for it


def apply(function, X, columns=None, dtype=np.float64):
    """Return ``function`` of each block of X, lazily.

    Parameters
    ----------
    function : table (n, n_features) → array (n,) or (n, len(columns))
    X : Dask array or frame
    columns : labels of the columns of the result; None if it has one dimension
    dtype : dtype of the result
    """
    shape = (0,) if columns is None else (0, len(columns))
    nothing = np.empty(shape, dtype)
    if not is_frame(X):
        X = X.rechunk({1: -1})
        options = (
            {"drop_axis": 1} if columns is None else {"chunks": (X.chunks[0], (len(columns),))}
        )
        return X.map_blocks(
            lambda block: function(block) if len(block) else nothing,
            dtype=dtype,
            meta=nothing,
            **options,
        )

    def one(part):
        values = function(part) if len(part) else nothing
        if columns is None:
            return pd.Series(values, part.index)
        return pd.DataFrame(values, part.index, columns)

    return X.map_partitions(one, meta=one(X._meta))  # noqa: SLF001 - Dask's name for it

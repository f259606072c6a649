"""Query groups of ranking: rows of one query are consecutive."""

import math
from functools import cache

import numpy as np


def read_group(group, n_rows, name="group"):
    """Return the first row of each query and after them the number of rows, int64.

    Parameters
    ----------
    group : array-like of int (n_queries,), the number of rows of each query in order
    n_rows : int
    name : str, name of the argument for error messages

    Raises
    ------
    ValueError
        If a number is negative or not whole, or they do not add up to the number of rows.
    """
    sizes = np.asarray(group)
    if sizes.ndim != 1 or not len(sizes) or sizes.dtype.kind not in "iuf":
        raise ValueError(
            f"{name} must be a one-dimensional sequence with the number of rows of each query"
        )
    is_whole = np.isfinite(sizes).all() and (sizes == np.floor(sizes)).all()
    if not is_whole or (sizes < 0).any():
        raise ValueError(f"{name} must hold whole numbers of rows, none of them negative")
    total = int(sizes.sum())
    if total != n_rows:
        raise ValueError(
            f"Sum of query counts ({total}) differs from the length of #data ({n_rows}): {name} "
            "holds the number of rows of each query, not a query id per row"
        )
    sizes = sizes[sizes > 0].astype(np.int64)
    return np.concatenate([[0], np.cumsum(sizes)])


def group_from_qid(qid, name="qid"):
    """Return the number of rows of each query, int64 (n_queries,).

    Parameters
    ----------
    qid : array-like (n_rows,), the query of each row
    name : str, name of the argument for error messages

    Raises
    ------
    ValueError
        If the rows of a query are not consecutive.
    """
    qid = np.asarray(qid).ravel()
    message = f"`{name}` must be sorted in non-decreasing order along with data."
    return np.diff(np.append(find_starts(qid, message), len(qid)))


def find_starts(ids, message):
    """Return the first row of each query, int64; raise ValueError if its rows are not consecutive.

    Parameters
    ----------
    ids : (n_rows,), the query of each row
    message : str, of the error
    """
    starts = np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1]]))
    if len(np.unique(ids[starts])) < len(starts):
        raise ValueError(message)
    return starts


def mean_weights(weight, bounds):
    """Return the mean weight of the rows of each query, float64 (n_queries,), or None.

    Parameters
    ----------
    weight : (n_rows,) float64, or None
    bounds : from `read_group`
    """
    return None if weight is None else np.add.reduceat(weight, bounds[:-1]) / np.diff(bounds)


def find_discounts(bounds):
    """Return the discount 1 / log₂(2 + rank) of each rank in the longest query."""
    longest = int(np.diff(bounds).max())
    return discounts_up_to(1 << longest.bit_length())[:longest]


@cache
def discounts_up_to(count):
    """Return the discounts of ``count`` ranks, float64."""
    return np.array([1.0 / math.log2(2.0 + rank) for rank in range(count)])


def local_order(bounds):
    """Return each row's number within its query, int32 (n_rows,)."""
    sizes = np.diff(bounds)
    return (np.arange(bounds[-1]) - np.repeat(bounds[:-1], sizes)).astype(np.int32)

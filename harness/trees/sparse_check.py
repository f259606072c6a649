"""Check of a sparse matrix before compiled code reads it: bad indices may point anywhere in memory.

scipy checks a matrix when it is made, but not its column indices, and its arrays can be replaced
later. The checks compare values instead of taking differences, which could wrap.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.core.errors import DataError

COMPRESSED = ("csr", "csc", "bsr")
TABLE = 2  # dimensions


class MalformedMatrixError(DataError, ValueError):
    """Raised for a sparse matrix whose indices do not fit its shape."""


def check_sparse(X: Any) -> None:
    """Raise MalformedMatrixError if a sparse matrix has an index out of bounds.

    Parameters
    ----------
    X
        Sparse, of any format of scipy. Formats without index arrays are not checked.
    """
    if len(X.shape) != TABLE:
        return  # the caller reports a wrong number of dimensions
    if X.format in COMPRESSED:
        _check_compressed(X)
    elif X.format == "coo":
        for indices, length in zip(X.coords, X.shape, strict=True):
            _need(len(indices) == len(X.data), "its coordinates do not fit its values")
            _check_indices(indices, length)


def _check_compressed(X: Any) -> None:
    rows, columns = X.shape if X.format != "csc" else X.shape[::-1]
    if X.format == "bsr":
        rows, columns = rows // X.blocksize[0], columns // X.blocksize[1]
    indptr, indices = X.indptr, X.indices
    _need(indptr.dtype.kind == indices.dtype.kind == "i", "its indices are not signed integers")
    _need(len(indptr) == rows + 1, f"indptr has {len(indptr)} entries, not {rows + 1}")
    _need(len(indices) == len(X.data), "its indices do not fit its values")
    _need(bool(indptr[0] == 0 and indptr[-1] <= len(indices)), "indptr does not fit the indices")
    _need(bool((indptr[1:] >= indptr[:-1]).all()), "indptr decreases")
    _check_indices(indices[: indptr[-1]], columns)


def _check_indices(indices: np.ndarray, length: int) -> None:
    if len(indices):
        low, high = int(indices.min()), int(indices.max())
        _need(low >= 0 and high < length, f"its indices are {low} to {high} in a shape of {length}")


def _need(holds: bool, what: str) -> None:
    if not holds:
        raise MalformedMatrixError(f"X is a malformed sparse matrix: {what}; make it again")

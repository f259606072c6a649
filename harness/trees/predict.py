"""Numpy predictor of a `TreeEnsemble`: simple and slow, the oracle of the tests."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.core.errors import DataError
from harness.trees.sparse_check import check_sparse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.trees.ensemble import TreeEnsemble

CHUNK = 1 << 22  # values of X that are converted to dense float64 at once
BINARY = 2
MIN_GAP = 1e-6  # between two predictions of a row with the link "ascending"
TABLE = 2  # dimensions


class Missing(IntEnum):
    """The values that a node treats as missing and sends to its default side."""

    NONE = 0  # no value: NaN fails every comparison and so goes right
    NAN = 1
    ZERO = 2  # NaN and zero (LightGBM's zero_as_missing)
    NAN_AS_ZERO = 3  # no value: NaN is read as 0.0 (LightGBM, no NaN in training)


def leaves(ensemble: TreeEnsemble, X: Any) -> np.ndarray:
    """Return leaf node numbers, int32 (n_rows, n_trees)."""
    X = as_table(X)
    result = np.empty((X.shape[0], ensemble.n_trees), np.int32)
    for rows, chunk in chunks(ensemble, X):
        result[rows] = _find_leaves(ensemble, chunk)
    return result


def raw(ensemble: TreeEnsemble, X: Any) -> np.ndarray:
    """Return scores before the link, (n_rows, n_outputs) in the ensemble's sum_dtype."""
    X = as_table(X)
    result = np.empty((X.shape[0], ensemble.n_outputs), ensemble.sum_dtype)
    for rows, chunk in chunks(ensemble, X):
        result[rows] = _add_up(ensemble, _find_leaves(ensemble, chunk), chunk)
    return result


def predict(ensemble: TreeEnsemble, X: Any) -> np.ndarray:
    """Return float64 values (n_rows,), or probabilities with a column for each class."""
    return from_raw(ensemble, raw(ensemble, X))


def from_raw(ensemble: TreeEnsemble, score: np.ndarray) -> np.ndarray:
    """Convert raw scores; see :meth:`harness.trees.ensemble.TreeEnsemble.from_raw`."""
    score = score / np.dtype(ensemble.sum_dtype).type(ensemble.temperature)
    result = _link(ensemble.link, score).astype(np.float64)
    if ensemble.link in ("sigmoid", "step") and len(ensemble.classes) == BINARY:
        return np.column_stack([1.0 - result, result])
    return result[:, 0] if not ensemble.classes and ensemble.n_outputs == 1 else result


def goes_left(ensemble: TreeEnsemble, node: int | np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return whether values go left, bool (n,).

    Parameters
    ----------
    node
        An inner node for all values, or one for each.
    x : (n,) float64
        Values of the node's feature as they are in X; category codes as numbers.
    """
    values = np.asarray(x, np.float64)
    nodes = np.broadcast_to(np.asarray(node), values.shape)
    by_category = ensemble.categories[nodes] >= 0
    values = _read(values, ensemble, by_category)
    keys = _set_keys(ensemble) if by_category.any() else np.empty(0, np.int64)
    return _goes_left(ensemble, keys, nodes, values)


def as_table(X: Any) -> Any:
    """Return X, a list as an array; raise DataError unless it is two-dimensional."""
    X = X if hasattr(X, "shape") else np.asarray(X)
    if len(X.shape) != TABLE:
        raise DataError(
            f"X has the shape {X.shape}, not (rows, columns): give one row as X.reshape(1, -1)"
        )
    return X


def chunks(ensemble: TreeEnsemble, X: Any) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield slices of rows with their values, as float64 rounded to the library's input dtype."""
    X = as_table(X)
    n_rows, n_columns = X.shape
    if n_columns != ensemble.n_features:
        raise DataError(
            f"X has {n_columns} columns and the trees know {ensemble.n_features}: "
            "predict on the columns that were trained on"
        )
    if hasattr(X, "tocsr"):
        check_sparse(X)
        X = X.tocsr()
        check_sparse(X)
    step = max(1, CHUNK // max(1, n_columns))
    for start in range(0, n_rows, step):
        rows = slice(start, min(start + step, n_rows))
        yield rows, _dense(X, rows, ensemble)


def _dense(X: Any, rows: slice, ensemble: TreeEnsemble) -> np.ndarray:
    if hasattr(X, "iloc"):  # a pandas frame
        part = X.iloc[rows]
        columns = [_column(part.iloc[:, j]) for j in range(part.shape[1])]
        values = np.column_stack(columns) if columns else np.empty(part.shape)
    elif hasattr(X, "tocsr"):  # a scipy sparse matrix or array
        entries = X[rows].tocoo()
        fill = np.nan if ensemble.absent == "nan" else 0.0
        values = np.full(entries.shape, fill)
        values[entries.row, entries.col] = entries.data
    else:
        part = np.asarray(X[rows])
        values = _objects_as_numbers(part) if part.dtype == object else part.astype(np.float64)
    return _read(values, ensemble, _categorical_columns(ensemble))


def _equals_itself(value: Any) -> bool:
    """Return whether a value is not NaN, NaT or NA, for which ``==`` is False or NA."""
    equal = value == value  # noqa: PLR0124
    return isinstance(equal, (bool, np.bool_)) and bool(equal)


def _objects_as_numbers(part: np.ndarray) -> np.ndarray:
    """Return an array of objects as float64; None, NaN and pandas' NA become NaN."""
    is_known = [value is not None and _equals_itself(value) for value in part.flat]
    known = np.reshape(is_known, part.shape)
    return np.where(known, part, np.nan).astype(np.float64)


def _categorical_columns(ensemble: TreeEnsemble) -> np.ndarray:
    """Return the columns that some node splits by category, bool (n_features,)."""
    result = np.zeros(ensemble.n_features, bool)
    result[ensemble.feature[ensemble.categories >= 0]] = True
    return result


def _read(values: np.ndarray, ensemble: TreeEnsemble, is_category: np.ndarray) -> np.ndarray:
    """Return float64 values as the library reads them: rounded, NaN if missing, tiny values 0.

    Category codes are never compared with ``missing_value``.
    """
    missing = ensemble.missing_value
    if ensemble.input_dtype == "float32":
        with np.errstate(over="ignore"):  # a value beyond float32 is infinite, as in the library
            values = values.astype(np.float32).astype(np.float64)
            missing = float(np.float32(missing))
    if not np.isnan(missing):
        values = np.where((values == missing) & ~is_category, np.nan, values)
    return np.where(np.abs(values) <= ensemble.zero_within, 0.0, values)


def _column(column: Any) -> np.ndarray:
    """Return a column's numbers, or the codes of its categories; NaN where missing."""
    if hasattr(column, "cat") and hasattr(column.cat, "codes"):
        codes: np.ndarray = column.cat.codes.to_numpy().astype(np.float64)
        codes[codes < 0] = np.nan
        return codes
    numbers: np.ndarray = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return numbers


def _find_leaves(e: TreeEnsemble, X: np.ndarray) -> np.ndarray:
    """Return the leaf of each row in each tree; all rows descend one level at a time."""
    result = np.empty((len(X), e.n_trees), np.int32)
    keys = _set_keys(e)
    for t, root in enumerate(e.offsets[:-1]):
        at = np.full(len(X), root, np.int32)
        rows = np.flatnonzero(e.left[at] >= 0)
        while len(rows):
            node = at[rows]
            left = _goes_left(e, keys, node, X[rows, e.feature[node]])
            at[rows] = np.where(left, e.left[node], e.right[node])
            rows = rows[e.left[at[rows]] >= 0]
        result[:, t] = at
    return result


def _goes_left(e: TreeEnsemble, keys: np.ndarray, node: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return whether each value x at its node goes left."""
    kind, nan = e.missing[node], np.isnan(x)
    x = np.where(nan & (kind >= Missing.ZERO), 0.0, x)
    threshold = e.threshold[node]
    left: np.ndarray = x < threshold if e.comparison == "<" else x <= threshold
    categorical = e.categories[node] >= 0
    if categorical.any():
        number = e.categories[node[categorical]]
        member = _is_member(keys, number, x[categorical])
        left[categorical] = member == e.members_left[number]
    missing = (nan & (kind == Missing.NAN)) | ((kind == Missing.ZERO) & (x == 0))
    left[missing] = e.default_left[node[missing]]
    return left


def _set_keys(e: TreeEnsemble) -> np.ndarray:
    """Return (set, code) of every member, packed into one int64 each, ascending."""
    numbers = np.arange(len(e.members_left), dtype=np.int64)
    keys: np.ndarray = (np.repeat(numbers, np.diff(e.set_indptr)) << 32) + e.set_codes
    return keys


def _is_member(keys: np.ndarray, number: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return whether the category x, truncated to an integer, is in the set of that number."""
    valid = (x >= 0) & (x < 2**31)
    searched = (number.astype(np.int64) << 32) + np.where(valid, x, 0.0).astype(np.int64)
    place = np.searchsorted(keys, searched)
    result = np.zeros(len(x), bool)
    inside = place < len(keys)
    result[inside] = keys[place[inside]] == searched[inside]
    return result & valid


def combine(e: TreeEnsemble, leaf: np.ndarray) -> np.ndarray:
    """Return raw scores of rows from their leaves, added up in the order of the trees."""
    if e.linear is not None:
        raise DataError("linear leaves have no fixed values: call raw with the rows")
    return _add_up(e, leaf, None)


def _add_up(e: TreeEnsemble, leaf: np.ndarray, X: np.ndarray | None) -> np.ndarray:
    """Return raw scores of rows from their leaves; X has the values that linear leaves need."""
    dtype, width = np.dtype(e.sum_dtype), e.value.shape[1]
    if e.combination == "median":
        return _weighted_median(e.value[leaf, 0], e.weight)[:, None].astype(dtype)
    total = np.zeros((len(leaf), e.n_outputs), dtype)
    if e.base_first:
        total += e.base.astype(dtype)
    for t in range(e.n_trees):
        if e.linear is not None and X is not None:
            given = e.linear.outputs(e.value[:, 0], leaf[:, t], X)[:, None]
        else:
            given = e.value[leaf[:, t]]
        if e.combination == "vote":
            given = np.where(np.arange(width) == given.argmax(axis=1)[:, None], 1.0, e.against)
        columns = slice(e.output[t], e.output[t] + width)
        total[:, columns] += (e.weight[t] * given).astype(dtype)
    if e.combination in ("mean", "vote"):
        total /= dtype.type(e.weight.sum())
    return total if e.base_first else total + e.base.astype(dtype)


def _weighted_median(members: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return for each row the least member value at which half of the weight is reached."""
    order = np.argsort(members, axis=1)
    reached = np.cumsum(weight[order], axis=1)
    middle = np.argmax(reached >= 0.5 * reached[:, -1:], axis=1)
    rows = np.arange(len(members))
    result: np.ndarray = members[rows, order[rows, middle]]
    return result


def _link(name: str, score: np.ndarray) -> np.ndarray:
    """Return the inverse link of raw scores, in their dtype."""
    result: np.ndarray = score
    with np.errstate(over="ignore"):  # exp may be infinite: 1 / (1 + inf) is correctly 0
        if name == "exp":
            result = np.exp(score)
        elif name == "sigmoid":
            result = score.dtype.type(1) / (score.dtype.type(1) + np.exp(-score))
        elif name == "step":
            result = (score > 0.0).astype(score.dtype)
        elif name == "softmax":
            power = np.exp(score - score.max(axis=1, keepdims=True))
            result = power / power.sum(axis=1, keepdims=True)
        elif name == "ascending":
            gaps = np.logaddexp(score.dtype.type(0), score[:, 1:]) + score.dtype.type(MIN_GAP)
            result = np.cumsum(np.column_stack([score[:, :1], gaps]), axis=1, dtype=score.dtype)
    return result

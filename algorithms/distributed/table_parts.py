"""Parts of a table on Dask workers: inspect them before training, and read them for training.

A part is a tuple (X, y) or (X, y, weight) of arrays or frames. It may be empty.
"""

import hashlib
from dataclasses import dataclass

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, column_or_1d

from algorithms.distributed.boosting import Table
from algorithms.estimator.labels import codes_among
from algorithms.gbdt.input_table import place_among, read_table
from algorithms.gbdt.kernels import gradients as kinds


@dataclass(frozen=True)
class PartSummary:
    """Summary of a part that the client needs before the ranks start."""

    n_rows: int  # including rows of weight 0
    dtype: str  # dtype of X after validation; empty for a part without rows
    labels: np.ndarray | None = None  # class labels, ascending
    counts: np.ndarray | None = None  # rows of each class whose weight is above 0
    sign: int = 0  # −1 if a y is negative, 0 if none is positive, otherwise 1
    content: str = ""  # digest of X, y and weights
    n_weighed: int = 0  # rows whose weight is above 0


def inspect_part(part, model):
    """Return the `PartSummary` of a part; raise scikit-learn's errors if it is invalid.

    Parameters
    ----------
    part : tuple
    model : the local estimator, with its columns set
    """
    lengths = {one.shape[0] for one in part}
    if len(lengths) > 1:
        raise ValueError(f"a part has X, y and weights of different lengths: {sorted(lengths)}")
    if lengths == {0}:
        return PartSummary(0, "")
    X, y = read_table(model, part[0], reset=False), read_y(part[1], model)
    if not isinstance(X, np.ndarray):
        raise TypeError("sparse parts cannot be trained on: make them dense")
    check_categories(part[0], model.categories_)
    weight = [read_weight(part[2], X)] if len(part) > 2 else []
    is_weighed = weight[0] > 0.0 if weight else np.ones(len(X), bool)
    known = {"content": digest_of(X, y, *weight), "n_weighed": np.count_nonzero(is_weighed)}
    if hasattr(model, "predict_proba"):
        labels, place = np.unique(y, return_inverse=True)
        counts = np.bincount(place[is_weighed], minlength=len(labels))
        return PartSummary(len(X), X.dtype.str, labels, counts, **known)
    sign = -1 if (y < 0).any() else int((y > 0).any())
    if getattr(model._objective, "name", "") in ("gamma", "cross_entropy"):  # noqa: SLF001 - its own part
        model._read_y(y)  # noqa: SLF001 - its own part
    return PartSummary(len(X), X.dtype.str, sign=sign, **known)


def check_categories(X, categories):
    """Raise ValueError if a part of a frame has categories that the frame does not declare.

    Parameters
    ----------
    X : array or frame
    categories : dict, column name or place → index of its categories
    """
    for key, known in categories.items():
        column = X[key] if isinstance(key, str) else X.iloc[:, key]
        strange = column[(place_among(column, known) < 0) & column.notna().to_numpy()]
        if len(strange):
            raise ValueError(
                f"column {key!r} has the category {strange.iloc[0]!r} in a part, which the "
                "frame does not declare: call its categorize()"
            )


def digest_of(*arrays):
    """Return a digest of the values, dtypes and shapes of arrays."""
    digest = hashlib.blake2b(digest_size=16)
    for array in arrays:
        digest.update(f"{array.dtype.str} {array.shape}".encode())
        data = np.ascontiguousarray(array)
        digest.update(repr(data.tolist()).encode() if data.dtype.hasobject else data.data)
    return digest.hexdigest()


def read_y(y, model):
    """Return class labels unchanged, or regression targets as finite float64."""
    y = column_or_1d(np.asarray(y))
    if hasattr(model, "predict_proba"):
        check_classification_targets(y)
        return y
    y = y.astype(np.float64)
    if not np.isfinite(y).all():
        raise ValueError("Input y contains NaN or infinity.")
    return y


def read_weight(weight, X):
    """Return the weights of a part, float64; all of them may be 0."""
    options = {"ensure_non_negative": True, "allow_all_zero_weights": True}
    return _check_sample_weight(np.asarray(weight), X, dtype=np.float64, **options)


def read_parts(parts, model, rows, dtype, class_weights):
    """Return a rank's `Table`: the rows of its parts whose weight is above 0.

    Parameters
    ----------
    parts : list of tuples
    model : the local estimator, with its columns and labels set
    rows : Rows
    dtype : dtype of X
    class_weights : float64 (n_classes,), or None
    """
    full = [part for part in parts if len(part[0])]
    tables = [read_table(model, part[0], reset=False).astype(dtype, copy=False) for part in full]
    nothing = np.empty((0, model.n_features_in_), dtype)
    X = np.ascontiguousarray(np.concatenate([*tables, nothing]))
    targets = [read_y(part[1], model) for part in full]
    if hasattr(model, "predict_proba"):
        targets = [
            codes_among(model.classes_, y, "a part has labels that are not in y") for y in targets
        ]
    y = np.concatenate([*targets, np.empty(0)]).astype(np.float64)
    weight = None
    if parts and len(parts[0]) > 2:
        given = [read_weight(part[2], part[0]) for part in full]
        weight = np.concatenate([*given, np.empty(0)])
    if class_weights is not None:
        by_class = class_weights[y.astype(np.int64)]
        weight = by_class if weight is None else weight * by_class
    if weight is not None and len(weight):
        kept = weight > 0.0
        X, y, weight = X[kept], y[kept], weight[kept]
    return Table(X, y, weight, rows)


def count_rows(fact, model, class_weights):
    """Return the number of rows of a part with sample weight × class weight above 0."""
    if class_weights is None or fact.labels is None:
        return fact.n_weighed
    codes = np.searchsorted(model.classes_, fact.labels)
    return int(fact.counts[class_weights[codes] > 0.0].sum())


def check_values(facts, objective):
    """Raise ValueError if the objective does not allow the targets of all parts."""
    signs = {fact.sign for fact in facts if fact.n_rows}
    kind = getattr(objective, "kind", None)
    if kind in kinds.LOGARITHMIC and (-1 in signs or 1 not in signs):
        raise ValueError(f"objective {objective.name!r} needs y >= 0 with a positive sum")


def check_weights(facts):
    """Raise ValueError if the weights of all parts are 0, as the local fit does."""
    if not any(fact.n_weighed for fact in facts):
        raise ValueError("Sample weights must contain at least one non-zero number.")


def whole(value):
    """Return a parameter's value with all entries in JSON types (``repr`` abbreviates arrays)."""
    if hasattr(value, "tolist"):  # numpy array or pandas column
        return value.tolist()
    if isinstance(value, dict):
        return [[str(key), whole(item)] for key, item in value.items()]
    return [whole(item) for item in value] if isinstance(value, list | tuple) else value

"""CatBoost's `Pool`: rows with labels and weights."""

import numpy as np
import pandas as pd
from scipy import sparse

from algorithms.compat.inputs import as_rows, as_vector

OTHER_ARGUMENTS = """
text_features embedding_features embedding_features_data column_description pairs graph delimiter
has_header ignore_csv_quoting group_id group_weight subgroup_id pairs_weight baseline timestamp
feature_tags log_cout log_cerr
"""
UNSUPPORTED = frozenset(OTHER_ARGUMENTS.split())


class CatBoostError(ValueError):
    """Error in data, parameters or a model."""


class Pool:
    """Rows with labels and weights.

    Parameters
    ----------
    data : array-like, frame or sparse matrix (n_rows, n_features), or Pool
        Paths of files are not supported.
    label : array-like (n_rows,), optional
    cat_features : list of int or str, optional
        Categorical columns, by position or name.
    weight : array-like (n_rows,), optional
        Weights of the rows.
    feature_names : list of str, optional
        Names of the columns of an array.
    thread_count : int
        Has no effect.
    **others
        CatBoost's other arguments; they must be None.

    Raises
    ------
    CatBoostError
        If an argument is not supported, or the lengths differ.
    """

    def __init__(
        self,
        data,
        label=None,
        cat_features=None,
        *,
        weight=None,
        feature_names=None,
        thread_count=-1,
        **others,
    ):
        del thread_count
        for name, value in others.items():
            if name not in UNSUPPORTED:
                raise TypeError(f"Pool has no argument {name!r}")
            if value is not None:
                raise CatBoostError(f"Pool does not support {name}")
        if isinstance(data, str):
            raise CatBoostError("Pool does not read files: give the rows")
        if isinstance(data, Pool):
            label = data.label if label is None else label
            weight = data.weight if weight is None else weight
            cat_features = data.cat_features if cat_features is None else cat_features
            data = data.data
        self.data = name_columns(as_table(data), feature_names)
        self.label = None if label is None else as_vector(label)
        self.weight = None if weight is None else as_vector(weight)
        self.cat_features = None if cat_features is None else list(cat_features)
        for name in ("label", "weight"):
            values = getattr(self, name)
            if values is not None and len(values) != self.num_row():
                raise CatBoostError(
                    f"{name} has {len(values)} entries; data has {self.num_row()} rows"
                )

    @property
    def shape(self):
        """Number of rows and of columns, (int, int)."""
        return self.data.shape

    def num_row(self):
        """Return the number of rows."""
        return self.shape[0]

    def num_col(self):
        """Return the number of columns."""
        return self.shape[1]

    def get_label(self):
        """Return the labels as an array or series (n_rows,), or None."""
        return self.label

    def get_weight(self):
        """Return the weights, (n_rows,); if none were given, ones, float64."""
        return np.ones(self.num_row()) if self.weight is None else np.asarray(self.weight)

    def get_cat_feature_indices(self):
        """Return the positions of the categorical columns, list of int."""
        names = self.get_feature_names()
        given = self.cat_features or []
        return [names.index(one) if isinstance(one, str) else int(one) for one in given]

    def get_feature_names(self):
        """Return the column names, list of str; positions as text if there are no names."""
        if isinstance(self.data, pd.DataFrame):
            return [str(name) for name in self.data.columns]
        return [str(j) for j in range(self.num_col())]

    def set_weight(self, weight):
        """Set the weights, array-like (n_rows,); return the Pool."""
        self.weight = Pool(self.data, weight=weight).weight
        return self

    def slice(self, rindex):
        """Return a Pool of some rows.

        Parameters
        ----------
        rindex : list of int
            Positions of the rows.
        """
        rows = np.asarray(rindex)
        label, weight = (take(values, rows) for values in (self.label, self.weight))
        return Pool(take(self.data, rows), label, self.cat_features, weight=weight)


def as_table(data):
    """Return rows as a frame, a sparse matrix or an array."""
    rows = as_rows(data)
    if isinstance(rows, pd.DataFrame) or sparse.issparse(rows):
        return rows
    if isinstance(rows, pd.Series):
        return rows.to_frame()
    if hasattr(rows, "columns"):
        return rows
    rows = np.asarray(rows)
    if rows.ndim != 2:
        raise CatBoostError(f"data must have rows and columns; it has {rows.ndim} dimensions")
    return rows


def name_columns(data, names):
    """Return data as a frame with the given column names; unchanged without names."""
    if names is None:
        return data
    if len(names) != data.shape[1]:
        raise CatBoostError(f"feature_names has {len(names)} entries for {data.shape[1]} columns")
    if isinstance(data, pd.DataFrame):
        return data.set_axis(list(names), axis=1)
    if sparse.issparse(data):
        raise CatBoostError("feature_names are not supported for a sparse matrix")
    return pd.DataFrame(data, columns=list(names))


def take(values, rows):
    """Return some rows of a table or a vector; None if ``values`` is None."""
    if values is None:
        return None
    if isinstance(values, pd.DataFrame | pd.Series):
        return values.iloc[rows]
    return values.tocsr()[rows] if sparse.issparse(values) else np.asarray(values)[rows]


def rows_of(data):
    """Return the rows of a Pool, or the data itself."""
    return data.data if isinstance(data, Pool) else data


def parts_of(X, y, sample_weight):
    """Return rows, labels and weights: those of a Pool, or the arguments.

    Raises
    ------
    CatBoostError
        If there are no labels, or if X is a Pool and y or weights are given, too.
    """
    if isinstance(X, Pool):
        if y is not None or sample_weight is not None:
            raise CatBoostError("X is a Pool: y and sample_weight must be None")
        X, y, sample_weight = X.data, X.label, X.weight
    if y is None:
        raise CatBoostError("y is missing: give y, or a Pool with labels")
    return X, y, sample_weight


def eval_tables(eval_set):
    """Return the evaluation sets as a list of (X, y), or None."""
    if eval_set is None:
        return None
    given = eval_set if isinstance(eval_set, list) else [eval_set]
    tables = []
    for one in given:
        if isinstance(one, Pool):
            if one.weight is not None:
                raise CatBoostError("weights of an evaluation set are not supported")
            X, y, _ = parts_of(one, None, None)
            tables.append((X, y))
        else:
            tables.append(tuple(one))
    return tables

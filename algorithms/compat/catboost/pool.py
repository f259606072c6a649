"""CatBoost's `Pool`: rows with labels and weights."""

import numpy as np
import pandas as pd
from scipy import sparse

from algorithms.compat.catboost_parameters import ENCODE_TEXT
from algorithms.compat.inputs import as_rows, as_vector

OTHER_ARGUMENTS = """
text_features embedding_features embedding_features_data column_description graph delimiter
has_header ignore_csv_quoting subgroup_id timestamp feature_tags log_cout log_cerr
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
    group_id : array-like (n_rows,), optional
        Id of the query of each row; the rows of a query are consecutive.
    group_weight : array-like (n_rows,), optional
        Weight of the query of each row.
    pairs : array-like of int (n_pairs, 2), optional
        Rows of a winner and a loser.
    pairs_weight : array-like (n_pairs,), optional
    baseline : array-like (n_rows,) or (n_rows, n_scores), optional
        Raw scores from which training starts.
    feature_names : list of str, optional
        Names of the columns of an array.
    thread_count : int
        Has no effect.
    **others
        CatBoost's other arguments; they must be None or an empty list.

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
        group_id=None,
        group_weight=None,
        pairs=None,
        pairs_weight=None,
        baseline=None,
        feature_names=None,
        thread_count=-1,
        **others,
    ):
        del thread_count
        for name, value in others.items():
            if name not in UNSUPPORTED:
                raise TypeError(f"Pool has no argument {name!r}")
            if value is not None and not (isinstance(value, list) and not value):
                raise CatBoostError(f"Pool does not support {describe_argument(name, value)}")
        if isinstance(data, str):
            raise CatBoostError("Pool does not read files: give the rows")
        if isinstance(data, Pool):
            label = data.label if label is None else label
            weight = data.weight if weight is None else weight
            cat_features = data.cat_features if cat_features is None else cat_features
            group_id = data.group_id if group_id is None else group_id
            group_weight = data.group_weight if group_weight is None else group_weight
            pairs = data.pairs if pairs is None else pairs
            pairs_weight = data.pairs_weight if pairs_weight is None else pairs_weight
            baseline = data.baseline if baseline is None else baseline
            data = data.data
        self.data = name_columns(as_table(data), feature_names)
        self.label = None if label is None else as_vector(label)
        self.weight = None if weight is None else as_vector(weight)
        self.group_id = None if group_id is None else as_vector(group_id)
        self.group_weight = None if group_weight is None else as_vector(group_weight)
        self.baseline = None if baseline is None else np.asarray(baseline)
        self.pairs, self.pairs_weight = pairs, pairs_weight
        self.cat_features = None if cat_features is None else list(cat_features)
        for name in ("label", "weight", "group_id", "group_weight", "baseline"):
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

    def get_features(self):
        """Return the rows as an array (n_rows, n_features)."""
        return self.data.toarray() if sparse.issparse(self.data) else np.asarray(self.data)

    def get_baseline(self):
        """Return the baseline, or None."""
        return self.baseline

    def num_pairs(self):
        """Return the number of pairs."""
        return 0 if self.pairs is None else len(self.pairs)

    def is_quantized(self):
        """Return False: borders are chosen in training."""
        return False

    def quantize(self, **_options):
        """Do nothing: borders are chosen in training, from the parameters of the model."""

    def set_group_id(self, group_id):
        """Set the ids of the queries, array-like (n_rows,); return the Pool."""
        self.group_id = Pool(self.data, group_id=group_id).group_id
        return self

    def set_baseline(self, baseline):
        """Set the raw scores from which training starts; return the Pool."""
        self.baseline = Pool(self.data, baseline=baseline).baseline
        return self

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
        if self.pairs is not None:
            raise CatBoostError("a Pool with pairs has no slices: pairs name rows by position")
        rows = np.asarray(rindex)
        names = "label", "weight", "group_id", "group_weight", "baseline"
        given = {name: take(getattr(self, name), rows) for name in names}
        return Pool(take(self.data, rows), cat_features=self.cat_features, **given)


def describe_argument(name, value):
    """Return the name of an argument that is not supported; with a remedy for text columns."""
    return f"{name}={value!r:.80}: {ENCODE_TEXT}" if name == "text_features" else name


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
    tables = []
    for one in list_of(eval_set):
        if isinstance(one, Pool):
            X, y, _ = parts_of(one, None, None)
            tables.append((X, y))
        else:
            tables.append(tuple(one))
    return tables


def eval_weights(eval_set):
    """Return the weights of the evaluation sets as a list, or None if none has weights."""
    given = [] if eval_set is None else list_of(eval_set)
    weights = [getattr(one, "weight", None) for one in given]
    return None if all(one is None for one in weights) else weights


def eval_baselines(eval_set):
    """Return the baselines of the evaluation sets as a list, or None if none has one.

    Raises
    ------
    CatBoostError
        If some sets have a baseline and others have none.
    """
    given = [] if eval_set is None else list_of(eval_set)
    baselines = [getattr(one, "baseline", None) for one in given]
    if all(one is None for one in baselines):
        return None
    if any(one is None for one in baselines):
        raise CatBoostError("all evaluation sets need a baseline, or none")
    return baselines


def eval_group_ids(eval_set):
    """Return the ids of the queries of each evaluation set, or None.

    Raises
    ------
    CatBoostError
        If an evaluation set has no ids.
    """
    if eval_set is None:
        return None
    ids = [getattr(one, "group_id", None) for one in list_of(eval_set)]
    if any(one is None for one in ids):
        raise CatBoostError("eval_set of a ranker must be a Pool with group_id, or a list of these")
    return ids


def list_of(eval_set):
    """Return the evaluation sets as a list."""
    return eval_set if isinstance(eval_set, list) else [eval_set]

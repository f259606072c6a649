"""Dataset: rows with labels, weights, query groups and initial scores.

It holds the data as they were given. Bins are found when a model is trained.
"""

import copy
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse

from algorithms.compat.inputs import as_rows, as_vector
from algorithms.compat.lightgbm.binary_files import (
    is_binary_file,
    read_binary_file,
    write_binary_file,
)
from algorithms.compat.lightgbm.messages import LightGBMError
from algorithms.compat.lightgbm.text_files import read_text_table
from algorithms.gbdt.lightgbm_interface import name_columns

FIELDS = ("label", "weight", "group", "init_score", "position")


class Dataset:
    """Rows of training or evaluation.

    Parameters
    ----------
    data : array, frame, sparse matrix, Arrow table, list of arrays, or path of a file
        The file is a text file, or a binary file of `save_binary`.
    label : array-like, default=None
    reference : Dataset, default=None
        The training set of an evaluation set.
    weight : array-like, default=None
    group : array-like of int, default=None
        Number of rows of each query.
    init_score : array-like, default=None
    feature_name : list of str or "auto", default="auto"
    categorical_feature : list of int or str, or "auto", default="auto"
    params : dict, default=None
        Parameters of training that apply to these rows.
    free_raw_data : bool, default=True
        Whether `get_data` raises an error after `construct`, as in LightGBM.
    position : array-like, default=None
        Position at which each document was shown, for lambdarank: a number or a name.
    """

    def __init__(
        self,
        data,
        label=None,
        reference=None,
        weight=None,
        group=None,
        init_score=None,
        feature_name="auto",
        categorical_feature="auto",
        params=None,
        free_raw_data=True,
        position=None,
    ):
        self.data = data
        self.reference = reference
        self.feature_name = feature_name
        self.categorical_feature = categorical_feature
        self.params = copy.deepcopy(params or {})
        self.free_raw_data = free_raw_data
        self.used_indices = None
        self.label = self.weight = self.group = self.init_score = self.position = None
        self._rows = None
        self._is_constructed = False
        self.set_label(label).set_weight(weight).set_group(group).set_init_score(init_score)
        self.set_position(position)
        if isinstance(data, str | Path) and is_binary_file(data):
            self.rows()

    # ------------------------------------------------------------------ rows

    def rows(self):
        """Return the rows as `fit` of an estimator takes them."""
        if self._rows is None:
            data = self.data
            if isinstance(data, str | Path):
                data = self._read_file()
            elif isinstance(data, list) and data and all(np.ndim(one) == 2 for one in data):
                data = np.concatenate(data)
            rows = as_rows(data)
            if isinstance(rows, pd.DataFrame):
                rows = rows.set_axis([str(one) for one in rows.columns], axis=1)
            names = self._names()
            self._rows = rows if sparse.issparse(rows) else name_columns(rows, names)
        return self._rows

    def _read_file(self):
        """Return the rows of a file; set the fields that it has and the user has not given."""
        if is_binary_file(self.data):
            rows, fields, facts = read_binary_file(self.data)
            self.params = {**facts["params"], **self.params}
            for name in ("feature_name", "categorical_feature"):
                own = getattr(self, name)
                if own is None or (isinstance(own, str) and own == "auto"):
                    setattr(self, name, facts[name])
        else:
            rows, fields = read_text_table(self.data)
        for name, values in fields.items():
            if getattr(self, name) is None:
                getattr(self, f"set_{name}")(values)
        return rows

    def save_binary(self, filename):
        """Write the rows, fields and parameters to a binary file; return the dataset.

        ``Dataset(filename)`` reads it. The format is not LightGBM's. An existing file is replaced.

        Parameters
        ----------
        filename : path

        Raises
        ------
        LightGBMError
            If a column holds neither numbers nor categories, or a parameter cannot be stored.
        """
        self.construct()
        columns = self.categorical_feature
        is_listed = columns is not None and not isinstance(columns, str)
        facts = {
            "feature_name": self._names(),
            "categorical_feature": list(columns) if is_listed else columns,
            "params": self.params,
        }
        fields = {name: getattr(self, name) for name in FIELDS}
        write_binary_file(filename, self.rows(), fields, facts)
        return self

    def _names(self):
        """Return the given column names with "_" for blanks, or "auto"."""
        names = self.feature_name
        if (names is None or isinstance(names, str)) and self.reference is not None:
            names = self.reference.feature_name
        if names is None or isinstance(names, str):
            return "auto"
        return [str(one).replace(" ", "_") for one in names]

    def construct(self):
        """Read the rows; return the dataset.

        Raises
        ------
        LightGBMError
            If the number of labels, weights or queries does not fit.
        """
        n_rows = self.num_data()
        for name in ("label", "weight"):
            values = getattr(self, name)
            if values is not None and len(values) != n_rows:
                message = f"Length of {name} ({len(values)}) differs from the length of #data"
                raise LightGBMError(f"{message} ({n_rows})")
        if self.position is not None and len(self.position) != n_rows:
            message = f"Positions size ({len(self.position)}) doesn't match data size ({n_rows})"
            raise LightGBMError(message)
        if self.reference is not None:
            self.params = {**self.params, **self.reference.get_params()}
        self._is_constructed = True
        return self

    def create_valid(
        self, data, label=None, weight=None, group=None, init_score=None, params=None, position=None
    ):
        """Return a dataset of evaluation rows with this one as its reference."""
        return type(self)(
            data,
            label=label,
            reference=self,
            weight=weight,
            group=group,
            init_score=init_score,
            params=params,
            free_raw_data=self.free_raw_data,
            position=position,
        )

    def subset(self, used_indices, params=None):
        """Return a dataset of some rows.

        Parameters
        ----------
        used_indices : list of int
        params : dict, default=None
            Default: those of this dataset.
        """
        at = np.sort(np.asarray(used_indices, np.intp))
        rows = self.rows()
        taken = rows.iloc[at] if hasattr(rows, "iloc") else take_rows(rows, at)
        params = self.params if params is None else params
        part = type(self)(taken, reference=self, params=params, free_raw_data=self.free_raw_data)
        part.feature_name, part.categorical_feature = self.feature_name, self.categorical_feature
        part.used_indices = at.tolist()
        for name in ("label", "weight", "init_score", "position"):
            values = getattr(self, name)
            setattr(part, name, None if values is None else np.asarray(values)[at])
        if self.group is not None:
            query = np.repeat(np.arange(len(self.group)), self.group)[at]
            part.group = np.unique(query, return_counts=True)[1]
        return part

    def num_data(self):
        """Return the number of rows."""
        rows = self.rows()
        return rows.shape[0] if hasattr(rows, "shape") else len(rows)

    def num_feature(self):
        """Return the number of columns."""
        rows = self.rows()
        return rows.shape[1] if hasattr(rows, "shape") else len(rows[0])

    def get_data(self):
        """Return the data as they were given.

        Raises
        ------
        LightGBMError
            If they are freed.
        """
        if self._is_constructed and self.free_raw_data:
            raise LightGBMError(
                "Cannot call `get_data` after freed raw data, set free_raw_data=False when "
                "construct Dataset to avoid this."
            )
        return self.data

    # ------------------------------------------------------------------ fields

    def set_label(self, label):
        """Set the labels; return the dataset."""
        self.label = None if label is None else flat(label, "label")
        return self

    def set_weight(self, weight):
        """Set the weights; return the dataset."""
        weight = None if weight is None else flat(weight, "weight")
        self.weight = None if weight is not None and (weight == 1.0).all() else weight
        return self

    def set_group(self, group):
        """Set the number of rows of each query; return the dataset."""
        self.group = None if group is None else flat(group, "group").astype(np.int32)
        return self

    def set_init_score(self, init_score):
        """Set the initial scores; return the dataset."""
        self.init_score = None if init_score is None else np.asarray(as_vector(init_score))
        return self

    def set_position(self, position):
        """Set the positions of the documents; return the dataset."""
        if position is None:
            self.position = None
            return self
        names, first, numbers = np.unique(
            np.asarray(as_vector(position)).astype(str), return_index=True, return_inverse=True
        )
        rank = np.empty(len(names), np.int32)  # numbers in the order of first appearance
        rank[np.argsort(first)] = np.arange(len(names), dtype=np.int32)
        self.position = rank[numbers]
        return self

    def set_reference(self, reference):
        """Set the training set of these evaluation rows; return the dataset."""
        if not isinstance(reference, Dataset):
            raise TypeError(
                "Reference should be Dataset instance, please first construct reference"
            )
        self.reference = reference
        self._rows = None
        return self

    def set_feature_name(self, feature_name):
        """Set the column names; return the dataset."""
        is_list = feature_name is not None and not isinstance(feature_name, str)
        if is_list and len(feature_name) != self.num_feature():
            message = f"Length of feature_name({len(feature_name)}) and num_feature"
            raise ValueError(f"{message}({self.num_feature()}) don't match")
        self.feature_name = feature_name
        self._rows = None
        return self

    def set_categorical_feature(self, categorical_feature):
        """Set the categorical columns; return the dataset."""
        self.categorical_feature = categorical_feature
        return self

    def set_field(self, field_name, data):
        """Set a field by its name; return the dataset."""
        return getattr(self, f"set_{self._known(field_name)}")(data)

    def get_field(self, field_name):
        """Return a field by its name; "group" is the bounds of the queries."""
        if self._known(field_name) == "group" and self.group is not None:
            return np.concatenate([[0], np.cumsum(self.group)]).astype(np.int32)
        return getattr(self, f"get_{field_name}")()

    @staticmethod
    def _known(field_name):
        """Return the name of a field; raise LightGBMError if there is none."""
        if field_name not in FIELDS:
            raise LightGBMError(f"Unknown field name: {field_name}")
        return field_name

    def get_label(self):
        """Return the labels."""
        self.rows()
        return self.label

    def get_weight(self):
        """Return the weights, or None."""
        return self.weight

    def get_group(self):
        """Return the number of rows of each query, or None."""
        self.rows()
        return self.group

    def get_position(self):
        """Return the positions as numbers from 0 on, int32 (n_rows,), or None."""
        self.rows()
        return self.position

    def get_init_score(self):
        """Return the initial scores, or None."""
        return self.init_score

    def get_feature_name(self):
        """Return the column names."""
        rows = self.rows()
        if hasattr(rows, "columns"):
            return [str(one).replace(" ", "_") for one in rows.columns]
        names = self._names()
        return names if names != "auto" else [f"Column_{f}" for f in range(self.num_feature())]

    feature_names = property(get_feature_name)

    def get_params(self):
        """Return the parameters."""
        return copy.deepcopy(self.params)

    def get_ref_chain(self, ref_limit=100):
        """Return this dataset, its reference, the reference of that one and so on."""
        chain, one = set(), self
        while one is not None and len(chain) < ref_limit and one not in chain:
            chain.add(one)
            one = one.reference
        return chain


def name_as_in_training(rows, names):
    """Return rows with the column names of training; columns are read by position.

    Parameters
    ----------
    rows : array, frame or sparse matrix
    names : list of str, or None if the rows of training had no names
    """
    if isinstance(rows, pd.DataFrame):
        n_columns = rows.shape[1]
        if names is None:
            return rows.set_axis(range(n_columns), axis=1)
        return rows.set_axis(list(names), axis=1) if n_columns == len(names) else rows
    is_dense = isinstance(rows, np.ndarray) and rows.ndim == 2
    if names is None or not is_dense or rows.shape[1] != len(names):
        return rows
    return pd.DataFrame(rows, columns=list(names), copy=False)


def flat(values, name):
    """Return one-dimensional numbers, (n,); one column is allowed.

    Raises
    ------
    ValueError
        If there are several columns.
    """
    values = np.asarray(as_vector(values))
    if values.ndim == 2 and 1 in values.shape:
        values = values.ravel()
    if values.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional; it has shape {values.shape}")
    return values.astype(np.float64) if values.dtype == object else values


def take_rows(rows, at):
    """Return some rows of an array, a list or a sparse matrix."""
    return (rows.tocsr() if sparse.issparse(rows) else np.asarray(rows))[at]
